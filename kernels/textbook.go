package kernels

import "github.com/tandem-gpu/tandem/gpu"

// The textbook's kernels and the elementwise ones, written in Go: the compiler makes their text,
// PTX and what the cpu device runs. Element (i, j) of a matrix x is x.At(i, j). An output overlaps
// no input, but that of an elementwise function may be one.

//tandem:map float32 float64 int32
func scale[T gpu.Number](alpha, x T) T { return alpha * x }

//tandem:map float32 float64 int32
func add[T gpu.Number](x, y T) T { return x + y }

//tandem:map float32 float64 int32
func sub[T gpu.Number](x, y T) T { return x - y }

// matmulNaive is C = A*B by the definition, one work-item an element at a time: the chain over p of
// acc = fma(a[i,p], b[p,j], acc), from +0. Any grid in x and y covers any shape: work-items in x
// stride over the columns of C, those in y over its rows.
//
//tandem:kernel float32 float64 int32
func matmulNaive[T gpu.Number](it gpu.Item, a, b, c gpu.Matrix[T]) {
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < c.Cols; j += it.GlobalSize(0) {
			var acc T
			for p := range a.Cols {
				acc = gpu.FMA(a.At(i, p), b.At(p, j), acc)
			}
			c.Set(i, j, acc)
		}
	}
}

// matmulTiled is C = A*B by square tiles in local memory, as in the CUDA C++ Programming Guide,
// "Shared Memory", with the chains of matmulNaive. A tile that passes the end of k is filled with
// A = -0 and B = +0, whose product -0 changes no sum. Groups in x stride over the columns of tiles,
// groups in y over the rows, so that any number of groups covers any shape.
//
//tandem:kernel float32 float64 int32
//tandem:group 16 16
func matmulTiled[T gpu.Number](it gpu.Item, a, b, c gpu.Matrix[T]) {
	as, bs := gpu.Local[[productTile][productTile]T](it), gpu.Local[[productTile][productTile]T](it)
	x, y := it.Local(0), it.Local(1)
	for top := it.Group(1) * productTile; top < c.Rows; top += it.Groups(1) * productTile {
		for left := it.Group(0) * productTile; left < c.Cols; left += it.Groups(0) * productTile {
			row, col := top+y, left+x
			var acc, zero T
			for p := 0; p < a.Cols; p += productTile {
				va, vb := -zero, zero
				if row < a.Rows && p+x < a.Cols {
					va = a.At(row, p+x)
				}
				if col < b.Cols && p+y < b.Rows {
					vb = b.At(p+y, col)
				}
				as[y][x], bs[y][x] = va, vb
				it.Barrier()
				for q := range productTile {
					acc = gpu.FMA(as[y][q], bs[q][x], acc)
				}
				it.Barrier()
			}
			if row < c.Rows && col < c.Cols {
				c.Set(row, col, acc)
			}
		}
	}
}

// transposeNaive is C = A' by the definition, one work-item an element at a time. Any grid in x and
// y covers any shape: work-items in x stride over the columns of A, those in y over its rows.
//
//tandem:kernel float32 float64 int32
func transposeNaive[T gpu.Number](it gpu.Item, a, c gpu.Matrix[T]) {
	for i := it.Global(1); i < a.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < a.Cols; j += it.GlobalSize(0) {
			c.Set(j, i, a.At(i, j))
		}
	}
}
