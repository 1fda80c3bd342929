package solve

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Panels of small matrices have the bits of those of large ones: values, factors, vectors, and what
// they leave of the matrix.
func TestNearPanels(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	random := func(m, n int) []float64 {
		a := make([]float64, m*n)
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		return a
	}
	for _, n := range []int{2, 3, 4, 8, 9, 16, 23, 33, 41, 70, 100} {
		testNearSymmetric(t, n, random(n, n))
		for _, m := range []int{n, n + 1, n + 13} {
			testNearPanel(t, m, n, random(m, n))
		}
	}
}

// Two rows and columns have the bits of a panel: values, factors, and the vector.
func TestTwoRows(t *testing.T) {
	zero := math.Copysign(0, -1)
	for _, a := range [][]float64{{3, 1, 4, 1}, {-3, 1, 4, zero}, {1, zero, 0, 1}, {3, zero, 4, zero}, {0, 1, 2, 3}} {
		var want, got [8]float64
		for i, x := range [][]float64{want[:], got[:]} {
			b := bidiagonal{
				m: 2, n: 2, lda: 2, a: slices.Clone(a), vectorsQ: true, d: x[:2], e: x[2:4], tauQ: x[4:6], tauP: x[6:],
			}
			if i > 0 {
				b.two(0, b.a)
			} else if err := b.panel(0, 2, 2, 2, b.a); err != nil {
				t.Fatal(err)
			}
			x[3] = b.a[2] // of no use else
		}
		for i := range want {
			if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
				t.Errorf("%g: %g, want %g", a, got, want)
				break
			}
		}
	}
}

func testNearPanel(t *testing.T, m, n int, a []float64) {
	w := min(qrPanel, n)
	var results [2][]float64
	for i := range results {
		x := make([]float64, 4*n)
		b := bidiagonal{
			m: m, n: n, lda: n, a: slices.Clone(a), vectorsQ: true, p: make([]float64, n*n), d: x[:n], e: x[n : 2*n],
			tauQ: x[2*n : 3*n], tauP: x[3*n:],
		}
		panel := b.panel
		if i > 0 {
			panel = b.nearPanel
		}
		if err := panel(0, w, m, n, b.a); err != nil {
			t.Fatal(err)
		}
		for j := range w { // what is above the vectors is of no use
			for r := range j {
				b.a[r*n+j] = 0
			}
			clear(b.a[j*n+w:][:n-w])
		}
		results[i] = slices.Concat(x, b.a, b.p)
	}
	if !slices.Equal(results[0], results[1]) {
		t.Errorf("a panel of %dx%d differs", m, n)
	}
}

func testNearSymmetric(t *testing.T, n int, a []float64) {
	w := min(qrPanel, n-1)
	d, e, tau := make([]float64, n), make([]float64, n), make([]float64, n)
	large, small, x := slices.Clone(a), slices.Clone(a), make([]float64, tridiagonalMemory(n))
	for i := range n {
		for j := i + 1; j < n; j++ {
			small[i*n+j] = math.NaN() // the lower triangle counts
		}
	}
	p := newTridiagonalPanel(w, n, large, n, x)
	for j := range w {
		d[j], e[j], tau[j] = p.column(j)
	}
	if err := p.finish(Solver[float64]{}, true); err != nil {
		t.Fatal(err)
	}
	var q nearSymmetric
	q.take(true, w, n, small, n, x)
	for j := range w {
		if di, ei, taui := q.column(j); di != d[j] || ei != e[j] || taui != tau[j] {
			t.Errorf("%d rows: column %d is %g, %g, %g, want %g, %g, %g", n, j, di, ei, taui, d[j], e[j], tau[j])
		}
	}
	if err := q.finish(Solver[float64]{}, true, small, n); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range i + 1 {
			got, want := small[i*n+j], large[i*n+j]
			if j >= w {
				got = small[j*n+i] // what is left of it is in the upper triangle
			}
			if got != want && (i > j || j >= w) {
				t.Fatalf("%d rows: element (%d, %d) is %g, want %g", n, i, j, got, want)
			}
		}
	}
}
