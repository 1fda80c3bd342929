package gonumblas

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/blas/testblas"
	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// gonum's own tests of levels 1 and 2.
func TestTestblasVectors(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	s, _ := open(t, "cpu")
	use(t, s)
	impl := blas64.Implementation()
	for name, test := range map[string]func(){
		"gemv": func() { testblas.DgemvTest(t, impl) },
		"symv": func() { testblas.DsymvTest(t, impl) },
		"ger":  func() { testblas.DgerTest(t, impl) },
		"syr":  func() { testblas.DsyrTest(t, impl) },
		"syr2": func() { testblas.Dsyr2Test(t, impl) },
		"trmv": func() { testblas.DtrmvTest(t, impl) },
		"trsv": func() { testblas.DtrsvTest(t, impl) },
		"dot":  func() { testblas.DdotTest(t, impl) },
		"asum": func() { testblas.DasumTest(t, impl) },
		"nrm2": func() { testblas.Dnrm2Test(t, impl) },
		"amax": func() { testblas.IdamaxTest(t, impl) },
		"axpy": func() { testblas.DaxpyTest(t, impl) },
		"scal": func() { testblas.DscalTest(t, impl) },
	} {
		t.Run(name, func(*testing.T) { test() })
	}
}

// A product with a vector has the bits of one with a matrix of one column.
func TestMulVec(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	rng := rand.New(rand.NewPCG(61, 62))
	for _, n := range []int{1, 2, 5, 8, 9, 33, 100} {
		a, x := uniformDense(rng, n, n), uniformDense(rng, n, 1)
		sym := mat.NewSymDense(n, a.RawMatrix().Data)
		for what, m := range map[string]mat.Matrix{"a matrix": a, "a transpose": a.T(), "a symmetric matrix": sym} {
			var want mat.Dense
			want.Mul(mat.DenseCopyOf(m), x)
			var got mat.VecDense
			got.MulVec(m, x.ColView(0))
			if !mat.Equal(&got, &want) {
				t.Errorf("MulVec with %s of order %d is not Mul", what, n)
			}
		}
	}
}

// vectors is what levels 1 and 2 have in one type.
type vectors[T float] struct {
	gemv       func(t blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	symv       func(ul blas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	ger        func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	syr        func(ul blas.Uplo, n int, alpha T, x []T, incX int, a []T, lda int)
	syr2       func(ul blas.Uplo, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	trmv, trsv func(ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int)
	dot        func(n int, x []T, incX int, y []T, incY int) T
	axpy       func(n int, alpha T, x []T, incX int, y []T, incY int)
	scal       func(n int, alpha T, x []T, incX int)
	asum, nrm2 func(n int, x []T, incX int) T
	iamax      func(n int, x []T, incX int) int
}

func vectorsOf[T float](i bothTypes) vectors[T] {
	if is32[T]() {
		return any(vectors[float32]{
			i.Sgemv, i.Ssymv, i.Sger, i.Ssyr, i.Ssyr2, i.Strmv, i.Strsv, i.Sdot, i.Saxpy, i.Sscal, i.Sasum, i.Snrm2,
			i.Isamax,
		}).(vectors[T])
	}
	return any(vectors[float64]{
		i.Dgemv, i.Dsymv, i.Dger, i.Dsyr, i.Dsyr2, i.Dtrmv, i.Dtrsv, i.Ddot, i.Daxpy, i.Dscal, i.Dasum, i.Dnrm2,
		i.Idamax,
	}).(vectors[T])
}

// A vectorCall is the arguments of all functions of levels 1 and 2.
type vectorCall struct {
	ul               blas.Uplo
	t                blas.Transpose
	d                blas.Diag
	m, n             int
	lda, incX, incY  int
	lenA, lenX, lenY int
	alpha, beta      float64
}

// run is what the functions return of the call, whose vectors may change.
func run[T float](v vectors[T], c vectorCall, a, x, y []T) map[string]func() any {
	alpha, beta := T(c.alpha), T(c.beta)
	done := func(f func()) func() any {
		return func() any {
			f()
			return nil
		}
	}
	return map[string]func() any{
		"gemv":  done(func() { v.gemv(c.t, c.m, c.n, alpha, a, c.lda, x, c.incX, beta, y, c.incY) }),
		"symv":  done(func() { v.symv(c.ul, c.n, alpha, a, c.lda, x, c.incX, beta, y, c.incY) }),
		"ger":   done(func() { v.ger(c.m, c.n, alpha, x, c.incX, y, c.incY, a, c.lda) }),
		"syr":   done(func() { v.syr(c.ul, c.n, alpha, x, c.incX, a, c.lda) }),
		"syr2":  done(func() { v.syr2(c.ul, c.n, alpha, x, c.incX, y, c.incY, a, c.lda) }),
		"trmv":  done(func() { v.trmv(c.ul, c.t, c.d, c.n, a, c.lda, x, c.incX) }),
		"trsv":  done(func() { v.trsv(c.ul, c.t, c.d, c.n, a, c.lda, x, c.incX) }),
		"axpy":  done(func() { v.axpy(c.n, alpha, x, c.incX, y, c.incY) }),
		"scal":  done(func() { v.scal(c.n, alpha, x, c.incX) }),
		"dot":   func() any { return v.dot(c.n, x, c.incX, y, c.incY) },
		"asum":  func() any { return v.asum(c.n, x, c.incX) },
		"nrm2":  func() any { return v.nrm2(c.n, x, c.incX) },
		"iamax": func() any { return v.iamax(c.n, x, c.incX) },
	}
}

// Steps between the elements of a vector change no bits, and what lies between them stays.
func TestVectorSteps(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	t.Run("float32", testVectorSteps[float32])
	t.Run("float64", testVectorSteps[float64])
}

func testVectorSteps[T float](t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	v := vectorsOf[T](blas64.Implementation().(bothTypes))
	for _, n := range []int{1, 3, 8, 20, 67} {
		a := wellTriangle[T](rng, blas.Lower, blas.NonUnit, n, 0)
		for i := range n {
			for j := range i {
				a.Set(j, i, a.At(i, j))
			}
		}
		x, y := uniform[T](rng, 1, n, 0), uniform[T](rng, 1, n, 0)
		for k, inc := range []int{1, -1, 2, -3} {
			c := vectorCall{
				ul: uplos[k%2], t: alltrans[k%3], d: 'N', m: n, n: n, lda: n, incX: inc, incY: -inc,
				alpha: -1.5, beta: 0.5,
			}
			flat := c
			flat.incX, flat.incY = 1, 1
			for name := range run(v, c, nil, nil, nil) {
				if inc < 0 && (name == "asum" || name == "nrm2" || name == "scal" || name == "iamax") {
					continue // BLAS has them do nothing
				}
				a1, x1, y1 := clone(a), clone(x), clone(y)
				a2, x2, y2 := clone(a), spread(x, inc), spread(y, -inc)
				want := run(v, flat, a1.Data, x1.Data, y1.Data)[name]()
				got := run(v, c, a2.Data, x2.Data, y2.Data)[name]()
				if got != want {
					t.Errorf("%s of %d elements, %d apart, is %v, want %v", name, n, inc, got, want)
				}
				what := fmt.Sprintf("%s, %d elements, %d apart", name, n, inc)
				same(t, what+": the matrix", a2, a1)
				same(t, what+": the first vector", x2, spread(x1, inc))
				same(t, what+": the second vector", y2, spread(y1, -inc))
			}
		}
	}
}

// spread is a vector whose elements are inc apart, with guards between them.
func spread[T float](x linalg.Matrix[T], inc int) linalg.Matrix[T] {
	s := linalg.NewMatrix[T](1, (x.Cols-1)*max(inc, -inc)+1, nil)
	for i := range s.Data {
		s.Data[i] = guard
	}
	scatter(x.Data, nil, s.Data, inc)
	if inc == 1 {
		copy(s.Data, x.Data)
	}
	return s
}

// Bad calls panic as gonum does, and calls that do nothing do nothing.
func TestVectorPanics(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	testVectorPanics[float32](t)
	testVectorPanics[float64](t)
}

func testVectorPanics[T float](t *testing.T) {
	ours, theirs := vectorsOf[T](blas32.Implementation().(bothTypes)), vectorsOf[T](gonum.Implementation{})
	good := vectorCall{
		ul: 'L', t: 'N', d: 'N', m: 3, n: 3, lda: 4, incX: 2, incY: -1, lenA: 11, lenX: 5, lenY: 3, alpha: 1, beta: 1,
	}
	panics := 0
	for what, spoil := range map[string]func(c *vectorCall){
		"nothing": func(*vectorCall) {}, "uplo": func(c *vectorCall) { c.ul = 'X' },
		"transpose": func(c *vectorCall) { c.t = 'X' }, "diag": func(c *vectorCall) { c.d = 'X' },
		"m": func(c *vectorCall) { c.m = -1 }, "n": func(c *vectorCall) { c.n = -1 },
		"n 0": func(c *vectorCall) { c.n = 0 }, "m 0": func(c *vectorCall) { c.m = 0 },
		"lda": func(c *vectorCall) { c.lda = 2 }, "incX": func(c *vectorCall) { c.incX = 0 },
		"incY": func(c *vectorCall) { c.incY = 0 }, "incX below 0": func(c *vectorCall) { c.incX = -2 },
		"a": func(c *vectorCall) { c.lenA-- }, "x": func(c *vectorCall) { c.lenX-- },
		"y": func(c *vectorCall) { c.lenY-- }, "alpha": func(c *vectorCall) { c.alpha, c.lenA = 0, 1 },
	} {
		c := good
		spoil(&c)
		for name := range run(ours, c, nil, nil, nil) {
			outcome := func(v vectors[T]) any {
				a, x, y := make([]T, c.lenA), make([]T, c.lenX), make([]T, c.lenY)
				for i := range a {
					a[i] = 1
				}
				var result any
				if p := recovered(func() { result = run(v, c, a, x, y)[name]() }); p != nil {
					return p
				}
				return result
			}
			got, want := outcome(ours), outcome(theirs)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s with bad %s: %v, gonum's is %v", name, what, got, want)
			}
			if _, ok := want.(string); ok {
				panics++
			}
		}
	}
	if panics < 40 {
		t.Errorf("only %d of the calls panicked", panics)
	}
}

// The bits of levels 1 and 2 and of complex products are these on every machine.
func TestVectorDigest(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	if got := vectorDigest[float32](); got != 0x6c0b30a640931f9a {
		t.Errorf("float32: %#x", got)
	}
	if got := vectorDigest[float64](); got != 0xb96b175d2e244647 {
		t.Errorf("float64: %#x", got)
	}
}

func vectorDigest[T float]() uint64 {
	rng := rand.New(rand.NewPCG(91, 92))
	v := vectorsOf[T](blas64.Implementation().(bothTypes))
	digest := fnv.New64a()
	write := func(x []T) {
		for _, e := range x {
			digest.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(e))))
		}
	}
	for k, n := range []int{2, 7, 16, 45, 130} {
		for i, inc := range []int{1, -2} {
			c := vectorCall{
				ul: uplos[i], t: alltrans[k%2], d: diags[k%2], m: n, n: n, lda: n, incX: inc, incY: 1,
				alpha: -0.7, beta: 0.3,
			}
			names := run(v, c, nil, nil, nil)
			for _, name := range slices.Sorted(maps.Keys(names)) {
				a := uniform[T](rng, n, n, 0)
				for j := range n {
					a.Set(j, j, a.At(j, j)+T(n))
				}
				x, y := spread(uniform[T](rng, 1, n, 0), inc), uniform[T](rng, 1, n, 0)
				result, _ := run(v, c, a.Data, x.Data, y.Data)[name]().(T)
				write([]T{result})
				write(a.Data)
				write(x.Data)
				write(y.Data)
			}
		}
		a, b, p := complexMatrix[T](rng, n, n, 0), complexMatrix[T](rng, n, n, 0), complexMatrix[T](rng, n, n, 0)
		zgemm(alltrans[k%3], alltrans[(k+1)%3], n, n, n, complexScalars[k%5], a, b, complexScalars[(k+3)%5], p)
		write(p.Data)
	}
	return digest.Sum64()
}
