package sums

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/gpu"
)

// Digits hold all terms of a block that fit, however large their sum, and however small the least.
func TestTermsAtTheEdges(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testTerms[float32](t, single{}, one{}) })
	t.Run("float64", func(t *testing.T) { testTerms[float64](t, double{}, one{}) })
	t.Run("products of float32", func(t *testing.T) { testTerms[float32](t, double{}, pair{}) })
	t.Run("products of float64", func(t *testing.T) { testTerms[float64](t, double{}, two{}) })
}

func testTerms[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](t *testing.T, f F, p P) {
	r := rand.New(rand.NewPCG(6, 7))
	fitted := [3]int{}
	for n := range 60000 {
		deep := n%2 == 1 && !p.product()
		c := n / 2 % 3 // all terms of one sign, as large as may be; any; large ones that cancel
		span := r.IntN(2 * f.precision())
		at := r.IntN(40) - 20
		x, y := make([]S, MaxTurns), make([]S, MaxTurns)
		for i := range x {
			down := 0
			if i%64 == 63 {
				down = span - r.IntN(3)
			}
			x[i], y[i] = largest[S](r, at-down), 1
			if p.exact() || p.product() {
				x[i], y[i] = largest[S](r, at-(down+1)/2), largest[S](r, -1-down/2)
			}
			switch {
			case c == 1:
				x[i] *= S(1-2*r.IntN(2)) * S(1-r.Float64()/2)
			case c == 2 && down == 0 && i%2 == 1:
				x[i], y[i] = -x[i-1], y[i-1]
			case c == 2 && i%64 == 62:
				x[i] = 0
			}
		}
		row := func(x []S) gpu.Matrix[S] { return gpu.Matrix[S]{Data: x, Rows: 1, Cols: len(x), Stride: len(x)} }
		b := table[S, I]{x: row(x), y: row(y), height: 1, width: len(x), mask: -1}
		w, _ := addOf(f, p, b, 0, 0, magic[T]{}, false)
		top := f.field(w.hi)
		if !fits(f, p, w, top, deep) {
			continue
		}
		fitted[c]++
		w, d := addOf(f, p, b, 0, 0, magicFor(f, p, top), deep)
		if !fits(f, p, w, top, deep) {
			t.Fatalf("%d: the window changes", n)
		}
		v := valueOf(step(f, p), halves{}.with(int64(d.a), int64(d.b), int64(d.c)), unit(f, p, top),
			deep || p.product())
		var want exact.Acc
		for i := range x {
			if p.exact() || p.product() {
				want.AddProduct(float64(x[i]), float64(y[i]))
			} else {
				want.Add(float64(x[i]))
			}
		}
		if got := (double{}).round(v); got != want.Float64() {
			t.Fatalf("%d: %x, want %x; span %d, deep %v", n, got, want.Float64(), span, deep)
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
