package linalg

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/internal/strided"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

// A factorization runs on the host, but for its large products, which run on the session's devices
// where these are faster; LU and Cholesky of large matrices run in a device's memory, by
// factordevice.go, and QR does but for its panels, with all products with Q, by remote.go; the
// reductions of EigSym and SVD have their matrix there, by reduce.go. What follows is what they
// share.

// deviceSize is the size of products from which a GPU computes them that nobody has measured: the
// harmonic mean of rows, columns and steps.
const deviceSize = 512

// atOnce is the multiplications that the host does without a look at the context: some 100 ms.
const atOnce = 1 << 33

// crossover is the size of products of a factorization from which they run on the session's
// devices. Results do not depend on it.
func crossover[T Float](s *Session) int {
	if s.direct {
		return math.MaxInt
	}
	if n, ok := tuning.Crossover(&s.info, element.TypeOf[T]()); ok {
		return n
	}
	if s.info.Host {
		return math.MaxInt
	}
	return deviceSize
}

// solver is the solver of a call: it ends with ctx, and tells ctx's function how much of total
// multiplications is done.
func solver[T Float](ctx context.Context, s *Session, total float64) solve.Solver[T] {
	report, size, done := progress(ctx), float64(solverCrossover(crossover[T](s))), 0.0
	inner := WithProgress(ctx, nil) // of the products
	if s.supports(element.TypeOf[T]()) != nil {
		size = math.Inf(1)
	}
	onDevice := func(m, n, k int) bool { return isLarge(size, m, n, k) }
	tell := func() {
		if report != nil {
			report(min(done/total, 1))
		}
	}
	advance := func(work float64) {
		done += work
		tell()
	}
	x := solve.Solver[T]{
		Update: func(negate bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if onDevice(m, n, k) {
				x, y, z := part(m, k, a, lda), part(k, n, b, ldb), part(m, n, c, ldc)
				if err := updateOn(inner, s, negate, x, y, z); err != nil {
					return err
				}
			} else {
				host.Update(negate, m, n, k, a, lda, b, ldb, c, ldc)
			}
			advance(float64(m) * float64(n) * float64(k))
			return nil
		},
		AtOnce: func(m, n, k int) (bool, error) {
			work := float64(m) * float64(n) * float64(k) / 2
			if err := context.Cause(ctx); err != nil || work > atOnce || onDevice(m, n, k) {
				return false, err
			}
			tell()
			done += work // by the next time
			return true, nil
		},
	}
	if size < math.MaxInt { // there is a device that may take it
		x.Remote = func(m, n, k int, f func(r solve.Remote[T]) error) (bool, error) {
			if !isForDevice[T](s, m, n, k, roomFor(m, n)) {
				return false, nil
			}
			return onRemote(inner, s, advance, m, n, f)
		}
		x.Reduce = func(symmetric bool, m, n int, a []float64, lda int, f func(r solve.Reduction) error) (bool, error) {
			if m*n < reduceFrom || !hasRoom[float64](s, m, n, roomToReduce(m, n)) {
				return false, nil
			}
			r := reduction{ctx: inner, advance: advance, symmetric: symmetric}
			return r.run(s, part(m, n, a, lda), f)
		}
	}
	return x
}

// isLarge tells whether a product of m by n with k steps is for a device that takes them from size
// on.
func isLarge(size float64, m, n, k int) bool {
	return 3/(1/float64(m)+1/float64(n)+1/float64(k)) >= size
}

// ended tells ctx's function that all is done, whatever it came to in multiplications, unless there
// is an error, which it returns.
func ended(ctx context.Context, err error) error {
	if report := progress(ctx); err == nil && report != nil {
		report(1)
	}
	return err
}

// solverCrossover is for tests, which make devices compute small products.
var solverCrossover = func(size int) int { return size }

// updateOn is AddMul, or with negate SubMul, on s. C may lie between the rows of A and B.
func updateOn[T Float](ctx context.Context, s *Session, negate bool, a, b, c Matrix[T]) error {
	memory, data := host.Take[T](c.Rows * c.Cols)
	defer memory.Give()
	result := NewMatrix(c.Rows, c.Cols, data)
	copyElements(result, c)
	f := AddMul[T]
	if negate {
		f = SubMul[T]
	}
	if err := f(a, b, result, On(s), WithContext(ctx)); err != nil {
		return err
	}
	copyElements(c, result)
	return nil
}

// part is a matrix of the first elements of x.
func part[T Float](rows, cols int, x []T, ld int) Matrix[T] {
	return Matrix[T]{Rows: rows, Cols: cols, Stride: ld, Data: x[:strided.Span(rows, cols, ld)]}
}

// begin is ready and a copy of the matrix.
func begin[T Float](op string, a Matrix[T], opts []Option) (settings, Matrix[T], error) {
	o, err := ready(op, a, opts)
	if err != nil {
		return o, Matrix[T]{}, err
	}
	c := newResult[T](a.Rows, a.Cols)
	copyElements(c, a)
	return o, c, nil
}

// ready is the options of op, which factors A, with the session. It checks that and A.
func ready[T Float](op string, a Matrix[T], opts []Option) (o settings, err error) {
	o, err = settingsOf(op, onHost, opts)
	if err := cmp.Or(err, context.Cause(o.ctx), a.check("the matrix")); err != nil {
		return o, err
	}
	if o.s, err = orDefault(o.s); err != nil {
		return o, err
	}
	return o, cmp.Or(o.s.open(), o.s.supports(element.TypeOf[T]()))
}

// checkRightSide checks B, which goes with a factored matrix of rows by cols.
func checkRightSide[T Float](rows, cols int, b Matrix[T]) error {
	if err := b.check("the right side"); err != nil {
		return err
	}
	if b.Rows != rows {
		return fmt.Errorf("%w: the right side is %s, the factored matrix %dx%d", ErrShape, b, rows, cols)
	}
	return nil
}

// rightSide checks B, as checkRightSide does, and copies it, for op with its options.
func rightSide[T Float](op string, s *Session, rows, cols int, b Matrix[T], opts []Option) (
	ctx context.Context, x Matrix[T], err error,
) {
	o, err := settingsOf(op, withContext, opts)
	if err := cmp.Or(err, context.Cause(o.ctx), s.open(), checkRightSide(rows, cols, b)); err != nil {
		return nil, Matrix[T]{}, err
	}
	x = newResult[T](b.Rows, b.Cols)
	copyElements(x, b)
	return o.ctx, x, nil
}

// norm1 is the largest sum of magnitudes in a column, a NaN before all: of the symmetric matrix
// where only its lower triangle is to be read.
func norm1[T Float](a Matrix[T], lower bool) solve.Norm[T] {
	norm, exp := largestSum(a, lower), 0
	if math.IsInf(float64(norm), 1) { // of elements or of their sum
		exp = 64 // for more columns than there are
		c := a.Packed()
		solve.Scale(c.Rows, c.Cols, c.Data, c.Stride, func(_, _ int) int { return -exp })
		norm = largestSum(c, lower)
	}
	return solve.Norm[T]{Value: norm, Exp: exp}
}

func largestSum[T Float](a Matrix[T], lower bool) (norm T) {
	sums := make([]T, a.Cols)
	if lower {
		solve.SymmetricSums(true, a.Rows, a.Data, a.Stride, sums)
	} else {
		solve.ColumnSums(a.Rows, a.Cols, a.Data, a.Stride, sums)
	}
	for _, v := range sums {
		norm = max(norm, v)
	}
	return norm
}

// A scaledProduct is a product of numbers with its exponent apart, so that it neither overflows nor
// vanishes.
type scaledProduct[T Float] struct {
	mantissa T
	exp      int
}

func (p *scaledProduct[T]) times(v T) {
	frac, exp := math.Frexp(float64(v))
	m, carry := math.Frexp(float64(p.mantissa * T(frac)))
	p.mantissa = T(m)
	if p.exp += exp + carry; m == 0 {
		p.exp = 0
	}
}

// An LU is a factorization P*A = L*U of a matrix of m by n, where P swaps rows, L has a unit
// diagonal and U is upper triangular. Every element is one chain of fused multiply-adds, which
// docs/contract.md defines: so its bits depend on nothing but those of A. It is read only, and safe
// for concurrent use. Its methods compute on the session that it was made on: of options they take
// [WithContext].
type LU[T Float] struct {
	s        *Session
	packed   Matrix[T]
	pivots   []int
	singular int // the first column whose pivot is 0, or -1
	norm     solve.Norm[T]
}

// FactorLU is the LU factorization of A. A stays as it is. A matrix that is singular, or not
// square, is factored as well; it is Solve that fails then. NaN and infinities come through to L
// and U. The error is ErrOverflow where A has none, but a number of U is beyond the type. Where
// numbers are subnormal, digits are lost: scale such a matrix.
//
// A large matrix is factored in the memory of the session's device, if that has room for it and is
// not this processor. Others are factored on the host, with large products on the session's
// devices, and so is all where it has several. Of an array, factor what Download gives. The LU
// keeps the session for what it solves.
func FactorLU[T Float](a Matrix[T], opts ...Option) (*LU[T], error) {
	o, err := ready("FactorLU", a, opts)
	if err != nil {
		return nil, err
	}
	ctx, s := o.ctx, o.s
	n := min(a.Rows, a.Cols)
	f := &LU[T]{s: s, packed: newResult[T](a.Rows, a.Cols), pivots: make([]int, n), singular: -1}
	if n == 0 {
		return f, nil
	}
	done := false
	if isForDevice[T](s, a.Rows, a.Cols, n, a.Rows*luWidth) {
		done, err = f.onDevice(ctx, a)
	}
	if !done {
		err = f.onHost(ctx, a)
	}
	if err := ended(ctx, err); err != nil {
		return nil, err
	}
	if f.isOfFinite() && !f.isFinite() {
		return nil, fmt.Errorf("%w: numbers of U of %s are beyond %T; scale the matrix", ErrOverflow, a, T(0))
	}
	return f, nil
}

// isFinite tells whether the factors are finite: what is not is on the diagonal, or has gone down
// to the last row.
func (f *LU[T]) isFinite() bool {
	m, n := f.packed.Rows, f.packed.Cols
	diagonal := Matrix[T]{Rows: len(f.pivots), Cols: 1, Stride: f.packed.Stride + 1, Data: f.packed.Data}
	return isFinite(diagonal) && isFinite(f.packed.Slice(m-1, m, 0, n))
}

// isOfFinite tells whether A has neither NaN nor infinities.
func (f *LU[T]) isOfFinite() bool { return f.norm.Value-f.norm.Value == 0 }

// onDevice makes f the factorization of A, or is false.
func (f *LU[T]) onDevice(ctx context.Context, a Matrix[T]) (done bool, err error) {
	n := len(f.pivots)
	notes := make([]int32, n+1) // the pivots, and 1 more than the first column whose pivot is 0
	how := factoring{luWidth, panel.lu, func() { f.norm = norm1(a, false) }}
	done, err = factorOnDevice(ctx, f.s, a, f.packed, notes, how)
	for i := range f.pivots {
		f.pivots[i] = int(notes[i])
	}
	f.singular = int(notes[n]) - 1
	return done, err
}

// onHost makes f the factorization of A.
func (f *LU[T]) onHost(ctx context.Context, a Matrix[T]) (err error) {
	f.norm = norm1(a, false)
	copyElements(f.packed, a)
	m, n, k := float64(a.Rows), float64(a.Cols), float64(len(f.pivots))
	work := k * (m*n - (m+n)*k/2 + k*k/3)
	f.singular, err = solver[T](ctx, f.s, work).LU(a.Rows, a.Cols, f.packed.Data, f.packed.Stride, f.pivots)
	return err
}

// Packed is L below the diagonal, without its own, and U above. It shares memory with f.
func (f *LU[T]) Packed() Matrix[T] { return f.packed }

// Pivots is the row that each row changed places with, the first at first: counted from 0, else as
// LAPACK's ipiv. It shares memory with f.
func (f *LU[T]) Pivots() []int { return f.pivots }

// Solve is the solution X of A*X = B, which is packed and new. B has the rows of A. The error is
// ErrShape where A is not square or B has other rows, ErrSingular where a pivot is 0, and
// ErrOverflow where X, or a number on the way to it, is beyond the type.
func (f *LU[T]) Solve(b Matrix[T], opts ...Option) (Matrix[T], error) {
	return f.solve("LU.Solve", false, b, opts)
}

// SolveTrans is Solve of Aᵀ*X = B.
func (f *LU[T]) SolveTrans(b Matrix[T], opts ...Option) (Matrix[T], error) {
	return f.solve("LU.SolveTrans", true, b, opts)
}

func (f *LU[T]) solve(op string, trans bool, b Matrix[T], opts []Option) (Matrix[T], error) {
	if err := f.solvable(); err != nil {
		return Matrix[T]{}, err
	}
	n := f.packed.Rows
	ctx, x, err := rightSide(op, f.s, n, n, b, opts)
	if err != nil || n == 0 || b.Cols == 0 {
		return x, err
	}
	err = solver[T](ctx, f.s, float64(n)*float64(n)*float64(b.Cols)).SolveLU(trans, n, b.Cols, f.packed.Data,
		f.packed.Stride, f.pivots, x.Data, x.Stride)
	if err := ended(ctx, err); err != nil {
		return Matrix[T]{}, err
	}
	if !f.isOfFinite() {
		return x, nil
	}
	return finite(x, b)
}

func (f *LU[T]) isSquare() error {
	if f.packed.Rows != f.packed.Cols {
		return fmt.Errorf("%w: the LU factorization is of %s, which is not square", ErrShape, f.packed)
	}
	return nil
}

// solvable says why there is no solution.
func (f *LU[T]) solvable() error {
	if err := f.isSquare(); err != nil {
		return err
	}
	if f.singular >= 0 {
		return fmt.Errorf("%w: pivot %d of %s is 0", ErrSingular, f.singular, f.packed)
	}
	return nil
}

// Inverse is the inverse of A, which is packed and new: the solution of A*X = I. A product with it
// takes longer, and is less accurate, than Solve.
func (f *LU[T]) Inverse(opts ...Option) (Matrix[T], error) {
	return f.solve("LU.Inverse", false, identity[T](f.packed.Rows), opts)
}

func identity[T Float](n int) Matrix[T] {
	m := NewMatrix[T](n, n, nil)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}

// Det is the determinant of a square A, mantissa * 2^exp: the mantissa is 0, or from 0.5 to 1 in
// magnitude. math.Ldexp makes one number of them, which may overflow or vanish; the logarithm of
// its magnitude is log|mantissa| + exp*log(2). It panics where A is not square.
func (f *LU[T]) Det() (mantissa T, exp int) {
	if err := f.isSquare(); err != nil {
		panic(err)
	}
	p := scaledProduct[T]{0.5, 1}
	for i, swapped := range f.pivots {
		p.times(f.packed.At(i, i))
		if swapped != i {
			p.mantissa = -p.mantissa
		}
	}
	return p.mantissa, p.exp
}

// Cond is an estimate of the condition number of a square A in the 1-norm, a lower bound that is
// mostly within a factor of 3: solutions lose about log10 of it of their digits. It is +Inf where a
// pivot is 0, and NaN where A has a NaN.
func (f *LU[T]) Cond() (T, error) {
	n := f.packed.Rows
	if err := f.isSquare(); err != nil {
		return 0, err
	}
	return condition(f.norm, n, f.singular >= 0, func() T {
		return solve.LUCondition(false, n, f.packed.Data, f.packed.Stride, f.norm)
	}), nil
}

// condition is the condition number of a matrix of n by n: estimate's, where norm is a positive
// number.
func condition[T Float](norm solve.Norm[T], n int, singular bool, estimate func() T) T {
	switch v := norm.Value; {
	case n == 0:
		return 1
	case v != v:
		return v
	case singular || v == 0 || math.IsInf(float64(v), 1):
		return T(math.Inf(1))
	}
	return estimate()
}

// A Cholesky is a factorization A = L*Lᵀ of a symmetric positive definite matrix, where L is lower
// triangular. Every element is one chain of fused multiply-adds, which docs/contract.md defines: so
// its bits depend on nothing but those of A. It is read only, and safe for concurrent use. Methods
// take [WithContext], as those of [LU].
type Cholesky[T Float] struct {
	s    *Session
	l    Matrix[T]
	norm solve.Norm[T]
}

// FactorCholesky is the Cholesky factorization of A, as [FactorLU] works. Of A, which stays as it
// is, the lower triangle alone is read. The error is ErrShape where A is not square, and
// ErrNotPositiveDefinite, which names the row, where a root is not of a positive number; so it is
// for NaN.
func FactorCholesky[T Float](a Matrix[T], opts ...Option) (*Cholesky[T], error) {
	if a.Rows != a.Cols {
		return nil, fmt.Errorf("%w: the Cholesky factorization of %s, which is not square", ErrShape, a)
	}
	o, err := ready("FactorCholesky", a, opts)
	if err != nil {
		return nil, err
	}
	ctx, s := o.ctx, o.s
	n := a.Rows
	f := &Cholesky[T]{s: s, l: newResult[T](n, n)}
	if n == 0 {
		return f, nil
	}
	row, err := f.factor(ctx, a)
	if err := ended(ctx, err); err != nil {
		return nil, err
	}
	if row >= 0 {
		return nil, fmt.Errorf("%w: row %d of %s", ErrNotPositiveDefinite, row, a)
	}
	return f, nil
}

// factor makes f.l the factor of A. It returns the first row whose root is not of a positive
// number, or -1.
func (f *Cholesky[T]) factor(ctx context.Context, a Matrix[T]) (row int, err error) {
	if isForDevice[T](f.s, a.Rows, a.Rows, a.Rows, a.Rows*choleskyWidth) {
		note := make([]int32, 1) // 1 more than that row
		how := factoring{choleskyWidth, panel.cholesky, func() { f.norm = norm1(a, true) }}
		if done, err := factorOnDevice(ctx, f.s, a, f.l, note, how); done {
			for i := range a.Rows {
				clear(f.l.Row(i)[i+1:])
			}
			return int(note[0]) - 1, err
		}
	}
	f.norm = norm1(a, true)
	n := float64(a.Rows)
	return solver[T](ctx, f.s, n*n*n/6).LowerCholesky(a.Rows, a.Data, a.Stride, f.l.Data, f.l.Stride)
}

// L is the lower triangular factor, with zeros above its diagonal. It shares memory with f.
func (f *Cholesky[T]) L() Matrix[T] { return f.l }

// Solve is the solution X of A*X = B, which is packed and new. The error is ErrShape where B has
// other rows than A, and ErrOverflow as for [LU.Solve].
func (f *Cholesky[T]) Solve(b Matrix[T], opts ...Option) (Matrix[T], error) {
	n := f.l.Rows
	ctx, x, err := rightSide("Cholesky.Solve", f.s, n, n, b, opts)
	if err != nil || n == 0 || b.Cols == 0 {
		return x, err
	}
	err = solver[T](ctx, f.s, float64(n)*float64(n)*float64(b.Cols)).SolveCholesky(true, n, b.Cols, f.l.Data,
		f.l.Stride, x.Data, x.Stride)
	if err := ended(ctx, err); err != nil {
		return Matrix[T]{}, err
	}
	return finite(x, b)
}

// Inverse is the inverse of A, which is packed and new: the solution of A*X = I.
func (f *Cholesky[T]) Inverse(opts ...Option) (Matrix[T], error) {
	return f.Solve(identity[T](f.l.Rows), opts...)
}

// Det is the determinant of A, mantissa * 2^exp, as [LU.Det] has it.
func (f *Cholesky[T]) Det() (mantissa T, exp int) {
	p := scaledProduct[T]{0.5, 1}
	for i := range f.l.Rows {
		p.times(f.l.At(i, i))
		p.times(f.l.At(i, i))
	}
	return p.mantissa, p.exp
}

// Cond is an estimate of the condition number of A in the 1-norm, as [LU.Cond] has it.
func (f *Cholesky[T]) Cond() (T, error) {
	n := f.l.Rows
	return condition(f.norm, n, false, func() T {
		return solve.CholeskyCondition(true, n, f.l.Data, f.l.Stride, f.norm)
	}), nil
}
