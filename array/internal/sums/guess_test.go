package sums

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A guess that is sure is what words give, also in and beside the middle of two numbers, where
// terms cancel, and where they are no numbers.
func TestGuess(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testGuess[float32](t, single{}, plain{}) })
	t.Run("float64", func(t *testing.T) { testGuess[float64](t, double{}, plain{}) })
	t.Run("products of float32", func(t *testing.T) { testGuess[float32](t, single{}, product{}) })
	t.Run("products of float64", func(t *testing.T) { testGuess[float64](t, double{}, product{}) })
}

func testGuess[S float32 | float64, F format[S], P terms](t *testing.T, f F, p P) {
	rng := rand.New(rand.NewPCG(8, 9))
	const runs = 100000
	wereSure := 0
	for n := range runs {
		over := []uint64{1, 1, 1, 2, 3, 8, 25, 1 << 23, 1<<24 + 1, 0}[rng.IntN(10)]
		root := p.multiplied() && rng.IntN(3) == 0
		x, y := closeTerms[S](rng, f.precision(), p.multiplied())
		if n%4 == 0 {
			x, y = middle[S](rng, f.precision(), p.multiplied(), over, root)
		}
		words := make([]int64, f.words()+1)
		slow, quick := guess{}, guess{}
		for i := range x {
			addTerm(f, p, words, x[i], y[i], 0, -1)
			slow, quick = plus(f, p, slow, x[i], y[i], 0, -1, false), plus(f, p, quick, x[i], y[i], 0, -1, true)
		}
		q := quotient{over, root}
		want := ofWords(f, words, q)
		check := func(g guess, isQuick bool) {
			got, ok := sure(f, g, q, isQuick, len(x))
			if !ok {
				return
			}
			wereSure++
			if got != want || math.Signbit(float64(got)) != math.Signbit(float64(want)) {
				t.Fatalf("%d: quick %v: %x over %d, root %v, of %x and %x, want %x", n, isQuick, got, over, root, x, y,
					want)
			}
		}
		check(slow, false)
		if f.precision() == 24 {
			check(quick, true)
		}
	}
	if wereSure < runs/2 {
		t.Errorf("only %d of %d guesses were sure", wereSure, runs)
	}
}

// closeTerms is terms, or factors, of few bits or of many, near to each other or not, whose sum is
// often close to the middle of two numbers.
func closeTerms[S float32 | float64](r *rand.Rand, precision int, factors bool) (x, y []S) {
	n := 1 + r.IntN(mostGuessed)
	x, y = make([]S, n), make([]S, n)
	span, bits, least := r.IntN(1+r.IntN(2*precision)), 1+r.IntN(precision), r.IntN(60)-30
	if r.IntN(16) == 0 {
		least *= precision / 2 // where numbers end
	}
	number := func(e int) S {
		m := r.Int64N(1<<bits) - r.Int64N(1<<bits)
		return S(math.Ldexp(float64(m), least+r.IntN(span+1)-bits+e))
	}
	for i := range x {
		x[i], y[i] = number(0), 1
		if factors && r.IntN(4) != 0 {
			y[i] = number(0)
		}
	}
	switch k := r.IntN(n); r.IntN(8) {
	case 0:
		y = x
	case 1:
		x[k], y[k] = -x[r.IntN(n)], y[r.IntN(n)]
	case 2, 3: // a middle, and something small
		sum := 0.0
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		_, e := math.Frexp(sum)
		x[0], y[0] = S(math.Ldexp(float64(r.IntN(2)+1), e-precision-r.IntN(3))), 1
		if n > 1 {
			x[1], y[1] = S(math.Ldexp(float64(r.IntN(3)-1), e-precision-r.IntN(2*precision))), 1
		}
	case 4:
		x[k] = [...]S{0, S(math.Copysign(0, -1)), S(math.Inf(1)), S(math.NaN()), S(math.MaxFloat32)}[r.IntN(5)]
	}
	return x, y
}

// middle is terms, or factors, whose sum over so many, or the root of that, is the middle of two
// numbers, or close to it.
func middle[S float32 | float64](r *rand.Rand, precision int, factors bool, over uint64, root bool) (x, y []S) {
	a := S(math.Ldexp(float64(1<<(precision-1)+r.Int64N(1<<(precision-1))), r.IntN(40)-20-precision))
	_, e := math.Frexp(float64(a))
	b := S(math.Ldexp(1, e-precision-1)) // half a unit in the last place
	d := S(over)
	switch {
	case root && over == 1:
		x, y = []S{a, 2 * a, b}, []S{a, b, b}
	case root:
		x, y = []S{a, a, b, a, b}, []S{a, d, d, b, b}
	case factors:
		x, y = []S{a, b}, []S{d, d}
	case over <= 8:
		for range over {
			x, y = append(x, a, b), append(y, 1, 1)
		}
	default: // a power of two, perhaps
		x, y = []S{a * d, b * d}, []S{1, 1}
	}
	tiny := S(math.Ldexp(float64(r.IntN(3)-1), e-precision-r.IntN(3*precision)))
	return append(x, tiny), append(y, 1)
}
