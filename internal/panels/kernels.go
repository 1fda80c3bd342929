package panels

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// maxGroup is the most work-items of a group that factors a panel of LU.
const maxGroup = 512

// lu factors the panel P*A = L*U whose transpose is t, by Crout's method: for each k column k of L
// and then row k of U, each element by the chain of the products before it. Row k changes places
// with row pivots[j+k]-j; the last of pivots becomes 1 more than the first column whose pivot is 0.
//
//tandem:kernel float32 float64
func lu[T gpu.Float](it gpu.Item, t gpu.Matrix[T], pivots []int32, j int) {
	best, where := gpu.Local[[maxGroup]T](it), gpu.Local[[maxGroup]int32](it)
	l, size := it.Local(0), it.LocalSize(0)
	for k := range t.Rows {
		most, at := T(-1), int32(t.Cols) // the pivot among this work-item's rows
		for i := k + l; i < t.Cols; i += 4 * size {
			i1, i2, i3 := within(i+size, i, t.Cols), within(i+2*size, i, t.Cols), within(i+3*size, i, t.Cols)
			a, b, c, d := t.At(k, i), t.At(k, i1), t.At(k, i2), t.At(k, i3)
			for s := range k {
				u := -t.At(k, s)
				a = gpu.FMA(t.At(s, i), u, a)
				b = gpu.FMA(t.At(s, i1), u, b)
				c = gpu.FMA(t.At(s, i2), u, c)
				d = gpu.FMA(t.At(s, i3), u, d)
			}
			t.Set(k, i, a)
			t.Set(k, i1, b)
			t.Set(k, i2, c)
			t.Set(k, i3, d)
			most, at = larger(most, at, magnitude(a), int32(i))
			most, at = larger(most, at, magnitude(b), int32(i1))
			most, at = larger(most, at, magnitude(c), int32(i2))
			most, at = larger(most, at, magnitude(d), int32(i3))
		}
		best[l], where[l] = most, at
		it.Barrier()
		for half := size / 2; half > 0; half /= 2 {
			if l < half {
				best[l], where[l] = larger(best[l], where[l], best[l+half], where[l+half])
			}
			it.Barrier()
		}
		p := int(where[0])
		for c := l; c < t.Rows; c += size {
			x := t.At(c, k)
			t.Set(c, k, t.At(c, p))
			t.Set(c, p, x)
		}
		it.Barrier()
		u := t.At(k, k)
		if l == 0 {
			pivots[j+k] = int32(j + p)
			if u == 0 && pivots[len(pivots)-1] == 0 {
				pivots[len(pivots)-1] = int32(j + k + 1)
			}
		}
		if u != 0 {
			for i := k + 1 + l; i < t.Cols; i += size {
				t.Set(k, i, t.At(k, i)/u)
			}
		}
		for c := k + 1 + l; c < t.Rows; c += size {
			x := t.At(c, k)
			for s := range k {
				x = gpu.FMA(-t.At(s, k), t.At(c, s), x)
			}
			t.Set(c, k, x)
		}
		it.Barrier()
	}
}

// within is i where that is below n, else other.
func within(i, other, n int) int {
	if i < n {
		return i
	}
	return other
}

func magnitude[T gpu.Float](v T) T {
	if v < 0 {
		return -v
	}
	return v
}

// larger is the larger of two magnitudes and its place: a NaN is before all others, and of equals
// the first is.
func larger[T gpu.Float](x T, i int32, y T, k int32) (T, int32) {
	same := x == y || x != x && y != y
	if same && k < i || !same && x == x && (y > x || y != y) {
		return y, k
	}
	return x, i
}

// luRows goes on with columns of a beside a panel, which is columns j to j+w-1. Its rows are those
// from the panel's first on.
//
//tandem:kernel float32 float64
func luRows[T gpu.Float](it gpu.Item, a gpu.Matrix[T], pivots []int32, j, w int) {
	for c := it.Global(0); c < a.Cols; c += it.GlobalSize(0) {
		if c >= j && c < j+w {
			continue
		}
		for k := range w {
			p := int(pivots[j+k]) - j
			x := a.At(k, c)
			a.Set(k, c, a.At(p, c))
			a.Set(p, c, x)
		}
		if c < j {
			continue
		}
		for i := range w {
			x := a.At(i, c)
			for s := range i {
				x = gpu.FMA(-a.At(i, j+s), a.At(s, c), x)
			}
			a.Set(i, c, x)
		}
	}
}

// cholesky factors the first t.Rows rows of the panel A = L*Lᵀ whose transpose is t.
//
//tandem:kernel float32 float64
func cholesky[T gpu.Float](it gpu.Item, t gpu.Matrix[T], status []int32, j int) {
	l, size := it.Local(0), it.LocalSize(0)
	for k := range t.Rows {
		for i := k + l; i < t.Rows; i += size {
			x := t.At(k, i)
			for s := range k {
				x = gpu.FMA(-t.At(s, i), t.At(s, k), x)
			}
			t.Set(k, i, x)
		}
		it.Barrier()
		v := t.At(k, k)
		root := T(math.Sqrt(float64(v))) // rounded once, of a float32 too
		it.Barrier()                     // all have read
		if l == 0 {
			t.Set(k, k, root)
			if !(v > 0) && status[0] == 0 {
				status[0] = int32(j + k + 1)
			}
		}
		for i := k + 1 + l; i < t.Rows; i += size {
			t.Set(k, i, t.At(k, i)/root)
		}
		it.Barrier()
	}
}

// choleskyRows goes on with the other rows of the panel.
//
//tandem:kernel float32 float64
func choleskyRows[T gpu.Float](it gpu.Item, t gpu.Matrix[T]) {
	for c := t.Rows + it.Global(0); c < t.Cols; c += it.GlobalSize(0) {
		for i := range t.Rows {
			x := t.At(i, c)
			for s := range i {
				x = gpu.FMA(-t.At(s, i), t.At(s, c), x)
			}
			t.Set(i, c, x/t.At(i, i))
		}
	}
}

// mirror makes the upper triangle of a what the lower one is.
//
//tandem:kernel
func mirror(it gpu.Item, a gpu.Matrix[float64]) {
	i, j := it.Global(1), it.Global(0)
	if i < a.Rows && j < i {
		a.Set(j, i, a.At(i, j))
	}
}
