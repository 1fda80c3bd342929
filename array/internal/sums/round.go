package sums

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Round adds up the count parts that Along or Across left of each element of c, divides by over,
// takes the square root where root is set, and rounds once. Each part has so many words, of which
// the lowest counts 2^bottom, and in the last of all the set of what is no number; or it is clean,
// and has integers, and what they count. What is over 0 is NaN.
//
//tandem:kernel float32,single float64,double
func Round[T float32 | float64, F rounder[T]](it gpu.Item, f F, c gpu.Matrix[T], parts []int64,
	count, words, bottom int, over uint64, root bool,
) {
	outputs := c.Rows * c.Cols
	for o := it.Global(0); o < outputs; o += it.GlobalSize(0) {
		state, same := parts[6*outputs+o], true
		for p := range count {
			at := p*Words*outputs + o
			same = same && parts[at+(Words-1)*outputs] == clean && (parts[at+6*outputs]^state)&^1 == 0
			state |= parts[at+6*outputs]
		}
		special := int64(0)
		var v superacc.Value
		if same {
			s := halves{}
			for p := range count {
				s = s.and(integersOf(parts, p*Words*outputs+o, outputs))
			}
			base, step, deep := countOf(state)
			v = valueOf(step, s, base, deep)
		} else {
			for p := range count {
				at := superacc.Place{At: p*Words*outputs + o, Step: outputs, N: words}
				special |= inWords(parts, at, bottom)
				for k := range words {
					if p > 0 {
						parts[k*outputs+o] += parts[at.At+k*outputs]
					}
				}
			}
			v = superacc.Top(parts, superacc.Place{At: o, Step: outputs, N: words}, bottom)
		}
		put(c, o, rounded(f, v, special, over, root))
	}
}

// integersOf is the integers of a part that begins at an element.
func integersOf(parts []int64, at, step int) halves {
	return halves{
		digits[int64]{parts[at], parts[at+2*step], parts[at+4*step]},
		digits[int64]{parts[at+step], parts[at+3*step], parts[at+5*step]},
	}
}

// inWords makes words of a part, and returns the set of what is no number.
func inWords(parts []int64, at superacc.Place, bottom int) int64 {
	special := parts[at.At+(Words-1)*at.Step]
	if special != clean {
		return special
	}
	s := integersOf(parts, at.At, at.Step)
	base, step, _ := countOf(parts[at.At+6*at.Step])
	clearWords(parts, at)
	addHalves(parts, at, s, base-bottom, step)
	return 0
}

// rounded is a sum over so many, or the root of that.
func rounded[T float32 | float64, F rounder[T]](f F, v superacc.Value, special int64, over uint64, root bool) T {
	if over > 1 {
		v = v.Over(over)
	}
	if root {
		v = v.Root(f.precision())
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
