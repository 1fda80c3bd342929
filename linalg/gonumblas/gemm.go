package gonumblas

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

type float interface{ float32 | float64 }

// gemm is C = alpha*op(A)*op(B) + beta*C by the numerics contract, on the device or on the host. C may lie between the rows of A and B,
// but shares no elements with them.
func gemm[T float](e *engine, alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	k := a.Cols
	if tA != blas.NoTrans {
		k = a.Rows
	}
	if alpha == 0 || k == 0 {
		if beta != 1 {
			host.Gemm(c.Rows, c.Cols, 0, alpha, nil, 0, nil, c.Cols, beta, c.Data, c.Stride)
		}
		return
	}
	if toDevice[T](e, c.Rows, c.Cols, k) {
		err := deviceGemm(e, alpha, tA, a, tB, b, beta, c)
		if err == nil {
			return
		}
		e.report(fmt.Sprintf("a product of %dx%d by %dx%d (%T) was", c.Rows, k, k, c.Cols, alpha), err)
	}
	if small[T](c.Rows, c.Cols, k, tA == blas.NoTrans && tB == blas.NoTrans && beta == 0) {
		smallGemm(alpha, tA, a, tB, b, beta, c, k)
		return
	}
	hostGemm(alpha, tA, a, tB, b, beta, c)
}

// deviceGemm is gemm on copies of the operands in memory of the device's own, also where the device could reach the host's: what other
// goroutines do with elements between the rows of C is then no concern, and a device that fails leaves C as it was, or, where beta is 0,
// undefined.
func deviceGemm[T float](e *engine, alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) error {
	e.device.Lock()
	defer e.device.Unlock()
	if beta == 0 {
		return productOnCopies(e.s, alpha, tA, a, tB, b, beta, c, c)
	}
	result, memory := scratch[T](c.Rows, c.Cols)
	defer give(memory)
	if err := productOnCopies(e.s, alpha, tA, a, tB, b, beta, c, result); err != nil {
		return err
	}
	copyMatrix(c, result)
	return nil
}

// productOnCopies makes result alpha*op(A)*op(B) + beta*C. When it returns, the device has nothing more to do.
func productOnCopies[T float](s *linalg.Session, alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c, result linalg.Matrix[T]) (err error) {
	var arrays []*linalg.Array[T]
	defer func() {
		if err != nil {
			s.Wait() // what was enqueued before the failure, so that its own is not reported to the next product
		}
		for _, x := range arrays {
			if e := x.Free(); err == nil {
				err = e
			}
		}
	}()
	for i, m := range []linalg.Matrix[T]{a, b, c} {
		x, err := linalg.NewArray[T](s, m.Rows, m.Cols)
		if err != nil {
			return err
		}
		arrays = append(arrays, x)
		if i < 2 || beta != 0 {
			if err := x.CopyFrom(m); err != nil {
				return err
			}
		}
	}
	product := arrays[2]
	if err := product.Gemm(alpha, tA, arrays[0], tB, arrays[1], beta); err != nil {
		return err
	}
	if err := product.CopyTo(result); err != nil {
		return err
	}
	return s.Wait()
}

// hostGemm is gemm on the host.
func hostGemm[T float](alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T]) {
	if tA == blas.NoTrans && tB == blas.NoTrans {
		host.Gemm(c.Rows, c.Cols, a.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
		return
	}
	a, aMemory := op(tA, a)
	b, bMemory := op(tB, b)
	host.Gemm(c.Rows, c.Cols, a.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
	give(aMemory)
	give(bMemory)
}

// finish is c = fma(alpha, acc, beta*c), or alpha*acc where beta is 0.
func finish[T float](alpha T, acc []T, beta T, c []T) {
	c = c[:len(acc)]
	switch {
	case beta == 0:
		for j, x := range acc {
			c[j] = alpha * x
		}
	case alpha == 1:
		for j, x := range acc {
			c[j] = T(beta*c[j]) + x
		}
	case alpha == -1:
		for j, x := range acc {
			c[j] = T(beta*c[j]) - x
		}
	default:
		for j, x := range acc {
			c[j] = host.FMA(alpha, x, T(beta*c[j]))
		}
	}
}

// op is op(A): A itself, or its transpose in scratch memory, which is nil where none was needed.
func op[T float](t blas.Transpose, a linalg.Matrix[T]) (linalg.Matrix[T], *[]T) {
	switch {
	case t == blas.NoTrans:
		return a, nil
	case a.Rows == 1: // the elements of a row and of a column lie alike
		return linalg.Matrix[T]{Rows: a.Cols, Cols: 1, Stride: 1, Data: a.Data}, nil
	}
	r, memory := scratch[T](a.Cols, a.Rows)
	transpose(a, r)
	return r, memory
}

// transpose makes dst the transpose of a.
func transpose[T float](a, dst linalg.Matrix[T]) {
	transposeTo(a.Rows, a.Cols, a.Data, a.Stride, dst.Data, dst.Stride)
}

// transposeTo is transpose, of rows by cols elements: by plain loops, four rows at a time, up to the size at which package host is faster.
func transposeTo[T float](rows, cols int, a []T, lda int, dst []T, ldd int) {
	if min(rows, cols) >= 8 && rows*cols > 256 {
		host.Transpose(rows, cols, a, lda, dst, ldd)
		return
	}
	i := 0
	for ; i+4 <= rows; i += 4 {
		r0, r1, r2, r3 := a[i*lda:][:cols], a[(i+1)*lda:][:cols], a[(i+2)*lda:][:cols], a[(i+3)*lda:][:cols]
		at := i
		for j, v := range r0 {
			d := dst[at:][:4]
			d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
			at += ldd
		}
	}
	for ; i < rows; i++ {
		at := i
		for _, v := range a[i*lda:][:cols] {
			dst[at] = v
			at += ldd
		}
	}
}

func copyMatrix[T float](dst, src linalg.Matrix[T]) {
	for i := range dst.Rows {
		copy(dst.Row(i), src.Row(i))
	}
}

var pool32, pool64 sync.Pool // of *[]float32 and *[]float64

// scratch is a packed matrix of any values, in memory to be given back.
func scratch[T float](rows, cols int) (linalg.Matrix[T], *[]T) {
	memory, _ := pool[T]().Get().(*[]T)
	if memory == nil || cap(*memory) < rows*cols {
		s := make([]T, rows*cols)
		memory = &s
	}
	return linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: max(1, cols), Data: (*memory)[:rows*cols]}, memory
}

func give[T float](memory *[]T) {
	if memory != nil {
		pool[T]().Put(memory)
	}
}

func pool[T float]() *sync.Pool {
	if is32[T]() {
		return &pool32
	}
	return &pool64
}
