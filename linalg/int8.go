package linalg

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/kernels"
)

// MatMulInt8 is the product of a, of int8 or uint8, and b: element (i, j) is the sum of
// a[i,k]*b[k,j], modulo 2^32. The shapes are those of [MatMul]; where k is 0 the result,
// which is packed and new, is zero.
func MatMulInt8[A int8 | uint8](a Matrix[A], b Matrix[int8], opts ...Option) (Matrix[int32], error) {
	return newProduct("MatMulInt8", a, b, opts, func(c Matrix[int32], o settings) error {
		return gemmInt8(o, blas.NoTrans, a, blas.NoTrans, b, 0, c)
	})
}

// GemmInt8 makes c = op(a)*op(b) + beta*c modulo 2^32, where op is the matrix or, with blas.Trans
// or blas.ConjTrans, its transpose. beta is 0, which does not read c, or 1; other values are
// backend.ErrArgument. c must not share memory with a or b. After an error the elements of c are
// undefined.
//
// But on the cpu device the bytes of a and b are put side by side along k first, in the host's
// memory, which takes as much of it as they do; not where they lie so: rows along k at multiples of
// four bytes.
func GemmInt8[A int8 | uint8](tA blas.Transpose, a Matrix[A], tB blas.Transpose, b Matrix[int8], beta int32,
	c Matrix[int32], opts ...Option,
) error {
	o, err := settingsOf("GemmInt8", onHost, opts)
	if err != nil {
		return err
	}
	return gemmInt8(o, tA, a, tB, b, beta, c)
}

// gemmInt8 is GemmInt8 as o says.
func gemmInt8[A int8 | uint8](o settings, tA blas.Transpose, a Matrix[A], tB blas.Transpose, b Matrix[int8], beta int32,
	c Matrix[int32],
) error {
	err := cmp.Or(c.check(operandNames[0]), a.check(operandNames[1]), b.check(operandNames[2]), checkBeta(beta))
	if err != nil {
		return err
	}
	x, err := newBatch(1, tA, dims{a.Rows, a.Cols}, tB, dims{b.Rows, b.Cols}, dims{c.Rows, c.Cols})
	if err != nil {
		return err
	}
	for i, m := range [][]byte{a.bytes(), b.bytes()} {
		if bytesOverlap(c.bytes(), m) {
			return fmt.Errorf("%w: the destination and %s share memory", ErrOverlap, operandNames[i+1])
		}
	}
	if o.s, err = orDefault(o.s); err != nil {
		return err
	}
	if err := context.Cause(o.ctx); err != nil {
		return err
	}
	if o.s.direct {
		return gemmInt8Direct(o.ctx, o.s, x, tA, a, tB, b, beta, c)
	}
	qa, memory := quadsOf(a, tA == blas.NoTrans)
	defer memory.Give()
	qb, memory := quadsOf(b, tB != blas.NoTrans)
	defer memory.Give()
	kind := bytesOf[A]()
	_, err = compute(o, &request[int32]{
		kernel: productKernel{kind}, count: 1, tA: tA, tB: tB, n: 3, matrices: [3]Matrix[int32]{c, qa, qb},
		update: update{alpha: 1, beta: float64(beta), bytes: kind},
	})
	return err
}

// gemmInt8Direct computes where the matrices are, in pieces of rows where ctx may end before.
func gemmInt8Direct[A int8 | uint8](ctx context.Context, s *Session, x batch, tA blas.Transpose, a Matrix[A],
	tB blas.Transpose, b Matrix[int8], beta int32, c Matrix[int32],
) error {
	rows, report := x.m, progress(ctx)
	if ctx.Done() != nil || report != nil {
		rows = x.piece(&s.info)
	}
	row, _ := host.Steps(tA != blas.NoTrans, a.Stride)
	for i := 0; i < x.m; i += rows {
		if err := cmp.Or(context.Cause(ctx), s.device.Err()); err != nil {
			return err
		}
		n := min(rows, x.m-i)
		host.GemmBytes(tA != blas.NoTrans, tB != blas.NoTrans, n, x.n, x.k, a.Data[min(i*row, len(a.Data)):], a.Stride,
			b.Data, b.Stride, beta != 0, c.Data[min(i*c.Stride, len(c.Data)):], c.Stride)
		if report != nil {
			report(float64(i+n) / float64(x.m))
		}
	}
	return nil
}

// GemmInt8Arrays makes c = op(a)*op(b) + beta*c on a device, of int8 or uint8 by int8, modulo 2^32:
// [GemmInt8] for arrays. It takes [Batch]. It enqueues the work and returns.
//
// The bytes of a and b are put side by side along k first, in temporary memory of the device, but
// where they lie so: rows along k at multiples of four bytes.
func GemmInt8Arrays[A int8 | uint8](tA blas.Transpose, a *Array[A], tB blas.Transpose, b *Array[int8], beta int32,
	c *Array[int32], opts ...Option,
) error {
	o, err := settingsOf("GemmInt8Arrays", batched, opts)
	if err := cmp.Or(err, checkBeta(beta)); err != nil {
		return err
	}
	update := update{alpha: 1, beta: float64(beta), bytes: bytesOf[A]()}
	return c.untyped().gemmBytes(o.count, tA, a.untyped(), tB, b.untyped(), update)
}

func (c *array) gemmBytes(count int, tA blas.Transpose, a *array, tB blas.Transpose, b *array, u update) (err error) {
	const op = "GemmInt8Arrays"
	if c == nil {
		return nilArray(op)
	}
	if _, err := c.checkOperands(op, a, b); err != nil {
		return err
	}
	x, err := newBatch(count, tA, dims{a.rows, a.cols}, tB, dims{b.rows, b.cols}, dims{c.rows, c.cols})
	if err != nil || c.rows == 0 || c.cols == 0 {
		return err
	}
	if x.k == 0 {
		return c.scaleBy(context.Background(), element.Int32, u.beta, c, c)
	}
	if a, err = a.quads(tA == blas.NoTrans, x.k); err != nil {
		return err
	}
	defer a.spareOwn(&err)
	if b, err = b.quads(tB != blas.NoTrans, x.k); err != nil {
		return err
	}
	defer b.spareOwn(&err)
	return c.gemm(context.Background(), op, count, tA, a, tB, b, u)
}

// quads is words of four neighbours along k, rows or else columns of a: a itself where it has them,
// or in spare memory.
func (a *array) quads(along bool, k int) (*array, error) {
	words := (k + 3) / 4
	q := &array{s: a.s, buf: a.buf, rows: a.rows, cols: a.cols, elem: reflect.TypeFor[int32]()}
	if along {
		q.cols = words
		if host.LittleEndian && k%4 == 0 && a.stride%4 == 0 && a.off%4 == 0 {
			q.stride, q.off, q.view = a.stride/4, a.off/4, true
			return q, nil
		}
	} else {
		q.rows = a.rows / k * words
	}
	q.stride = q.cols
	kernel, depth := kernels.QuadsAlong(), 0
	if !along {
		kernel, depth = kernels.QuadsDown(), k
	}
	compiled, err := a.s.kernel(kernelKey{src: kernel})
	if err != nil {
		return nil, err
	}
	if q.buf, err = a.s.scratch(q.bytes(q.rows * q.cols)); err != nil {
		return nil, err
	}
	l := arglist.Take()
	l.Args = kernels.QuadsArgs(l.Args, a.rows, a.cols, a.asOperand(), q.rows, q.cols, q.asOperand(), depth)
	if err := a.s.launch(plan{compiled, kernels.NaiveGrid(q.rows, q.cols)}, l); err != nil {
		q.spare(&err)
		return nil, err
	}
	return q, nil
}

// spareOwn is spare of what is no view.
func (a *array) spareOwn(err *error) {
	if !a.view {
		a.spare(err)
	}
}

// quadsOf is words of four neighbours along k, rows or else columns of m: m itself where it has
// them, or a matrix in memory to be given back.
func quadsOf[E int8 | uint8](m Matrix[E], along bool) (Matrix[int32], *host.Scratch) {
	q := Matrix[int32]{Rows: m.Rows, Cols: m.Cols}
	at := unsafe.Pointer(unsafe.SliceData(m.Data))
	if along {
		q.Cols = (m.Cols + 3) / 4
		if host.LittleEndian && m.Cols%4 == 0 && m.Stride%4 == 0 && uintptr(at)%4 == 0 {
			q.Stride, q.Data = m.Stride/4, unsafe.Slice((*int32)(at), len(m.Data)/4)
			return q, nil
		}
	} else {
		q.Rows = (m.Rows + 3) / 4
	}
	memory, data := host.Take[int32](q.Rows * q.Cols)
	q.Stride, q.Data = q.Cols, data
	host.Quads(along, m.Rows, m.Cols, m.Data, m.Stride, data)
	return q, memory
}

// bytesOf is what A's bytes are.
func bytesOf[A int8 | uint8]() byteKind {
	if ^A(0) > 0 {
		return uint8Bytes
	}
	return int8Bytes
}

// A byteKind is what the bytes of A are where elements of A and B are words of them.
type byteKind uint8

const (
	noBytes byteKind = iota
	int8Bytes
	uint8Bytes
)

// quadsProduct is a product of words on this processor.
func quadsProduct(p batch, r *request[int32]) {
	c, a, b := &r.matrices[0], &r.matrices[1], &r.matrices[2]
	host.GemmQuads(r.bytes == uint8Bytes, r.tA != blas.NoTrans, r.tB != blas.NoTrans, p.m, p.n, p.k, a.Data, a.Stride,
		b.Data, b.Stride, r.chain || r.beta != 0, c.Data, c.Stride)
}

func checkBeta(beta int32) error {
	if beta != 0 && beta != 1 {
		return errArgument(fmt.Sprintf("a product of bytes has beta 0 or 1, not %d", beta))
	}
	return nil
}
