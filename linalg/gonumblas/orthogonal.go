package gonumblas

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"

	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// isWork tells whether work has room for lwork elements, of which at least least are asked for.
func isWork(least, lwork int, work []float64) bool { return lwork >= least && len(work) >= lwork }

type solver64 = solve.Solver[float64]

// try runs work, which overwrites A, by a solver that keeps matrices in the device's memory, where
// those of that size are for the device. Where the device fails, the host begins with A as it was.
func (f factorizer) try(what string, a linalg.Matrix[float64], work func(s solver64) error) error {
	if f.e.isForDevice(a.Rows, a.Cols) {
		before, memory := scratch[float64](a.Rows, a.Cols)
		defer memory.Give()
		copyMatrix(before, a)
		err := work(inside.Solver(f.e.s))
		if err == nil || errors.Is(err, solve.ErrNotConverged) {
			return err
		}
		f.e.report(fmt.Sprintf("%s of %s was", what, a), err)
		copyMatrix(a, before)
	}
	return work(f.solver())
}

// must is try for what does not fail on the host.
func (f factorizer) must(what string, a linalg.Matrix[float64], work func(s solver64) error) {
	must(f.try(what, a, work))
}

// iterate is try for an iteration.
func (f factorizer) iterate(what string, a linalg.Matrix[float64], work func(s solver64) (ok bool, err error)) bool {
	ok := false
	err := f.try(what, a, func(s solver64) (err error) {
		ok, err = work(s)
		return err
	})
	return converged(ok, err)
}

// Dgeqrf factors A = Q*R.
func (f factorizer) Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	if min(m, n) <= 0 || !fits(m, n, lda, len(a)) || len(tau) != min(m, n) || !isWork(n, lwork, work) {
		f.Implementation.Dgeqrf(m, n, a, lda, tau, work, lwork)
		return
	}
	f.must("QR", matrix(m, n, a, lda), func(s solver64) error { return s.QR(m, n, a, lda, tau) })
	work[0] = float64(n)
}

// Dgelqf factors A = L*Q.
func (f factorizer) Dgelqf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	if min(m, n) <= 0 || !fits(m, n, lda, len(a)) || len(tau) < min(m, n) || !isWork(m, lwork, work) {
		f.Implementation.Dgelqf(m, n, a, lda, tau, work, lwork)
		return
	}
	f.must("LQ", matrix(m, n, a, lda), func(s solver64) error { return s.LQ(m, n, a, lda, tau) })
	work[0] = float64(m)
}

// Dorgqr makes A, as Dgeqrf left it, the first n columns of Q.
func (f factorizer) Dorgqr(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	if k <= 0 || k > n || n > m || !fits(m, n, lda, len(a)) || len(tau) != k || !isWork(n, lwork, work) {
		f.Implementation.Dorgqr(m, n, k, a, lda, tau, work, lwork)
		return
	}
	f.must("Q", matrix(m, n, a, lda), func(s solver64) error { return s.FormQ(m, n, k, a, lda, tau) })
	work[0] = float64(n)
}

// Dorglq makes A, as Dgelqf left it, the first m rows of Q.
func (f factorizer) Dorglq(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	if k <= 0 || k > m || m > n || !fits(m, n, lda, len(a)) || len(tau) < k || !isWork(m, lwork, work) {
		f.Implementation.Dorglq(m, n, k, a, lda, tau, work, lwork)
		return
	}
	f.must("Q", matrix(m, n, a, lda), func(s solver64) error { return s.FormRows(m, n, k, a, lda, tau) })
	work[0] = float64(m)
}

// Dormqr makes C op(Q)*C or C*op(Q) for Q as Dgeqrf left it in A.
func (f factorizer) Dormqr(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int,
	tau, c []float64, ldc int, work []float64, lwork int,
) {
	rows, least := m, n
	if side == blas.Right {
		rows, least = n, m
	}
	if !isSide(side) || trans != blas.NoTrans && trans != blas.Trans || min(m, n, k) <= 0 || k > rows ||
		!fits(rows, k, lda, len(a)) || !fits(m, n, ldc, len(c)) || len(tau) != k || !isWork(least, lwork, work) {
		f.Implementation.Dormqr(side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	f.must("a product with Q", matrix(m, n, c, ldc), func(s solver64) error {
		return s.MultiplyQ(side == blas.Left, trans == blas.Trans, m, n, k, a, lda, tau, c, ldc)
	})
	work[0] = float64(least)
}

// Dormlq makes C op(Q)*C or C*op(Q) for Q as Dgelqf left it in A.
func (f factorizer) Dormlq(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int,
	tau, c []float64, ldc int, work []float64, lwork int,
) {
	cols, least := m, n
	if side == blas.Right {
		cols, least = n, m
	}
	if !isSide(side) || trans != blas.NoTrans && trans != blas.Trans || min(m, n, k) <= 0 || k > cols ||
		!fits(k, cols, lda, len(a)) || !fits(m, n, ldc, len(c)) || len(tau) < k || !isWork(least, lwork, work) {
		f.Implementation.Dormlq(side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	f.must("a product with Q", matrix(m, n, c, ldc), func(s solver64) error {
		return s.MultiplyRows(side == blas.Left, trans == blas.Trans, m, n, k, a, lda, tau, c, ldc)
	})
	work[0] = float64(least)
}

// Dsyev computes the eigenvalues of a symmetric matrix, and with lapack.EVCompute its eigenvectors,
// which it leaves in A. It is false where A has NaN or infinities, or the iteration does not end.
func (f factorizer) Dsyev(job lapack.EVJob, ul blas.Uplo, n int, a []float64, lda int, w, work []float64,
	lwork int,
) bool {
	if job != lapack.EVNone && job != lapack.EVCompute || !isUplo(ul) || !isSquare(n, a, lda) || len(w) < n ||
		!isWork(max(1, 3*n-1), lwork, work) {
		return f.Implementation.Dsyev(job, ul, n, a, lda, w, work, lwork)
	}
	work[0] = float64(3*n - 1)
	return f.iterate("EigSym", matrix(n, n, a, lda), func(on solver64) (ok bool, err error) {
		return solve.EigSym(on, job == lapack.EVCompute, ul == blas.Lower, n, a, lda, w[:n])
	})
}

// Dgesvd computes the singular values of A, and of the vectors none, those that belong to values,
// or all. It is false where A has NaN or infinities, or the iteration does not end.
func (f factorizer) Dgesvd(jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int,
	vt []float64, ldvt int, work []float64, lwork int,
) bool {
	k := min(m, n)
	cols, okU := wanted(jobU, m, k)
	rows, okVT := wanted(jobVT, n, k)
	if !okU || !okVT || k <= 0 || !fits(m, n, lda, len(a)) || len(s) < k || ldu < 1 || ldvt < 1 ||
		cols > 0 && !fits(m, cols, ldu, len(u)) || rows > 0 && !fits(rows, n, ldvt, len(vt)) ||
		!isWork(max(3*k+max(m, n), 5*k), lwork, work) {
		return f.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	}
	work[0] = float64(max(3*k+max(m, n), 5*k))
	return f.iterate("SVD", matrix(m, n, a, lda), func(on solver64) (ok bool, err error) {
		return solve.SVD(on, m, n, a, lda, s[:k],
			solve.SingularVectors{U: u, Cols: cols, LdU: ldu, VT: vt, Rows: rows, LdVT: ldvt})
	})
}

// converged is what LAPACK tells of an iteration.
func converged(ok bool, err error) bool {
	if errors.Is(err, solve.ErrNotConverged) {
		return false
	}
	must(err)
	return ok
}

// wanted is how many vectors a job asks for, of all and of those that belong to values.
func wanted(job lapack.SVDJob, all, some int) (n int, ok bool) {
	switch job {
	case lapack.SVDAll:
		return all, true
	case lapack.SVDStore:
		return some, true
	}
	return 0, job == lapack.SVDNone
}
