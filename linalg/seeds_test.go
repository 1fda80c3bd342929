package linalg_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// The examples that textbooks, OpenCL's and Numba's introductions compute, with their grids, on
// every backend.

var large = flag.Bool("large", false,
	"run TestSeedTranspose at 16384x16384 too (3 GiB of memory), and large matrices on the simulated GPU (a minute)")

// small leaves large matrices to other devices than the simulated GPU, which takes up to half a
// minute for one and computes all of its elements alike.
func small(s *linalg.Session) bool { return s.Info().Driver == "cudasim" && !*large }

// filled is a packed matrix with f(i) as its i-th element.
func filled[T linalg.Element](rows, cols int, f func(i int) T) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = f(i)
	}
	return m
}

func arange[T linalg.Element](rows, cols int) linalg.Matrix[T] {
	return filled(rows, cols, func(i int) T { return T(i) })
}

func constant[T linalg.Element](rows, cols int, v T) linalg.Matrix[T] {
	return filled(rows, cols, func(int) T { return v })
}

func operand[T linalg.Element](a *linalg.Array[T]) kernels.Operand {
	return kernels.Operand{Buffer: a.Buffer(), Offset: int64(a.Offset()), Stride: int64(a.Stride())}
}

// launchSource compiles a kernel, launches it and waits.
func launchSource(t *testing.T, s *linalg.Session, src *backend.Source, g backend.Grid, args []backend.Arg) {
	t.Helper()
	k, err := s.CompileSource(src)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	if err := errors.Join(s.Launch(k, g, list...), s.Wait(), k.Release()); err != nil {
		t.Fatal(err)
	}
}

// target is a rows by cols slice of garbage in the middle of a larger array.
type target[T linalg.Element] struct{ whole, out *linalg.Array[T] }

func newTarget[T linalg.Element](t *testing.T, s *linalg.Session, rows, cols int) target[T] {
	t.Helper()
	whole := upload(t, s, constant[T](rows+2, cols+5, guard))
	return target[T]{whole, whole.Slice(1, rows+1, 2, cols+2)}
}

// check compares the slice with want, and what lies around it with what it was, and frees the
// array.
func (g target[T]) check(t *testing.T, what string, want linalg.Matrix[T]) {
	t.Helper()
	sameData(t, what, download(t, g.out), want)
	if err := g.out.CopyFrom(constant[T](want.Rows, want.Cols, guard)); err != nil {
		t.Fatal(err)
	}
	sameData(t, what+": around the output", download(t, g.whole), constant[T](want.Rows+2, want.Cols+5, guard))
	if err := g.whole.Free(); err != nil {
		t.Fatal(err)
	}
}

// sameData is same for packed matrices without NaN: fast where they are equal.
func sameData[T linalg.Element](t *testing.T, what string, got, want linalg.Matrix[T]) {
	t.Helper()
	if got.Rows != want.Rows || !bytes.Equal(backend.Bytes(got.Data), backend.Bytes(want.Data)) {
		same(t, what, got, want)
	}
}

func TestSeedScale(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for _, n := range []int{1, 255, 256, 257, 10_000_000} {
			if n > 1000 && (testing.Short() || small(s)) {
				continue // slow under the race detector
			}
			x := upload(t, s, constant[float32](1, n, 1))
			z := newTarget[float32](t, s, 1, n)
			args := kernels.Scale.Args(nil, kernels.Scalar(float32(2)), 1, int64(n), operand(x), operand(z.out))
			launchSource(t, s, kernels.Scale.Source(element.Float32), backend.Grid1((n+255)/256, 256), args)
			z.check(t, fmt.Sprint(n, " ones"), constant[float32](1, n, 2))
			if err := x.Free(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// productKernel is one of the two textbook products.
type productKernel struct {
	name   string
	source func(element.Type) *backend.Source
}

var (
	naive = productKernel{"naive", kernels.MatMulNaive}
	tiled = productKernel{"tiled", kernels.MatMulTiled}
)

// seedProduct computes a*b with a kernel on groups of block by block, as many as cover the result,
// and compares it with want.
func seedProduct[T linalg.Element](
	t *testing.T, s *linalg.Session, kernel productKernel, block int, a, b, want linalg.Matrix[T],
) {
	t.Helper()
	x, y := upload(t, s, a), upload(t, s, b)
	z := newTarget[T](t, s, a.Rows, b.Cols)
	g := backend.Grid2((b.Cols+block-1)/block, (a.Rows+block-1)/block, block, block)
	launchSource(t, s, kernel.source(element.TypeOf[T]()), g,
		kernels.ProductArgs(nil, a.Rows, b.Cols, a.Cols, operand(x), operand(y), operand(z.out)))
	z.check(t, fmt.Sprintf("%s, %s by %s on %s", kernel.name, a, b, g), want)
	if err := errors.Join(x.Free(), y.Free()); err != nil {
		t.Fatal(err)
	}
}

func TestSeedProducts(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if s.Info().Float64 {
			seedProduct(t, s, naive, 16, constant[float64](24, 12, 3), constant[float64](12, 22, 4),
				constant[float64](24, 22, 144))
			seedProduct(t, s, tiled, 16, constant[float64](32, 48, 3), constant[float64](48, 16, 4),
				constant[float64](32, 16, 576))
		}
		seedProduct(t, s, tiled, 16, constant[float32](32, 48, 3), constant[float32](48, 16, 4),
			constant[float32](32, 16, 576))

		// A 2x2 grid of 2x2 blocks.
		seedProduct(t, s, naive, 2, arange[int32](4, 4), arange[int32](4, 4), linalg.NewMatrix(4, 4, []int32{
			56, 62, 68, 74,
			152, 174, 196, 218,
			248, 286, 324, 362,
			344, 398, 452, 506,
		}))

		// Blocks of 3, which fit neither shape, and the tile, which fits neither.
		for _, k := range []struct {
			productKernel
			block int
		}{{naive, 3}, {tiled, 16}} {
			rows := []float32{6, 22, 38, 54}
			seedProduct(t, s, k.productKernel, k.block, arange[float32](4, 4), constant[float32](4, 4, 1),
				filled(4, 4, func(i int) float32 { return rows[i/4] }))
			sums := []int32{253, 782, 1311, 1840, 2369}
			seedProduct(t, s, k.productKernel, k.block, arange[int32](5, 23), constant[int32](23, 7, 1),
				filled(5, 7, func(i int) int32 { return sums[i/7] }))
		}
	})
}

// twiceText adds A to itself. In twice, the work-items count in x alone: launched in two
// dimensions, every y repeats the same writes of the same values, a race that devices let pass and
// the simulated one does not. In twice2d they count over x and y, each element is written once.
const twiceText = `
__kernel void twice(__global const int *a, __global int *b, const int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) b[i] = a[i] + a[i];
}
__kernel void twice2d(__global const int *a, __global int *b, const int n) {
  int width = get_global_size(0);
  for (int i = get_global_id(1) * width + get_global_id(0); i < n; i += width * get_global_size(1)) b[i] = a[i] + a[i];
}
`

// twiceSource is one of the kernels with its implementation in Go, where groups at y > 0 have
// nothing to add to twice.
func twiceSource(name string) *backend.Source {
	return &backend.Source{
		Name: name, File: "twice.cl", Text: twiceText,
		Go: func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			a, b, n := backend.Mem[int32](args[0]), backend.Mem[int32](args[1]), int(args[2].Int32())
			width, height := g.Groups[0]*g.Local[0], 1
			if name == "twice2d" {
				height = g.Groups[1] * g.Local[1]
			}
			for group := lo; group < hi; group++ {
				gx, gy, _ := g.Group(group)
				for y := gy * g.Local[1]; y < min((gy+1)*g.Local[1], height); y++ {
					for x := gx * g.Local[0]; x < (gx+1)*g.Local[0]; x++ {
						for i := y*width + x; i < n; i += width * height {
							b[i] = a[i] + a[i]
						}
					}
				}
			}
			return nil
		},
	}
}

func TestSeedAdd(t *testing.T) {
	const n = 64 * 64
	a := arange[int32](64, 64)
	want := filled(64, 64, func(i int) int32 { return 2 * int32(i) })
	eachCompiler(t, func(t *testing.T, s *linalg.Session) {
		x := upload(t, s, a)
		for _, c := range []struct {
			kernel string
			grid   backend.Grid
		}{
			{"twice", backend.Grid1(36, 36)},
			{"twice", backend.Grid2(6, 6, 6, 6)},
			{"twice2d", backend.Grid2(6, 6, 6, 6)},
		} {
			what := fmt.Sprintf("%s on %s", c.kernel, c.grid)
			k, err := s.CompileSource(twiceSource(c.kernel))
			if err != nil {
				t.Fatal(err)
			}
			y := upload(t, s, constant[int32](64, 64, guard))
			err = s.Launch(k, c.grid, x, y, int32(n))
			if s.Info().Driver == "cudasim" && c.kernel == "twice" && c.grid.Local[1] > 1 {
				if !errors.Is(err, backend.ErrLaunch) || !strings.Contains(err.Error(), "data race") {
					t.Errorf("%s: %v, want a data race", what, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(what, err)
			}
			same(t, what, download(t, y), want)

			b := constant[int32](64, 64, guard)
			if err := s.Launch(k, c.grid, a.Data, b.Data, int32(n)); err != nil {
				t.Fatal(what, err)
			}
			same(t, what+" on host slices", b, want)
			if err := errors.Join(y.Free(), k.Release()); err != nil {
				t.Fatal(err)
			}
		}

		// The built-in kernel on the same two grids: it takes ids in x and y, and the matrix as one
		// row.
		for _, g := range []backend.Grid{backend.Grid1(36, 36), backend.Grid2(6, 6, 6, 6)} {
			z := newTarget[int32](t, s, 1, n)
			row := kernels.Operand{Buffer: x.Buffer(), Stride: n}
			args := kernels.Add.Args(nil, kernels.Scalar(int32(0)), 1, n, row, row, operand(z.out))
			launchSource(t, s, kernels.Add.Source(element.Int32), g, args)
			z.check(t, fmt.Sprintf("add on %s", g), linalg.NewMatrix(1, n, want.Data))
		}
	})
}

func TestSeedTranspose(t *testing.T) {
	racetest.Skip(t, "it is of bits")
	for _, shape := range [][2]int{{1000, 777}, {4096, 4096}, {16384, 16384}} {
		t.Run(fmt.Sprintf("%dx%d", shape[0], shape[1]), func(t *testing.T) {
			if shape[0] > 4096 && !*large {
				t.Skip("needs 3 GiB of memory; go test ./linalg -run TestSeedTranspose -large runs it")
			}
			if shape[0] > 1000 && racetest.Enabled {
				t.Skip("more of the same work-items, for minutes")
			}
			eachBackend(t, func(t *testing.T, s *linalg.Session) {
				if shape[0] > 1000 && small(s) {
					t.Skip("large; go test ./linalg -run TestSeedTranspose -large runs it")
				}
				seedTranspose(t, s, shape[0], shape[1])
			})
		})
	}
}

// seedTranspose needs memory for three matrices: the host's serves as garbage, as A, and as the
// result, in turn.
func seedTranspose(t *testing.T, s *linalg.Session, rows, cols int) {
	host := constant[int32](cols, rows, guard)
	c := upload(t, s, host)
	for i := range host.Data {
		host.Data[i] = int32(i)
	}
	a := upload(t, s, linalg.NewMatrix(rows, cols, host.Data))
	for _, k := range []struct {
		name   string
		source *backend.Source
		grid   backend.Grid
		args   func(args []backend.Arg, rows, cols int, a, c kernels.Operand) []backend.Arg
	}{
		{"naive", kernels.TransposeNaive(element.Int32), kernels.NaiveGrid(rows, cols), kernels.TransposeNaiveArgs},
		{
			"tiled", kernels.TransposeTiled(element.Int32),
			kernels.TransposeGrid(kernels.TextbookTranspose, rows, cols), kernels.TransposeArgs,
		},
	} {
		launchSource(t, s, k.source, k.grid, k.args(nil, rows, cols, operand(a), operand(c)))
		if err := c.CopyTo(host); err != nil {
			t.Fatal(err)
		}
		for i, v := range host.Data {
			if r, col := i%rows, i/rows; v != int32(r*cols+col) {
				t.Fatalf("%s: element (%d, %d) is %d, want %d", k.name, col, r, v, r*cols+col)
			}
			host.Data[i] = guard
		}
		if err := c.CopyFrom(host); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.Free(), c.Free()); err != nil {
		t.Fatal(err)
	}
}

// The device works on the host's own slices, which begin off any alignment but their elements'.
func TestSeedZeroCopy(t *testing.T) {
	n, before := 256, 3
	if racetest.Enabled { // work-items by the tens of millions otherwise
		n = 64
	}
	rng := rand.New(rand.NewPCG(12, 13))
	inside := func(memory []float32) linalg.Matrix[float32] {
		return linalg.NewMatrix(n, n, memory[before:before+n*n])
	}
	memory := func(f func() float32) []float32 {
		m := make([]float32, before+n*n+before)
		for i := range m {
			m[i] = f()
		}
		return m
	}
	a, b := inside(memory(rng.Float32)), inside(memory(rng.Float32))
	byGonum := make([]float32, n*n)
	gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a.Data, n, b.Data, n, 0, byGonum, n)
	want := reference(1, blas.NoTrans, a, blas.NoTrans, b, 0, linalg.NewMatrix[float32](n, n, nil))
	for i, w := range want.Data {
		if math.Abs(float64(w-byGonum[i])) > 1e-5*float64(byGonum[i]) {
			t.Fatalf("the chain and gonum differ at %d: %v and %v", i, w, byGonum[i])
		}
	}
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if !s.Info().UnifiedMemory {
			t.Skipf("%s does not share the host's memory", s.Info().Name)
		}
		for _, kernel := range []productKernel{naive, tiled} {
			out := memory(func() float32 { return guard })
			c := inside(out)
			x, y, z := register(t, s, a), register(t, s, b), register(t, s, c)
			k, err := s.CompileSource(kernel.source(element.Float32))
			if err != nil {
				t.Fatal(err)
			}
			args := kernels.ProductArgs(nil, n, n, n, operand(x), operand(y), operand(z))
			for _, call := range []string{"first", "second"} {
				start := time.Now()
				if err := errors.Join(s.Queue().Launch(k, kernels.NaiveGrid(n, n), args...), s.Wait()); err != nil {
					t.Fatal(err)
				}
				t.Logf("%s, %s call: %v", kernel.name, call, time.Since(start))
				same(t, kernel.name+", "+call+" call", c, want)
				for i := range c.Data {
					c.Data[i] = guard
				}
			}
			for i, v := range out {
				if v != guard {
					t.Fatalf("%s: the memory around the output was overwritten at %d: %v", kernel.name, i, v)
				}
			}
			if err := errors.Join(x.Free(), y.Free(), z.Free(), k.Release()); err != nil {
				t.Fatal(err)
			}
		}

		// The memory is the caller's own again.
		if c, err := linalg.MatMul(a, b, linalg.On(s)); err != nil {
			t.Error(err)
		} else {
			same(t, "after Free", c, want)
		}
	})
}

func register[T linalg.Element](t *testing.T, s *linalg.Session, m linalg.Matrix[T]) *linalg.Array[T] {
	t.Helper()
	a, err := linalg.Register(s, m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The stride of a single row may be anything, of memory that is registered too.
func TestRegisterOneRow(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if !s.Info().UnifiedMemory {
			t.Skipf("%s does not share the host's memory", s.Info().Name)
		}
		for _, stride := range []int{math.MaxInt/4 + 1, math.MaxInt} {
			m := linalg.Matrix[float64]{Rows: 1, Cols: 3, Stride: stride, Data: []float64{1, 2, 3}}
			a := register(t, s, m)
			if err := a.Scale(2, a); err != nil {
				t.Fatal(err)
			}
			got, err := a.Download()
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "twice the row", got.Data, []float64{2, 4, 6})
			if err := errors.Join(a.CopyFrom(m), a.Free()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
