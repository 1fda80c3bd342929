package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// A guess is a sum in floating point: exactly sum + rest, but for off at most. It nearly always
// tells what the exact sum is rounded to, in a fraction of the time. This is Ziv's strategy ("Fast
// evaluation of elementary mathematical functions with correctly rounded last bit", 1991). A quick
// guess, of which float32 are made, has no rest, and off is the sum of magnitudes until all are
// added: any number of terms is guessed.
type guess struct{ sum, rest, off float64 }

// mostGuessed is how many terms are guessed at most where it is not quick, and fewQuick how many
// float32 are guessed with a rest: sums of so few are the middle of two too often.
const (
	mostGuessed = 64
	fewQuick    = 32
)

const (
	least = 0x1p-512 // the least magnitude for which what is left of products, quotients and roots is a number
	ulps  = 0x1p-50  // four units in the last place of 1
)

// twoSum is a + b, rounded, and what rounding left, by Knuth's algorithm.
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	part := sum - a
	return sum, a - (sum - part) + (b - part)
}

// plus is g and the term of x and y, or that quickly.
func plus[S float32 | float64, F format[S], P terms](f F, p P, g guess, x, y, shift S, mask int64, quick bool) guess {
	u, v := factors(p, x, y, shift, mask)
	t := u
	if p.multiplied() {
		t = u * v
	}
	if quick {
		return guess{g.sum + t, 0, g.off + math.Abs(t)}
	}
	sum, err := twoSum(g.sum, t)
	if f.precision() == 24 { // nearly always 0
		return guess{sum, 0, g.off + math.Abs(err)}
	}
	g.sum = sum
	g.rest, err = twoSum(g.rest, err)
	g.off += math.Abs(err)
	if isHalved(f, p) {
		g.rest, err = twoSum(g.rest, gpu.FMA(u, v, -t))
		g.off += math.Abs(err)
		if math.Abs(t) < least && u != 0 && v != 0 {
			g.off = math.Float64frombits(0x7ff << 52)
		}
	}
	return g
}

// over is g over d. Of float32 only the size of what is left is told: by the reciprocal, without a
// division for each.
func over[S float32 | float64, F format[S]](f F, g guess, d float64) guess {
	if f.precision() == 24 {
		q := g.sum * (1 / d)
		return guess{q, 0, (g.off + math.Abs(g.rest) + math.Abs(gpu.FMA(-q, d, g.sum))) * (1 / d)}
	}
	q := g.sum / d
	rest, err := twoSum(gpu.FMA(-q, d, g.sum), g.rest)
	lo := rest / d
	off := g.off + math.Abs(err) + math.Abs(gpu.FMA(-lo, d, rest))
	if off >= least { // else less may be no number
		off /= d
	}
	return guess{q, lo, off}
}

// root is the square root of g, by two terms of its series.
func (g guess) root() guess {
	q := math.Sqrt(g.sum)
	lo := (gpu.FMA(-q, q, g.sum) + g.rest) / (2 * q)
	return guess{q, lo, g.off/q + math.Abs(lo)*ulps}
}

// sure is what q makes of g, rounded to S, and whether all numbers that the exact result may be are
// rounded to the same. A quick guess made n additions.
func sure[S float32 | float64, F format[S]](f F, g guess, q quotient, quick bool, n int) (S, bool) {
	if quick {
		g.off *= float64(n) * ulps
	}
	g.sum, g.rest = twoSum(g.sum, g.rest)
	ok := q.over != 0 && q.over < 1<<24 && (g.sum == 0 || math.Abs(g.sum) >= least)
	if q.over > 1 {
		g = over(f, g, float64(q.over))
	}
	if q.root && g.sum != 0 {
		g = g.root()
	}
	if f.precision() == 24 {
		g.off += math.Abs(g.rest)
	}
	if g.off != 0 { // it was rounded, and what is below it may be lost
		g.off = g.off*(1+0x1p-10) + math.Abs(g.rest)*ulps
		if f.precision() == 24 {
			g.off += math.Abs(g.sum) * ulps
		}
	}
	a, b := S(g.sum+(g.rest-g.off)), S(g.sum+(g.rest+g.off))
	return a, ok && a == b && (a != 0 || g.off == 0) // else it may be -0
}
