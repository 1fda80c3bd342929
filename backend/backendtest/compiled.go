package backendtest

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// CheckParams checks what a driver that compiles text tells of a kernel's parameters and its group,
// which groupOf gives of a source, from the compiler and from the disk cache. fill is as [Use] has
// it, without PTX; structSize is what the driver tells of a struct of three int, 12 or 0.
func CheckParams(t *testing.T, d *backend.Device, fill *backend.Source, structSize int,
	groupOf func(*backend.Source) [3]int,
) {
	src := &backend.Source{Name: "k", Macros: map[string]string{"T": "double", "TWO": "2"}, Text: `
typedef T real;
typedef struct { int a, b, c; } triple;
__kernel WG_SIZE(TWO*2, 2, 1) void k(__global const real *restrict a, const real s, uint n, ulong m, float4 v,
	__constant int *c, triple x)
{
}
`}
	want := []string{"buffer (real*) a", "real s", "uint n", "ulong m", "float4 v", "buffer (int*) c", "triple x"}
	sizes := []int{0, 8, 4, 8, 16, 0, structSize}
	for _, how := range []string{"compiled", "from the disk cache"} {
		k, err := d.Compile(src)
		ok(t, err)
		if k.Name() != "k" {
			t.Errorf("%s: name %s", how, k.Name())
		}
		for i, p := range k.Params() {
			if s := strings.ReplaceAll(p.String(), "double", "real"); s != want[i] || p.Size != sizes[i] {
				t.Errorf("%s: parameter %d is %s of %d bytes, want %s of %d", how, i, p, p.Size, want[i], sizes[i])
			}
		}
		if group := groupOf(src); len(k.Params()) != len(want) || group != [3]int{4, 2, 1} {
			t.Errorf("%s: %d parameters, group %v", how, len(k.Params()), group)
		}
		ok(t, k.Release())
	}
	declared := *fill
	declared.Params = []backend.Param{{Name: "x", Buffer: true}, {Name: "y", Size: 4}, {Name: "z", Size: 4}}
	declared.Group = [3]int{8, 1, 1}
	k, err := d.Compile(&declared)
	ok(t, err)
	if !reflect.DeepEqual(k.Params(), declared.Params) {
		t.Errorf("declared parameters became %v", k.Params())
	}
	b, err := d.Alloc(64)
	ok(t, err)
	q, err := d.NewQueue()
	ok(t, err)
	err = q.Launch(k, backend.Grid1(1, 16), backend.Buf(b), backend.Int32(16), backend.Int32(0))
	if !errors.Is(err, backend.ErrLaunch) || !strings.Contains(err.Error(), "groups of 8") {
		t.Errorf("with another group: %v", err)
	}
	ok(t, q.Launch(k, backend.Grid1(2, 8), backend.Buf(b), backend.Int32(16), backend.Int32(0)))
}

// CheckCompileOnce checks that many goroutines that compile one source, as [Use] has it, build it
// once, and that each holds it until its own Release. calls counts the calls of C functions, of
// which build builds and the releases release.
func CheckCompileOnce(t *testing.T, d *backend.Device, fill *backend.Source, calls func(name string) int64,
	build string, releases ...string,
) {
	kernels := make([]*backend.Kernel, 32)
	var wg sync.WaitGroup
	for i := range kernels {
		wg.Go(func() {
			var err error
			same := *fill // equal, not identical
			if kernels[i], err = d.Compile(&same); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := calls(build); n != 1 {
		t.Fatalf("built %d times", n)
	}
	q, err := d.NewQueue()
	ok(t, err)
	b, err := d.Alloc(4)
	ok(t, err)
	for i, k := range kernels {
		ok(t, q.Launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Int32(1), backend.Int32(int32(i))))
		if n := calls(releases[0]); n != 0 {
			t.Fatalf("released at the %dth of %d handles", i, len(kernels))
		}
		ok(t, k.Release())
		ok(t, k.Release())
	}
	ok(t, q.Wait())
	for _, name := range releases {
		if n := calls(name); n != 1 {
			t.Errorf("%d calls of %s, want 1", n, name)
		}
	}
	k, err := d.Compile(fill)
	ok(t, err)
	ok(t, k.Release())
	if n := calls(build); n != 2 {
		t.Errorf("built %d times, want once more", n)
	}
}
