package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// A guess is a sum in floating point: exactly sum + rest, but for off at most. It nearly always
// tells what the exact sum is rounded to, in a fraction of the time that integers take for few
// terms. This is Ziv's strategy ("Fast evaluation of elementary mathematical functions with
// correctly rounded last bit", 1991). Of products of float32, of which float32 are made, there is
// no rest, and off is the sum of magnitudes until all are added: any number of them is guessed.
type guess[T float32 | float64] struct{ sum, rest, off T }

// mostGuessed is how many terms are guessed at most, but for products of float32.
const mostGuessed = 32

// least is the least magnitude for which what is left of products, quotients and roots is a number.
func least[T float32 | float64, I int32 | int64, F format[T, I]](f F) T { return f.power(f.bias() / 2) }

// ulps is four units in the last place of 1.
func ulps[T float32 | float64, I int32 | int64, F format[T, I]](f F) T {
	return f.power(f.bias() - f.precision() + 3)
}

func abs[T float32 | float64, I int32 | int64, F format[T, I]](f F, x T) T {
	return f.from(f.bits(x) & f.most())
}

// twoSum is a + b, rounded, and what rounding left, by Knuth's algorithm.
func twoSum[T float32 | float64](a, b T) (sum, err T) {
	sum = a + b
	part := sum - a
	return sum, a - (sum - part) + (b - part)
}

// with is g and the term of x and y.
func with[T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, g guess[T], x, y T) guess[T] {
	term := near(p, x, y)
	if p.exact() {
		return guess[T]{g.sum + term, 0, g.off + abs(f, term)}
	}
	sum, err := twoSum(g.sum, term)
	g.sum = sum
	g.rest, err = twoSum(g.rest, err)
	g.off += abs(f, err)
	if p.product() {
		g.rest, err = twoSum(g.rest, gpu.FMA(x, y, -term))
		g.off += abs(f, err)
		if abs(f, term) < least(f) && x != 0 && y != 0 {
			g.off = f.power(2*f.bias() + 1)
		}
	}
	return g
}

// over is g over d.
func over[T float32 | float64, I int32 | int64, F format[T, I]](f F, g guess[T], d T) guess[T] {
	q := g.sum / d
	rest, err := twoSum(gpu.FMA(-q, d, g.sum), g.rest)
	lo := rest / d
	off := g.off + abs(f, err) + abs(f, gpu.FMA(-lo, d, rest))
	if off >= least(f) { // else less may be no number
		off /= d
	}
	return guess[T]{q, lo, off}
}

// root is the square root of g, by two terms of its series.
func root[T float32 | float64, I int32 | int64, F format[T, I]](f F, g guess[T]) guess[T] {
	q := T(math.Sqrt(float64(g.sum)))
	lo := (gpu.FMA(-q, q, g.sum) + g.rest) / (2 * q)
	return guess[T]{q, lo, g.off/q + abs(f, lo)*ulps(f)}
}

// sure is the sum of g over count, or the root of that, rounded to S, and whether all numbers that
// the exact result may be are rounded to the same. n is how many additions there were.
func sure[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, g guess[T], count uint64,
	isRoot bool, n int,
) (S, bool) {
	if p.exact() {
		g.off *= T(n) * ulps(f)
	}
	g.sum, g.rest = twoSum(g.sum, g.rest)
	ok := count != 0 && count < 1<<24 && (g.sum == 0 || abs(f, g.sum) >= least(f))
	if count > 1 {
		g = over(f, g, T(count))
	}
	if isRoot && g.sum != 0 {
		g = root(f, g)
	}
	if p.exact() {
		g.off += abs(f, g.rest)
	}
	if g.off != 0 { // it was rounded, and what is below it may be lost
		g.off = g.off*(1+0x1p-10) + abs(f, g.rest)*ulps(f)
		if p.exact() {
			g.off += abs(f, g.sum) * ulps(f)
		}
	}
	a, b := S(g.sum+(g.rest-g.off)), S(g.sum+(g.rest+g.off))
	return a, ok && a == b && (a != 0 || g.off == 0) // else it may be -0
}
