package cuda

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi/capitest"
)

// driverName is the driver under test: go test ./backend/cuda -driver=cuda runs the tests of this
// package on a GPU.
var driverName = flag.String("driver", "cudasim", "the driver under `test`, cudasim or cuda")

// envChild makes the test program print why there is no device, and end.
const envChild = "TANDEM_TEST_NO_DEVICE"

// The tests share a disk cache of their own, so that each kernel is compiled once. None may leave a
// goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		_, err1 := backend.Lookup("cuda").Devices()
		_, err2 := backend.Open("cuda")
		auto, err3 := backend.Open("auto")
		fmt.Println(errors.Is(err1, backend.ErrNoDevice), errors.Is(err2, backend.ErrNoDevice), err3 == nil &&
			auto.Info().Driver != "cuda", err2)
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "tandem-cuda-")
	if err != nil {
		panic(err)
	}
	os.Setenv(backend.EnvCache, dir)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// under is the registered driver under test. The test is skipped where it has no device, or fails
// where TANDEM_REQUIRE asks for one.
func under(t testing.TB) *driver {
	t.Helper()
	d := backend.Lookup(*driverName).(*driver)
	_, err := d.Devices()
	backendtest.Require(t, *driverName, err)
	return d
}

// fresh is another driver over the same library, which has listed no devices yet.
func fresh(t testing.TB) *driver {
	d := under(t)
	return newDriver(d.name, d.vendor, d.note, d.load).(*driver)
}

// table is the function table of the driver under test.
func table(t testing.TB) *capi.API {
	t.Helper()
	api, err := under(t).load()
	check(t, err)
	return api
}

// needNVRTC skips the test where there is no NVRTC, or fails it where TANDEM_REQUIRE asks for it.
func needNVRTC(t testing.TB) {
	t.Helper()
	_, err := capi.LoadNVRTC(0)
	backendtest.Require(t, "nvrtc", err)
}

// open opens the first device, and checks at the end of the test that nothing of it is left.
func open(t testing.TB) *backend.Device {
	t.Helper()
	capitest.Watch(t, table(t))
	return openAgain(t)
}

// openAgain opens the first device in a test that watches handles already.
func openAgain(t testing.TB) *backend.Device {
	t.Helper()
	d := must[*backend.Device](t)(under(t).Open(0))
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

// wantError checks the sentinel, and that the error is a *backend.Error of the driver under test
// that contains words.
func wantError(t testing.TB, err, kind error, words ...string) {
	t.Helper()
	wantErrorOf(t, *driverName, err, kind, words...)
}

func wantErrorOf(t testing.TB, driver string, err, kind error, words ...string) {
	t.Helper()
	var e *backend.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		t.Errorf("%v, want %v", err, kind)
		return
	}
	if e.Driver != driver || e.Op == "" {
		t.Errorf("%v: driver %q, op %q", err, e.Driver, e.Op)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v, want it to say %q", err, w)
		}
	}
}

func TestInfo(t *testing.T) {
	d := under(t)
	capitest.Watch(t, table(t))
	infos := must[[]backend.Info](t)(d.Devices())
	for i, info := range infos {
		if info.Driver != *driverName || info.Index != i || info.Name == "" || info.Platform != "CUDA" ||
			info.Vendor == "" || !strings.HasPrefix(info.Arch, "sm_") ||
			!strings.HasPrefix(info.Version, "CUDA 1") {
			t.Errorf("device %d: %+v", i, info)
		}
		if !info.GPU || info.ComputeUnits < 1 || info.MaxAlloc < 1<<20 || info.Memory < info.MaxAlloc ||
			info.MaxGroup < 256 || info.OffsetAlign != 4 || info.LocalMemory < 48<<10 {
			t.Errorf("device %d: limits %+v", i, info)
		}
		if info.MaxGroups != [3]int{math.MaxInt32, 65535, 65535} || info.MaxGroupDims[0] < 256 ||
			info.MaxGroupDims[2] < 64 {
			t.Errorf("device %d: grids %+v", i, info)
		}
		dev := must[*backend.Device](t)(d.Open(i))
		probed := dev.Info()
		check(t, dev.Close())
		if again := must[[]backend.Info](t)(d.Devices()); again[i] != probed {
			t.Errorf("device %d: listed as %+v, open as %+v", i, again[i], probed)
		}
		if !probed.Float32 || !probed.Float64 || (d.name == "cudasim") != strings.HasPrefix(probed.Note, "simulated") {
			t.Errorf("device %d: %+v", i, probed)
		}
	}
	for _, i := range []int{-1, len(infos)} {
		_, err := d.Open(i)
		wantError(t, err, backend.ErrNoDevice, fmt.Sprint(i))
	}
}

// Without NVIDIA's driver there is one error, which names the library and what to do, and auto goes
// on to another driver.
func TestNoDevice(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"=1", capi.EnvLibrary+"=/nowhere/libcuda.so.1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "true true true cuda: ") || strings.Count(string(out), "\n") != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, w := range []string{"/nowhere/libcuda.so.1", capi.EnvLibrary, "no other was tried"} {
		if strings.Count(string(out), w) != 1 {
			t.Errorf("not once %q in: %s", w, out)
		}
	}
}

// A library that finds no GPU says why.
func TestNoGPU(t *testing.T) {
	api := table(t)
	for _, c := range []struct {
		name  string
		code  int32
		words []string
	}{
		{"cuInit", 100, []string{"cuInit", "CUDA_ERROR_NO_DEVICE", remedy}},
		{"cuInit", 803, []string{"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "reboot"}},
		{"cuDriverGetVersion", 3, []string{"cuDriverGetVersion", "CUDA_ERROR_NOT_INITIALIZED"}},
		{"cuDeviceGetCount", 2, []string{"cuDeviceGetCount", "CUDA_ERROR_OUT_OF_MEMORY"}},
		{"cuDeviceGetName", 101, []string{"cuDeviceGetName of device 0", "CUDA_ERROR_INVALID_DEVICE"}},
	} {
		restore := failNth(api, c.name, 1, c.code)
		d := fresh(t)
		_, err := d.Devices()
		wantError(t, err, backend.ErrNoDevice, c.words...)
		restore()
		if _, err := d.Devices(); err != nil {
			t.Errorf("after %s failed once: %v", c.name, err)
		}
	}
	defer dltest.Wrap(api, func(c *dltest.Call) []reflect.Value {
		results := c.Run()
		if c.Name == "cuDeviceGetCount" {
			*c.Args[0].Interface().(*int32) = 0
		}
		return results
	})()
	_, err := fresh(t).Open(0)
	wantError(t, err, backend.ErrNoDevice, "no GPU", remedy)
}

// A device that computes wrongly: the probe's PTX is changed before the driver gets it.
func TestProbeFindsWrongArithmetic(t *testing.T) {
	d := open(t)
	for _, c := range []struct {
		name, old, new   string
		float32, float64 bool
		note             string
	}{
		{"sound", "", "", true, true, ""},
		{"flushed subnormals", "fma.rn.f32", "fma.rn.ftz.f32", false, true, "float32 flushes subnormals"},
		{
			"contraction", "add.rn.f32 %r, %r, %c;", "fma.rn.f32 %r, %a, %b, %c;", false, true,
			"float32 is not supported: a*b + c",
		},
		{"directed rounding", "mul.rn.f64", "mul.rz.f64", true, false, "float64 is not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer dltest.Wrap(own(d).api, func(call *dltest.Call) []reflect.Value {
				if call.Name == "cuModuleLoadDataEx" && c.old != "" {
					image := capi.GoString(call.Args[1].Interface().(*byte))
					call.Args[1] = reflect.ValueOf(capi.CString(strings.Replace(image, c.old, c.new, 1)))
				}
				return call.Run()
			})()
			f, err := examine(d)
			check(t, err)
			var info backend.Info
			f.Apply(&info)
			if info.Float32 != c.float32 || info.Float64 != c.float64 || !strings.Contains(info.Note, c.note) ||
				c.note == "" && len(f.Notes) > 0 {
				t.Errorf("float32 %v, float64 %v, %q, want %v, %v, %q", info.Float32, info.Float64, info.Note,
					c.float32, c.float64, c.note)
			}
		})
	}
}

// What a program forgets, the garbage collector releases: Watch waits for that.
func TestForgotten(t *testing.T) {
	capitest.Watch(t, table(t))
	func() {
		d := must[*backend.Device](t)(under(t).Open(0))
		q := must[*backend.Queue](t)(d.NewQueue())
		k := must[*backend.Kernel](t)(d.Compile(fillSource))
		b := must[*backend.Buffer](t)(d.Alloc(1 << 10))
		h := must[*backend.Buffer](t)(d.AllocHost(1 << 10))
		must[*backend.Buffer](t)(d.Register(make([]byte, 1<<10)))
		check(t, q.Launch(k, backend.Grid1(1, 16), backend.Buf(b), backend.Int32(16), backend.Int32(1)))
		check(t, q.ReadAsync(h, 0, b, 0, 1<<10))
		must[*backend.Event](t)(q.Record())
	}()
}

// testPTX holds fill and inc, and race, whose work-items all write one word of local memory.
var testPTX = `
.version 6.4
.target sm_50
.address_size 64
` + loopPTX + `

.visible .entry race(.param .u64 .ptr .global .align 4 a)
{
	.reg .b32 %r<2>;
	.reg .b64 %a;
	.shared .align 4 .b32 t;
	mov.u32 %r0, %tid.x;
	st.shared.b32 [t], %r0;
	bar.sync 0;
	ld.shared.b32 %r1, [t];
	ld.param.u64 %a, [a];
	cvta.to.global.u64 %a, %a;
	st.global.b32 [%a], %r1;
	ret;
}
`

var loopPTX = strings.ReplaceAll(fillPTX, "NAME", "fill") +
	strings.NewReplacer("NAME", "inc", "mov.u32 %old, %i;", "ld.global.u32 %old, [%at];").Replace(fillPTX)

const fillPTX = `
.visible .entry NAME(.param .u64 .ptr .global .align 4 a, .param .u32 n, .param .u32 v)
{
	.reg .pred %p;
	.reg .b32 %i, %n, %v, %size, %groups, %id, %step, %old, %new;
	.reg .b64 %a, %at;
	ld.param.u64 %a, [a];
	ld.param.u32 %n, [n];
	ld.param.u32 %v, [v];
	cvta.to.global.u64 %a, %a;
	mov.u32 %i, %ctaid.x;
	mov.u32 %size, %ntid.x;
	mov.u32 %groups, %nctaid.x;
	mov.u32 %id, %tid.x;
	mad.lo.u32 %i, %i, %size, %id;
	mul.lo.u32 %step, %size, %groups;
NEXT:
	setp.ge.s32 %p, %i, %n;
	@%p bra DONE;
	mul.wide.s32 %at, %i, 4;
	add.u64 %at, %a, %at;
	mov.u32 %old, %i;
	add.u32 %new, %old, %v;
	st.global.u32 [%at], %new;
	add.u32 %i, %i, %step;
	bra NEXT;
DONE:
	ret;
}
`

// fillSource writes i + v to a[i].
var fillSource = &backend.Source{Name: "fill", PTX: []byte(testPTX), Text: `
__kernel void fill(__global int *a, const int n, const int v)
{
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) a[i] = i + v;
}
`}
