package kernels

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
)

// The implementations in Go for the cpu device, of kernels in the dialect, and of those in Go for
// which package host has faster loops than the compiler makes. They follow the grid: a call
// computes what the given groups of the kernel would, so that groups which run at once never write
// the same element. A grid of a single group covers everything, and goes to package host in one
// piece; so does each product of a batch with one group each.

// cover calls f for the rectangles of rows by cols elements that the groups lo <= i < hi of g
// cover, where a group takes h by w elements at a time and strides over the matrix as the kernels
// do: f(i0, j0, height, width).
func cover(g backend.Grid, lo, hi, h, w, rows, cols int, f func(i0, j0, height, width int)) error {
	if g.Groups[2] != 1 || g.Local[2] != 1 {
		return &backend.Error{
			Op: "kernels", Err: backend.ErrLaunch,
			Detail: fmt.Sprintf("grid of %s: this kernel takes a grid in x and y", g),
		}
	}
	if g.Count() == 1 {
		h, w = max(rows, 1), max(cols, 1)
	}
	for i := lo; i < hi; i++ {
		coverGroup(g, i, h, w, rows, cols, f)
	}
	return nil
}

// coverGroup is cover for group i alone, whatever its place in z.
func coverGroup(g backend.Grid, i, h, w, rows, cols int, f func(i0, j0, height, width int)) {
	gx, gy, _ := g.Group(i)
	for i0 := gy * h; i0 < rows; i0 += g.Groups[1] * h {
		for j0 := gx * w; j0 < cols; j0 += g.Groups[0] * w {
			f(i0, j0, min(h, rows-i0), min(w, cols-j0))
		}
	}
}

// matrix is an operand in host memory.
type matrix[T Element] struct {
	data   []T
	stride int
}

// operandAt reads the operand whose buffer is args[i].
func operandAt[T Element](args []backend.Arg, i int) matrix[T] {
	return matrix[T]{backend.Mem[T](args[i]), int(args[i+2].Int64())}.from(int(args[i+1].Int64()))
}

// from is the matrix without its first n elements; nothing is left of a matrix that has fewer, as
// one without rows or columns may.
func (m matrix[T]) from(n int) matrix[T] { return matrix[T]{m.data[min(n, len(m.data)):], m.stride} }

// at is the matrix from element (i, j) on.
func (m matrix[T]) at(i, j int) matrix[T] { return m.from(i*m.stride + j) }

// op is op(M) in memory from element (i, j) on.
func (m matrix[T]) op(trans bool, i, j int) matrix[T] {
	if trans {
		i, j = j, i
	}
	return m.at(i, j)
}

// A hostProduct is what a group computes of a product, in host memory: C of m by n.
type hostProduct[T Element] struct {
	m, n, k        int
	alpha, beta    T
	a, b, c        matrix[T]
	transA, transB bool
	flags          int32
}

func matmulGo[T Element](p MatMulParams) backend.GoKernel {
	return matmulGroups(p, func(x *hostProduct[T]) {
		if x.flags&flagContinue == 0 {
			host.GemmTrans(x.transA, x.transB, x.m, x.n, x.k, x.alpha, x.a.data, x.a.stride, x.b.data, x.b.stride,
				x.beta, x.c.data, x.c.stride)
		} else {
			host.Update(x.flags&flagNegate != 0, x.m, x.n, x.k, x.a.data, x.a.stride, x.b.data, x.b.stride,
				x.c.data, x.c.stride)
		}
	})
}

// matmulGroups calls compute for what each group has of a product.
func matmulGroups[T Element](p MatMulParams, compute func(x *hostProduct[T])) backend.GoKernel {
	return func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		m, n, k, alpha := int(args[0].Int32()), int(args[1].Int32()), int(args[2].Int32()), scalarAt[T](args[3])
		a0, b0, beta, c0 := operandAt[T](args, 4), operandAt[T](args, 7), scalarAt[T](args[10]), operandAt[T](args, 11)
		flags := args[14].Int32()
		transA, transB := flags&flagTransA != 0, flags&flagTransB != 0
		strideA, strideB, strideC := int(args[15].Int64()), int(args[16].Int64()), int(args[17].Int64())
		h, w := p.BM, p.BN
		if g.Groups[0]*g.Groups[1] == 1 {
			h, w = max(m, 1), max(n, 1)
		}
		for group := lo; group < hi; group++ {
			_, _, z := g.Group(group)
			coverGroup(g, group, h, w, m, n, func(i, j, h, w int) {
				compute(&hostProduct[T]{
					h, w, k, alpha, beta, a0.from(z*strideA).op(transA, i, 0), b0.from(z*strideB).op(transB, 0, j),
					c0.from(z*strideC).at(i, j), transA, transB, flags,
				})
			})
		}
		return nil
	}
}

func transposeGo[T Element](p TransposeParams) backend.GoKernel {
	return func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		rows, cols := int(args[0].Int32()), int(args[1].Int32())
		return transposeTiles(g, lo, hi, p.rows(), p.Tile, rows, cols, operandAt[T](args, 2), operandAt[T](args, 5))
	}
}

// transposeTiles is C = A' for groups of h by w elements of A.
func transposeTiles[T Element](g backend.Grid, lo, hi, h, w, rows, cols int, a, c matrix[T]) error {
	return cover(g, lo, hi, h, w, rows, cols, func(i, j, h, w int) {
		a, c := a.at(i, j), c.at(j, i)
		host.Transpose(h, w, a.data, a.stride, c.data, c.stride)
	})
}
