package opencl

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
)

// envChild makes the test program print why there is no device, and end.
const envChild = "TANDEM_TEST_NO_DEVICE"

// The tests share a disk cache of their own, on every platform: see TestSelfCaching. None may leave
// a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		_, err1 := backend.Lookup(driverName).Devices()
		_, err2 := backend.Lookup(driverName).Open(0)
		fmt.Println(errors.Is(err1, backend.ErrNoDevice), errors.Is(err2, backend.ErrNoDevice), err1)
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "tandem-opencl-")
	if err != nil {
		panic(err)
	}
	os.Setenv(backend.EnvCache, dir)
	selfCaching = nil
	if strings.Contains(os.Getenv("OCL_ICD_VENDORS")+os.Getenv("TANDEM_OPENCL_LIBRARY"), "oclgrind") &&
		cl.Load() == nil {
		oneThread()
	}
	// oneThread's goroutine is the only one that is there before.
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// oneThread makes all C calls on one thread: Oclgrind is not safe for concurrent use, and its check
// for uninitialized values keeps its state by thread.
func oneThread() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		results := make(chan []reflect.Value)
		calls <- func() { results <- c.Run() }
		return <-results
	})
}

// need skips the test where there is no OpenCL device, or fails it where TANDEM_REQUIRE asks for
// one.
func need(t testing.TB) {
	t.Helper()
	_, err := backend.Lookup(driverName).Devices()
	backendtest.Require(t, driverName, err)
}

// open opens the first device, and checks at the end of the test that nothing of it is left.
func open(t testing.TB) *backend.Device {
	t.Helper()
	need(t)
	capitest.Watch(t)
	return openAgain(t)
}

// openAgain opens the first device in a test that watches handles already.
func openAgain(t testing.TB) *backend.Device {
	t.Helper()
	d := must[*backend.Device](t)(backend.Lookup(driverName).Open(0))
	t.Cleanup(func() { check(t, d.Close()) })
	return d
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func newQueue(t testing.TB, d *backend.Device) *backend.Queue {
	t.Helper()
	return must[*backend.Queue](t)(d.NewQueue())
}

func alloc(t testing.TB, d *backend.Device, n int64) *backend.Buffer {
	t.Helper()
	return must[*backend.Buffer](t)(d.Alloc(n))
}

// wantError checks the sentinel, and that the error is a *backend.Error of this driver that
// contains words.
func wantError(t testing.TB, err, kind error, words ...string) {
	t.Helper()
	var e *backend.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		t.Errorf("%v, want %v", err, kind)
		return
	}
	if e.Driver != driverName || e.Op == "" {
		t.Errorf("%v: driver %q, op %q", err, e.Driver, e.Op)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v, want it to say %q", err, w)
		}
	}
}

func TestInfo(t *testing.T) {
	need(t)
	capitest.Watch(t)
	driver := backend.Lookup(driverName)
	infos := must[[]backend.Info](t)(driver.Devices())
	for i, info := range infos {
		if info.Driver != driverName || info.Index != i || info.Name == "" || info.Platform == "" ||
			info.Vendor == "" || info.Arch == "" || info.Version == "" {
			t.Errorf("device %d: %+v", i, info)
		}
		if info.ComputeUnits < 1 || info.MaxAlloc < 1<<20 || info.Memory < info.MaxAlloc || info.MaxGroup < 1 ||
			info.OffsetAlign < 1 || info.OffsetAlign > 4096 {
			t.Errorf("device %d: limits %+v", i, info)
		}
		if info.VectorFloat32 < 1 || info.VectorFloat64 < 1 || info.VectorInt32 < 1 {
			t.Errorf("device %d: vector widths %+v", i, info)
		}
		d := must[*backend.Device](t)(driver.Open(i))
		probed := d.Info()
		check(t, d.Close())
		if again := must[[]backend.Info](t)(driver.Devices()); again[i] != probed {
			t.Errorf("device %d: listed as %+v, open as %+v", i, again[i], probed)
		}
		if strings.Contains(info.Platform, "Portable Computing Language") &&
			!(probed.Float32 && probed.Float64 && probed.UnifiedMemory && probed.Note == "" && !probed.GPU) {
			t.Errorf("PoCL keeps the contract: %+v", probed)
		}
	}
	for _, i := range []int{-1, len(infos)} {
		_, err := driver.Open(i)
		wantError(t, err, backend.ErrNoDevice, fmt.Sprint(i))
	}
}

func TestArch(t *testing.T) {
	for name, want := range map[string]string{
		"gfx90a:sramecc+:xnack-": "gfx90a", "gfx1100": "gfx1100",
		"NVIDIA H100": "NVIDIA H100",
	} {
		if got := arch(name, 4); got != want {
			t.Errorf("arch of %s is %s, want %s", name, got, want)
		}
	}
	for s, want := range map[string][2]int{"OpenCL 1.1 x": {1, 1}, "OpenCL 3.0 PoCL": {3, 0}, "": {}} {
		if major, minor := version(s); [2]int{major, minor} != want {
			t.Errorf("version of %q is %d.%d, want %v", s, major, minor, want)
		}
	}
}

func TestNoDevice(t *testing.T) {
	run := func(env string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envChild+"=1", "TANDEM_OPENCL_LIBRARY=", env)
		out, err := cmd.CombinedOutput()
		ignored := strings.HasPrefix(env, "OCL_ICD_VENDORS=") && strings.HasPrefix(string(out), "false false ")
		if err != nil || !strings.HasPrefix(string(out), "true true ") && !ignored {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := run("TANDEM_OPENCL_LIBRARY=/nowhere/libOpenCL.so")
	for _, w := range []string{"/nowhere/libOpenCL.so", "pocl-opencl-icd", "vendor"} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in: %s", w, out)
		}
	}
	need(t)
	out = run("OCL_ICD_VENDORS=" + t.TempDir()) // a loader without drivers
	if strings.HasPrefix(out, "false ") {
		t.Skip("this loader does not heed OCL_ICD_VENDORS, as Khronos' does not for root")
	}
	for _, w := range []string{"no driver is registered", "pocl-opencl-icd"} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in: %s", w, out)
		}
	}
	for _, line := range []string{"libpocl.so.2\r\n", "libpocl.so.2  "} { // a driver by another name
		file := filepath.Join(t.TempDir(), "pocl.icd")
		check(t, os.WriteFile(file, []byte(line), 0o666))
		if out = run("OCL_ICD_VENDORS=" + file); !strings.Contains(out, file+": before or after the library's name") {
			t.Errorf("%q: %s", line, out)
		}
	}
	file := filepath.Join(t.TempDir(), "intel.icd") // a driver that lacks a library
	check(t, os.WriteFile(file, []byte("/nowhere/libsvml.so\n"), 0o666))
	for _, vendors := range []string{filepath.Dir(file), file, "/nowhere/libsvml.so"} {
		out = run("OCL_ICD_VENDORS=" + vendors)
		for _, w := range []string{"no driver that is registered with it loads: ", "/nowhere", "intel-cmplr-lib-rt"} {
			if !strings.Contains(out, w) {
				t.Errorf("no %q in: %s", w, out)
			}
		}
	}
}

// withPrelude changes the prelude until the end of the test: a way to make a device that computes
// wrongly.
func withPrelude(t *testing.T, add string) {
	old := prelude
	prelude += add
	t.Cleanup(func() { prelude = old })
}

func TestProbeFindsWrongArithmetic(t *testing.T) {
	cases := []struct {
		name, prelude    string
		float32, float64 bool
		note             string
	}{
		{"sound", "", true, true, ""},
		{
			"fma rounds twice", "#define fma(a, b, c) ((a)*(b) + (c))\n", false, false,
			"float32 is not supported: fma(a, b, c)",
		},
		{"vector fma", vectorPrelude, false, true, "fma of a vector"},
		{"contraction", "#pragma OPENCL FP_CONTRACT ON\n", false, false, "a*b + c"},
		{"flushed results", "float ff(uint x) { return as_float(x & 0x7f800000 ? x : x & 0x80000000); }\n#define " +
			"as_float ff\n", false, true, "float32 flushes subnormals"},
		{"no float64", "#define double double_is_missing\n", true, false, "float64 does not build"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := open(t)
			withPrelude(t, c.prelude)
			f, err := own(d).examine(d)
			check(t, err)
			var info backend.Info
			f.apply(&info)
			if info.Float32 != c.float32 || info.Float64 != c.float64 || !strings.Contains(info.Note, c.note) ||
				c.note == "" && f.Notes != nil {
				t.Errorf("float32 %v, float64 %v, %q, want %v, %v, %q", info.Float32, info.Float64, info.Note,
					c.float32, c.float64, c.note)
			}
		})
	}
}

// A compiler that vectorizes wrongly is told not to; a device on which that does not help is
// refused, also when the finding comes from the cache.
func TestProbeFindsTraps(t *testing.T) {
	need(t)
	for _, c := range []struct{ name, wrong, right, goes string }{
		{"get_global_id", "0 * as_int", "", "leave a loop at different times"},
		{"as_int", "1 + (int)", "#define as_int(x) __builtin_astype((x), int)\n", "adds floats in another order"},
		{"barrier", "v = (float)", "", "what was negated before a barrier"},
	} {
		for _, helps := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s helps=%v", c.name, helps), func(t *testing.T) {
				backendtest.EmptyCache(t)
				withPrelude(t, fmt.Sprintf("#define %s %s\n", c.name, c.wrong))
				if helps {
					withScalarPrelude(t, scalarPrelude+"#undef "+c.name+"\n"+c.right)
				}
				for range 2 {
					b, err := newDriver().Open(0)
					if !helps {
						wantError(t, err, backend.ErrUnsupported, c.goes, "update the driver")
						continue
					}
					check(t, err)
					if note := b.Info().Note; !strings.Contains(note, "without vectorizing") {
						t.Errorf("note %q", note)
					}
					wantBranches(t, b)
					check(t, b.Close())
				}
			})
		}
	}
}

// withScalarPrelude has another scalarPrelude until the end of the test.
func withScalarPrelude(t *testing.T, text string) {
	old := scalarPrelude
	scalarPrelude = text
	t.Cleanup(func() { scalarPrelude = old })
}

// Where kernels are compiled without vectorizing, as on Intel's runtime, the probe knows what is
// wrong there: sums of floats in loops that the prelude does not keep from it, and what is negated
// before a barrier, unless nothing is optimized, as in kernels of other people.
func TestProbeKnowsScalars(t *testing.T) {
	d := open(t)
	if !own(d).scalar {
		t.Skip("this compiler vectorizes")
	}
	q := newQueue(t, d)
	defer q.Close()
	wrong := func(x trap, want string) {
		t.Helper()
		x.src.Params = []backend.Param{{Buffer: true}, {Size: 4}, {Size: 4}}
		if got := must[string](t)(x.run(d, q)); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: it %s, want %q", x.src.Name, got, want)
		}
	}
	wrong(behind, behind.goes)
	wrong(traps[1], "")
	hint, _, _ := strings.Cut(scalarPrelude, "#define for")
	withScalarPrelude(t, hint)
	wrong(traps[1], traps[1].goes)
}

// Work-items that leave a loop at different times get what plain Go gives, on every device: a
// compiler that is wrong is known.
func TestBranches(t *testing.T) { wantBranches(t, open(t)) }

func wantBranches(t *testing.T, d *backend.Device) {
	t.Helper()
	q := newQueue(t, d)
	defer q.Close()
	if wrong := must[string](t)(runTraps(d, q)); wrong != "" {
		t.Errorf("on %s a kernel %s", d.Info().Name, wrong)
	}
}

// vectorPrelude has an fma that is right for scalars alone.
const vectorPrelude = `
#define O __attribute__((overloadable))
float O f(float a, float b, float c) { return fma(a, b, c); }
double O f(double a, double b, double c) { return fma(a, b, c); }
double4 O f(double4 a, double4 b, double4 c) { return fma(a, b, c); }
float4 O f(float4 a, float4 b, float4 c) { return a*b + c; }
#define fma f
`

// What a program forgets, the garbage collector releases: Watch, in open, waits for that.
func TestForgotten(t *testing.T) {
	need(t)
	capitest.Watch(t)
	func() {
		d := must[*backend.Device](t)(backend.Lookup(driverName).Open(0))
		q := must[*backend.Queue](t)(d.NewQueue())
		k := must[*backend.Kernel](t)(d.Compile(fillSource))
		b := must[*backend.Buffer](t)(d.Alloc(1 << 10))
		h := must[*backend.Buffer](t)(d.AllocHost(1 << 10))
		check(t, q.Launch(k, backend.Grid1(1, 16), backend.Buf(b), backend.Int32(16), backend.Int32(1)))
		check(t, q.ReadAsync(h, 0, b, 0, 1<<10))
		must[*backend.Event](t)(q.Record())
	}()
}

// Close during calls of other goroutines: they end with ErrClosed or well, and nothing is left.
func TestCloseDuringCalls(t *testing.T) {
	need(t)
	capitest.Watch(t)
	for range 5 {
		d := openAgain(t)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range 8 {
			wg.Go(func() {
				<-start
				for {
					if err := useAll(d); errors.Is(err, backend.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		close(start)
		check(t, useAll(d))
		check(t, d.Close())
		wg.Wait()
	}
}

// fillSource writes i + v to a[i].
var fillSource = &backend.Source{Name: "fill", Text: `
__kernel void fill(__global int *a, const int n, const int v)
{
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) a[i] = i + v;
}
`}
