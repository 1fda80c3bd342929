package linalg_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// addToSource is the kernel y[i] = x[i] + k for the n first elements, on any one-dimensional grid.
func addToSource() *backend.Source {
	return &backend.Source{
		Name: "add_to", File: "add_to.cl", Text: `
__kernel void add_to(__global const int *x, __global int *y, const int k, const int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = x[i] + k;
}
`,
		Go: func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			x, y, k, n := backend.Mem[int32](args[0]), backend.Mem[int32](args[1]), args[2].Int32(),
				int(args[3].Int32())
			for first := lo * g.Local[0]; first < hi*g.Local[0]; first++ {
				for i := first; i < n; i += g.Groups[0] * g.Local[0] {
					y[i] = x[i] + k
				}
			}
			return nil
		},
	}
}

func compile(t *testing.T, s *linalg.Session, src *backend.Source) *backend.Kernel {
	t.Helper()
	k, err := s.CompileSource(src)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// counting is n, n+1, ...
func counting(n int32, count int) []int32 {
	v := make([]int32, count)
	for i := range v {
		v[i] = n + int32(i)
	}
	return v
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// refused checks that err matches want and has text in it.
func refused(t *testing.T, what string, err, want error, text string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want %v with %q", what, err, want, text)
	}
}

func TestLaunchArrays(t *testing.T) {
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		k := compile(t, s, addToSource())
		x, y := upload(t, s, linalg.NewMatrix(5, 10, counting(0, 50))), upload(t, s, constant[int32](5, 10, guard))
		if err := s.Launch(k, backend.Grid1(2, 3), x, y, int32(7), int32(47)); err != nil {
			t.Fatal(err)
		}
		want := append(counting(7, 47), guard, guard, guard)
		equal(t, "arrays", download(t, y).Data, want)

		// The same in other words: a buffer, and ready-made arguments.
		if err := s.Launch(k, backend.Grid1(2, 3), x.Buffer(), backend.Buf(y.Buffer()), backend.Int32(8),
			backend.Int32(47)); err != nil {
			t.Fatal(err)
		}
		want = append(counting(8, 47), guard, guard, guard)
		equal(t, "buffers", download(t, y).Data, want)

		// In place, and after work that was only enqueued.
		if err := errors.Join(y.Scale(2, y), s.Launch(k, backend.Grid1(1, 1), y, y, int32(1), int32(50))); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i] = 2*want[i] + 1
		}
		equal(t, "in place", download(t, y).Data, want)
	})
}

// A part of an array is passed by the address of its first element, where the device takes that
// address.
func TestLaunchArraySlice(t *testing.T) {
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		k := compile(t, s, addToSource())
		align := max(1, s.Info().OffsetAlign/4) // elements
		x, y := upload(t, s, linalg.NewMatrix(4, align, counting(0, 4*align))),
			upload(t, s, constant[int32](4, align, guard))
		if err := s.Launch(k, backend.Grid1(3, 2), x.Slice(1, 3, 0, align), y.Slice(2, 4, 0, align), int32(100),
			int32(align)); err != nil {
			t.Fatal(err)
		}
		want := constant[int32](4, align, guard)
		copy(want.Row(2), counting(100+int32(align), align))
		same(t, "slices", download(t, y), want)

		if align > 1 {
			err := s.Launch(k, backend.Grid1(1, 1), x.Slice(0, 1, 1, align), y, int32(1), int32(1))
			refused(t, "an address off the alignment", err, backend.ErrLaunch, "not a multiple of the device's")
			same(t, "after that", download(t, y), want)
		}
	})
}

func TestLaunchHostSlices(t *testing.T) {
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		k := compile(t, s, addToSource())
		grid := backend.Grid1(3, 4)

		x, y := counting(0, 20), slices.Repeat([]int32{guard}, 24)
		if err := s.Launch(k, grid, x, y[2:22], int32(5), int32(19)); err != nil {
			t.Fatal(err)
		}
		want := slices.Concat([]int32{guard, guard}, counting(5, 19), []int32{guard, guard, guard})
		equal(t, "out", y, want)
		equal(t, "in", x, counting(0, 20))

		// One slice twice is one buffer.
		if err := s.Launch(k, grid, x, x, int32(1), int32(20)); err != nil {
			t.Fatal(err)
		}
		equal(t, "the same slice twice", x, counting(1, 20))

		// Others must not overlap, not even by an element or with other types.
		refused(t, "overlap",
			s.Launch(k, grid, x[:11], x[10:], int32(1), int32(10)), linalg.ErrOverlap,
			"argument 1 (y) of kernel add_to")
		refused(t, "a slice of a slice",
			s.Launch(k, grid, x, x[:20:20][:19], int32(1), int32(10)), linalg.ErrOverlap, "")
		refused(t, "overlap as bytes",
			s.Launch(k, grid, x, backend.Bytes(x)[4:], int32(1), int32(10)), linalg.ErrOverlap, "")
		equal(t, "after overlaps", x, counting(1, 20))
		if err := s.Launch(k, grid, x[:10], x[10:], int32(1), int32(10)); err != nil {
			t.Errorf("neighbours: %v", err)
		}
		equal(t, "neighbours", x, append(counting(1, 10), counting(2, 10)...))

		// A slice and an array.
		a := upload(t, s, constant[int32](1, 20, guard))
		if err := s.Launch(k, grid, counting(0, 20), a, int32(3), int32(20)); err != nil {
			t.Fatal(err)
		}
		equal(t, "into an array", download(t, a).Data, counting(3, 20))

		// Slices without elements; a kernel with nothing to do.
		for _, empty := range [][]int32{nil, {}, x[3:3]} {
			if err := s.Launch(k, grid, empty, empty, int32(1), int32(0)); err != nil {
				t.Errorf("empty slices: %v", err)
			}
		}
	})
}

// The gaps between the rows of a matrix go to the device with it, and come back as they were.
func TestLaunchMatrix(t *testing.T) {
	src := &backend.Source{
		Name: "negate", Text: `
__kernel void negate(__global int *a, const int rows, const int cols, const int stride) {
  int i = get_global_id(1), j = get_global_id(0);
  if (i < rows && j < cols) a[i * stride + j] = -a[i * stride + j];
}
`,
		Go: func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			a, rows, cols, stride := backend.Mem[int32](args[0]), int(args[1].Int32()), int(args[2].Int32()),
				int(args[3].Int32())
			for group := lo; group < hi; group++ {
				gx, gy, _ := g.Group(group)
				for i := gy * g.Local[1]; i < min((gy+1)*g.Local[1], rows); i++ {
					for j := gx * g.Local[0]; j < min((gx+1)*g.Local[0], cols); j++ {
						a[i*stride+j] *= -1
					}
				}
			}
			return nil
		},
	}
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		k := compile(t, s, src)
		whole := linalg.NewMatrix(6, 9, counting(1, 54))
		want := whole.Packed()
		for i := 1; i < 5; i++ {
			for j := 2; j < 7; j++ {
				want.Set(i, j, -want.At(i, j))
			}
		}
		m := whole.Slice(1, 5, 2, 7)
		if err := s.Launch(k, backend.Grid2(2, 2, 4, 2), m, int32(m.Rows), int32(m.Cols), int32(m.Stride)); err != nil {
			t.Fatal(err)
		}
		same(t, "matrix with a stride", whole, want)

		m.Data = m.Data[:3]
		err := s.Launch(k, backend.Grid2(2, 2, 4, 2), m, int32(4), int32(5), int32(9))
		refused(t, "short data", err, linalg.ErrShape, "argument 0 (a) of kernel negate")
		same(t, "after short data", whole, want)
	})
}

// Every scalar type goes into memory of its type, and back.
func TestLaunchTypes(t *testing.T) {
	src := &backend.Source{
		Name: "store", Text: `
__kernel void store(const int a, const uint b, const ulong c, const ulong d, const float e, const double f,
                    const uint g, __global int *pa, __global uint *pb, __global ulong *pc, __global ulong *pd,
                    __global float *pe, __global double *pf, __global uchar *pg) {
  pa[0] = a;
  pb[0] = b;
  pc[0] = c;
  pd[0] = d;
  pe[0] = e;
  pf[0] = f;
  pg[0] = g;
}
`,
		Go: func(_ backend.Grid, _, _ int, a []backend.Arg) error {
			backend.Mem[int32](a[7])[0] = a[0].Int32()
			backend.Mem[uint32](a[8])[0] = a[1].Uint32()
			backend.Mem[int64](a[9])[0] = a[2].Int64()
			backend.Mem[uint64](a[10])[0] = a[3].Uint64()
			backend.Mem[float32](a[11])[0] = a[4].Float32()
			backend.Mem[float64](a[12])[0] = a[5].Float64()
			backend.Mem[byte](a[13])[0] = byte(a[6].Uint32())
			return nil
		},
	}
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		if !s.Info().Float64 {
			t.Skipf("%s has no float64", s.Info().Name)
		}
		k := compile(t, s, src)
		a, b, c, d := []int32{guard, guard}, []uint32{77, 77}, []int64{guard, guard}, []uint64{77, 77}
		e, f, g := []float32{guard, guard}, []float64{guard, guard}, []byte{77, 77}
		const (
			wa, wb = int32(math.MinInt32 + 1), uint32(math.MaxUint32 - 1)
			wc, wd = int64(math.MinInt64 + 2), uint64(math.MaxUint64 - 2)
			we, wf = float32(0x1.fffffep-100), float64(-0x1.fffffffffffffp-1000)
		)
		if err := s.Launch(k, backend.Grid1(1, 1), wa, wb, wc, wd, we, wf, uint32(0xabcd), a, b, c, d, e, f,
			g); err != nil {
			t.Fatal(err)
		}
		equal(t, "int32", a, []int32{wa, guard})
		equal(t, "uint32", b, []uint32{wb, 77})
		equal(t, "int64", c, []int64{wc, guard})
		equal(t, "uint64", d, []uint64{wd, 77})
		equal(t, "float32", e, []float32{we, guard})
		equal(t, "float64", f, []float64{wf, guard})
		equal(t, "byte", g, []byte{0xcd, 77})
	})
}

func TestLaunchErrors(t *testing.T) {
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		other, err := linalg.Open(s.Info().Driver)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		k, foreign := compile(t, s, addToSource()), compile(t, other, addToSource())
		x, y := counting(0, 8), slices.Repeat([]int32{guard}, 8)
		theirs := upload(t, other, constant[int32](1, 8, guard))
		mine, freed := upload(t, s, constant[int32](1, 8, guard)), upload(t, s, constant[int32](1, 8, guard))
		if err := freed.Free(); err != nil {
			t.Fatal(err)
		}
		floats := upload(t, s, constant[float32](1, 8, guard))
		grid, one, n := backend.Grid1(1, 8), int32(1), int32(8)
		tooMany := backend.Grid1(1, s.Info().MaxGroup+1)
		var none *linalg.Array[int32]
		for _, c := range []struct {
			what string
			k    *backend.Kernel
			g    backend.Grid
			args []any
			want error
			text string
		}{
			{
				"an int", k, grid,
				[]any{x, y, one, 8},
				backend.ErrLaunch,
				"argument 3 (n) of kernel add_to: launch failed: a kernel has no int",
			},
			{"a uint", k, grid, []any{x, y, one, uint(8)}, backend.ErrLaunch, "a kernel has no uint"},
			{"no kernel", nil, grid, []any{"x"}, backend.ErrLaunch, "the kernel is nil"},
			{"a string", k, grid, []any{x, y, one, "8"}, backend.ErrLaunch, "cannot pass a string"},
			{"a slice of int", k, grid, []any{[]int{1}, y, one, n}, backend.ErrLaunch, "cannot pass a []int"},
			{"nil", k, grid, []any{nil, y, one, n}, backend.ErrLaunch, "argument 0"},
			{"a nil array", k, grid, []any{none, y, one, n}, backend.ErrArgument, "a nil array"},
			{"no arguments", k, grid, nil, backend.ErrLaunch, "takes 4 arguments"},
			{"too few", k, grid, []any{x, y, one}, backend.ErrLaunch, "takes 4 arguments"},
			{"too many", k, grid, []any{x, y, one, n, n}, backend.ErrLaunch, "not 5"},
			{
				"wrong width", k, grid,
				[]any{x, y, one, int64(8)},
				backend.ErrLaunch,
				"argument 3 (int n) takes int32, not int64",
			},
			{
				"a float for an int", k, grid,
				[]any{x, y, one, float32(8)},
				backend.ErrLaunch,
				"argument 3 (int n) takes int32, not float32",
			},
			{
				"a slice of floats", k, grid,
				[]any{make([]float32, 8), y, one, n},
				backend.ErrLaunch,
				"holds int32, not float32",
			},
			{
				"a matrix of doubles", k, grid,
				[]any{x, linalg.NewMatrix[float64](1, 8, nil), one, n},
				backend.ErrLaunch,
				"holds int32, not float64",
			},
			{"an array of floats", k, grid, []any{floats, y, one, n}, backend.ErrLaunch, "holds int32, not float32"},
			{"a scalar for a buffer", k, grid, []any{one, y, one, n}, backend.ErrLaunch, "argument 0"},
			{
				"a buffer for a scalar", k, grid,
				[]any{x, y, mine, n},
				backend.ErrLaunch,
				"argument 2 is int k, not a buffer",
			},
			{
				"too large a group", k, tooMany,
				[]any{x, y, one, n},
				backend.ErrLaunch,
				fmt.Sprintf("the device takes at most %d", s.Info().MaxGroup),
			},
			{"no work-items", k, backend.Grid1(1, 0), []any{x, y, one, n}, backend.ErrLaunch, "at least 1"},
			{
				"negative groups", k, backend.Grid1(-1, 1),
				[]any{x, y, one, n},
				backend.ErrLaunch,
				"must not be negative",
			},
			{"another session's array", k, grid, []any{theirs, y, one, n}, backend.ErrArgument, "another session"},
			{"another session's kernel", foreign, grid, []any{x, y, one, n}, backend.ErrLaunch, "kernel"},
			{"a freed array", k, grid, []any{freed, y, one, n}, backend.ErrClosed, "kernel add_to: argument 0"},
		} {
			refused(t, c.what, s.Launch(c.k, c.g, c.args...), c.want, c.text)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("after the errors: %v", err)
		}
		equal(t, "outputs", y, slices.Repeat([]int32{guard}, 8))
		equal(t, "inputs", x, counting(0, 8))
		equal(t, "arrays", download(t, mine).Data, slices.Repeat([]int32{guard}, 8))

		// No groups: the arguments are checked, nothing runs.
		if err := s.Launch(k, backend.Grid1(0, 8), x, y, one, n); err != nil {
			t.Errorf("zero groups: %v", err)
		}
		equal(t, "zero groups", y, slices.Repeat([]int32{guard}, 8))
		refused(t, "zero groups, wrong arguments",
			s.Launch(k, backend.Grid1(0, 8), x, y, one), backend.ErrLaunch, "takes 4 arguments")

		// The slices are the caller's own again: nothing that failed holds them.
		if err := s.Launch(k, grid, x, y, one, n); err != nil {
			t.Fatal(err)
		}
		equal(t, "after all errors", y, counting(1, 8))

		if err := errors.Join(k.Release(), k.Release()); err != nil {
			t.Fatal(err)
		}
		refused(t, "a released kernel", s.Launch(k, grid, x, y, one, n), backend.ErrClosed, "kernel add_to")
	})
}

func TestLaunchClosed(t *testing.T) {
	eachCompiler(t, func(t *testing.T, shared *linalg.Session) {
		s, err := linalg.Open(shared.Info().Driver)
		if err != nil {
			t.Fatal(err)
		}
		k := compile(t, s, addToSource())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		y := slices.Repeat([]int32{guard}, 4)
		refused(t, "Launch", s.Launch(k, backend.Grid1(1, 1), y, y, int32(1), int32(4)), backend.ErrClosed, "session")
		equal(t, "output", y, slices.Repeat([]int32{guard}, 4))
		if err := k.Release(); err != nil {
			t.Errorf("Release after Close: %v", err)
		}
	})
}

func TestCompileErrors(t *testing.T) {
	const text = "/* a wrong name in line 3 */\n__kernel void broken(__global int *a) {\n  a[0] = no_such_name;\n}\n"
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		broken := &backend.Source{Name: "broken", File: "my_broken_file.cl", Text: text}
		textAlone := &backend.Source{Name: "add_to", Text: addToSource().Text}
		wrongName := addToSource()
		wrongName.Name = "ad_to"
		_, err := s.CompileSource(wrongName)
		refused(t, "no such kernel", err, backend.ErrBuild, "add_to")

		_, err = s.CompileSource(broken)
		if s.Info().Driver == "cpu" {
			refused(t, "no implementation in Go", err, backend.ErrUnsupported, "Source.Go")
			_, err = s.CompileSource(textAlone)
			refused(t, "text alone", err, backend.ErrUnsupported, "TANDEM_BACKEND=opencl")
			return
		}
		line := ":3" // as clang has it
		if s.Info().Driver != "opencl" {
			line = "(3)" // as NVRTC has it
		}
		refused(t, "wrong name", err, backend.ErrBuild, "my_broken_file.cl"+line)
		_, err = s.CompileSource(&backend.Source{Name: "broken", Text: text})
		refused(t, "wrong name, no file name", err, backend.ErrBuild, "broken.cl"+line)
		if _, err := s.CompileSource(textAlone); err != nil {
			t.Errorf("text alone: %v", err)
		}
	})
}

// Macros are part of what is compiled: two kernels of one text differ by them.
func TestCompileMacros(t *testing.T) {
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		for _, v := range []int32{3, -4} {
			src := &backend.Source{
				Name: "fill", Text: "__kernel void fill(__global int *a) { a[get_global_id(0)] = VALUE; }",
				Macros: map[string]string{"VALUE": fmt.Sprintf("(%d)", v)},
				Go: func(_ backend.Grid, lo, hi int, args []backend.Arg) error {
					for i := lo; i < hi; i++ {
						backend.Mem[int32](args[0])[i] = v
					}
					return nil
				},
			}
			a := []int32{guard, guard, guard}
			if err := s.Launch(compile(t, s, src), backend.Grid1(2, 1), a); err != nil {
				t.Fatal(err)
			}
			equal(t, "fill", a, []int32{v, v, guard})
		}
	})
}
