package sums

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Across adds up columns of x, a work-item each, in as many parts as there are groups in y; parts
// are as Along leaves them. Where shift has elements, one for each column, it is subtracted from
// both factors of products, which are squares.
//
//tandem:kernel float32,float32,int32,single,one float64,float64,int64,double,one
//tandem:kernel float32,float64,int64,double,pair float64,float64,int64,double,two
func Across[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](it gpu.Item, f F, p P, parts []int64,
	x gpu.Matrix[S], shift []S, turns int, mask I,
) {
	rows := (x.Rows + it.Groups(1) - 1) / it.Groups(1) // of a part
	from := min(it.Group(1)*rows, x.Rows)
	to := min(from+rows, x.Rows)
	for first := it.Group(0) * it.LocalSize(0); first < x.Cols; first += it.GlobalSize(0) {
		o := first + it.Local(0)
		words := superacc.Place{At: it.Group(1)*Words*x.Cols + o, Step: x.Cols, N: Words}
		var sum running
		var less S
		if o < x.Cols {
			for k := range Words {
				parts[words.At+k*words.Step] = 0
			}
			if len(shift) != 0 {
				less = shift[o]
			}
		}
		for i := from; i < to; i += turns {
			if o < x.Cols {
				b := column[S, I]{x, less, i, min(i+turns, to), o, mask}
				sum = addColumn(f, p, b, parts, words, sum)
			}
			it.Barrier() // the group reads rows together
		}
		if o < x.Cols {
			addDigits(f, p, parts, words, sum)
		}
	}
}

// A column is rows i0 to i1-1 of column j.
type column[S float32 | float64, I int32 | int64] struct {
	x         gpu.Matrix[S]
	shift     S
	i0, i1, j int
	mask      I
}

// at is row i of the column.
func at[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, c column[S, I],
	i int,
) T {
	x := c.x.Data[i*c.x.Stride+c.j]
	switch {
	case p.exact():
		return T(x-c.shift) * T(x-c.shift)
	case p.product():
		return T(x - c.shift)
	}
	return f.from(f.bits(T(x)) & c.mask)
}

// A running sum is of blocks that are not in the words yet; top is the exponent that fits them, and
// the guess for the next.
type running struct {
	t   halves
	top int
}

// addColumn adds the terms of a column to a running sum, or to the words.
func addColumn[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, c column[S, I],
	parts []int64, words superacc.Place, sum running,
) running {
	for range 2 {
		s := scale(f, sum.top)
		w := nowhere[T, I](f)
		var d digits[I]
		for i := c.i0; i < c.i1; i++ {
			u := at(f, p, c, i)
			w = w.with(f.most(), magnitude(f, p, u, u))
			d = plus(f, p, d, u, u, s)
		}
		fit := fits(f, p, w, sum.top)
		if fit {
			d = d.without(I(c.i1-c.i0)*f.bits(f.magic()), p.product())
			sum.t = sum.t.with(int64(d.a), int64(d.b), int64(d.c))
			return sum
		}
		addDigits(f, p, parts, words, sum)
		sum = running{top: topOf(f, w)}
	}
	least, most := 1<<20, -1<<20
	for i := c.i0; i < c.i1; i++ {
		u := at(f, p, c, i)
		t := exactly(f, p, u, u)
		parts[words.At+(Words-1)*words.Step] |= t.special
		if t.hi|t.lo != 0 {
			least, most = min(least, t.exp), max(most, t.top())
		}
	}
	for base := least; base < most; base += digitBits {
		s := int64(0)
		for i := c.i0; i < c.i1; i++ {
			u := at(f, p, c, i)
			s += exactly(f, p, u, u).digit(base)
		}
		addParts(parts, words, base-f.bottom(), s)
	}
	return sum
}

// addDigits adds a running sum to the words.
func addDigits[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, parts []int64,
	words superacc.Place, sum running,
) {
	at := unit(f, sum.top) - f.bottom()
	for k := range 2 * p.digits() {
		addParts(parts, words, at+sum.t.up(f.precision(), k), sum.t.part(k))
	}
}

func addParts(parts []int64, words superacc.Place, p int, v int64) {
	for k := range 3 {
		superacc.AddPart(parts, words, p, v, k)
	}
}
