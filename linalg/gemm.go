package linalg

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// MatMul is the product of a and b. The shapes are a: m x k, b: k x n, and the result, which is
// packed and new: m x n. Each element is one chain of fused multiply-adds, as the package says.
// Where k is 0 the result is zero.
func MatMul[T Element](a, b Matrix[T], opts ...Option) (Matrix[T], error) {
	o, err := settingsOf("MatMul", onHost|batched, opts)
	if err != nil {
		return Matrix[T]{}, err
	}
	if err := checkProduct(o.count, dims{a.Rows, a.Cols}, dims{b.Rows, b.Cols}); err != nil {
		return Matrix[T]{}, err
	}
	return compute(o, &request[T]{
		kernel: productKernel{}, count: o.count, tA: blas.NoTrans, tB: blas.NoTrans, update: update{alpha: 1},
		makesC: true, n: 3, matrices: [3]Matrix[T]{{Rows: a.Rows, Cols: b.Cols}, a, b},
	})
}

// checkProduct says whether there are count products of a and b, whose rows are those of the
// result.
func checkProduct(count int, a, b dims) error {
	if count != 1 {
		_, err := newBatch(count, blas.NoTrans, a, blas.NoTrans, b, dims{a[0], b[1]})
		return err
	}
	if a[1] != b[0] {
		return fmt.Errorf("%w: product of %s and %s: the columns of the first are not the rows of the second", ErrShape,
			a, b)
	}
	return nil
}

// newProduct is the product of a and b, packed and new, that op computes by f with its options.
func newProduct[C, A, B any](op string, a Matrix[A], b Matrix[B], opts []Option, f func(Matrix[C], settings) error) (
	none Matrix[C], err error,
) {
	o, err := settingsOf(op, onHost, opts)
	if err := cmp.Or(err, checkProduct(1, dims{a.Rows, a.Cols}, dims{b.Rows, b.Cols})); err != nil {
		return none, err
	}
	if o.s, err = orDefault(o.s); err != nil {
		return none, err
	}
	c, err := newResultOn[C](o.s, a.Rows, b.Cols)
	if err != nil {
		return none, err
	}
	if err := f(c, o); err != nil {
		return none, err
	}
	return c, nil
}

// Gemm makes c = alpha*op(a)*op(b) + beta*c, where op is the matrix or, with blas.Trans or
// blas.ConjTrans, its transpose. c must not share memory with a or b. After an error the elements
// of c are undefined.
func Gemm[T Element](alpha T, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], beta T, c Matrix[T],
	opts ...Option,
) error {
	return updateMatrix("Gemm", tA, a, tB, b, scaledBy(alpha, beta), c, opts)
}

// AddMul adds the product of a and b to c, in chains that start from c's elements, as
// [Array.AddMul] says. c must not share memory with a or b. After an error the elements of c are
// undefined.
func AddMul[T Element](a, b, c Matrix[T], opts ...Option) error {
	return updateMatrix("AddMul", blas.NoTrans, a, blas.NoTrans, b, addMul, c, opts)
}

// SubMul subtracts the product of a and b from c, as [Array.SubMul] says. The rest is as for
// [AddMul].
func SubMul[T Element](a, b, c Matrix[T], opts ...Option) error {
	return updateMatrix("SubMul", blas.NoTrans, a, blas.NoTrans, b, subMul, c, opts)
}

// updateMatrix makes c what u says of the product of op(a) and op(b), with the options of name.
func updateMatrix[T Element](name string, tA blas.Transpose, a Matrix[T], tB blas.Transpose, b Matrix[T], u update,
	c Matrix[T], opts []Option,
) error {
	o, err := settingsOf(name, onHost|batched, opts)
	if err != nil {
		return err
	}
	_, err = compute(o, &request[T]{
		kernel: productKernel{}, count: o.count, tA: tA, tB: tB, update: u,
		n: 3, matrices: [3]Matrix[T]{c, a, b},
	})
	return err
}

// An update is what products make of C: alpha*A*B + beta*C, or C + alpha*A*B in one chain that
// starts from C. With chain alpha is 1 or -1, and beta is 1.
type update struct {
	alpha, beta float64 // numbers of any element type
	chain       bool

	transA, transB bool // the kernel reads operands that are transposed in memory

	bytes byteKind // elements of A and B are words of four bytes
}

// addMul and subMul are the updates of AddMul and SubMul.
var (
	addMul = update{alpha: 1, beta: 1, chain: true}
	subMul = update{alpha: -1, beta: 1, chain: true}
)

// scaledBy is the update of Gemm.
func scaledBy[T any](alpha, beta T) (u update) {
	u.alpha, _, _ = element.Number(alpha)
	u.beta, _, _ = element.Number(beta)
	return u
}

// A productKernel is that of products of numbers, or of bytes.
type productKernel struct{ bytes byteKind }

func (o productKernel) choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid) {
	t := key.typ
	if o.bytes != noBytes {
		t = element.Int8
	}
	p := tuning.ChooseMatMulBatch(info, t, key.count, key.m, key.n, key.k)
	grid := kernels.MatMulBatchGrid(p, key.count, key.m, key.n)
	if o.bytes != noBytes {
		return kernels.MatMulBytes(info, p, o.bytes == uint8Bytes), grid
	}
	return kernels.MatMul(t, p), grid
}

// Mul makes the receiver the product of a and b: every element is one chain of fused multiply-adds,
// as the package says. The receiver must not share elements with a or b. Element by element it is
// package array's Mul.
func (c *Array[T]) Mul(a, b *Array[T], opts ...Option) error {
	return c.gemmWith("Array.Mul", blas.NoTrans, a.untyped(), blas.NoTrans, b.untyped(), update{alpha: 1}, opts)
}

// Gemm makes the receiver C = alpha*op(A)*op(B) + beta*C, where op is the matrix or, with
// blas.Trans or blas.ConjTrans, its transpose. C must not share elements with A or B. But on the
// cpu device, a transposed operand is transposed into temporary memory first, unless it meets a
// contiguous vector.
func (c *Array[T]) Gemm(alpha T, tA blas.Transpose, a *Array[T], tB blas.Transpose, b *Array[T], beta T,
	opts ...Option,
) error {
	return c.gemmWith("Array.Gemm", tA, a.untyped(), tB, b.untyped(), scaledBy(alpha, beta), opts)
}

// AddMul adds the product of a and b to the receiver C: every element is one chain of fused
// multiply-adds, acc = fma(a[i,k], b[k,j], acc) for k = 0, 1, ..., that starts from c[i,j]. So a
// product may be cut anywhere along k: from zeros, AddMul of the parts in ascending order has the
// bits of Mul of the whole. Gemm with alpha = 1 and beta = 1 has others, as its chain starts from
// zero. C must not share elements with a or b.
func (c *Array[T]) AddMul(a, b *Array[T], opts ...Option) error {
	return c.gemmWith("Array.AddMul", blas.NoTrans, a.untyped(), blas.NoTrans, b.untyped(), addMul, opts)
}

// SubMul subtracts the product of a and b from the receiver, as [Array.AddMul] adds it: every
// element is the chain of fma(-a[i,k], b[k,j], acc) that starts from c[i,j].
func (c *Array[T]) SubMul(a, b *Array[T], opts ...Option) error {
	return c.gemmWith("Array.SubMul", blas.NoTrans, a.untyped(), blas.NoTrans, b.untyped(), subMul, opts)
}

// gemmWith is gemm with what the options of op say.
func (c *array) gemmWith(op string, tA blas.Transpose, a *array, tB blas.Transpose, b *array, u update, opts []Option,
) error {
	o, err := settingsOf(op, withContext|batched, opts)
	if err != nil {
		return err
	}
	if err := c.gemm(o.ctx, op, o.count, tA, a, tB, b, u); err != nil || !o.waits {
		return err
	}
	return c.s.Wait()
}

// gemm is count products of op, in pieces that a cancelled ctx ends between. AddMul and SubMul are
// updates of their own.
func (c *array) gemm(ctx context.Context, op string, count int, tA blas.Transpose, a *array, tB blas.Transpose,
	b *array, u update,
) (err error) {
	typ, err := c.checkOperands(op, a, b)
	if err != nil {
		return err
	}
	x, err := newBatch(count, tA, dims{a.rows, a.cols}, tB, dims{b.rows, b.cols}, dims{c.rows, c.cols})
	if err != nil {
		return err
	}
	if c.overlaps(a) || c.overlaps(b) {
		return fmt.Errorf("%w: %s", ErrOverlap, op)
	}
	switch {
	case c.rows == 0 || c.cols == 0:
		return nil
	case x.k == 0 || u.alpha == 0:
		return c.scaleBy(ctx, typ, u.beta, a, b)
	case x.sharedB && !x.sharedA && tA == blas.NoTrans: // one tall product
		x.count, x.m = 1, c.rows
	}
	if x.count == 1 && u.bytes != uint8Bytes { // whose A is no B
		c, tA, a, tB, b = turnVectors(c, tA, a, tB, b)
		x.m, x.n = c.rows, c.cols
	}
	u.transA, u.transB = tA != blas.NoTrans && c.s.direct, tB != blas.NoTrans && c.s.direct
	if tA != blas.NoTrans && !u.transA {
		if a, err = transposed(a); err != nil {
			return err
		}
		defer a.spare(&err)
	}
	if tB != blas.NoTrans && !u.transB {
		if b, err = transposed(b); err != nil {
			return err
		}
		defer b.spare(&err)
	}
	strides := kernels.Batch{StrideC: int64(x.m) * int64(c.stride)}
	if !x.sharedA {
		strides.StrideA = batchStride(tA, u.transA, x.m, x.k, a.stride)
	}
	if !x.sharedB {
		strides.StrideB = batchStride(tB, u.transB, x.k, x.n, b.stride)
	}
	return c.multiply(ctx, typ, x, strides, a.asOperand(), b.asOperand(), u)
}

// scaleBy makes C beta*C: what is left of a product where K or alpha is 0. beta == 0 gives +0 and
// reads nothing: the product with K = 0 does that. a and b only stand for its operands.
func (c *array) scaleBy(ctx context.Context, typ element.Type, beta float64, a, b *array) error {
	switch beta {
	case 0:
		x := batch{count: 1, m: c.rows, n: c.cols}
		return c.multiply(ctx, typ, x, kernels.Batch{}, a.asOperand(), b.asOperand(), update{alpha: 1})
	case 1:
		return nil
	}
	return c.elementwise(kernels.Scale, beta, c)
}

// turnVectors gives the transposed product, which has the same bits, where a matrix that is to be
// transposed meets a vector: c = Aᵀ*b is cᵀ = bᵀ*A.
func turnVectors(c *array, tA blas.Transpose, a *array, tB blas.Transpose, b *array) (
	*array, blas.Transpose, *array, blas.Transpose, *array,
) {
	switch {
	case c.cols == 1 && tA != blas.NoTrans:
		turned, row := c.turned(), b
		if tB == blas.NoTrans {
			row = b.turned()
		}
		if turned != nil && row != nil {
			return turned, blas.NoTrans, row, blas.NoTrans, a
		}
	case c.rows == 1 && tB != blas.NoTrans:
		turned, column := c.turned(), a
		if tA == blas.NoTrans {
			column = a.turned()
		}
		if turned != nil && column != nil {
			return turned, blas.NoTrans, b, blas.NoTrans, column
		}
	}
	return c, tA, a, tB, b
}

// turned is a row as a column, or a contiguous column as a row, over the same elements; nil for
// others.
func (a *array) turned() *array {
	t := *a
	t.view = true
	switch {
	case a.rows == 1:
		t.rows, t.cols, t.stride = a.cols, 1, 1
	case a.cols == 1 && a.stride == 1:
		t.rows, t.cols, t.stride = 1, a.rows, a.rows
	default:
		return nil
	}
	return &t
}

// multiply enqueues the products: with as few launches as possible, or, where ctx can be cancelled
// or wants to know the progress, in pieces, waiting for one after the other. A piece is some of the
// products, or some rows of a single one. The split changes no bits.
func (c *array) multiply(ctx context.Context, typ element.Type, x batch, strides kernels.Batch, a, b kernels.Operand,
	u update,
) error {
	to, next := c.asOperand(), strides
	all, most := x.count, min(x.count, kernels.MaxBatch)
	if x.count == 1 {
		all, most = x.m, x.m
		strides, next = kernels.Batch{}, kernels.Batch{StrideA: a.Stride, StrideC: to.Stride}
		if u.transA {
			next.StrideA = 1
		}
	}
	report := progress(ctx)
	inPieces := ctx.Done() != nil || report != nil
	if inPieces {
		most = min(most, x.piece(&c.s.info))
	}
	for i := 0; i < all; i += most {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n := min(most, all-i)
		key := planKey{op: productKernel{u.bytes}, typ: typ, m: x.m, n: x.n, k: x.k, count: most}
		if x.count == 1 {
			key.m, key.count = n, 1
		}
		p, err := c.s.plan(key)
		if err != nil {
			return err
		}
		if x.count > 1 {
			p.grid.Groups[2] = n
		}
		l := arglist.Take()
		l.Args = u.args(l.Args, key, strides, a, b, to)
		if err := c.s.launch(p, l); err != nil {
			return err
		}
		a.Offset += int64(n) * next.StrideA
		b.Offset += int64(n) * next.StrideB
		to.Offset += int64(n) * next.StrideC
		if !inPieces {
			continue
		}
		if err := c.s.queue.Wait(); err != nil {
			return err
		}
		if report != nil {
			report(float64(i+n) / float64(all))
		}
	}
	return nil
}

// args appends the arguments of products.
func (u update) args(args []backend.Arg, key planKey, strides kernels.Batch, a, b, c kernels.Operand) []backend.Arg {
	negate := u.alpha < 0
	if u.chain {
		u.alpha, u.beta = 1, 0
	}
	alpha, beta := kernels.Number(key.typ, u.alpha), kernels.Number(key.typ, u.beta)
	args = kernels.MatMulNumbersArgs(args, strides, key.m, key.n, key.k, alpha, a, b, beta, c)
	if u.chain {
		args = kernels.Continue(args, negate)
	}
	if u.transA || u.transB {
		args = kernels.Transposed(args, u.transA, u.transB)
	}
	return args
}

// directProduct is direct of a product.
func directProduct[T Element](ctx context.Context, s *Session, r *request[T]) (done bool, err error) {
	if r.count != 1 {
		return false, nil
	}
	c, a, b := &r.matrices[0], &r.matrices[1], &r.matrices[2]
	p, err := newBatch(1, r.tA, dims{a.Rows, a.Cols}, r.tB, dims{b.Rows, b.Cols}, dims{c.Rows, c.Cols})
	if err != nil || p.k == 0 || r.alpha == 0 {
		return false, err
	}
	if ctx.Done() != nil && p.m > p.piece(&s.info) { // it may end before the product does
		return false, nil
	}
	if r.bytes != noBytes {
		quadsProduct(p, any(r).(*request[int32]))
	} else if r.chain {
		host.Update(r.alpha < 0, p.m, p.n, p.k, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
	} else {
		host.GemmTrans(r.tA != blas.NoTrans, r.tB != blas.NoTrans, p.m, p.n, p.k, T(r.alpha), a.Data, a.Stride,
			b.Data, b.Stride, T(r.beta), c.Data, c.Stride)
	}
	return true, nil
}
