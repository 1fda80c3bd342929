package opencl

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
	"github.com/tandem-gpu/tandem/internal/faulttest/fault"
)

// counts counts the calls of C functions until the end of the test.
func counts(t testing.TB) func(name string) int64 {
	t.Helper()
	need(t)
	var n dltest.Counter
	t.Cleanup(capitest.Wrap(n.Count))
	return n.Calls
}

func TestCompileError(t *testing.T) {
	d := open(t)
	cases := []struct {
		name  string
		src   backend.Source
		words []string
	}{
		{
			"syntax",
			backend.Source{Name: "k", File: "dir/my kernel.cl", Text: "__kernel void k(__global int *a)\n{\n\ta[0] " +
				"= 1\n}\n", Macros: map[string]string{"A": "1", "B": ""}},
			[]string{"dir/my kernel.cl:3", "expected ';'", "clBuildProgram", "CL_BUILD_PROGRAM_FAILURE"},
		},
		{
			"default file name",
			backend.Source{Name: "k", Text: "\n#error not this way\n"},
			[]string{"k.cl:2", "not this way"},
		},
		{
			"quotes in the file name",
			backend.Source{Name: "k", File: `a"b\c.cl`, Text: "#error no\n"},
			[]string{`c.cl:1`},
		},
		{"macro's value", backend.Source{
			Name: "k", Text: "__kernel void k(__global int *a)\n{\n\ta[0] = X;\n}\n",
			Macros: map[string]string{"X": "nothing"},
		}, []string{"k.cl:3", "nothing"}},
		{
			"no such kernel",
			backend.Source{Name: "other", Text: fillSource.Text},
			[]string{"other.cl has no kernel other"},
		},
		{"zero byte", backend.Source{Name: "fill", Text: fillSource.Text + "\x00"}, []string{"fill.cl", "zero byte"}},
		{
			"local argument",
			backend.Source{Name: "k", Text: "__kernel void k(__local float *t) { t[0] = 1; }"},
			[]string{"k.cl", "LOCALMEM"},
		},
		{"too few parameters", backend.Source{
			Name: "fill", Text: fillSource.Text,
			Params: []backend.Param{{Buffer: true}},
		}, []string{"1 parameters", "3"}},
		{"wrong parameter", backend.Source{
			Name: "fill", Text: fillSource.Text,
			Params: []backend.Param{{Buffer: true}, {Size: 8}, {Size: 4}},
		}, []string{"parameter 1"}},
		{"buffer for scalar", backend.Source{
			Name: "fill", Text: fillSource.Text,
			Params: []backend.Param{{Buffer: true}, {Size: 4}, {Buffer: true}},
		}, []string{"parameter 2"}},
		{"wrong group", backend.Source{Name: "k", Text: "__kernel WG_SIZE(4, 2, 1) void k(__global int *a) { a[0] = " +
			"1; }", Group: [3]int{4, 4, 1}}, []string{"[4 4 1]", "[4 2 1]"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d.Info().Platform == oclgrind {
				c.words = nil // its messages have the lines of the whole text
			}
			_, err := d.Compile(&c.src)
			wantError(t, err, backend.ErrBuild, c.words...)
		})
	}
	_, err := d.Compile(nil)
	wantError(t, err, backend.ErrArgument)
	_, err = d.Compile(&backend.Source{Text: fillSource.Text})
	wantError(t, err, backend.ErrArgument)
	if n := own(d).programs.Len(); n != 0 {
		t.Errorf("%d programs stay behind", n)
	}
}

// A kernel that the compiler warns of prints nothing to the program's error output, where its user
// cannot do anything about it.
func TestNoWarnings(t *testing.T) {
	const child = "TANDEM_TEST_WARNINGS"
	if os.Getenv(child) != "" {
		d := open(t)
		src := &backend.Source{Name: "k", Text: "#define N 1\n#define N 2\n__kernel void k(__global int *a) {}"}
		check(t, must[*backend.Kernel](t)(d.Compile(src)).Release())
		return
	}
	need(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoWarnings$")
	cmd.Env = append(os.Environ(), child+"=1", "POCL_CACHE_DIR="+t.TempDir())
	var printed bytes.Buffer
	cmd.Stderr = &printed
	if err := cmd.Run(); err != nil || printed.Len() > 0 {
		t.Errorf("%v, printed %q", err, &printed)
	}
}

// PoCL, whose cache would be in a file, says nothing but that it builds no program.
func TestPoCLCacheIsFile(t *testing.T) {
	const child = "TANDEM_TEST_POCL_CACHE"
	if os.Getenv(child) != "" {
		_, err := backend.Open("opencl:pocl")
		fmt.Print(err)
		return
	}
	need(t)
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o666))
	cmd := exec.Command(os.Args[0], "-test.run=^TestPoCLCacheIsFile$")
	cmd.Env = append(os.Environ(), child+"=1", "TANDEM_CACHE=off", "POCL_CACHE_DIR="+file)
	switch out, err := cmd.CombinedOutput(); {
	case err != nil:
		t.Errorf("%v: %s", err, out)
	case strings.Contains(string(out), "no device has"):
		t.Skip("PoCL is not among the platforms")
	case !strings.Contains(string(out), "POCL_CACHE_DIR, "+file+", is a file"):
		t.Errorf("%s", out)
	}
}

func TestParams(t *testing.T) {
	d := open(t)
	backendtest.CheckParams(t, d, fillSource, 0, func(s *backend.Source) [3]int {
		k := must[backend.DriverKernel](t)(own(d).Compile(s)).(*kernel)
		defer k.Release()
		return k.Signature().Group
	})
}

// Many goroutines that compile one source build it once, and each holds it until its own Release.
func TestCompileOnce(t *testing.T) {
	d := open(t)
	t.Setenv(backend.EnvCache, "off")
	own(d).disk = diskcache.Open(driverName)
	src := *fillSource
	src.Macros = map[string]string{"ONCE": "1"}
	backendtest.CheckCompileOnce(t, d, &src, counts(t), "clBuildProgram", "clReleaseKernel", "clReleaseProgram")
}

// diskTest is a device with an empty disk cache, and a source that no other test compiles.
func diskTest(t *testing.T) (*backend.Device, *backend.Source, func(string) int64) {
	d := open(t)
	backendtest.EmptyCache(t)
	own(d).disk = diskcache.Open(driverName)
	src := *fillSource
	src.Macros = map[string]string{"DISK": fmt.Sprintf("%q", t.Name())}
	return d, &src, counts(t)
}

// fillWorks compiles src, a fillSource, and runs it.
func fillWorks(t *testing.T, d *backend.Device, src *backend.Source) {
	t.Helper()
	check(t, backendtest.Use(d, src, false))
}

func wantBuilds(t *testing.T, calls func(string) int64, fromText, fromBinary int64) {
	t.Helper()
	if s, b := calls("clCreateProgramWithSource"), calls("clCreateProgramWithBinary"); s != fromText ||
		b != fromBinary {
		t.Errorf("%d programs from text and %d from binaries, want %d and %d", s, b, fromText, fromBinary)
	}
}

func diskFile(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv(backend.EnvCache), driverName, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files in the cache: %v, %v", files, err)
	}
	return files[0]
}

func TestDiskCache(t *testing.T) {
	d, src, calls := diskTest(t)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 1, 0)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 1, 1)

	// Whatever part of the file is damaged, the program is made anew and is right.
	whole, err := os.ReadFile(diskFile(t))
	check(t, err)
	built := int64(1)
	for _, at := range []int{0, 20, 60, 100, len(whole) / 2, len(whole) - 1} {
		b := bytes.Clone(whole)
		b[at] ^= 1
		check(t, os.WriteFile(diskFile(t), b, 0o600))
		fillWorks(t, d, src)
		built++
		wantBuilds(t, calls, built, 1)
	}
	for _, n := range []int{0, 10, 90, len(whole) / 2, len(whole) - 1} {
		check(t, os.WriteFile(diskFile(t), whole[:n], 0o600))
		fillWorks(t, d, src)
		built++
		wantBuilds(t, calls, built, 1)
	}

	// Another prelude, macro or driver is another entry.
	other := *src
	other.Macros = map[string]string{"DISK": "1"}
	fillWorks(t, d, &other)
	withPrelude(t, "\n")
	fillWorks(t, d, src)
	own(d).id += "newer"
	fillWorks(t, d, src)
	wantBuilds(t, calls, built+3, 1)
}

// What a driver compiles for one processor, or under some variables, is not for another.
func TestDiskCacheCircumstances(t *testing.T) {
	_, src, calls := diskTest(t)
	again := func() {
		d := must[*backend.Device](t)(newDriver().Open(0))
		defer d.Close()
		fillWorks(t, d, src)
	}
	built := func() int64 { return calls("clCreateProgramWithSource") }
	again()
	for _, change := range []func(){
		func() { t.Setenv("CL_CONFIG_CPU_VECTORIZER_MODE", "1") },
		func() { t.Setenv("CL_CONFIG_CPU_VECTORIZER_MODE", "4") },
		func() { t.Setenv("POCL_WORK_GROUP_METHOD", "loops") },
		func() {
			old := processor
			t.Cleanup(func() { processor = old })
			processor = func() string { return "another" }
		},
	} {
		before := built()
		if again(); built() != before {
			t.Error("compiled again without need")
		}
		change()
		if again(); built() == before {
			t.Error("code for other circumstances is taken from the cache")
		}
	}
}

// A program that the driver does not hand out is compiled each time.
func TestDiskCacheNoBinary(t *testing.T) {
	d, src, calls := diskTest(t)
	restore := failNth("clGetProgramInfo", 1, -5)
	fillWorks(t, d, src)
	restore()
	wantBuilds(t, calls, 1, 0)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 2, 0)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 2, 1)
}

// On a platform that keeps programs itself, none is asked for, and the disk cache stays empty.
func TestSelfCaching(t *testing.T) {
	d := open(t)
	defer func(old []string) { selfCaching = old }(selfCaching)
	selfCaching = []string{d.Info().Platform}
	backendtest.EmptyCache(t)
	calls := counts(t)
	src := *fillSource
	src.Macros = map[string]string{"DISK": fmt.Sprintf("%q", t.Name())}
	fillWorks(t, openAgain(t), &src)
	if n := calls("clGetProgramInfo"); n != 0 {
		t.Errorf("clGetProgramInfo was called %d times", n)
	}
	if files, err := os.ReadDir(os.Getenv(backend.EnvCache)); !errors.Is(err, fs.ErrNotExist) || len(files) != 0 {
		t.Errorf("files in the cache: %v, %v", files, err)
	}
	selfCaching = nil
	fillWorks(t, openAgain(t), &src)
	if calls("clGetProgramInfo") == 0 || diskFile(t) == "" {
		t.Error("another platform's program is not kept")
	}
}

// An entry that is sound but that the driver does not take is made anew, and replaced.
func TestDiskCacheRejected(t *testing.T) {
	for _, fail := range []string{
		"clCreateProgramWithBinary", "clBuildProgram", "clCreateKernel", "garbage",
		"no image",
	} {
		t.Run(fail, func(t *testing.T) {
			d, src, calls := diskTest(t)
			key := own(d).programKey(src)
			fillWorks(t, d, src)
			binaries := int64(1)
			switch fail {
			case "garbage":
				var b bytes.Buffer
				check(t, gob.NewEncoder(&b).Encode(image{Binary: []byte("not what it was")}))
				own(d).disk.Put(key, b.Bytes())
				fillWorks(t, d, src)
			case "no image":
				own(d).disk.Put(key, []byte("something else"))
				fillWorks(t, d, src)
				binaries = 0
			default:
				restore := failNth(fail, 1, -42)
				fillWorks(t, d, src)
				restore()
				if fail == "clCreateProgramWithBinary" {
					binaries = 0 // counts sees those that reach C
				}
			}
			wantBuilds(t, calls, 2, binaries)
			fillWorks(t, d, src)
			wantBuilds(t, calls, 2, binaries+1)
		})
	}
}

func TestDiskCacheOff(t *testing.T) {
	d, src, calls := diskTest(t)
	dir := os.Getenv(backend.EnvCache)
	t.Setenv(backend.EnvCache, "off")
	own(d).disk = diskcache.Open(driverName)
	fillWorks(t, d, src)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 2, 0)
	if entries, err := os.ReadDir(dir); !errors.Is(err, fs.ErrNotExist) || len(entries) != 0 {
		t.Errorf("files in the cache: %v, %v", entries, err)
	}
	t.Setenv(backend.EnvCache, filepath.Join(os.DevNull, "tandem"))
	own(d).disk = diskcache.Open(driverName)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 3, 0)
}

// failNth makes the nth call of a C function fail with code, until restore.
func failNth(name string, nth int64, code int32) (restore func()) {
	f := fault.Fault{Name: name, Nth: nth}
	return capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		if !f.Due(c.Name) {
			return c.Run()
		}
		if strings.HasPrefix(name, "clRelease") {
			c.Run() // a handle that C keeps would be a leak of the test's making
		}
		return c.Fail(code)
	})
}

// More groups than PoCL takes would end the process.
func TestTooManyGroups(t *testing.T) {
	d := open(t)
	if d.Info().Platform != pocl || math.MaxInt == math.MaxInt32 {
		t.Skip("not PoCL, or the grid has no room for so many")
	}
	q, b := newQueue(t, d), alloc(t, d, 64)
	k := must[*backend.Kernel](t)(d.Compile(fillSource))
	for _, g := range [][3]int64{{1 << 32, 1, 1}, {1, 1 << 32, 1}, {1 << 16, 1 << 16, 2}} {
		grid := backend.Grid3(int(g[0]), int(g[1]), int(g[2]), 1, 1, 1)
		err := q.Launch(k, grid, backend.Buf(b), backend.Int32(16), backend.Int32(0))
		wantError(t, err, backend.ErrLaunch, "at most")
	}
}

// A launch sets the arguments that the launch before did not have, and all that failed to be set.
func TestArgumentsAreSetOnce(t *testing.T) {
	d := open(t)
	q, b, c := newQueue(t, d), alloc(t, d, 64), alloc(t, d, 64)
	k := must[*backend.Kernel](t)(d.Compile(fillSource))
	launch := func(b *backend.Buffer, n, value int32) error {
		return q.Launch(k, backend.Grid1(2, 8), backend.Buf(b), backend.Int32(n), backend.Int32(value))
	}
	check(t, launch(b, 4, 10))
	for _, l := range []struct {
		b        *backend.Buffer
		n, value int32
		calls    int64
	}{{b, 4, 10, 0}, {b, 4, 11, 1}, {c, 5, 11, 2}, {c, 5, 11, 0}, {b, 6, 12, 3}} {
		counts := callCounts(func() { check(t, launch(l.b, l.n, l.value)) })
		if counts["clSetKernelArg"] != l.calls {
			t.Errorf("%d arguments were set, want %d", counts["clSetKernelArg"], l.calls)
		}
		wantFilled(t, q, l.b, l.n, l.value)
	}
	restore := failNth("clSetKernelArg", 2, -38)
	err := launch(c, 7, 20)
	restore()
	wantError(t, err, backend.ErrArgument, "clSetKernelArg")
	check(t, launch(c, 7, 20))
	wantFilled(t, q, c, 7, 20)
	check(t, launch(b, 6, 12))
	wantFilled(t, q, b, 6, 12)
}

// wantFilled checks what fillSource left in b.
func wantFilled(t *testing.T, q *backend.Queue, b *backend.Buffer, n, value int32) {
	t.Helper()
	got := make([]int32, n)
	check(t, q.Read(backend.Bytes(got), b, 0))
	for i, v := range got {
		if v != int32(i)+value {
			t.Errorf("element %d is %d, want %d", i, v, int32(i)+value)
		}
	}
}
