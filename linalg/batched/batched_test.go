package batched

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// eachBackend runs f with a session on every backend that the machine has, and on the cpu device
// without machine code.
func eachBackend(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	for _, name := range []string{"cpu", "cpu as Go", "opencl", "cuda", "cudasim"} {
		t.Run(name, func(t *testing.T) {
			spec := name
			if name == "cpu as Go" {
				spec = "cpu"
				t.Setenv("TANDEM_NATIVE", "off")
			}
			s, err := linalg.Open(spec)
			if err != nil {
				backendtest.Require(t, spec, err)
				return
			}
			f(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Factors, pivots, what is said of matrices, and solutions have the bits that each matrix has by
// itself, whatever the others of the batch are like.
func TestBatches(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		// PoCL takes a second to compile a kernel: there each runs for one type.
		all := s.Info().Driver != "opencl"
		t.Run("float32", func(t *testing.T) { testBatches[float32](t, s, true, all) })
		t.Run("float64", func(t *testing.T) { testBatches[float64](t, s, all, true) })
	})
}

func testBatches[T Float](t *testing.T, s *linalg.Session, lu, cholesky bool) {
	simulated := s.Info().Driver == "cudasim"
	for i, n := range []int{0, 1, 2, 3, 5, 8, 16, 31, 32, 64} {
		for j, count := range []int{0, 1, 7, 40, 300} {
			switch {
			case simulated && (n > 8 || count > 40), count == 300 && n != 3, count == 40 && n > 16:
				continue
			}
			m := []int{1, 3, 4, 9, 0}[(i+j)%5]
			t.Run(fmt.Sprintf("%d of %d, %d", count, n, m), func(t *testing.T) {
				x := newTrial[T](t, s, count, n, m, (i+j)%2 == 1)
				if lu {
					x.testLU(t)
				}
				if cholesky {
					x.testCholesky(t)
				}
			})
		}
	}
}

// A trial is a batch of all kinds of matrices, with right sides of m columns.
type trial[T Float] struct {
	s           *linalg.Session
	count, n, m int
	strided     bool
	all, sides  []T
	status      guard[int32]
}

func newTrial[T Float](t *testing.T, s *linalg.Session, count, n, m int, strided bool) trial[T] {
	r := rand.New(rand.NewPCG(uint64(n), uint64(count)))
	x := trial[T]{
		s: s, count: count, n: n, m: m, strided: strided, all: make([]T, count*n*n), sides: make([]T, count*n*m),
		status: garbage[int32](t, s, count, 1, strided),
	}
	for q := range count {
		fill(r, kind(q)%kinds, n, x.matrix(x.all, q))
	}
	for i := range x.sides {
		x.sides[i] = T(r.NormFloat64())
	}
	return x
}

func (x trial[T]) matrix(all []T, q int) []T { return all[q*x.n*x.n:][:x.n*x.n] }

// arrays is the matrices and right sides, on the device and for the reference.
func (x trial[T]) arrays(t *testing.T) (a, b guard[T], all, sides []T) {
	a = guarded(t, x.s, x.count*x.n, x.n, x.strided, x.all)
	b = guarded(t, x.s, x.count*x.n, x.m, x.strided, x.sides)
	return a, b, slices.Clone(x.all), slices.Clone(x.sides)
}

func (x trial[T]) testLU(t *testing.T) {
	a, b, all, sides := x.arrays(t)
	pivots := garbage[int32](t, x.s, x.count, x.n, x.strided)
	must(t, LU(a.Array, pivots.Array, x.status.Array))
	must(t, SolveLU(b.Array, a.Array, pivots.Array))
	wantPivots, status := make([]int32, x.count*x.n), make([]int32, x.count)
	for q := range x.count {
		m, p := x.matrix(all, q), make([]int, x.n)
		singular, err := solve.Solver[T]{}.LU(x.n, x.n, m, x.n, p)
		must(t, err)
		if x.n > 0 && x.m > 0 {
			must(t, solve.Solver[T]{}.SolveLU(false, x.n, x.m, m, x.n, p, sides[q*x.n*x.m:], x.m))
		}
		status[q] = int32(singular)
		for i, v := range p {
			wantPivots[q*x.n+i] = int32(v)
		}
		f, err := linalg.FactorLU(linalg.NewMatrix(x.n, x.n, x.matrix(x.all, q)))
		must(t, err)
		if !slices.EqualFunc(f.Packed().Data, m, same) {
			t.Errorf("the reference of matrix %d is not FactorLU's", q)
		}
	}
	a.equal(t, "LU", all)
	pivots.equal(t, "pivots", wantPivots)
	x.status.equal(t, "status", status)
	b.equal(t, "solutions by LU", sides)
	x.isGolden(t, "LU", all, sides)
	told(t, LUError(x.status.Array), linalg.ErrSingular, status)
}

func (x trial[T]) testCholesky(t *testing.T) {
	a, b, all, sides := x.arrays(t)
	must(t, Cholesky(a.Array, x.status.Array))
	must(t, SolveCholesky(b.Array, a.Array))
	status := make([]int32, x.count)
	for q := range x.count {
		m := x.matrix(all, q)
		status[q] = int32(choleskyReference(x.n, m))
		if x.n > 0 && x.m > 0 {
			must(t, solve.Solver[T]{}.SolveCholesky(true, x.n, x.m, m, x.n, sides[q*x.n*x.m:], x.m))
		}
		f, err := linalg.FactorCholesky(linalg.NewMatrix(x.n, x.n, x.matrix(x.all, q)))
		if (err != nil) != (status[q] >= 0) {
			t.Errorf("matrix %d: %v, and status %d", q, err, status[q])
		} else if err == nil && !slices.EqualFunc(f.L().Data, m, same) {
			t.Errorf("the reference of matrix %d is not FactorCholesky's", q)
		}
	}
	a.equal(t, "Cholesky", all)
	x.status.equal(t, "status", status)
	b.equal(t, "solutions by Cholesky", sides)
	x.isGolden(t, "Cholesky", all, sides)
	told(t, CholeskyError(x.status.Array), linalg.ErrNotPositiveDefinite, status)
}

// golden is digests of factors and solutions of a batch of 40 matrices of 16 by 16.
var golden = map[string]string{
	"LU float32":       "02b3b1da7f41e1bf9b62a460202358034498016ece51f48c27378eb3b86e7da4",
	"LU float64":       "ec503cc9480634d2468f7ae0f7332794fc5b458bc042e0fea5fe3b6691c6c7a5",
	"Cholesky float32": "c86b2ef1a12ef8e6c00ef3f0eed622abad7ce66d54b53bf082f2c061a84bf71d",
	"Cholesky float64": "4a60b58a21c4a64a0ed12cabc8eefa495e158414477a9bda0762cd7d1fa58070",
}

func (x trial[T]) isGolden(t *testing.T, what string, all, sides []T) {
	if x.n != 16 || x.count != 40 {
		return
	}
	what = fmt.Sprintf("%s %T", what, T(0))
	if got := conformance.Digest(slices.Concat(all, sides)); got != golden[what] {
		t.Errorf("the digest of %s is %s, want %s", what, got, golden[what])
	}
}

// Numbers of U beyond the type are told of, unless the matrix had some itself.
func TestOverflow(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testOverflow[float32](t, s, math.MaxFloat32) })
		t.Run("float64", func(t *testing.T) { testOverflow[float64](t, s, math.MaxFloat64) })
	})
}

func testOverflow[T Float](t *testing.T, s *linalg.Session, most T) {
	inf := T(math.Inf(1))
	all := []T{
		1, 2, 3, 4, 5, 6, 7, 8, 10, // has factors
		1, most, 0, -1, most, 0, 1, 0, 1, // comes to infinity in the second column
		1, 0, most, -1, 1, most, 1, 1, 1, // in the last
		1, inf, 0, -1, most, 0, 1, 0, 1, // has it
		1, most, 0, -1, most, 0, 1, 0, 0, // comes to infinity, and is singular as well
	}
	const n = 3
	want := []int32{done, beyond, beyond, done, beyond}
	a := guarded(t, s, len(all)/n, n, true, all)
	pivots, status := garbage[int32](t, s, len(want), n, true), garbage[int32](t, s, len(want), 1, true)
	must(t, LU(a.Array, pivots.Array, status.Array))
	status.equal(t, "status", want)
	for q, state := range want {
		_, err := linalg.FactorLU(linalg.NewMatrix(n, n, all[q*n*n:][:n*n]))
		f, err2 := linalg.ErrOverflow, LUError(status.Slice(q, q+1, 0, 1))
		if errors.Is(err, f) != (state == beyond) || errors.Is(err2, f) != (state == beyond) {
			t.Errorf("matrix %d: status %d, LUError %v; FactorLU: %v", q, state, err2, err)
		}
	}
}

// told checks the error of a batch with this status.
func told(t *testing.T, err, kind error, status []int32) {
	t.Helper()
	q := slices.IndexFunc(status, func(step int32) bool { return step >= 0 })
	switch {
	case q < 0:
		must(t, err)
	case !errors.Is(err, kind) || !strings.Contains(err.Error(), fmt.Sprintf("%d of matrix %d", status[q], q)):
		t.Errorf("%v, want %v at %d of matrix %d", err, kind, status[q], q)
	}
}

// choleskyReference is Cholesky by the definition.
func choleskyReference[T Float](n int, a []T) int {
	bad := -1
	for j := range n {
		for i := j; i < n; i++ {
			acc := a[i*n+j]
			for k := range j {
				acc = host.FMA(-a[i*n+k], a[j*n+k], acc)
			}
			if i > j {
				acc /= a[j*n+j]
			} else {
				if !(acc > 0) && bad < 0 {
					bad = j
				}
				acc = T(math.Sqrt(float64(acc)))
			}
			a[i*n+j] = acc
		}
		clear(a[j*n+j+1 : (j+1)*n])
	}
	return bad
}

// A kind of matrix.
type kind int

const (
	anything kind = iota
	definiteOne
	zeroColumn
	equalRows
	indefinite
	withNaN
	zeros
	withInf
	ties
	kinds
)

// fill fills a matrix of n by n.
func fill[T Float](r *rand.Rand, k kind, n int, a []T) {
	if n == 0 {
		return
	}
	for i := range a {
		a[i] = T(2*r.Float64() - 1)
	}
	at := r.IntN(n)
	switch k {
	case definiteOne, indefinite, withNaN, withInf:
		for i := range n {
			a[i*n+i] += T(n)
		}
	case ties:
		for i := range a {
			a[i] = T(r.IntN(3) - 1)
		}
	case zeros:
		clear(a)
		a[r.IntN(len(a))] = T(math.Copysign(0, -1))
	}
	switch k {
	case zeroColumn:
		for i := range n {
			a[i*n+at] = 0
		}
	case equalRows:
		copy(a[at*n:][:n], a[(n-1-at)*n:][:n])
	case indefinite:
		a[at*n+at] = -1
	case withNaN:
		a[at*n+r.IntN(at+1)] = T(math.NaN())
	case withInf:
		a[at*n+r.IntN(at+1)] = T(math.Inf(-1))
	}
}

// guard is an array within a larger one, whose other elements nobody may change.
type guard[T any] struct {
	*Array[T]
	whole  *Array[T]
	poison T
}

const gap = 2

func guarded[T Float | int32](t *testing.T, s *linalg.Session, rows, cols int, strided bool, x []T) guard[T] {
	t.Helper()
	g := garbage[T](t, s, rows, cols, strided)
	must(t, g.CopyFrom(linalg.NewMatrix(rows, cols, x)))
	return g
}

// garbage is guarded, with nothing in it yet.
func garbage[T Float | int32](t *testing.T, s *linalg.Session, rows, cols int, strided bool) guard[T] {
	t.Helper()
	left := 0
	if strided {
		left = gap
	}
	whole := linalg.NewMatrix[T](rows+2*gap, cols+2*left, nil)
	for i := range whole.Data {
		whole.Data[i] = 77
	}
	a, err := linalg.Upload(s, whole)
	must(t, err)
	return guard[T]{Array: a.Slice(gap, gap+rows, left, left+cols), whole: a, poison: 77}
}

// equal compares the bits of all elements, and of what is around them.
func (g guard[T]) equal(t *testing.T, what string, want []T) {
	t.Helper()
	m, err := g.whole.Download()
	must(t, err)
	rows, cols := g.Dims()
	left := (m.Cols - cols) / 2
	for i := range m.Rows {
		for j := range m.Cols {
			r, c, v := i-gap, j-left, g.poison
			if r >= 0 && r < rows && c >= 0 && c < cols {
				v = want[r*cols+c]
			}
			if got := m.At(i, j); !same(got, v) {
				t.Fatalf("%s: element (%d, %d) of %dx%d is %v, want %v", what, r, c, rows, cols, got, v)
			}
		}
	}
}

// same compares bits, of which a NaN's do not count.
func same[T any](x, y T) bool {
	switch x := any(x).(type) {
	case float32:
		y := any(y).(float32)
		return x != x && y != y || math.Float32bits(x) == math.Float32bits(y)
	case float64:
		y := any(y).(float64)
		return x != x && y != y || math.Float64bits(x) == math.Float64bits(y)
	}
	return any(x) == any(y)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Pivots that are no rows swap nothing, and nothing beyond a matrix is touched.
func TestForeignPivots(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		identity := linalg.NewMatrix(2*3, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1})
		a, err := linalg.Upload(s, identity)
		must(t, err)
		defer a.Free()
		b, err := linalg.Upload(s, linalg.NewMatrix(2*3, 1, []float64{1, 2, 3, 4, 5, 6}))
		must(t, err)
		defer b.Free()
		pivots, err := linalg.Upload(s, linalg.NewMatrix(2, 3, []int32{-1, math.MaxInt32, 3, 2, math.MinInt32, 64}))
		must(t, err)
		defer pivots.Free()
		must(t, SolveLU(b, a, pivots))
		got, err := b.Download()
		must(t, err)
		if want := []float64{1, 2, 3, 6, 5, 4}; !slices.Equal(got.Data, want) {
			t.Errorf("%v, want %v", got.Data, want)
		}
	})
}

// What does not fit is an error that says so, and nothing is done.
func TestErrors(t *testing.T) {
	s, other := open(t), open(t)
	array := func(rows, cols int) *Array[float64] { return garbage[float64](t, s, rows, cols, false).Array }
	ints := func(rows, cols int) *Array[int32] { return garbage[int32](t, s, rows, cols, false).Array }
	a, pivots, status := array(12, 4), ints(3, 4), ints(3, 1)
	both := ints(3, 5)
	large := MaxOrder + 1
	var zero Array[float64]
	var zeroInts Array[int32]
	for _, test := range []struct {
		name string
		got  error
		kind error
		text string
	}{
		{"nil", LU[float64](nil, pivots, status), linalg.ErrShape, "a is nil"},
		{"no pivots", LU(a, nil, status), linalg.ErrShape, "pivots is nil"},
		{"no status", LU(a, pivots, nil), linalg.ErrShape, "status is nil"},
		{"no status of Cholesky", Cholesky(a, nil), linalg.ErrShape, "status is nil"},
		{"no right side", SolveCholesky(nil, a), linalg.ErrShape, "b is nil"},
		{"an array that is zero", LU(&zero, pivots, status), backend.ErrArgument, "nothing has made"},
		{"pivots that are zero", LU(a, &zeroInts, status), backend.ErrArgument, "nothing has made"},
		{"status that is zero", Cholesky(a, &zeroInts), backend.ErrArgument, "nothing has made"},
		{"a right side that is zero", SolveLU(&zero, a, pivots), backend.ErrArgument, "nothing has made"},
		{"none to tell of", LUError(nil), linalg.ErrShape, "status is nil"},
		{"matrices that are not square", LU(array(12, 3), pivots, status), linalg.ErrShape, "12x3"},
		{"rows left over", SolveCholesky(a, array(13, 4)), linalg.ErrShape, "13x4"},
		{"few pivots", LU(a, ints(3, 3), status), linalg.ErrShape, "pivots is 3x3"},
		{"more status", Cholesky(a, ints(4, 1)), linalg.ErrShape, "4 square matrices"},
		{"wide status", Cholesky(a, ints(3, 2)), linalg.ErrShape, "must be 3x1"},
		{"right sides of other rows", SolveLU(array(11, 2), a, pivots), linalg.ErrShape, "must have 12 rows"},
		{"too large", Cholesky(array(large, large), ints(1, 1)), linalg.ErrShape, "linalg.FactorCholesky"},
		{"right sides in the factors", SolveCholesky(a.Slice(0, 12, 1, 2), a), linalg.ErrOverlap, "b and a"},
		{
			"status among the pivots", LU(a, both.Slice(0, 3, 0, 4), both.Slice(0, 3, 3, 4)), linalg.ErrOverlap,
			"pivots and status",
		},
		{
			"another session", Cholesky(a, garbage[int32](t, other, 3, 1, false).Array), backend.ErrArgument,
			"another session",
		},
	} {
		if !errors.Is(test.got, test.kind) || !strings.Contains(test.got.Error(), test.text) {
			t.Errorf("%s: %v, want %v with %q", test.name, test.got, test.kind, test.text)
		}
	}
}

func open(t *testing.T) *linalg.Session {
	t.Helper()
	s, err := linalg.Open("cpu")
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}
