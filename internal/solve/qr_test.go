package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/host"
)

func TestQR(t *testing.T) { both(t, testQR[float32], testQR[float64]) }

// Factors and products have the bits of the definition.
func testQR[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for i, s := range [][2]int{
		{1, 1},
		{1, 7},
		{7, 1},
		{5, 3},
		{3, 5},
		{32, 32},
		{33, 33},
		{40, 90},
		{90, 40},
		{70, 70},
		{pieceRows + 5, 3},
		{2*pieceRows + 1, 34},
	} {
		m, n := s[0], s[1]
		if m > pieceRows && testing.Short() && n > 3 {
			continue
		}
		for _, kind := range kinds {
			if m > pieceRows && kind != "random" {
				continue
			}
			k, ld, what := min(m, n), n+i%3, fmt.Sprintf("%s %dx%d", kind, m, n)
			a := matrix[T](rng, kind, m, n, ld)
			want, tau, wantTau := slices.Clone(a), make([]T, k), make([]T, k)
			QRReference(m, n, want, ld, wantTau)
			if err := (Solver[T]{}).QR(m, n, a, ld, tau); err != nil {
				t.Fatal(err)
			}
			same(t, what, a, want)
			same(t, what+" tau", tau, wantTau)
			for _, trans := range []bool{false, true} {
				c := matrix[T](rng, "random", m, 3, 4)
				wantC := slices.Clone(c)
				ApplyQReference(trans, m, 3, k, a, ld, tau, wantC, 4)
				if err := (Solver[T]{}).ApplyQ(trans, m, 3, k, a, ld, tau, c, 4); err != nil {
					t.Fatal(err)
				}
				same(t, what+" product", c, wantC)
			}
			if kind == "special" || m > pieceRows {
				continue // 0 times NaN: Q*I has more NaN where rows and columns of I are left out
			}
			// of Q as many columns as it has, or half of them
			cols := k + (m-k)/2
			q, wantQ := make([]T, m*cols), make([]T, m*cols)
			unitColumns(m, 0, cols, wantQ, cols)
			ApplyQReference(false, m, cols, k, a, ld, tau, wantQ, cols)
			host.CopyMatrix(m, k, a, ld, q, cols)
			if err := (Solver[T]{}).FormQ(m, cols, k, q, cols, tau); err != nil {
				t.Fatal(err)
			}
			same(t, what+" Q", q, wantQ)
		}
	}
}

// A matrix near the end of the range has the factors of one in the middle.
func TestQRScale(t *testing.T) { both(t, testQRScale[float32], testQRScale[float64]) }

func testQRScale[T host.Float](t *testing.T) {
	const m, n = 50, 40
	rng := rand.New(rand.NewPCG(13, 14))
	a := matrix[T](rng, "ties", m, n, n)
	for i, v := range a {
		a[i] = v / 4 // of few bits, so that no power of two rounds
	}
	exps := []int{-1070, -1000, 1020}
	if _, single := any(T(0)).(float32); single {
		exps = []int{-147, -100, 125}
	}
	_, e := math.Frexp(float64(a[host.Iamax(a)]))
	scaleBack(-e, a)
	want, tau := slices.Clone(a), make([]T, n)
	if err := (Solver[T]{}).QR(m, n, want, n, tau); err != nil {
		t.Fatal(err)
	}
	for _, exp := range exps {
		b, tauB := slices.Clone(a), make([]T, n)
		scaleBack(exp, b)
		if err := (Solver[T]{}).QR(m, n, b, n, tauB); err != nil {
			t.Fatal(err)
		}
		r := slices.Clone(want)
		for i := range n {
			scaleBack(exp, r[i*n:][i:n])
		}
		same(t, fmt.Sprintf("2^%d", exp), b, r)
		same(t, "tau", tauB, tau)
	}
	// a small column beside large ones
	for i := range m {
		a[i*n+3] = T(math.Ldexp(float64(a[i*n+3]), exps[0]+2))
	}
	if err := (Solver[T]{}).QR(m, n, a, n, tau); err != nil {
		t.Fatal(err)
	}
	if err := (Solver[T]{}).FormQ(m, n, n, a, n, tau); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range m {
				sum += float64(a[k*n+i]) * float64(a[k*n+j])
			}
			if i == j {
				sum--
			}
			if !(math.Abs(sum) < float64(unit[T]())*m) {
				t.Fatalf("columns %d and %d: %v", i, j, sum)
			}
		}
	}
}

// unit is half a unit in the last place of 1.
func unit[T host.Float]() T {
	if _, single := any(T(0)).(float32); single {
		return 0x1p-24
	}
	return 0x1p-53
}

func TestLQ(t *testing.T) {
	const m, n = 40, 70
	rng := rand.New(rand.NewPCG(15, 16))
	a := matrix[float64](rng, "random", m, n, n+1)
	at, tau, wantTau := make([]float64, n*m), make([]float64, m), make([]float64, m)
	host.Transpose(m, n, a, n+1, at, m)
	QRReference(n, m, at, m, wantTau)
	if err := (Solver[float64]{}).LQ(m, n, a, n+1, tau); err != nil {
		t.Fatal(err)
	}
	got := make([]float64, n*m)
	host.Transpose(m, n, a, n+1, got, m)
	same(t, "LQ", got, at)
	same(t, "tau", tau, wantTau)
}

func BenchmarkQR(b *testing.B) {
	for _, n := range []int{4, 16, 64, 300, 1000, 2000} {
		a := matrix[float64](rand.New(rand.NewPCG(1, 2)), "random", n, n, n)
		x, tau := make([]float64, n*n), make([]float64, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				copy(x, a)
				if err := (Solver[float64]{}).QR(n, n, x, n, tau); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(4./3*math.Pow(float64(n), 3)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
		b.Run(fmt.Sprint(n, "/Q"), func(b *testing.B) {
			for b.Loop() {
				copy(x, a)
				if err := (Solver[float64]{}).FormQ(n, n, n, x, n, tau); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
