package sorting

import "github.com/tandem-gpu/tandem/gpu"

// bins is how many bins a group counts in memory of its own.
const bins = 1024

// Search finds for each element of a how many of the edges, a row or a column in order, are before
// it, or, with right, not behind it. With count it counts the elements in bins instead: bin i is
// from edge i to below edge i+1, to which the last one extends.
//
//tandem:kernel uint32 uint64
//tandem:group 256
func Search[E gpu.Unsigned](it gpu.Item, c gpu.Matrix[int32], edges, a gpu.Matrix[E], o Order, count, right bool) {
	t := gpu.Local[[bins]int32](it)
	n := edges.Rows * edges.Cols
	for i := it.Local(0); i < bins; i += it.LocalSize(0) {
		t[i] = 0
	}
	it.Barrier()
	for i := it.Global(1); i < a.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < a.Cols; j += it.GlobalSize(0) {
			x := o.key(uint64(a.Data[i*a.Stride+j]))
			if !count && !right {
				c.Data[i*c.Stride+j] = int32(below(edges, n, x, o))
				continue
			}
			at := n // of edges up to x: all, or those below the next key
			if x != o.largest() {
				at = below(edges, n, x+1, o)
			}
			switch {
			case !count:
				c.Data[i*c.Stride+j] = int32(at)
			case at == 0 || at == n && x != o.key(uint64(edges.Data[(n-1)*step(edges)])):
			case n-1 > bins:
				gpu.AtomicAdd(&c.Data[(min(at, n-1)-1)*step(c)], 1)
			default:
				gpu.AtomicAdd(&t[min(at, n-1)-1], 1)
			}
		}
	}
	it.Barrier()
	if count && n-1 <= bins {
		for i := it.Local(0); i < n-1; i += it.LocalSize(0) {
			if t[i] > 0 {
				gpu.AtomicAdd(&c.Data[i*step(c)], t[i])
			}
		}
	}
}

// below is how many of n edges have a key below x.
func below[E gpu.Unsigned](edges gpu.Matrix[E], n int, x uint64, o Order) int {
	lo, hi := 0, n
	for lo < hi {
		if m := (lo + hi) / 2; o.key(uint64(edges.Data[m*step(edges)])) < x {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// step is the distance of the elements of a row or a column.
func step[T gpu.Number](v gpu.Matrix[T]) int {
	if v.Rows == 1 {
		return 1
	}
	return v.Stride
}
