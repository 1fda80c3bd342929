package seeds

import "github.com/tandem-gpu/tandem/gpu"

// Twice is b = a + a, with work-items that stride over the elements: any grid covers any length.
//
//tandem:kernel
func Twice(it gpu.Item, a, b []int32) {
	for i := it.Global(0); i < len(a); i += it.GlobalSize(0) {
		b[i] = a[i] + a[i]
	}
}

// Twice2D is Twice with work-items in x and y.
//
//tandem:kernel
func Twice2D(it gpu.Item, a, b []int32) {
	width := it.GlobalSize(0)
	for i := it.Global(1)*width + it.Global(0); i < len(a); i += width * it.GlobalSize(1) {
		b[i] = a[i] + a[i]
	}
}

// Transpose is C = A', one work-item an element.
//
//tandem:kernel float32 int32
func Transpose[T gpu.Number](it gpu.Item, a, c gpu.Matrix[T]) {
	if i, j := it.Global(1), it.Global(0); i < a.Rows && j < a.Cols {
		c.Set(j, i, a.At(i, j))
	}
}

// tileDim is the rows and columns of a tile, blockRows the work-items of a group in y.
const (
	tileDim   = 32
	blockRows = 8
)

// TransposeTiled is C = A' through a tile in local memory, so that reads and writes are both in
// rows. The tile has a column more, so that a column of it lies in different banks.
//
//tandem:kernel float32 int32
//tandem:group 32 8
func TransposeTiled[T gpu.Number](it gpu.Item, a, c gpu.Matrix[T]) {
	tile := gpu.Local[[tileDim][tileDim + 1]T](it)
	x, y := it.Group(0)*tileDim+it.Local(0), it.Group(1)*tileDim+it.Local(1)
	for j := 0; j < tileDim; j += blockRows {
		if y+j < a.Rows && x < a.Cols {
			tile[it.Local(1)+j][it.Local(0)] = a.At(y+j, x)
		}
	}
	it.Barrier()
	x, y = it.Group(1)*tileDim+it.Local(0), it.Group(0)*tileDim+it.Local(1)
	for j := 0; j < tileDim; j += blockRows {
		if y+j < c.Rows && x < c.Cols {
			c.Set(y+j, x, tile[it.Local(0)][it.Local(1)+j])
		}
	}
}
