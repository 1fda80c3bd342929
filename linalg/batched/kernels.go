package batched

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// In all kernels a work-item has a matrix, and its neighbours those below it. In scratch memory a
// group has the matrices of its work-items interleaved: first element (0, 0) of each, and so on. So
// neighbours go through memory side by side, as lanes of a vector do, whatever n is. Only rows that
// are swapped lie apart, since each matrix has pivots of its own.

// A tile is where a group has matrices, one for each of its work-items: that of the first one. What
// differs between work-items is no part of it, so that the compiler sees that the rest does not.
type tile struct {
	at, row, step int // the first element, and from one row, and from one column, to the next
}

func (t tile) index(i, j int) int { return t.at + i*t.row + j*t.step }

// tileOf is the tile of n by n elements, in rows of ld, of a group that has rest more for each
// matrix.
func tileOf(it gpu.Item, n, ld, rest int) tile {
	w := it.LocalSize(0)
	return tile{at: it.Group(0) * (n*ld + rest) * w, row: ld * w, step: w}
}

// sidesOf is the tile of right sides behind it.
func sidesOf(t tile, n int) tile { return tile{at: t.at + n*t.row, row: sides * t.step, step: t.step} }

// What status says of a matrix, but for the step where its factorization failed.
const (
	done   = -1
	beyond = -2 // U has numbers beyond the type, though the matrix has none
)

// lu factors the matrices of n by n below each other in a.
//
//tandem:kernel float32 float64
func lu[T gpu.Float](it gpu.Item, a gpu.Matrix[T], pivots, status gpu.Matrix[int32], scratch []T, n, ld int) {
	t, l := tileOf(it, n, ld, 0), it.Local(0)
	for first := it.Group(0) * it.LocalSize(0); first < status.Rows; first += it.GlobalSize(0) {
		count := min(it.LocalSize(0), status.Rows-first)
		gather(it, scratch, t, a, first, count, n)
		it.Barrier()
		state, overflow := int32(done), false
		for j := range n {
			chains(scratch, l, t.index(j, j), t.index(j, 0), t.index(0, j), t.row, t.step, t.row, n-j, j)
			p := pivot(scratch, l, t, j, n)
			if l < count {
				pivots.Set(first+l, j, p)
			}
			swap(scratch, l, t, p, j, n)
			u := scratch[t.index(j, j)+l]
			if u == 0 {
				u = 1 // a column whose pivot is 0 stays as it is
				if state == done {
					state = int32(j)
				}
			}
			overflow = overflow || u-u != 0 // what is not finite in a row of U comes to a pivot below
			for i := j + 1; i < n; i++ {
				scratch[t.index(i, j)+l] /= u
			}
			chains(scratch, l, t.index(j, j+1), t.index(0, j+1), t.index(j, 0), t.step, t.row, t.step, n-j-1, j)
		}
		if l < count {
			if overflow && isFinite(a, (first+l)*n, n) {
				state = beyond
			}
			status.Set(first+l, 0, state)
		}
		it.Barrier()
		scatter(it, a, scratch, t, first, count, n)
		it.Barrier()
	}
}

// isFinite tells whether the n rows of a from first on are.
func isFinite[T gpu.Float](a gpu.Matrix[T], first, n int) bool {
	for i := range n {
		for j := range n {
			if v := a.At(first+i, j); v-v != 0 {
				return false
			}
		}
	}
	return true
}

// lines is how often, and how many elements of a matrix, work-items move side by side: its rows,
// or, where neither it nor the tile has gaps between them, all of it.
func lines(t tile, n, stride int) (rows, cols int) {
	if stride == n && t.row == n*t.step {
		return 1, n * n
	}
	return n, n
}

// gather brings count matrices of a, from matrix first on, to a tile.
func gather[T gpu.Float](it gpu.Item, scratch []T, t tile, a gpu.Matrix[T], first, count, n int) {
	rows, cols := lines(t, n, a.Stride)
	for q := range count {
		for i := range rows {
			from, to := ((first+q)*n+i)*a.Stride, t.index(i, 0)+q
			for j0 := 0; j0 < cols; j0 += it.LocalSize(0) {
				if j := j0 + it.Local(0); j < cols {
					scratch[to+j*t.step] = a.Data[from+j]
				}
			}
		}
	}
}

// scatter brings them back.
func scatter[T gpu.Float](it gpu.Item, a gpu.Matrix[T], scratch []T, t tile, first, count, n int) {
	rows, cols := lines(t, n, a.Stride)
	for q := range count {
		for i := range rows {
			to, from := ((first+q)*n+i)*a.Stride, t.index(i, 0)+q
			for j0 := 0; j0 < cols; j0 += it.LocalSize(0) {
				if j := j0 + it.Local(0); j < cols {
					a.Data[to+j] = scratch[from+j*t.step]
				}
			}
		}
	}
}

// chains goes on with count chains of steps products: chain i is x[z+i*dz+l], and becomes that of
// fma(-x[f+i*dz+k*df+l], x[g+k*dg+l], .) for k = 0, 1, ...
func chains[T gpu.Float](x []T, l, z, f, g, dz, df, dg, count, steps int) {
	for count >= 4 { // their latencies overlap, and they share a factor
		a, b, c, d := x[z+l], x[z+dz+l], x[z+2*dz+l], x[z+3*dz+l]
		at, h := f, g
		for range steps {
			y := -x[h+l]
			a = gpu.FMA(x[at+l], y, a)
			b = gpu.FMA(x[at+dz+l], y, b)
			c = gpu.FMA(x[at+2*dz+l], y, c)
			d = gpu.FMA(x[at+3*dz+l], y, d)
			at += df
			h += dg
		}
		x[z+l], x[z+dz+l], x[z+2*dz+l], x[z+3*dz+l] = a, b, c, d
		z += 4 * dz
		f += 4 * dz
		count -= 4
	}
	for range count {
		a := x[z+l]
		for k := range steps {
			a = gpu.FMA(-x[f+k*df+l], x[g+k*dg+l], a)
		}
		x[z+l] = a
		z += dz
		f += dz
	}
}

// pivot is the row from j on of the largest magnitude in column j, a NaN before all others, the
// first of equals.
func pivot[T gpu.Float](scratch []T, l int, t tile, j, n int) int32 {
	p, most := int32(j), magnitude(scratch[t.index(j, j)+l])
	for i := j + 1; i < n; i++ {
		v := magnitude(scratch[t.index(i, j)+l])
		if v > most || v != v && most == most {
			p, most = int32(i), v
		}
	}
	return p
}

func magnitude[T gpu.Float](v T) T {
	if v < 0 {
		return -v
	}
	return v
}

// swap swaps rows i and p of a tile of n columns.
func swap[T gpu.Float](scratch []T, l int, t tile, p int32, i, n int) {
	other := t.at + int(p)*t.row + l
	for j := range n {
		if p != int32(i) {
			at := t.index(i, j) + l
			v := scratch[at]
			scratch[at] = scratch[other+j*t.step]
			scratch[other+j*t.step] = v
		}
	}
}

// cholesky factors the symmetric matrices of n by n below each other in a, whose lower triangles
// count.
//
//tandem:kernel float32 float64
func cholesky[T gpu.Float](it gpu.Item, a gpu.Matrix[T], status gpu.Matrix[int32], scratch []T, n, ld int) {
	t, l := tileOf(it, n, ld, 0), it.Local(0)
	for first := it.Group(0) * it.LocalSize(0); first < status.Rows; first += it.GlobalSize(0) {
		count := min(it.LocalSize(0), status.Rows-first)
		gather(it, scratch, t, a, first, count, n)
		it.Barrier()
		state := int32(done)
		for j := range n {
			chains(scratch, l, t.index(j, j), t.index(j, 0), t.index(j, 0), t.row, t.step, t.step, n-j, j)
			v := scratch[t.index(j, j)+l]
			if !(v > 0) && state == done {
				state = int32(j)
			}
			d := T(math.Sqrt(float64(v))) // rounded once, of a float32 too
			scratch[t.index(j, j)+l] = d
			for i := j + 1; i < n; i++ {
				scratch[t.index(i, j)+l] /= d
			}
		}
		for i := range n {
			for j := i + 1; j < n; j++ {
				scratch[t.index(i, j)+l] = 0
			}
		}
		if l < count {
			status.Set(first+l, 0, state)
		}
		it.Barrier()
		scatter(it, a, scratch, t, first, count, n)
		it.Barrier()
	}
}

// sides is the columns of right sides that a work-item solves for at a time.
const sides = 4

// solveLU makes the right sides of n by b.Cols below each other in b solutions, by what lu has left
// in a and pivots.
//
//tandem:kernel float32 float64
func solveLU[T gpu.Float](it gpu.Item, b, a gpu.Matrix[T], pivots gpu.Matrix[int32], scratch []T, n, ld int) {
	t, l := tileOf(it, n, ld, n*sides), it.Local(0)
	x := sidesOf(t, n)
	for first := it.Group(0) * it.LocalSize(0); first < pivots.Rows; first += it.GlobalSize(0) {
		count := min(it.LocalSize(0), pivots.Rows-first)
		gather(it, scratch, t, a, first, count, n)
		it.Barrier()
		for c := 0; c < b.Cols; c += sides {
			width := min(sides, b.Cols-c)
			load(it, scratch, x, b, first, count, c, n, width)
			for i := range n {
				p := int32(i)
				if l < count {
					p = pivots.At(first+l, i)
				}
				if p < 0 || p >= int32(n) { // none that lu writes: the memory beyond is not this matrix's
					p = int32(i)
				}
				swap(scratch, l, x, p, i, width)
			}
			for i := range n {
				substitute(scratch, l, x.index(i, 0), t.index(i, 0), x.at, t.step, x.row, x.step, i)
			}
			for r := range n {
				i := n - 1 - r
				substitute(scratch, l, x.index(i, 0), t.index(i, n-1), x.index(n-1, 0), -t.step, -x.row, x.step, r)
				divide(scratch, l, x.index(i, 0), x.step, scratch[t.index(i, i)+l])
			}
			unload(it, b, scratch, x, first, count, c, n, width)
			it.Barrier() // for PoCL 3.1, which else does not compile it
		}
		it.Barrier()
	}
}

// solveCholesky is solveLU by what cholesky has left in a.
//
//tandem:kernel float32 float64
func solveCholesky[T gpu.Float](it gpu.Item, b, a gpu.Matrix[T], scratch []T, all, n, ld int) {
	t, l := tileOf(it, n, ld, n*sides), it.Local(0)
	x := sidesOf(t, n)
	for first := it.Group(0) * it.LocalSize(0); first < all; first += it.GlobalSize(0) {
		count := min(it.LocalSize(0), all-first)
		gather(it, scratch, t, a, first, count, n)
		it.Barrier()
		for c := 0; c < b.Cols; c += sides {
			width := min(sides, b.Cols-c)
			load(it, scratch, x, b, first, count, c, n, width)
			for i := range n {
				substitute(scratch, l, x.index(i, 0), t.index(i, 0), x.at, t.step, x.row, x.step, i)
				divide(scratch, l, x.index(i, 0), x.step, scratch[t.index(i, i)+l])
			}
			for r := range n {
				i := n - 1 - r
				substitute(scratch, l, x.index(i, 0), t.index(n-1, i), x.index(n-1, 0), -t.row, -x.row, x.step, r)
				divide(scratch, l, x.index(i, 0), x.step, scratch[t.index(i, i)+l])
			}
			unload(it, b, scratch, x, first, count, c, n, width)
			it.Barrier()
		}
		it.Barrier()
	}
}

// load brings columns c and on of right sides to a tile. Columns that it does not have are left as
// they are. Conditions are in the loops, where PoCL 3.1 takes them right.
func load[T gpu.Float](it gpu.Item, scratch []T, x tile, b gpu.Matrix[T], first, count, c, n, width int) {
	l := it.Local(0)
	at := (first+l)*n*b.Stride + c
	for i := range n {
		for k := range width {
			if l < count {
				scratch[x.index(i, k)+l] = b.Data[at+i*b.Stride+k]
			}
		}
	}
}

// unload brings them back.
func unload[T gpu.Float](it gpu.Item, b gpu.Matrix[T], scratch []T, x tile, first, count, c, n, width int) {
	l := it.Local(0)
	at := (first+l)*n*b.Stride + c
	for i := range n {
		for k := range width {
			if l < count {
				b.Data[at+i*b.Stride+k] = scratch[x.index(i, k)+l]
			}
		}
	}
}

// substitute goes on with the chains of a row of right sides: element i is x[z+i*dz+l], and becomes
// that of fma(-x[f+k*df+l], x[g+k*dg+i*dz+l], .) for k = 0, 1, ... steps-1.
func substitute[T gpu.Float](x []T, l, z, f, g, df, dg, dz, steps int) {
	a, b, c, d := x[z+l], x[z+dz+l], x[z+2*dz+l], x[z+3*dz+l]
	for range steps {
		y := -x[f+l]
		a = gpu.FMA(y, x[g+l], a)
		b = gpu.FMA(y, x[g+dz+l], b)
		c = gpu.FMA(y, x[g+2*dz+l], c)
		d = gpu.FMA(y, x[g+3*dz+l], d)
		f += df
		g += dg
	}
	x[z+l], x[z+dz+l], x[z+2*dz+l], x[z+3*dz+l] = a, b, c, d
}

func divide[T gpu.Float](x []T, l, z, dz int, by T) {
	for i := range sides {
		x[z+i*dz+l] /= by
	}
}
