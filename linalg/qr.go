package linalg

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
)

// A QR is a factorization A = Q*R of a matrix of m by n, where Q is orthogonal and R is upper
// triangular. Householder's method makes it, in panels of 32 columns, as docs/contract.md defines:
// so its bits depend on nothing but those of A. It is read only, and safe for concurrent use.
// Methods take [WithContext], as those of [LU].
type QR[T Float] struct {
	s      *Session
	packed Matrix[T]
	tau    []T
	exps   []int     // nil, or R is scaled, column j of it over 2^exps[j], which may be out of range
	scaled Matrix[T] // for solutions
}

// FactorQR is the QR factorization of A, as [FactorLU] works. A stays as it is; it may have any
// shape and any rank. NaN and infinities come through as NaN, but for an infinity that has nothing
// but zeros below it: that stays. What of R is out of range is infinite; solutions do without it.
func FactorQR[T Float](a Matrix[T], opts ...Option) (*QR[T], error) {
	o, packed, err := begin("FactorQR", a, opts)
	if err != nil {
		return nil, err
	}
	return factorQR(o.ctx, o.s, packed)
}

// factorQR overwrites a.
func factorQR[T Float](ctx context.Context, s *Session, a Matrix[T]) (*QR[T], error) {
	f := &QR[T]{s: s, packed: a, tau: make([]T, min(a.Rows, a.Cols))}
	rows, cols, k := float64(a.Rows), float64(a.Cols), float64(len(f.tau))
	work := 2 * k * (rows*cols - (rows+cols)*k/2 + k*k/3)
	var err error
	f.exps, err = solver[T](ctx, s, work).ScaledQR(a.Rows, a.Cols, a.Data, a.Stride, f.tau)
	if err := ended(ctx, err); err != nil {
		return nil, err
	}
	f.scaled = f.packed
	if f.exps != nil {
		f.scaled = f.R()
		solve.ScaleR(len(f.tau), a.Cols, a.Data, a.Stride, f.exps)
	}
	return f, nil
}

// Packed is R in and above the diagonal, and below it the vectors of the reflectors I - tau*v*vᵀ
// whose product Q is, each without its first element, which is 1: as LAPACK's geqrf leaves them. It
// shares memory with f.
func (f *QR[T]) Packed() Matrix[T] { return f.packed }

// Tau is the factors of the reflectors, min(m, n) of them. It shares memory with f.
func (f *QR[T]) Tau() []T { return f.tau }

// R is the factor of min(m, n) by n, with zeros below its diagonal. It is packed and new.
func (f *QR[T]) R() Matrix[T] {
	r := NewMatrix[T](len(f.tau), f.packed.Cols, nil)
	for i := range r.Rows {
		copy(r.Row(i)[i:], f.packed.Row(i)[i:])
	}
	return r
}

// Q is the first min(m, n) columns of the factor, which is all of it that R needs. It is packed and
// new.
func (f *QR[T]) Q(opts ...Option) (Matrix[T], error) {
	o, err := settingsOf("Q", withContext, opts)
	if err := cmp.Or(err, context.Cause(o.ctx)); err != nil {
		return Matrix[T]{}, err
	}
	m, k := f.packed.Rows, len(f.tau)
	q := newResult[T](m, k)
	if k == 0 {
		return q, nil
	}
	host.CopyMatrix(m, k, f.packed.Data, f.packed.Stride, q.Data, q.Stride)
	rows, cols := float64(m), float64(k)
	err = solver[T](o.ctx, f.s, cols*cols*(rows-cols/3)).FormQ(m, k, k, q.Data, q.Stride, f.tau)
	return q, ended(o.ctx, err)
}

// MulQ is op(Q)*B for the whole Q, of m by m, where op(Q) is Q or, with blas.Trans or
// blas.ConjTrans, its transpose. It is packed and new. The error is ErrShape where B has other rows
// than A, and ErrOverflow where the result, or a number on the way to it, is beyond the type.
func (f *QR[T]) MulQ(tQ blas.Transpose, b Matrix[T], opts ...Option) (Matrix[T], error) {
	if tQ != blas.NoTrans && tQ != blas.Trans && tQ != blas.ConjTrans {
		return Matrix[T]{}, fmt.Errorf("%w: op(Q) is %q; blas.NoTrans or blas.Trans are", ErrShape, tQ)
	}
	m := f.packed.Rows
	ctx, x, err := rightSide("QR.MulQ", f.s, m, f.packed.Cols, b, opts)
	if err != nil || m == 0 || b.Cols == 0 {
		return x, err
	}
	if err := f.applyQ(ctx, tQ != blas.NoTrans, x); err != nil {
		return x, err
	}
	return finite(x, b, NewMatrix(1, len(f.tau), f.tau)) // R, which Q does not depend on, may be beyond the type
}

// applyQ makes x Q*x, or with trans Qᵀ*x.
func (f *QR[T]) applyQ(ctx context.Context, trans bool, x Matrix[T]) error {
	rows, k := float64(x.Rows), float64(len(f.tau))
	err := solver[T](ctx, f.s, float64(x.Cols)*k*(2*rows-k)).ApplyQ(trans, x.Rows, x.Cols, len(f.tau), f.packed.Data,
		f.packed.Stride, f.tau, x.Data, x.Stride)
	return ended(ctx, err)
}

// Solve is the solution X of least squares: each of its columns makes the norm of that of A*X - B
// the smallest. It is packed and new: R*X = QᵀB, of which the first n rows count. The error is
// ErrShape where A has fewer rows than columns, which [LQ] is for, or B has other rows than A,
// ErrSingular where there is a 0 on R's diagonal, and ErrOverflow as for [LU.Solve]. Where A has
// not full rank but for rounding the diagonal has numbers that are small instead: see Cond.
func (f *QR[T]) Solve(b Matrix[T], opts ...Option) (Matrix[T], error) {
	n := f.packed.Cols
	if f.packed.Rows < n {
		return Matrix[T]{}, fmt.Errorf("%w: the QR factorization is of %s, which has more columns than rows: "+
			"LeastSquares takes it", ErrShape, f.packed)
	}
	if err := f.nonSingular(); err != nil {
		return Matrix[T]{}, err
	}
	ctx, qb, err := rightSide("QR.Solve", f.s, f.packed.Rows, n, b, opts)
	if err != nil {
		return Matrix[T]{}, err
	}
	if n == 0 || b.Cols == 0 {
		return NewMatrix[T](n, b.Cols, nil), nil
	}
	right := rightExponents(qb, nil)
	scaleElements(qb, nil, right, -1)
	if err := f.applyQ(stage(ctx, 0, f.shareOfQ()), true, qb); err != nil {
		return Matrix[T]{}, err
	}
	x := qb.Slice(0, n, 0, b.Cols).Packed()
	if err := f.solveR(stage(ctx, f.shareOfQ(), 1), false, x); err != nil {
		return Matrix[T]{}, err
	}
	scaleElements(x, f.exps, right, 1)
	return finite(x, b, f.scaled)
}

// rightExponents is the exponents of columns of a right side with row i over 2^rows[i], or nil.
// What is small is kept far below 1, since it may be divided by what is smaller, and what is large
// far above, since it may stand beside small elements that count in rows of their own.
func rightExponents[T Float](b Matrix[T], rows []int) []int {
	far := 400 // the squares of 2^far are plain numbers
	if element.TypeOf[T]() == element.Float32 {
		far = 50
	}
	exps := solve.ColumnExponents(b.Rows, b.Cols, b.Data, b.Stride, rows)
	for j, exp := range exps {
		exps[j] = max(exp-far, 0) + min(exp+far, 0)
	}
	return exps
}

// scaleElements multiplies element (i, j) by 2^(sign*cols[j] - rows[i]); of nil all are 0.
func scaleElements[T Float](a Matrix[T], rows, cols []int, sign int) {
	if rows == nil && cols == nil {
		return
	}
	solve.Scale(a.Rows, a.Cols, a.Data, a.Stride, func(i, j int) (exp int) {
		if rows != nil {
			exp -= rows[i]
		}
		if cols != nil {
			exp += sign * cols[j]
		}
		return exp
	})
}

// shareOfQ is how much of the work for a solution is the product with Q.
func (f *QR[T]) shareOfQ() float64 {
	m, n := float64(f.packed.Rows), float64(f.packed.Cols)
	return (2*m - n) / (2*m - n/2)
}

// solveR makes x the solution of R*X = x, or with trans of Rᵀ*X = x.
func (f *QR[T]) solveR(ctx context.Context, trans bool, x Matrix[T]) error {
	work := float64(x.Rows) * float64(x.Rows) * float64(x.Cols) / 2
	err := solver[T](ctx, f.s, work).Solve(f.triangle(trans), true, 1, x.Rows, x.Cols, x.Data, x.Stride)
	return ended(ctx, err)
}

// triangle is R, scaled where it has to be, or with trans its transpose, where it is square.
func (f *QR[T]) triangle(trans bool) solve.Triangle[T] {
	return solve.Triangle[T]{
		N: len(f.tau), Data: f.scaled.Data, Stride: f.scaled.Stride, Upper: true, Trans: trans,
	}
}

func (f *QR[T]) nonSingular() error {
	for i := range f.tau {
		if f.scaled.At(i, i) == 0 {
			return fmt.Errorf("%w: element %d of the triangle's diagonal is 0", ErrSingular, i)
		}
	}
	return nil
}

// Det is the determinant of a square A, mantissa * 2^exp, as [LU.Det] has it: the product of R's
// diagonal, negated for each reflector. It panics where A is not square.
func (f *QR[T]) Det() (mantissa T, exp int) {
	if f.packed.Rows != f.packed.Cols {
		panic(fmt.Errorf("%w: the QR factorization is of %s, which is not square", ErrShape, f.packed))
	}
	p := scaledProduct[T]{0.5, 1}
	for i, tau := range f.tau {
		if p.times(f.scaled.At(i, i)); p.mantissa != 0 && f.exps != nil {
			p.exp += f.exps[i]
		}
		if tau != 0 {
			p.mantissa = -p.mantissa
		}
	}
	return p.mantissa, p.exp
}

// Cond is an estimate of the condition number of R in the 1-norm, a lower bound that is mostly
// within a factor of 3: in the 2-norm it is that of A, and the two norms differ by a factor of n at
// most. It is +Inf where there is a 0 on R's diagonal, and NaN where A has a NaN. The error is
// ErrShape where A has fewer rows than columns.
func (f *QR[T]) Cond() (T, error) {
	if f.packed.Rows < f.packed.Cols {
		return 0, fmt.Errorf("%w: the QR factorization is of %s, which has more columns than rows", ErrShape, f.packed)
	}
	n, r := len(f.tau), f.R()
	if n > 0 && f.exps != nil { // R over a power of two is in the range
		r = f.scaled.Packed()
		most := slices.Max(f.exps)
		solve.Scale(n, n, r.Data, r.Stride, func(_, j int) int { return f.exps[j] - most })
	}
	norm := norm1(r, false)
	return condition(norm, n, f.nonSingular() != nil, func() T {
		return solve.TriangleCondition(false, solve.Triangle[T]{N: n, Data: r.Data, Stride: n, Upper: true}, norm)
	}), nil
}

// An LQ is a factorization A = L*Q of a matrix of m by n, where L is lower triangular and Q is
// orthogonal: the transpose of [QR] of Aᵀ. It is read only, and safe for concurrent use. Methods
// take [WithContext], as those of [LU].
type LQ[T Float] struct{ qr *QR[T] }

// FactorLQ is the LQ factorization of A, as [FactorQR] is QR.
func FactorLQ[T Float](a Matrix[T], opts ...Option) (*LQ[T], error) {
	o, c, err := begin("FactorLQ", a, opts)
	if err != nil {
		return nil, err
	}
	qr, err := factorQR(o.ctx, o.s, transposeOf(c))
	if err != nil {
		return nil, err
	}
	return &LQ[T]{qr}, nil
}

func transposeOf[T Float](a Matrix[T]) Matrix[T] {
	t := newResult[T](a.Cols, a.Rows)
	if len(t.Data) > 0 {
		host.Transpose(a.Rows, a.Cols, a.Data, a.Stride, t.Data, t.Stride)
	}
	return t
}

// L is the factor of m by min(m, n), with zeros above its diagonal. It is packed and new.
func (f *LQ[T]) L() Matrix[T] { return transposeOf(f.qr.R()) }

// Q is the first min(m, n) rows of the factor, which is all of it that L needs. It is packed and
// new.
func (f *LQ[T]) Q(opts ...Option) (Matrix[T], error) {
	q, err := f.qr.Q(opts...)
	if err != nil {
		return Matrix[T]{}, err
	}
	return transposeOf(q), nil
}

// Solve is the solution X of A*X = B of which each column has the smallest norm. It is packed and
// new: Qᵀ times the solution Y of L*Y = B. The error is ErrShape where A has more rows than
// columns, which [QR] is for, or B has other rows than A, ErrSingular where there is a 0 on L's
// diagonal, and ErrOverflow as for [LU.Solve].
func (f *LQ[T]) Solve(b Matrix[T], opts ...Option) (Matrix[T], error) {
	n, m := f.qr.packed.Rows, f.qr.packed.Cols
	if m > n {
		return Matrix[T]{}, fmt.Errorf("%w: the LQ factorization is of %dx%d, which has more rows than columns: "+
			"LeastSquares takes it", ErrShape, m, n)
	}
	if err := f.qr.nonSingular(); err != nil {
		return Matrix[T]{}, err
	}
	ctx, y, err := rightSide("LQ.Solve", f.qr.s, m, n, b, opts)
	if err != nil {
		return Matrix[T]{}, err
	}
	x := NewMatrix[T](n, b.Cols, nil)
	if m == 0 || b.Cols == 0 {
		return x, nil
	}
	right := rightExponents(y, f.qr.exps)
	scaleElements(y, f.qr.exps, right, -1)
	share := 1 - f.qr.shareOfQ()
	if err := f.qr.solveR(stage(ctx, 0, share), true, y); err != nil {
		return Matrix[T]{}, err
	}
	copyElements(x.Slice(0, m, 0, b.Cols), y)
	if err := f.qr.applyQ(stage(ctx, share, 1), false, x); err != nil {
		return Matrix[T]{}, err
	}
	scaleElements(x, nil, right, 1)
	return finite(x, b, f.qr.scaled)
}

// LeastSquares is the X that makes the norm of each column of A*X - B the smallest: [QR.Solve], or
// where A has fewer rows than columns [LQ.Solve], which is exact but for rounding and has the
// smallest norm. A and B stay as they are.
func LeastSquares[T Float](a, b Matrix[T], opts ...Option) (Matrix[T], error) {
	o, err := settingsOf("LeastSquares", onHost, opts)
	if err != nil {
		return Matrix[T]{}, err
	}
	if a.Rows != b.Rows {
		return Matrix[T]{}, fmt.Errorf("%w: least squares of %s and %s, which has other rows", ErrShape, a, b)
	}
	long, short, right := float64(max(a.Rows, a.Cols)), float64(min(a.Rows, a.Cols)), float64(b.Cols)
	factor, solution := short*(long-short/3), right*(2*long-short/2) // multiplications, over short
	factored := factor / (factor + solution)
	first, then := WithContext(stage(o.ctx, 0, factored)), WithContext(stage(o.ctx, factored, 1))
	if a.Rows < a.Cols {
		f, err := FactorLQ(a, On(o.s), first)
		if err != nil {
			return Matrix[T]{}, err
		}
		return f.Solve(b, then)
	}
	f, err := FactorQR(a, On(o.s), first)
	if err != nil {
		return Matrix[T]{}, err
	}
	return f.Solve(b, then)
}
