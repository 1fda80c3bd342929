package sums

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// A block that fits is extracted exactly, however large its sum, and however small the least term,
// as often as is allowed.
func TestExtraction(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testExtraction[float32](t, single{}, plain{}) })
	t.Run("float64", func(t *testing.T) { testExtraction[float64](t, double{}, plain{}) })
	t.Run("products of float32", func(t *testing.T) { testExtraction[float32](t, single{}, product{}) })
	t.Run("products of float64", func(t *testing.T) { testExtraction[float64](t, double{}, product{}) })
}

func testExtraction[S float32 | float64, F format[S], P terms](t *testing.T, f F, p P) {
	r := rand.New(rand.NewPCG(6, 7))
	fitted := [3]int{}
	for n := range 60000 {
		c := n / 2 % 3 // all terms of one sign, as large as may be; any; large ones that cancel
		span := r.IntN(2 * f.precision())
		at := r.IntN(40) - 20
		if r.IntN(8) == 0 { // at the ends of the range
			at = []int{-1000, -900, -140, -100, 100, 120, 900, 1010}[r.IntN(8)]
		}
		x, y := make([]S, maxTurns), make([]S, maxTurns)
		for i := range x {
			down := 0
			if i%32 == 31 {
				down = span - r.IntN(3)
			}
			x[i], y[i] = largest[S](r, at-down), 1
			if p.multiplied() {
				x[i], y[i] = largest[S](r, at-(down+1)/2), largest[S](r, -1-down/2)
			}
			switch {
			case c == 1:
				x[i] *= S(1-2*r.IntN(2)) * S(1-r.Float64()/2)
			case c == 2 && down == 0 && i%2 == 1:
				x[i], y[i] = -x[i-1], y[i-1]
			case c == 2 && i%32 == 30:
				x[i] = 0
			}
		}
		alone := isShort(f, p) && n%4 < 2
		extracted := func(top int) extraction {
			e := extract(top)
			for i := range x {
				e = with(f, p, e, x[i], y[i], 0, -1, alone)
			}
			e.w = windowOf(f, p, e)
			return e
		}
		top := firstTop
		if n%2 == 1 {
			top = topOf(f, p, extracted(firstTop).w)
		}
		e := extracted(top)
		if top == 0 || !fits(f, p, e.w, top, alone) {
			continue
		}
		fitted[c]++
		sum, words, blocks := e.counted(top), make([]int64, f.words()+1), 1+r.IntN(4)
		if r.IntN(64) == 0 {
			blocks = maxBlocks
		}
		for k := range blocks {
			if k > 0 {
				sum = sum.plus(e.counted(top))
			}
			for i := range x {
				addTerm(f, p, words, x[i], y[i], 0, -1)
			}
		}
		all := wordsOf(f)
		want := f.round(superacc.Top(words, all, f.bottom()))
		clear(words)
		addTo(f, p, words, sum, top)
		if got := f.round(superacc.Top(words, all, f.bottom())); got != want {
			t.Fatalf("%d: %x in words, want %x; span %d", n, got, want, span)
		}
		if blocks < 8 {
			if got := f.round(valueOf(f, p, sum, top)); got != want {
				t.Fatalf("%d: %x, want %x; span %d", n, got, want, span)
			}
		}
	}
	if slices.Min(fitted[:]) < 1000 {
		t.Errorf("only %v of 20000 blocks of each kind fit", fitted)
	}
}

// largest is the largest number below 2^(e+1), or another whose last bit is 1.
func largest[S float32 | float64](r *rand.Rand, e int) S {
	precision := 53
	if _, ok := any(S(0)).(float32); ok {
		precision = 24
	}
	m := uint64(1)<<precision - 1
	if r.IntN(8) == 0 {
		m = m>>1 + 2 + 2*r.Uint64N(m/4)
	}
	return S(math.Ldexp(float64(m), e+1-precision))
}
