package sums

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Round adds up the count parts that Along or Across left of each element of c, divides by over,
// takes the square root where root is set, and rounds once. Each part has so many words, of which
// the lowest counts 2^bottom. What is over 0 is NaN.
//
//tandem:kernel float32,single float64,double
func Round[T float32 | float64, F rounder[T]](it gpu.Item, f F, c gpu.Matrix[T], parts []int64,
	count, words, bottom int, over uint64, root bool,
) {
	outputs := c.Rows * c.Cols
	for o := it.Global(0); o < outputs; o += it.GlobalSize(0) {
		special := parts[(Words-1)*outputs+o]
		for p := 1; p < count; p++ {
			special |= parts[(p*Words+Words-1)*outputs+o]
			for k := range words {
				parts[k*outputs+o] += parts[(p*Words+k)*outputs+o]
			}
		}
		v := superacc.Top(parts, superacc.Place{At: o, Step: outputs, N: words}, bottom)
		x := rounded(f, v, special, over, root)
		if c.Cols == 1 {
			c.Set(o, 0, x)
		} else {
			c.Set(0, o, x)
		}
	}
}

// rounded is a sum over so many, or the root of that.
func rounded[T float32 | float64, F rounder[T]](f F, v superacc.Value, special int64, over uint64, root bool) T {
	if over > 1 {
		v = v.Over(over)
	}
	if root {
		v = v.Root()
	}
	switch {
	case over == 0:
		return value(f, superacc.NaN)
	case special != 0:
		return value(f, special)
	}
	return f.round(v)
}

// value is a sum that is no number.
func value[T float32 | float64, F rounder[T]](f F, special int64) T {
	inf := f.power(2*f.bias() + 1)
	switch special {
	case superacc.Inf:
		return inf
	case superacc.NegInf:
		return -inf
	}
	return inf - inf
}
