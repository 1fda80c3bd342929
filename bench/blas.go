package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/linalg"
)

// function is a row of a function on matrices of m by n.
func function[T linalg.Float](name string, m, n int, work float64, unit string, ready func(t *task) error) *task {
	row := Row{Name: name, Size: fmt.Sprintf("%dx%d", m, n), Work: work, Unit: unit}
	return &task{Row: row, arrays: 4, bytes: bytesOf[T](m * n), ready: ready}
}

// random is an operand of rows by cols. Its numbers lie between 0 and 1: no sum of them or of their
// products cancels.
func random[T linalg.Float](t *task, name string, rows, cols int) []T {
	x := make([]T, rows*cols)
	rng := rand.New(rand.NewPCG(uint64(rows)<<32|uint64(cols), uint64(len(t.operands))))
	for i := range x {
		x[i] = T(rng.Float64())
	}
	t.operands = append(t.operands, operandOf(name, rows, cols, x))
	return x
}

// looseness is how far the results of a function of n terms may lie apart, as a part of the
// largest.
func looseness[T any](n int) float64 {
	epsilon := 0x1p-53
	if l := letterOf[T](); l == "s" || l == "c" {
		epsilon = 0x1p-24
	}
	return 8 * math.Sqrt(float64(n)+64) * epsilon
}

// call adds what other libraries compute.
func (b *blasOf[T]) call(t *task, f func(l *routines[T])) {
	t.calls = append(t.calls, call{"gonum", measure.Repeat(func() error { f(b.gonum); return nil })})
	if b.openBLAS != nil {
		t.calls = append(t.calls, call{"OpenBLAS", measure.Repeat(func() error { f(b.openBLAS); return nil })})
	}
}

// compute makes t the computation of result by each BLAS, perhaps in place. It must be what gonum
// computes.
func (b *blasOf[T]) compute(t *task, result []T, terms int, f func(l *routines[T])) {
	begin, want := slices.Clone(result), []float64(nil)
	t.Reset = func() { copy(result, begin) }
	t.Verify = func(bool) measure.Check {
		got := parts(result)
		if want == nil {
			t.Reset()
			f(b.gonum)
			want = parts(result)
		}
		return measure.Compare(got, want, looseness[T](terms))
	}
	t.add(t.Contender(nameFast, measure.Repeat(func() error { f(b.tandem); return nil }), nil, nil))
	b.call(t, f)
}

// parts are the real numbers in s.
func parts[T number](s []T) []float64 {
	list := make([]float64, 0, 2*len(s))
	for _, v := range s {
		switch v := any(v).(type) {
		case float32:
			list = append(list, float64(v))
		case float64:
			list = append(list, v)
		case complex64:
			list = append(list, float64(real(v)), float64(imag(v)))
		case complex128:
			list = append(list, real(v), imag(v))
		}
	}
	return list
}

// A realBLAS makes rows of real numbers.
type realBLAS[T linalg.Float] struct{ blasOf[T] }

// blasRows are levels 1 and 2 with many elements, products that are tall or complex, and what has
// few rows, where a call's own cost counts.
func blasRows[T linalg.Float](r *runner) (list []*task) {
	b := &realBLAS[T]{newBLAS[blasOf[T]](r)}
	long, tall, complexSizes, few := 10_000_000, 20_000, []int{256, 512}, []int{1, 2, 4, 8, 16, 32}
	if r.o.Quick {
		long, tall, complexSizes, few = 1000, 200, []int{20}, []int{3}
	}
	if r.o.Sizes != nil {
		complexSizes, few = r.o.Sizes, r.o.Sizes
	}
	for _, n := range r.sizes([]int{40}, 4096) {
		list = append(list, b.level2(n)...)
	}
	if r.o.Sizes == nil {
		list = append(list, b.level1(long)...)
		list = append(list, b.crossProduct(tall, 50, 1))
		for _, n := range []int{16, 50, 128} {
			list = append(list, b.crossProduct(tall, n, n))
		}
		list = append(list, b.square(tall, 50))
	}
	for _, n := range complexSizes {
		if element.TypeOf[T]() == element.Float32 {
			list = append(list, complexProduct[float32](newBLAS[blasOf[complex64]](r), n))
		} else {
			list = append(list, complexProduct[float64](newBLAS[blasOf[complex128]](r), n))
		}
	}
	for _, n := range few {
		if r.o.Sizes == nil {
			list = append(list, b.level2(n)[0])
		}
		list = append(list, b.product(n), b.solve(n))
	}
	return list
}

func bytesOf[T linalg.Float](elements int) float64 {
	return float64(elements) * float64(element.TypeOf[T]().Size())
}

// level1 has vectors of n elements. What changes them in place does so little that many runs do not
// overflow. Sums must be the exact ones; what others lose may grow with every term.
func (b *realBLAS[T]) level1(n int) []*task {
	const small = 0x1p-20
	row := func(name string, moved int, ready func(t *task, x, y []T)) *task {
		return function[T](name, 1, n, bytesOf[T](moved*n), gigabytes, func(t *task) error {
			ready(t, random[T](t, "x", 1, n), random[T](t, "y", 1, n))
			return nil
		})
	}
	sum := func(name string, moved int, f func(l *routines[T], x, y []T) T, want func(x, y []T) float64) *task {
		return row(name, moved, func(t *task, x, y []T) {
			sum := make([]T, 1)
			b.compute(t, sum, n, func(l *routines[T]) { sum[0] = f(l, x, y) })
			t.Verify = func(peer bool) measure.Check {
				loss := looseness[T](1)
				if peer {
					loss = min(0.5, float64(n)*loss)
				}
				return measure.Compare(sum, []float64{want(x, y)}, loss)
			}
		})
	}
	update := func(name string, moved int, f func(l *routines[T], x, y []T)) *task {
		return row(name, moved, func(t *task, x, y []T) { b.compute(t, y, n, func(l *routines[T]) { f(l, x, y) }) })
	}
	return []*task{
		sum("dot", 2, func(l *routines[T], x, y []T) T { return l.Dot(n, x, 1, y, 1) },
			func(x, y []T) float64 { return float64(exact.Dot(x, y)) }),
		sum("nrm2", 1, func(l *routines[T], x, _ []T) T { return l.Nrm2(n, x, 1) },
			func(x, _ []T) float64 { return normOf(x) }),
		sum("asum", 1, func(l *routines[T], x, _ []T) T { return l.Asum(n, x, 1) },
			func(x, _ []T) float64 { return sumOf(x) }), // none is below 0
		update("axpy", 3, func(l *routines[T], x, y []T) { l.Axpy(n, small, x, 1, y, 1) }),
		update("scal", 2, func(l *routines[T], _, y []T) { l.Scal(n, -1, y, 1) }),
	}
}

// level2 has square matrices of n rows.
func (b *realBLAS[T]) level2(n int) []*task {
	row := func(name string, read float64, f func(l *routines[T], a, x, y []T)) *task {
		return function[T](name, n, n, read*bytesOf[T](n*n), gigabytes, func(t *task) error {
			a, x, y := random[T](t, "a", n, n), random[T](t, "x", 1, n), random[T](t, "y", 1, n)
			result := y
			switch name {
			case "ger":
				result = a
			case "trsv lower":
				dominant(a, n)
			}
			b.compute(t, result, n, func(l *routines[T]) { f(l, a, x, y) })
			return nil
		})
	}
	return []*task{
		row("gemv", 1, func(l *routines[T], a, x, y []T) { l.Gemv(blas.NoTrans, n, n, 1, a, n, x, 1, 0, y, 1) }),
		row("gemv transposed", 1,
			func(l *routines[T], a, x, y []T) { l.Gemv(blas.Trans, n, n, 1, a, n, x, 1, 0, y, 1) }),
		row("symv lower", .5, func(l *routines[T], a, x, y []T) { l.Symv(blas.Lower, n, 1, a, n, x, 1, 0, y, 1) }),
		row("symv upper", .5, func(l *routines[T], a, x, y []T) { l.Symv(blas.Upper, n, 1, a, n, x, 1, 0, y, 1) }),
		row("ger", 2, func(l *routines[T], a, x, y []T) { l.Ger(n, n, 0x1p-20, x, 1, y, 1, a, n) }),
		row("trsv lower", .5,
			func(l *routines[T], a, _, y []T) { l.Trsv(blas.Lower, blas.NoTrans, blas.NonUnit, n, a, n, y, 1) }),
	}
}

// dominant makes the diagonal of a so large that solving again and again keeps the size of x.
func dominant[T linalg.Float](a []T, n int) {
	for i := range a {
		a[i] /= T(n)
	}
	for i := range n {
		a[i*n+i] = 1
	}
}

// matrices is a row of level 3 whose operands x and y and result z have such rows and columns.
func (b *realBLAS[T]) matrices(name string, m, n int, work float64, x, y, z [2]int, terms int,
	f func(l *routines[T], x, y, z []T),
) *task {
	return function[T](name, m, n, work, gigaflops, func(t *task) error {
		x, y := random[T](t, "x", x[0], x[1]), random[T](t, "y", y[0], y[1])
		z := random[T](t, "z", z[0], z[1])
		t.out = backend.Bytes(z)
		b.compute(t, z, terms, func(l *routines[T]) { f(l, x, y, z) })
		return nil
	})
}

// crossProduct is x'z of x with m rows and n columns, and z with k columns.
func (b *realBLAS[T]) crossProduct(m, n, k int) *task {
	name := "x'z"
	if k == 1 {
		name = "x' times a column"
	}
	t := b.matrices(name, m, n, 2*float64(m*n*k), [2]int{m, n}, [2]int{m, k}, [2]int{n, k}, m,
		func(l *routines[T], x, z, c []T) { l.Gemm(blas.Trans, blas.NoTrans, n, k, m, 1, x, n, z, k, 0, c, k) })
	t.numPy = "c = x.T @ y"
	return t
}

// square is the lower triangle of x'x.
func (b *realBLAS[T]) square(m, n int) *task {
	return b.matrices("x'x by syrk", m, n, float64(m*n*(n+1)), [2]int{m, n}, [2]int{}, [2]int{n, n}, m,
		func(l *routines[T], x, _, c []T) { l.Syrk(blas.Lower, blas.Trans, n, m, 1, x, n, 0, c, n) })
}

func (b *realBLAS[T]) product(n int) *task {
	all := [2]int{n, n}
	return b.matrices("gemm", n, n, 2*float64(n*n*n), all, all, all, n, func(l *routines[T], x, y, c []T) {
		l.Gemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, c, n)
	})
}

// solve is trsm of a lower triangle and as many right sides as it has rows.
func (b *realBLAS[T]) solve(n int) *task {
	return function[T]("trsm lower", n, n, float64(n*n*n), gigaflops, func(t *task) error {
		a, x := random[T](t, "a", n, n), random[T](t, "x", n, n)
		dominant(a, n)
		b.compute(t, x, n, func(l *routines[T]) {
			l.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, a, n, x, n)
		})
		return nil
	})
}

// complexProduct is gemm of complex numbers, whose parts are of type R.
func complexProduct[R linalg.Float, T complex64 | complex128](b blasOf[T], n int) *task {
	return function[R]("complex gemm", n, n, 8*float64(n*n*n), gigaflops, func(t *task) error {
		numbers := func() []T {
			s := random[R](t, "", n, 2*n)
			return unsafe.Slice((*T)(unsafe.Pointer(&s[0])), n*n)
		}
		x, y, c := numbers(), numbers(), numbers()
		b.compute(t, c, n, func(l *routines[T]) {
			l.Gemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, c, n)
		})
		return nil
	})
}
