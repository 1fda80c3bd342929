package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
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
	return k.Signature().Group
}

func TestParams(t *testing.T) {
	needNVRTC(t)
	d := open(t)
	backendtest.CheckParams(t, d, text(fillSource), 12, func(s *backend.Source) [3]int {
		return groupOf(t, d, s)
	})
}

// Many goroutines that compile one source build it once, and each holds it until its own Release.
func TestCompileOnce(t *testing.T) {
	backendtest.CheckCompileOnce(t, open(t), fillSource, counts(t), "cuModuleLoadDataEx", "cuModuleUnload")
}

// diskTest is a device with an empty disk cache, and a source in text that no other test compiles.
func diskTest(t *testing.T) (*backend.Device, *backend.Source, func(string) int64) {
	needNVRTC(t)
	d := open(t)
	backendtest.EmptyCache(t)
	own(d).disk = diskcache.Open(diskFolder)
	src := text(fillSource)
	src.Macros = map[string]string{"DISK": fmt.Sprintf("%q", t.Name())}
	return d, src, counts(t)
}

// fillWorks compiles src, a fillSource, and runs it.
func fillWorks(t *testing.T, d *backend.Device, src *backend.Source) {
	t.Helper()
	check(t, backendtest.Use(d, src, false))
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
	if entries, err := os.ReadDir(dir); !errors.Is(err, fs.ErrNotExist) || len(entries) != 0 {
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
