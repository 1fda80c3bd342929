package bench

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

// A solver is a factorization of a square matrix of n rows, ready to be computed by gonum's LAPACK,
// whichever it uses, and by OpenBLAS's. All of them copy a to x first, which is a small part of the
// time. What comes out is checked on a vector: the factors times it are a times it.
type solver struct {
	n        int
	a, at    []float64 // at is aᵀ, which is a to Fortran
	x        []float64 // a, then the factors
	u, vt    []float64
	w, tau   []float64
	work     []float64
	lwork    int // of gonum's, whose Dgemv clears whatever more there is
	pivots   []int
	c        *realCBLAS[float64]
	ints     []int32 // of Fortran: pivots, or memory
	byColumn bool    // x is Fortran's
}

// A factorization has flops times n^3 operations.
type factorization struct {
	name      string
	flops     float64
	symmetric bool // of a positive definite matrix
	vectors   bool // false: not of large matrices, and not by OpenBLAS
	gonum     func(s *solver)
	openBLAS  func(s *solver, n, size *int32)
	check     func(s *solver) measure.Check
}

var factorizations = []factorization{
	{"LU", 2. / 3, false, true, func(s *solver) {
		lapack64.Getrf(s.general(s.x), s.pivots)
	}, func(s *solver, n, _ *int32) {
		s.c.Getrf(n, n, s.x, n, s.ints, new(int32))
	}, (*solver).checkLU},
	{"Cholesky", 1. / 3, true, true, func(s *solver) {
		lapack64.Potrf(s.symmetric())
	}, func(s *solver, n, _ *int32) {
		s.c.Potrf(ptr(byte('U')), n, s.x, n, new(int32))
	}, (*solver).checkCholesky},
	{"QR with Q", 8. / 3, false, true, func(s *solver) {
		lapack64.Geqrf(s.general(s.x), s.tau, s.work[:s.lwork], s.lwork)
		lapack64.Orgqr(s.general(s.x), s.tau, s.work[:s.lwork], s.lwork)
	}, func(s *solver, n, size *int32) {
		s.c.Geqrf(n, n, s.x, n, s.tau, s.work, size, new(int32))
		s.c.Orgqr(n, n, n, s.x, n, s.tau, s.work, size, new(int32))
	}, (*solver).checkQ},
	{"EigSym", 9, true, true, func(s *solver) {
		lapack64.Syev(lapack.EVCompute, s.symmetric(), s.w, s.work[:s.lwork], s.lwork)
	}, func(s *solver, n, size *int32) {
		s.c.Syevd(ptr(byte('V')), ptr(byte('U')), n, s.x, n, s.w, s.work, size, s.ints,
			ptr(int32(len(s.ints))), new(int32))
	}, (*solver).checkEigen},
	{"SVD", 22, false, true, func(s *solver) {
		s.singular(lapack.SVDAll)
	}, func(s *solver, n, size *int32) { // of aᵀ: its U by columns is V by rows
		copy(s.x, s.a)
		s.c.Gesdd(ptr(byte('A')), n, n, s.x, n, s.w, s.vt, n, s.u, n, s.work, size,
			s.ints, new(int32))
	}, (*solver).checkSVD},
	{"eigenvalues", 4. / 3, true, false, func(s *solver) {
		lapack64.Syev(lapack.EVNone, s.symmetric(), s.w, s.work[:s.lwork], s.lwork)
	}, nil, (*solver).checkTrace},
	{"singular values", 8. / 3, false, false, func(s *solver) {
		s.singular(lapack.SVDNone)
	}, nil, (*solver).checkFrobenius},
}

// lapackRows are factorizations of float64: of few rows, and large ones.
func lapackRows(r *runner) (list []*task) {
	const few = 64
	for _, n := range r.sizes([]int{3, 70}, 1, 2, 4, 8, 16, 32, few, 500, 1000, 2000) {
		for _, f := range factorizations {
			if n <= few || f.vectors {
				list = append(list, r.solver(&f, n))
			}
		}
	}
	return list
}

func (r *runner) solver(f *factorization, n int) *task {
	flops := f.flops * float64(n) * float64(n) * float64(n)
	t := function[float64](f.name, n, n, flops, gigaflops, func(t *task) error {
		s := newSolver(random[float64](t, "a", n, n), n, f.symmetric)
		t.Reset = func() { measure.Fill(s.x, measure.Poison[float64]()); measure.Fill(s.w, measure.Poison[float64]()) }
		t.Verify = func(bool) measure.Check { return f.check(s) }
		run := measure.Repeat(func() error {
			s.byColumn = false
			copy(s.x, s.a)
			f.gonum(s)
			return nil
		})
		t.add(t.Contender(nameFast, run, nil, nil))
		t.calls = append(t.calls, call{"gonum", func(runs int) error {
			blas64.Use(gonum.Implementation{})
			lapack64.Use(lapackgonum.Implementation{})
			defer gonumblas.Use(r.s)
			return run(runs)
		}})
		if r.blas != nil && f.openBLAS != nil {
			s.c = &r.blas.double
			t.calls = append(t.calls, call{"OpenBLAS", measure.Repeat(func() error {
				s.byColumn = true
				copy(s.x, s.at)
				f.openBLAS(s, ptr(int32(n)), ptr(int32(len(s.work))))
				return nil
			})})
		}
		return nil
	})
	t.arrays = 14 // with room for the work
	return t
}

func newSolver(a []float64, n int, symmetric bool) *solver {
	if symmetric {
		for i := range n {
			a[i*n+i] += float64(n) // positive definite
			for j := range i {
				a[j*n+i] = a[i*n+j]
			}
		}
	}
	return &solver{
		n: n, a: a, at: transposed(a, n), x: make([]float64, n*n), u: make([]float64, n*n), vt: make([]float64, n*n),
		w: make([]float64, n), tau: make([]float64, n), work: make([]float64, 8*n*n+1000*n), lwork: 70 * n,
		pivots: make([]int, n), ints: make([]int32, 8*n+3),
	}
}

func ptr[T any](v T) *T { return &v }

func transposed(a []float64, n int) []float64 {
	t := make([]float64, len(a))
	host.Transpose(n, n, a, n, t, n)
	return t
}

func (s *solver) general(x []float64) blas64.General {
	return blas64.General{Rows: s.n, Cols: s.n, Stride: s.n, Data: x}
}

// symmetric is x, whose lower triangle by rows is the upper one by columns.
func (s *solver) symmetric() blas64.Symmetric {
	return blas64.Symmetric{N: s.n, Stride: s.n, Data: s.x, Uplo: blas.Lower}
}

func (s *solver) singular(job lapack.SVDJob) {
	lapack64.Gesvd(job, job, s.general(s.x), s.general(s.u), s.general(s.vt), s.w, s.work[:s.lwork], s.lwork)
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

func (s *solver) compare(got, want []float64) measure.Check {
	return measure.Compare(got, want, 100*looseness[float64](s.n))
}

// rows is x by rows.
func (s *solver) rows() []float64 {
	if s.byColumn {
		return transposed(s.x, s.n)
	}
	return s.x
}

// checkLU compares L*U*v with the rows of a*v as the pivots exchange them.
func (s *solver) checkLU() measure.Check {
	x, got, want := s.rows(), s.vector(), s.times(blas.NoTrans, s.a, s.vector())
	s.triangle(blas.Upper, blas.NoTrans, blas.NonUnit, x, got)
	s.triangle(blas.Lower, blas.NoTrans, blas.Unit, x, got)
	for i := range s.n {
		p := s.pivots[i]
		if s.byColumn {
			p = int(s.ints[i]) - 1
		}
		want[i], want[p] = want[p], want[i]
	}
	return s.compare(got, want)
}

func (s *solver) checkCholesky() measure.Check {
	got := s.vector()
	s.triangle(blas.Lower, blas.Trans, blas.NonUnit, s.x, got)
	s.triangle(blas.Lower, blas.NoTrans, blas.NonUnit, s.x, got)
	return s.compare(got, s.times(blas.NoTrans, s.a, s.vector()))
}

// checkQ: Qᵀ*Q*v is v, and the first column of Qᵀ*a has a first element alone.
func (s *solver) checkQ() measure.Check {
	q, column := s.rows(), make([]float64, s.n)
	for i := range column {
		column[i] = s.a[i*s.n]
	}
	r := s.times(blas.Trans, q, column)
	got := append(s.times(blas.Trans, q, s.times(blas.NoTrans, q, s.vector())), r[1:]...)
	return s.compare(got, append(s.vector(), make([]float64, s.n-1)...))
}

// scaled is the elements of v times those of w.
func (s *solver) scaled(v []float64) []float64 {
	for i := range v {
		v[i] *= s.w[i]
	}
	return v
}

// checkEigen compares V*w*Vᵀ*v with a*v.
func (s *solver) checkEigen() measure.Check {
	v := s.rows()
	got := s.times(blas.NoTrans, v, s.scaled(s.times(blas.Trans, v, s.vector())))
	return s.compare(got, s.times(blas.NoTrans, s.a, s.vector()))
}

func (s *solver) checkSVD() measure.Check {
	got := s.times(blas.NoTrans, s.u, s.scaled(s.times(blas.NoTrans, s.vt, s.vector())))
	return s.compare(got, s.times(blas.NoTrans, s.a, s.vector()))
}

// checkTrace compares the sum of the eigenvalues with that of the diagonal, checkFrobenius the sum
// of the squares of singular values with that of a's elements.
func (s *solver) checkTrace() measure.Check {
	got, want := 0.0, 0.0
	for i, w := range s.w {
		got, want = got+w, want+s.a[i*s.n+i]
	}
	return s.compare([]float64{got}, []float64{want})
}

func (s *solver) checkFrobenius() measure.Check {
	got, want := 0.0, 0.0
	for _, w := range s.w {
		got += w * w
	}
	for _, v := range s.a {
		want += v * v
	}
	return s.compare([]float64{got}, []float64{want})
}
