package seeds

import "github.com/tandem-gpu/tandem/gpu"

// The kernels of Numba's manual, "Writing CUDA Kernels" and "CUDA Kernel API: examples".

// MyKernel doubles every element.
//
//tandem:kernel float32 float64
func MyKernel[T gpu.Float](it gpu.Item, a []T) {
	if pos := it.Global(0); pos < len(a) {
		a[pos] *= 2
	}
}

// Matmul is C = A*B, one work-item an element.
//
//tandem:kernel float32 float64 int32
func Matmul[T gpu.Number](it gpu.Item, a, b, c gpu.Matrix[T]) {
	i, j := it.Global(1), it.Global(0)
	if i < c.Rows && j < c.Cols {
		var tmp T
		for k := range a.Cols {
			tmp += a.At(i, k) * b.At(k, j)
		}
		c.Set(i, j, tmp)
	}
}

// tpb is the work-items of a group in x and y, and the rows and columns of a tile.
const tpb = 16

// FastMatmul is C = A*B in tiles that a group shares, for any shape.
//
//tandem:kernel float32 float64 int32
func FastMatmul[T gpu.Number](it gpu.Item, a, b, c gpu.Matrix[T]) {
	sa, sb := gpu.Local[[tpb][tpb]T](it), gpu.Local[[tpb][tpb]T](it)
	x, y := it.Global(0), it.Global(1)
	tx, ty := it.Local(0), it.Local(1)
	var tmp T
	for i := 0; i < a.Cols; i += tpb {
		sa[ty][tx], sb[ty][tx] = 0, 0
		if y < a.Rows && tx+i < a.Cols {
			sa[ty][tx] = a.At(y, tx+i)
		}
		if x < b.Cols && ty+i < b.Rows {
			sb[ty][tx] = b.At(ty+i, x)
		}
		it.Barrier()
		for j := range tpb {
			tmp += sa[ty][j] * sb[j][tx]
		}
		it.Barrier()
	}
	if y < c.Rows && x < c.Cols {
		c.Set(y, x, tmp)
	}
}
