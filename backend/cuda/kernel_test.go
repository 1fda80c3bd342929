package cuda

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// counts counts the calls of the C functions of the driver, and of NVRTC where it is loaded, until
// the end of the test.
func counts(t testing.TB) func(name string) int64 {
	t.Helper()
	var n dltest.Counter
	t.Cleanup(dltest.Wrap(table(t), n.Count))
	if nv, err := capi.LoadNVRTC(0); err == nil {
		t.Cleanup(dltest.Wrap(nv, n.Count))
	}
	return n.Calls
}

// text is a source without its PTX.
func text(s *backend.Source) *backend.Source {
	t := *s
	t.PTX, t.Packed = nil, nil
	return &t
}

func TestCompileError(t *testing.T) {
	needNVRTC(t)
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
			[]string{"dir/my kernel.cl(4)", "expected a \";\"", "nvrtcCompileProgram", "NVRTC_ERROR_COMPILATION"},
		},
		{
			"default file name",
			backend.Source{Name: "k", Text: "\n#error not this way\n"},
			[]string{"k.cl(2)", "not this way"},
		},
		{
			"quotes in the file name",
			backend.Source{Name: "k", File: `a"b\c.cl`, Text: "#error no\n"},
			[]string{`c.cl(1)`},
		},
		{"macro's value", backend.Source{
			Name: "k", Text: "__kernel void k(__global int *a)\n{\n\ta[0] = X;\n}\n",
			Macros: map[string]string{"X": "nothing"},
		}, []string{"k.cl(3)", "nothing"}},
		{
			"no such kernel",
			backend.Source{Name: "other", Text: fillSource.Text},
			[]string{"other.cl", "no kernel other", "fill"},
		},
		{"zero byte", backend.Source{Name: "fill", Text: fillSource.Text + "\x00"}, []string{"fill.cl", "zero byte"}},
		{
			"local argument",
			backend.Source{Name: "k", Text: "__kernel void k(__local float *t) { t[0] = 1; }"},
			[]string{"k.cl(1)", "__local"},
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
			_, err := d.Compile(&c.src)
			wantError(t, err, backend.ErrBuild, c.words...)
			if err != nil && strings.Contains(err.Error(), "prelude.h") {
				t.Errorf("the prelude shows: %v", err)
			}
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

// groupOf is the group size that the kernel of src is for.
func groupOf(t *testing.T, d *backend.Device, src *backend.Source) [3]int {
	t.Helper()
	k := must[backend.DriverKernel](t)(own(d).Compile(src)).(*kernel)
	defer k.Release()
	return k.sig.Group
}

func TestParams(t *testing.T) {
	needNVRTC(t)
	d := open(t)
	src := &backend.Source{Name: "k", Macros: map[string]string{"T": "double", "TWO": "2"}, Text: `
typedef T real;
typedef struct { int a, b, c; } triple;
__kernel WG_SIZE(TWO*2, 2, 1) void k(__global const real *restrict a, const real s, uint n, ulong m, float4 v,
	__constant int *c, triple x)
{
}
`}
	want := []string{"buffer (real*) a", "real s", "uint n", "ulong m", "float4 v", "buffer (int*) c", "triple x"}
	sizes := []int{0, 8, 4, 8, 16, 0, 12}
	for _, how := range []string{"compiled", "from the disk cache"} {
		k := must[*backend.Kernel](t)(d.Compile(src))
		if k.Name() != "k" {
			t.Errorf("%s: name %s", how, k.Name())
		}
		for i, p := range k.Params() {
			if s := strings.ReplaceAll(p.String(), "double", "real"); s != want[i] || p.Size != sizes[i] {
				t.Errorf("%s: parameter %d is %s of %d bytes, want %s of %d", how, i, p, p.Size, want[i], sizes[i])
			}
		}
		group := groupOf(t, d, src)
		if len(k.Params()) != len(want) || group != [3]int{4, 2, 1} {
			t.Errorf("%s: %d parameters, group %v", how, len(k.Params()), group)
		}
		check(t, k.Release())
	}
	declared := *text(fillSource)
	declared.Params = []backend.Param{{Name: "x", Buffer: true}, {Name: "y", Size: 4}, {Name: "z", Size: 4}}
	declared.Group = [3]int{8, 1, 1}
	k := must[*backend.Kernel](t)(d.Compile(&declared))
	if !reflect.DeepEqual(k.Params(), declared.Params) {
		t.Errorf("declared parameters became %v", k.Params())
	}
	q, b := newQueue(t, d), alloc(t, d, 64)
	wantError(t, q.Launch(k, backend.Grid1(1, 16), backend.Buf(b), backend.Int32(16), backend.Int32(0)),
		backend.ErrLaunch, "groups of 8")
	check(t, q.Launch(k, backend.Grid1(2, 8), backend.Buf(b), backend.Int32(16), backend.Int32(0)))
}

// Many goroutines that compile one source build it once, and each holds it until its own Release.
func TestCompileOnce(t *testing.T) {
	d := open(t)
	calls := counts(t)
	kernels := make([]*backend.Kernel, 32)
	var wg sync.WaitGroup
	for i := range kernels {
		wg.Go(func() {
			var err error
			same := *fillSource // equal, not identical
			if kernels[i], err = d.Compile(&same); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := calls("cuModuleLoadDataEx"); n != 1 {
		t.Fatalf("built %d times", n)
	}
	q, b := newQueue(t, d), alloc(t, d, 4)
	for i, k := range kernels {
		check(t, q.Launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Int32(1), backend.Int32(int32(i))))
		if n := calls("cuModuleUnload"); n != 0 {
			t.Fatalf("released at the %dth of %d handles", i, len(kernels))
		}
		check(t, k.Release())
		check(t, k.Release())
	}
	check(t, q.Wait())
	if calls("cuModuleUnload") != 1 {
		t.Errorf("%d programs released, want 1", calls("cuModuleUnload"))
	}
	check(t, must[*backend.Kernel](t)(d.Compile(fillSource)).Release())
	if n := calls("cuModuleLoadDataEx"); n != 2 {
		t.Errorf("built %d times, want once more", n)
	}
}

// diskTest is a device with an empty disk cache, and a source in text that no other test compiles.
func diskTest(t *testing.T) (*backend.Device, *backend.Source, func(string) int64) {
	needNVRTC(t)
	d := open(t)
	t.Setenv(backend.EnvCache, t.TempDir())
	own(d).disk = diskcache.Open(diskFolder)
	src := text(fillSource)
	src.Macros = map[string]string{"DISK": fmt.Sprintf("%q", t.Name())}
	return d, src, counts(t)
}

// fillWorks compiles src, a fillSource, and runs it.
func fillWorks(t *testing.T, d *backend.Device, src *backend.Source) {
	t.Helper()
	k := must[*backend.Kernel](t)(d.Compile(src))
	defer k.Release()
	q, b := newQueue(t, d), alloc(t, d, 400)
	defer q.Close()
	defer b.Free()
	check(t, q.Launch(k, backend.Grid1(3, 7), backend.Buf(b), backend.Int32(100), backend.Int32(5)))
	got := make([]int32, 100)
	check(t, q.Read(backend.Bytes(got), b, 0))
	for i, v := range got {
		if v != int32(i)+5 {
			t.Fatalf("element %d is %d, want %d", i, v, i+5)
		}
	}
}

func wantBuilds(t *testing.T, calls func(string) int64, fromText int64) {
	t.Helper()
	if n := calls("nvrtcCompileProgram"); n != fromText {
		t.Errorf("%d programs from text, want %d", n, fromText)
	}
}

func diskFile(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv(backend.EnvCache), diskFolder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files in the cache: %v, %v", files, err)
	}
	return files[0]
}

func TestDiskCache(t *testing.T) {
	d, src, calls := diskTest(t)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 1)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 1)

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
		wantBuilds(t, calls, built)
	}
	for _, n := range []int{0, 10, 90, len(whole) / 2, len(whole) - 1} {
		check(t, os.WriteFile(diskFile(t), whole[:n], 0o600))
		fillWorks(t, d, src)
		built++
		wantBuilds(t, calls, built)
	}

	// Another prelude or macro is another entry.
	other := *src
	other.Macros = map[string]string{"DISK": "1"}
	fillWorks(t, d, &other)
	defer func(old string) { prelude = old }(prelude)
	prelude += "\n"
	fillWorks(t, d, src)
	wantBuilds(t, calls, built+2)
}

// An entry that is sound but that the driver does not take is made anew, and replaced.
func TestDiskCacheRejected(t *testing.T) {
	for _, fail := range []string{"cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute", "garbage"} {
		t.Run(fail, func(t *testing.T) {
			d, src, calls := diskTest(t)
			fillWorks(t, d, src)
			if fail == "garbage" {
				nv := must[*compiler](t)(own(d).nvrtc(src))
				own(d).disk.Put(diskcache.KeyOf("ptx 1", nv.id, source(src)), []byte("not what it was"))
				fillWorks(t, d, src)
			} else {
				restore := failNth(own(d).api, fail, 1, 200)
				fillWorks(t, d, src)
				restore()
			}
			wantBuilds(t, calls, 2)
			fillWorks(t, d, src)
			wantBuilds(t, calls, 2)
		})
	}
}

func TestDiskCacheOff(t *testing.T) {
	d, src, calls := diskTest(t)
	dir := os.Getenv(backend.EnvCache)
	t.Setenv(backend.EnvCache, "off")
	own(d).disk = diskcache.Open(diskFolder)
	fillWorks(t, d, src)
	fillWorks(t, d, src)
	wantBuilds(t, calls, 2)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("files in the cache: %v, %v", entries, err)
	}
}

// Arguments reach the kernel in their order, beyond the parameters that fit a launch's array of
// buffers too.
func TestManyArguments(t *testing.T) {
	const n = 40
	var params, body strings.Builder
	for i := range n {
		fmt.Fprintf(&params, ", .param .u64 .ptr .global .align 4 p%d, .param .u64 x%d", i, i)
		fmt.Fprintf(&body, "ld.param.u64 %%p, [p%d];\nld.param.u64 %%x, [x%d];\nst.global.u64 [%%p], %%x;\n", i, i)
	}
	ptx := ".version 6.4\n.target sm_50\n.address_size 64\n.visible .entry many(.param .u32 n" + params.String() +
		")\n{\n.reg .b64 %p, %x;\n" + body.String() + "ret;\n}\n"
	d := open(t)
	q, b := newQueue(t, d), alloc(t, d, 8*n)
	k := must[*backend.Kernel](t)(d.Compile(&backend.Source{Name: "many", PTX: []byte(ptx)}))
	args, want := []backend.Arg{backend.Int32(-1)}, make([]uint64, n)
	for i := range n {
		want[i] = uint64(i+1) << 33
		args = append(args, backend.At(b, int64(8*i)), backend.Uint64(want[i]))
	}
	check(t, q.Launch(k, backend.Grid1(1, 1), args...))
	got := make([]uint64, n)
	check(t, q.Read(backend.Bytes(got), b, 0))
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}
