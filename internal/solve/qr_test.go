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
		{2, 2},
		{20, 90},
		{32, 40},
		{32, 32},
		{33, 33},
		{40, 90},
		{90, 40},
		{70, 70},
		{300, 40},
		{1000, 5},
		{PieceRows + 5, 3},
		{2*PieceRows + 1, 34},
	} {
		m, n := s[0], s[1]
		for _, kind := range kinds {
			k, ld, what := min(m, n), n+i%3, fmt.Sprintf("%s %dx%d", kind, m, n)
			a := matrix[T](rng, kind, m, n, ld)
			want, tau, wantTau := slices.Clone(a), make([]T, k), make([]T, k)
			QRReference(m, n, want, ld, wantTau)
			if err := (Solver[T]{}).QR(m, n, a, ld, tau); err != nil {
				t.Fatal(err)
			}
			same(t, what, a, want)
			same(t, what+" tau", tau, wantTau)
			for _, cols := range []int{1, 3, 33} {
				c := matrix[T](rng, "random", m, cols, cols+cols/3)
				testApplyQ(t, what, m, cols, k, a, ld, tau, c)
				testApplyQ(t, what, m, cols, (k+1)/2, a, ld, tau, c)
			}
			if kind == "special" || m > 300 {
				continue // 0 times NaN: Q*I has more NaN where rows and columns of I are left out; or a large Q
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

// testApplyQ tests products of the first k reflectors in A with C, whose rows are n+n/3 elements
// apart.
func testApplyQ[T host.Float](t *testing.T, what string, m, n, k int, a []T, lda int, tau, c []T) {
	t.Helper()
	for _, trans := range []bool{false, true} {
		got, want := slices.Clone(c), slices.Clone(c)
		ApplyQReference(trans, m, n, k, a, lda, tau, want, n+n/3)
		if err := (Solver[T]{}).ApplyQ(trans, m, n, k, a, lda, tau, got, n+n/3); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("%s: %d of Q, trans %v, times %d columns", what, k, trans, n), got, want)
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

func TestLQ(t *testing.T) { both(t, testLQ[float32], testLQ[float64]) }

// LQ, its Q, and products with that are the transposes of QR's.
func testLQ[T host.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, s := range [][2]int{{1, 1}, {1, 5}, {2, 2}, {2, 9}, {8, 8}, {20, 45}, {32, 32}, {33, 33}, {40, 70}} {
		m, n := s[0], s[1]
		what := fmt.Sprintf("%dx%d", m, n)
		a := matrix[T](rng, "random", m, n, n+1)
		tau, wantTau := make([]T, m), make([]T, m)
		at := transpose(m, n, a, n+1)
		QRReference(n, m, at, m, wantTau)
		if err := (Solver[T]{}).LQ(m, n, a, n+1, tau); err != nil {
			t.Fatal(err)
		}
		same(t, what+" LQ", transpose(m, n, a, n+1), at)
		same(t, what+" tau", tau, wantTau)
		for _, k := range []int{m, (m + 1) / 2} {
			testRows(t, rng, fmt.Sprintf("%s, %d rows", what, k), m, n, k, a, at, tau[:k])
		}
	}
}

// testRows tests products with the first k reflectors that LQ left in A, whose transpose is at, and
// Q of them.
func testRows[T host.Float](t *testing.T, rng *rand.Rand, what string, m, n, k int, a, at, tau []T) {
	for _, cols := range []int{1, 4} {
		for _, trans := range []bool{false, true} {
			c := matrix[T](rng, "random", n, cols, cols)
			ct, want := transpose(n, cols, c, cols), slices.Clone(c)
			ApplyQReference(!trans, n, cols, k, at, m, tau, want, cols)
			if err := (Solver[T]{}).MultiplyRows(true, trans, n, cols, k, a, n+1, tau, c, cols); err != nil {
				t.Fatal(err)
			}
			same(t, what+" at the left", c, want)
			if err := (Solver[T]{}).MultiplyRows(false, !trans, cols, n, k, a, n+1, tau, ct, n); err != nil {
				t.Fatal(err)
			}
			same(t, what+" at the right", transpose(cols, n, ct, n), want)
		}
	}
	q, want := slices.Clone(a), make([]T, n*m)
	unitColumns(n, 0, m, want, m)
	ApplyQReference(false, n, m, k, at, m, tau, want, m)
	if err := (Solver[T]{}).FormRows(m, n, k, q, n+1, tau); err != nil {
		t.Fatal(err)
	}
	same(t, what+" Q", transpose(m, n, q, n+1), want)
}

func transpose[T host.Float](m, n int, a []T, lda int) []T {
	t := make([]T, n*m)
	host.Transpose(m, n, a, lda, t, m)
	return t
}
