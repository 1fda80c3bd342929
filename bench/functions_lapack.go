package bench

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

// A solver is a factorization of a square matrix of n rows, ready to be computed by gonum's LAPACK,
// whichever it uses, and by OpenBLAS's. All of them copy a to x first, which is a small part of the
// time. What comes out is checked on a vector: the factors times it are a times it.
type solver struct {
	n      int
	a, at  []float64 // at is aᵀ, which is a to Fortran
	x      []float64 // a, then the factors
	u, vt  []float64
	w, tau []float64
	work   []float64
	lwork  int // of gonum's, whose Dgemv clears whatever more there is
	pivots []int
	c      *realCBLAS[float64] // nil without OpenBLAS
	ints   []int32             // of Fortran: pivots, or memory
}

// lapackFunctions are factorizations of float64: large ones, and of few rows.
func lapackFunctions[T linalg.Float](r *runner) (list []build) {
	if element.TypeOf[T]() != element.Float64 {
		return nil
	}
	large, few := []int{500, 1000, 2000}, []int{1, 2, 4, 8, 16, 32, 64}
	if r.o.Quick {
		large, few = []int{70}, []int{3}
	}
	for _, n := range append(large, few...) {
		cube := float64(n) * float64(n) * float64(n)
		list = append(list,
			r.solver("LU", n, 2./3*cube, (*solver).lu, (*solver).luOfOpenBLAS, (*solver).checkLU),
			r.solver("Cholesky", n, 1./3*cube, (*solver).cholesky, (*solver).choleskyOfOpenBLAS,
				(*solver).checkCholesky),
			r.solver("QR with Q", n, 8./3*cube, (*solver).qr, (*solver).qrOfOpenBLAS, (*solver).checkQ),
			r.solver("EigSym", n, 9*cube, (*solver).eigen, (*solver).eigenOfOpenBLAS, (*solver).checkEigen),
			r.solver("SVD", n, 22*cube, (*solver).svd, (*solver).svdOfOpenBLAS, (*solver).checkSVD))
		if n <= few[len(few)-1] {
			list = append(list,
				r.solver("eigenvalues", n, 4./3*cube, (*solver).eigenvalues, nil, (*solver).checkTrace),
				r.solver("singular values", n, 8./3*cube, (*solver).singularValues, nil, (*solver).checkFrobenius))
		}
	}
	return list
}

// slowest is the largest matrix that gonum's own LAPACK gets: its time grows to minutes.
const slowest = 1000

func (r *runner) solver(name string, n int, flops float64, run, openBLAS func(*solver),
	check func(*solver, bool) Check,
) build {
	return func() (*function, error) {
		f := newFunction[float64](name, n, n, flops, gigaflops)
		s := newSolver(f, n, r.openBLAS(), name == "Cholesky" || name == "EigSym" || name == "eigenvalues")
		f.reset = func() { fill(s.x, poison[float64]()); fill(s.w, poison[float64]()) }
		f.fast = func() error { run(s); return nil }
		f.check = func() Check { return check(s, false) }
		if n <= slowest {
			f.peers = append(f.peers, functionPeer{name: "gonum", run: func(runs int) error {
				blas64.Use(gonum.Implementation{})
				lapack64.Use(lapackgonum.Implementation{})
				defer gonumblas.Use(r.s)
				return repeat(func() { run(s) })(runs)
			}})
		}
		if s.c != nil && openBLAS != nil {
			f.peers = append(f.peers, functionPeer{
				name: "OpenBLAS", run: repeat(func() { openBLAS(s) }), check: func() Check { return check(s, true) },
			})
		}
		return f, nil
	}
}

func newSolver(f *function, n int, t *openBLASTable, symmetric bool) *solver {
	a := operandOf[float64](f, "a", n, n)
	if symmetric {
		for i := range n {
			a[i*n+i] += float64(n) // positive definite
			for j := range i {
				a[j*n+i] = a[i*n+j]
			}
		}
	}
	s := &solver{
		n: n, a: a, at: transposed(a, n), x: make([]float64, n*n), u: make([]float64, n*n), vt: make([]float64, n*n),
		w: make([]float64, n), tau: make([]float64, n), work: make([]float64, 8*n*n+1000*n), lwork: 70 * n,
		pivots: make([]int, n), ints: make([]int32, 8*n+3),
	}
	if t != nil {
		s.c = &t.double
	}
	return s
}

func transposed(a []float64, n int) []float64 {
	t := make([]float64, len(a))
	host.Transpose(n, n, a, n, t, n)
	return t
}

func (s *solver) general(x []float64) blas64.General {
	return blas64.General{Rows: s.n, Cols: s.n, Stride: s.n, Data: x}
}

func (s *solver) symmetric() blas64.Symmetric {
	return blas64.Symmetric{N: s.n, Stride: s.n, Data: s.x, Uplo: blas.Lower}
}

func (s *solver) lu() {
	copy(s.x, s.a)
	lapack64.Getrf(s.general(s.x), s.pivots)
}

func (s *solver) cholesky() {
	copy(s.x, s.a)
	lapack64.Potrf(s.symmetric())
}

func (s *solver) qr() {
	copy(s.x, s.a)
	lapack64.Geqrf(s.general(s.x), s.tau, s.work[:s.lwork], s.lwork)
	lapack64.Orgqr(s.general(s.x), s.tau, s.work[:s.lwork], s.lwork)
}

func (s *solver) eigen() {
	copy(s.x, s.a)
	lapack64.Syev(lapack.EVCompute, s.symmetric(), s.w, s.work[:s.lwork], s.lwork)
}

func (s *solver) eigenvalues() {
	copy(s.x, s.a)
	lapack64.Syev(lapack.EVNone, s.symmetric(), s.w, s.work[:s.lwork], s.lwork)
}

func (s *solver) svd() {
	copy(s.x, s.a)
	lapack64.Gesvd(lapack.SVDAll, lapack.SVDAll, s.general(s.x), s.general(s.u), s.general(s.vt), s.w,
		s.work[:s.lwork], s.lwork)
}

func (s *solver) singularValues() {
	copy(s.x, s.a)
	lapack64.Gesvd(lapack.SVDNone, lapack.SVDNone, s.general(s.x), s.general(s.u), s.general(s.vt), s.w,
		s.work[:s.lwork], s.lwork)
}

// What follows is OpenBLAS's, by columns. A symmetric matrix is the same by rows and by columns,
// and its lower triangle by rows is the upper one by columns.

func (s *solver) luOfOpenBLAS() {
	copy(s.x, s.at)
	n := int32(s.n)
	s.c.Getrf(&n, &n, first(s.x), &n, first(s.ints), ptr(int32(0)))
}

func (s *solver) choleskyOfOpenBLAS() {
	copy(s.x, s.a)
	n := int32(s.n)
	s.c.Potrf(ptr(byte('U')), &n, first(s.x), &n, ptr(int32(0)))
}

func (s *solver) qrOfOpenBLAS() {
	copy(s.x, s.at)
	n, size := int32(s.n), int32(len(s.work))
	s.c.Geqrf(&n, &n, first(s.x), &n, first(s.tau), first(s.work), &size, ptr(int32(0)))
	s.c.Orgqr(&n, &n, &n, first(s.x), &n, first(s.tau), first(s.work), &size, ptr(int32(0)))
}

func (s *solver) eigenOfOpenBLAS() {
	copy(s.x, s.a)
	n, size, ints := int32(s.n), int32(len(s.work)), int32(len(s.ints))
	s.c.Syevd(ptr(byte('V')), ptr(byte('U')), &n, first(s.x), &n, first(s.w), first(s.work), &size, first(s.ints),
		&ints, ptr(int32(0)))
}

// svdOfOpenBLAS factors aᵀ, as a is by columns: its U by columns is V by rows.
func (s *solver) svdOfOpenBLAS() {
	copy(s.x, s.a)
	n, size := int32(s.n), int32(len(s.work))
	s.c.Gesdd(ptr(byte('A')), &n, &n, first(s.x), &n, first(s.w), first(s.vt), &n, first(s.u), &n, first(s.work), &size,
		first(s.ints), ptr(int32(0)))
}

// vector is what factors are multiplied by.
func (s *solver) vector() []float64 {
	v := make([]float64, s.n)
	for i := range v {
		v[i] = 1 + float64(i%7)/8
	}
	return v
}

// times is x*v, or the transpose's.
func (s *solver) times(t blas.Transpose, x, v []float64) []float64 {
	y := make([]float64, s.n)
	gonum.Implementation{}.Dgemv(t, s.n, s.n, 1, x, s.n, v, 1, 0, y, 1)
	return y
}

// triangle multiplies v by a triangle of x, in place.
func (s *solver) triangle(ul blas.Uplo, t blas.Transpose, d blas.Diag, x, v []float64) {
	gonum.Implementation{}.Dtrmv(ul, t, d, s.n, x, s.n, v, 1)
}

func (s *solver) compare(got, want []float64) Check {
	return compare(got, want, 100*looseness[float64](s.n))
}

// rows is x by rows, which Fortran has by columns.
func (s *solver) rows(x []float64, byColumns bool) []float64 {
	if byColumns {
		return transposed(x, s.n)
	}
	return x
}

// checkLU compares L*U*v with the rows of a*v as the pivots exchange them.
func (s *solver) checkLU(fortran bool) Check {
	x, got, want := s.rows(s.x, fortran), s.vector(), s.times(blas.NoTrans, s.a, s.vector())
	s.triangle(blas.Upper, blas.NoTrans, blas.NonUnit, x, got)
	s.triangle(blas.Lower, blas.NoTrans, blas.Unit, x, got)
	for i := range s.n {
		p := s.pivots[i]
		if fortran {
			p = int(s.ints[i]) - 1
		}
		want[i], want[p] = want[p], want[i]
	}
	return s.compare(got, want)
}

func (s *solver) checkCholesky(bool) Check {
	got := s.vector()
	s.triangle(blas.Lower, blas.Trans, blas.NonUnit, s.x, got)
	s.triangle(blas.Lower, blas.NoTrans, blas.NonUnit, s.x, got)
	return s.compare(got, s.times(blas.NoTrans, s.a, s.vector()))
}

// checkQ: Qᵀ*Q*v is v, and the first column of Qᵀ*a has a first element alone.
func (s *solver) checkQ(fortran bool) Check {
	q, column := s.rows(s.x, fortran), make([]float64, s.n)
	for i := range column {
		column[i] = s.a[i*s.n]
	}
	r := s.times(blas.Trans, q, column)
	got := append(s.times(blas.Trans, q, s.times(blas.NoTrans, q, s.vector())), r[1:]...)
	return s.compare(got, append(s.vector(), make([]float64, s.n-1)...))
}

// checkEigen compares V*w*Vᵀ*v with a*v.
func (s *solver) checkEigen(fortran bool) Check {
	v := s.rows(s.x, fortran)
	y := s.times(blas.Trans, v, s.vector())
	for i := range y {
		y[i] *= s.w[i]
	}
	return s.compare(s.times(blas.NoTrans, v, y), s.times(blas.NoTrans, s.a, s.vector()))
}

func (s *solver) checkSVD(bool) Check {
	y := s.times(blas.NoTrans, s.vt, s.vector())
	for i := range y {
		y[i] *= s.w[i]
	}
	return s.compare(s.times(blas.NoTrans, s.u, y), s.times(blas.NoTrans, s.a, s.vector()))
}

// checkTrace compares the sum of the eigenvalues with that of the diagonal, checkFrobenius the sum
// of the squares of singular values with that of a's elements.
func (s *solver) checkTrace(bool) Check {
	got, want := 0.0, 0.0
	for i, w := range s.w {
		got, want = got+w, want+s.a[i*s.n+i]
	}
	return s.compare([]float64{got}, []float64{want})
}

func (s *solver) checkFrobenius(bool) Check {
	got, want := 0.0, 0.0
	for _, w := range s.w {
		got += w * w
	}
	for _, v := range s.a {
		want += v * v
	}
	return s.compare([]float64{got}, []float64{want})
}
