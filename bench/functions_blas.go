package bench

import (
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/linalg"
)

// blasOf are Tandem's routines, gonum's own, and OpenBLAS's, nil without it.
type blasOf[T float32 | float64 | complex64 | complex128] struct{ tandem, gonum, openBLAS *routines[T] }

// newBLAS is of T. Tandem's routines are those that gonum uses now.
func newBLAS[T float32 | float64 | complex64 | complex128](r *runner) (b blasOf[T]) {
	var own gonum.Implementation
	t := r.openBLAS()
	switch b := any(&b).(type) {
	case *blasOf[float32]:
		b.tandem, b.gonum = singleRoutines(blas32.Implementation()), singleRoutines(own)
		if t != nil {
			b.openBLAS = t.single.routines()
		}
	case *blasOf[float64]:
		b.tandem, b.gonum = doubleRoutines(blas64.Implementation()), doubleRoutines(own)
		if t != nil {
			b.openBLAS = t.double.routines()
		}
	case *blasOf[complex64]:
		b.tandem = &routines[complex64]{Gemm: cblas64.Implementation().Cgemm}
		b.gonum = &routines[complex64]{Gemm: own.Cgemm}
		if t != nil {
			b.openBLAS = t.singleComplex.routines()
		}
	case *blasOf[complex128]:
		b.tandem = &routines[complex128]{Gemm: cblas128.Implementation().Zgemm}
		b.gonum = &routines[complex128]{Gemm: own.Zgemm}
		if t != nil {
			b.openBLAS = t.doubleComplex.routines()
		}
	}
	return b
}

// compute makes f the computation of result by each BLAS. It may be in place.
func (b *blasOf[T]) compute(f *function, result []T, terms int, call func(l *routines[T])) *function {
	begin, want := slices.Clone(result), []float64(nil)
	f.reset = func() { copy(result, begin) }
	f.fast = func() error { call(b.tandem); return nil }
	f.check = func() Check {
		got := parts(result)
		if want == nil { // as gonum has it
			f.reset()
			call(b.gonum)
			want = parts(result)
		}
		return compare(got, want, looseness[T](terms))
	}
	f.peers = []functionPeer{{name: "gonum", run: repeat(func() { call(b.gonum) })}}
	if b.openBLAS != nil {
		f.peers = append(f.peers, functionPeer{name: "OpenBLAS", run: repeat(func() { call(b.openBLAS) })})
	}
	return f
}

// parts are the real numbers in s.
func parts[T float32 | float64 | complex64 | complex128](s []T) []float64 {
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

const gigabytes, gigaflops = "GB/s", "GFLOP/s"

// A realBLAS has more routines than a complex one.
type realBLAS[T linalg.Float] struct{ blasOf[T] }

// blasFunctions are levels 1 and 2 with many elements, products that are tall or complex, and what
// has few rows, where a call's own cost counts.
func blasFunctions[T linalg.Float](r *runner) (list []build) {
	b := &realBLAS[T]{newBLAS[T](r)}
	n, long, tall, complexSizes, few := 4096, 10_000_000, 20_000, []int{256, 512}, []int{1, 2, 4, 8, 16, 32}
	if r.o.Quick {
		n, long, tall, complexSizes, few = 40, 1000, 200, []int{20}, []int{3}
	}
	list = append(list, b.level1(long)...)
	list = append(list, b.level2(n)...)
	list = append(list, b.crossProduct(tall, 50, 1))
	for _, n := range []int{16, 50, 128} {
		list = append(list, b.crossProduct(tall, n, n))
	}
	list = append(list, b.square(tall, 50))
	for _, n := range complexSizes {
		if element.TypeOf[T]() == element.Float32 {
			list = append(list, complexProduct[float32](newBLAS[complex64](r), n))
		} else {
			list = append(list, complexProduct[float64](newBLAS[complex128](r), n))
		}
	}
	for _, n := range few {
		list = append(list, b.level2(n)[0], b.product(n), b.solve(n))
	}
	return list
}

func (b *realBLAS[T]) bytes(elements int) float64 {
	return float64(elements) * float64(element.TypeOf[T]().Size())
}

// level1 has vectors of n elements. What changes them in place does so little that many runs do not
// overflow.
func (b *realBLAS[T]) level1(n int) []build {
	const small = 0x1p-20
	vectors := func(name string, moved int, call func(l *routines[T], x, y, sum []T),
		exactly func(x, y []T) float64,
	) build {
		return func() (*function, error) {
			f := newFunction[T](name, 1, n, b.bytes(moved*n), gigabytes)
			x, y, sum := operandOf[T](f, "x", 1, n), operandOf[T](f, "y", 1, n), make([]T, 1)
			result := y // in place
			if exactly != nil {
				result = sum
			}
			b.compute(f, result, n, func(l *routines[T]) { call(l, x, y, sum) })
			if exactly != nil {
				b.sum(f, sum, n, exactly(x, y))
			}
			return f, nil
		}
	}
	return []build{
		vectors("dot", 2, func(l *routines[T], x, y, sum []T) { sum[0] = l.Dot(n, x, 1, y, 1) },
			func(x, y []T) float64 { return float64(exact.Dot(x, y)) }),
		vectors("nrm2", 1, func(l *routines[T], x, _, sum []T) { sum[0] = l.Nrm2(n, x, 1) },
			func(x, _ []T) float64 { return normOf(x) }),
		vectors("asum", 1, func(l *routines[T], x, _, sum []T) { sum[0] = l.Asum(n, x, 1) },
			func(x, _ []T) float64 { return sumOf(x) }), // none is below 0
		vectors("axpy", 3, func(l *routines[T], x, y, _ []T) { l.Axpy(n, small, x, 1, y, 1) }, nil),
		vectors("scal", 2, func(l *routines[T], _, y, _ []T) { l.Scal(n, -1, y, 1) }, nil),
	}
}

// sum checks a sum against the exact one. What others lose may grow with every term.
func (b *realBLAS[T]) sum(f *function, result []T, terms int, want float64) {
	f.check = func() Check { return compare(result, []float64{want}, looseness[T](1)) }
	for i := range f.peers {
		f.peers[i].check = func() Check {
			return compare(result, []float64{want}, min(0.5, float64(terms)*looseness[T](1)))
		}
	}
}

// level2 has square matrices of n rows.
func (b *realBLAS[T]) level2(n int) []build {
	matrix := func(name string, read float64, call func(l *routines[T], a, x, y []T)) build {
		return func() (*function, error) {
			f := newFunction[T](name, n, n, read*b.bytes(n*n), gigabytes)
			a, x, y := operandOf[T](f, "a", n, n), operandOf[T](f, "x", 1, n), operandOf[T](f, "y", 1, n)
			result := y
			switch name {
			case "ger":
				result = a
			case "trsv lower":
				dominant(a, n)
			}
			return b.compute(f, result, n, func(l *routines[T]) { call(l, a, x, y) }), nil
		}
	}
	return []build{
		matrix("gemv", 1, func(l *routines[T], a, x, y []T) { l.Gemv(blas.NoTrans, n, n, 1, a, n, x, 1, 0, y, 1) }),
		matrix("gemv transposed", 1,
			func(l *routines[T], a, x, y []T) { l.Gemv(blas.Trans, n, n, 1, a, n, x, 1, 0, y, 1) }),
		matrix("symv lower", .5, func(l *routines[T], a, x, y []T) { l.Symv(blas.Lower, n, 1, a, n, x, 1, 0, y, 1) }),
		matrix("symv upper", .5, func(l *routines[T], a, x, y []T) { l.Symv(blas.Upper, n, 1, a, n, x, 1, 0, y, 1) }),
		matrix("ger", 2, func(l *routines[T], a, x, y []T) { l.Ger(n, n, 0x1p-20, x, 1, y, 1, a, n) }),
		matrix("trsv lower", .5,
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

// crossProduct is x'z of x with m rows and n columns, and z with k columns.
func (b *realBLAS[T]) crossProduct(m, n, k int) build {
	return func() (*function, error) {
		name := "x'z"
		if k == 1 {
			name = "x' times a column"
		}
		f := newFunction[T](name, m, n, 2*float64(m*n*k), gigaflops)
		x, z, c := operandOf[T](f, "x", m, n), operandOf[T](f, "z", m, k), operandOf[T](f, "y", n, k)
		f.numPy, f.bytes = "c = x.T @ z", backend.Bytes(c)
		return b.compute(f, c, m, func(l *routines[T]) {
			l.Gemm(blas.Trans, blas.NoTrans, n, k, m, 1, x, n, z, k, 0, c, k)
		}), nil
	}
}

// square is the lower triangle of x'x.
func (b *realBLAS[T]) square(m, n int) build {
	return func() (*function, error) {
		f := newFunction[T]("x'x by syrk", m, n, float64(m*n*(n+1)), gigaflops)
		x, c := operandOf[T](f, "x", m, n), operandOf[T](f, "y", n, n)
		return b.compute(f, c, m, func(l *routines[T]) {
			l.Syrk(blas.Lower, blas.Trans, n, m, 1, x, n, 0, c, n)
		}), nil
	}
}

func (b *realBLAS[T]) product(n int) build {
	return func() (*function, error) {
		f := newFunction[T]("gemm", n, n, 2*float64(n*n*n), gigaflops)
		x, y, c := operandOf[T](f, "x", n, n), operandOf[T](f, "y", n, n), operandOf[T](f, "z", n, n)
		return b.compute(f, c, n, func(l *routines[T]) {
			l.Gemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, c, n)
		}), nil
	}
}

// solve is trsm of a lower triangle and as many right sides as it has rows.
func (b *realBLAS[T]) solve(n int) build {
	return func() (*function, error) {
		f := newFunction[T]("trsm lower", n, n, float64(n*n*n), gigaflops)
		a, x := operandOf[T](f, "a", n, n), operandOf[T](f, "x", n, n)
		dominant(a, n)
		return b.compute(f, x, n, func(l *routines[T]) {
			l.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, a, n, x, n)
		}), nil
	}
}

// complexProduct is gemm of complex numbers, whose parts are of type R.
func complexProduct[R linalg.Float, T complex64 | complex128](b blasOf[T], n int) build {
	return func() (*function, error) {
		f := newFunction[R]("complex gemm", n, n, 8*float64(n*n*n), gigaflops)
		numbers := func() []T {
			s := operandOf[R](f, "", n, 2*n)
			return unsafe.Slice((*T)(unsafe.Pointer(&s[0])), n*n)
		}
		x, y, c := numbers(), numbers(), numbers()
		return b.compute(f, c, n, func(l *routines[T]) {
			l.Gemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, c, n)
		}), nil
	}
}
