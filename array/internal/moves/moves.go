package moves

import "github.com/tandem-gpu/tandem/gpu"

// block is the elements of a row that a group takes at a time.
const block = 1024

// A Map says where an element of row i and column j comes from: from row Row + RowI*i + RowJ*j, and
// a column in the same way.
type Map struct{ Row, RowI, RowJ, Col, ColI, ColJ int }

// Place makes c the elements of a that a map gives, and 0 where there are none.
//
//tandem:kernel uint8 uint16 uint32 uint64
func Place[E gpu.Unsigned](it gpu.Item, c, a gpu.Matrix[E], m Map) {
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		row, col := m.Row+m.RowI*i, m.Col+m.ColI*i
		for begin := it.Group(0) * block; begin < c.Cols; begin += it.Groups(0) * block {
			end := min(begin+block, c.Cols)
			if m.RowJ == 0 && m.ColJ == 1 && row >= 0 && row < a.Rows && col >= 0 && col+end <= a.Cols {
				for j := begin + it.Local(0); j < end; j += it.LocalSize(0) { // elements that are side by side
					c.Data[i*c.Stride+j] = a.Data[row*a.Stride+col+j]
				}
				continue
			}
			if m.RowJ == 0 && m.ColJ == -1 && row >= 0 && row < a.Rows && col-end >= -1 && col-begin < a.Cols {
				for j := begin + it.Local(0); j < end; j += it.LocalSize(0) { // in the opposite order
					c.Data[i*c.Stride+j] = a.Data[row*a.Stride+col-j]
				}
				continue
			}
			for j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
				k, l, x := row+m.RowJ*j, col+m.ColJ*j, E(0)
				if k >= 0 && k < a.Rows && l >= 0 && l < a.Cols {
					x = a.At(k, l)
				}
				c.Set(i, j, x)
			}
		}
	}
}

// PlaceShort is Place for short rows, which a work-item takes each. In one kernel both would take
// longer.
//
//tandem:kernel uint8 uint16 uint32 uint64
func PlaceShort[E gpu.Unsigned](it gpu.Item, c, a gpu.Matrix[E], m Map) {
	for i := it.Global(0); i < c.Rows; i += it.GlobalSize(0) {
		for j := range c.Cols {
			k, l, x := m.Row+m.RowI*i+m.RowJ*j, m.Col+m.ColI*i+m.ColJ*j, E(0)
			if k >= 0 && k < a.Rows && l >= 0 && l < a.Cols {
				x = a.Data[k*a.Stride+l]
			}
			c.Data[i*c.Stride+j] = x
		}
	}
}

// Check looks for the first element k of index, a row or a column of n, that is no row of so many,
// or, where there are owners, a zero for each row, one that an element before it is. It raises bad,
// which is 0, to n-k.
//
//tandem:kernel
func Check(it gpu.Item, bad, owners []int32, index gpu.Matrix[int32], rows int) {
	n := index.Rows * index.Cols
	for k := it.Global(0); k < n; k += it.GlobalSize(0) {
		switch r := at(index, k); {
		case r < 0 || r >= rows:
			gpu.AtomicMax(&bad[0], int32(n-k))
		case len(owners) > 0:
			// Of two the later one is bad. Whichever comes last meets the first of all others.
			if other := gpu.AtomicMax(&owners[r], int32(n-k)); other > 0 {
				gpu.AtomicMax(&bad[0], min(other, int32(n-k)))
			}
		}
	}
}

// CheckInOrder is Check with owners by one work-item, which needs no atomics: cores that go to any
// rows in turn wait for each other's.
//
//tandem:kernel
//tandem:group 1
func CheckInOrder(it gpu.Item, bad, owners []int32, index gpu.Matrix[int32], rows int) {
	n := index.Rows * index.Cols
	for k := it.Global(0); k < n; k++ {
		r := at(index, k)
		if r < 0 || r >= rows || owners[r] != 0 {
			bad[0] = int32(n - k)
			return
		}
		owners[r] = 1
	}
}

// at is element k of a row or a column.
func at(v gpu.Matrix[int32], k int) int { return int(v.Data[k*step(v)]) }

// step is how far apart the elements of a row or a column are.
func step[E gpu.Unsigned | int32](v gpu.Matrix[E]) int {
	if v.Rows == 1 {
		return 1
	}
	return v.Stride
}

// Rows makes row i of c row index[i] of a, or, with put, row index[i] of c row i of a, unless an
// index is bad. With short a work-item takes a row, else a group a block of one.
//
//tandem:kernel uint8 uint16 uint32 uint64
func Rows[E gpu.Unsigned](it gpu.Item, c, a gpu.Matrix[E], index gpu.Matrix[int32], bad []int32, put, short bool) {
	if bad[0] > 0 {
		return
	}
	n := index.Rows * index.Cols
	if short {
		for i := it.Global(0); i < n; i += it.GlobalSize(0) {
			from, to := ends(index, i, put)
			for j := range c.Cols {
				c.Data[to*c.Stride+j] = a.Data[from*a.Stride+j]
			}
		}
		return
	}
	for i := it.Global(1); i < n; i += it.GlobalSize(1) {
		from, to := ends(index, i, put)
		for begin := it.Group(0) * block; begin < c.Cols; begin += it.Groups(0) * block {
			end := min(begin+block, c.Cols)
			for j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
				c.Set(to, j, a.At(from, j))
			}
		}
	}
}

// Cols makes column j of c column index[j] of a, unless an index is bad.
//
//tandem:kernel uint8 uint16 uint32 uint64
func Cols[E gpu.Unsigned](it gpu.Item, c, a gpu.Matrix[E], index gpu.Matrix[int32], bad []int32) {
	if bad[0] > 0 {
		return
	}
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < c.Cols; j += it.GlobalSize(0) {
			c.Set(i, j, a.At(i, at(index, j)))
		}
	}
}

// Along makes element (i, j) of c element (i, index[i,j]) of a, unless an index is bad.
//
//tandem:kernel uint8 uint16 uint32 uint64
func Along[E gpu.Unsigned](it gpu.Item, c, a gpu.Matrix[E], index gpu.Matrix[int32], bad []int32) {
	if bad[0] > 0 {
		return
	}
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < c.Cols; j += it.GlobalSize(0) {
			c.Set(i, j, a.At(i, int(index.At(i, j))))
		}
	}
}

// AlongRows is Along or, with put, makes element (i, index[i,j]) of c element (i, j) of a. A
// work-item takes a row, so that the last of those that go to one place is the one that stays.
//
//tandem:kernel uint8 uint16 uint32 uint64
func AlongRows[E gpu.Unsigned](it gpu.Item, c, a gpu.Matrix[E], index gpu.Matrix[int32], bad []int32, put bool) {
	if bad[0] > 0 {
		return
	}
	for i := it.Global(0); i < index.Rows; i += it.GlobalSize(0) {
		for j := range index.Cols {
			k := int(index.At(i, j))
			if put {
				c.Set(i, k, a.At(i, j))
			} else {
				c.Set(i, j, a.At(i, k))
			}
		}
	}
}

// ends is the rows between which element i of index moves one.
func ends(index gpu.Matrix[int32], i int, put bool) (from, to int) {
	if put {
		return i, at(index, i)
	}
	return at(index, i), i
}
