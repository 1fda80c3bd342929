package main

// The product of two matrices, in tiles: each group brings a tile of A and one of B into local
// memory at a time, and every element of these is read there 16 times. The tile of A has a column
// more than it needs, so that a column of it lies in different banks. An element is one chain of
// fused multiply-adds in ascending k, which makes it equal to linalg.MatMul's to the bit.

import "github.com/tandem-gpu/tandem/gpu"

// matmul is C = A*B in tiles of local memory.
//
//tandem:kernel float32 float64 int32
func matmul[T gpu.Number](it gpu.Item, c, a, b gpu.Matrix[T]) {
	const tile = 16
	sa, sb := gpu.Local[[tile][tile + 1]T](it), gpu.Local[[tile][tile]T](it)
	row, col, y, x := it.Global(1), it.Global(0), it.Local(1), it.Local(0)
	inside := row < c.Rows && col < c.Cols
	var acc T
	for k := 0; k < a.Cols; k += tile {
		if row < a.Rows && k+x < a.Cols {
			sa[y][x] = a.At(row, k+x)
		}
		if k+y < b.Rows && col < b.Cols {
			sb[y][x] = b.At(k+y, col)
		}
		it.Barrier()
		if inside { // elsewhere the tiles may hold nothing
			for p := range min(tile, a.Cols-k) {
				acc = gpu.FMA(sa[y][p], sb[p][x], acc)
			}
		}
		it.Barrier()
	}
	if inside {
		c.Set(row, col, acc)
	}
}
