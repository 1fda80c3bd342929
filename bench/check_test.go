package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// The reference is the contract's, whole or in rows.
func TestReference(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	t.Run("float32", testReference[float32])
	t.Run("float64", testReference[float64])
	t.Run("int32", testReference[int32])
}

func testReference[T linalg.Element](t *testing.T) {
	const m, n, k = 37, 29, 53
	p := randomProblem[T](m, n, k)
	want := make([]T, m*n)
	host.GemmReference(m, n, k, 1, p.a, k, p.b, n, 0, want, n)
	for _, operations := range []float64{1e9, 0, 2 * n * k * 10} {
		r := newReference(p, operations)
		if rows := len(r.rows); operations == 1e9 && rows != m || operations == 0 && rows != 4 || rows < 4 {
			t.Errorf("%v operations: %d rows", operations, rows)
		}
		if c := r.exact(want); c.Wrong != 0 || c.Differ != 0 || c.Elements != len(r.rows)*n {
			t.Errorf("the contract's own result: %+v", c)
		}
		for _, row := range []int{0, m - 1} {
			got := slices.Clone(want)
			got[row*n+n-1] = nextTo(got[row*n+n-1])
			if c := r.exact(got); c.Wrong != 1 || c.Differ != 1 {
				t.Errorf("one other bit in row %d: %+v", row, c)
			}
		}
	}
}

// nextTo differs from v in the last bit.
func nextTo[T linalg.Element](v T) T {
	switch v := any(v).(type) {
	case float32:
		return T(math.Float32frombits(math.Float32bits(v) ^ 1))
	case float64:
		return T(math.Float64frombits(math.Float64bits(v) ^ 1))
	}
	return v + 1
}

// A result in another order of the sums lies within the limits; one with a product too few does
// not, and neither does what was never written.
func TestLimits(t *testing.T) {
	t.Run("float32", testLimits[float32])
	t.Run("float64", testLimits[float64])
}

func testLimits[T float32 | float64](t *testing.T) {
	const m, n, k = 20, 30, 400
	p := randomProblem[T](m, n, k)
	r := newReference(p, 1e9)
	r.limits(p)
	other := make([]T, m*n)
	for i := range m {
		for j := range n {
			for q := k - 1; q >= 0; q-- {
				other[i*n+j] += T(p.a[i*k+q] * p.b[q*n+j])
			}
		}
	}
	if c := r.close(other); c.Wrong != 0 || c.Differ < m*n/2 || c.OfBound <= 0 || c.OfBound > 0.5 {
		t.Errorf("another order: %+v", c)
	}
	missing := slices.Clone(other)
	missing[7] -= p.a[0] * p.b[7]
	if c := r.close(missing); c.Wrong != 1 {
		t.Errorf("a product too few: %+v", c)
	}
	missing[7] = poison[T]()
	if c := r.close(missing); c.Wrong != 1 {
		t.Errorf("an element that was not written: %+v", c)
	}
}

// An element outside the rows that are known, and never written, is found.
func TestUnwritten(t *testing.T) {
	p := randomProblem[float32](100, 5, 5)
	r := newReference(p, 0)
	r.limits(p)
	got := make([]float32, 100*5)
	host.Gemm(100, 5, 5, 1, p.a, 5, p.b, 5, 0, got, 5)
	got[1*5] = poison[float32]()
	if slices.Contains(r.rows, 1) {
		t.Fatal("row 1 is known")
	}
	if c := r.exact(got); c.Wrong != 1 {
		t.Errorf("exact: %+v", c)
	}
	if c := r.close(got); c.Wrong != 1 {
		t.Errorf("close: %+v", c)
	}
}

func TestSigns(t *testing.T) {
	zero, negative := float32(0), float32(math.Copysign(0, -1))
	r := reference[float32]{n: 2, rows: []int{0}, want: []float32{0, 1}, bound: []float64{0, 1}}
	if c := r.exact([]float32{negative, 1}); c.Differ != 1 {
		t.Errorf("-0 for 0: %+v", c)
	}
	if c := r.exact([]float32{zero, 1}); c.Differ != 0 {
		t.Errorf("the same: %+v", c)
	}
	if c := r.close([]float32{negative, 1}); c.Wrong != 0 || c.Differ != 1 || math.IsNaN(c.OfBound) {
		t.Errorf("-0 for 0, of a peer: %+v", c)
	}
}
