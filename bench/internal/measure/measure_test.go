package measure

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

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
	p := RandomProduct[T](m, n, k)
	want := make([]T, m*n)
	host.GemmReference(m, n, k, 1, p.A, k, p.B, n, 0, want, n)
	for _, operations := range []float64{1e9, 0, 2 * n * k * 10} {
		r := NewReference(p, operations)
		if rows := len(r.rows); operations == 1e9 && rows != m || operations == 0 && rows != 4 || rows < 4 {
			t.Errorf("%v operations: %d rows", operations, rows)
		}
		copy(p.C, want)
		if c := r.Verify(false); c.Wrong != 0 || c.Differ != 0 || c.Elements != len(r.rows)*n {
			t.Errorf("the contract's own result: %+v", c)
		}
		for _, row := range []int{0, m - 1} {
			copy(p.C, want)
			p.C[row*n+n-1] = nextTo(p.C[row*n+n-1])
			if c := r.Verify(false); c.Wrong != 1 || c.Differ != 1 {
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

// A peer's result in another order of the sums lies within the limits; one with a product too few
// does not, and neither does what was never written.
func TestLimits(t *testing.T) {
	t.Run("float32", testLimits[float32])
	t.Run("float64", testLimits[float64])
}

func testLimits[T float32 | float64](t *testing.T) {
	const m, n, k = 20, 30, 400
	p := RandomProduct[T](m, n, k)
	r := NewReference(p, 1e9)
	for i := range m {
		for j := range n {
			for q := k - 1; q >= 0; q-- {
				p.C[i*n+j] += T(p.A[i*k+q] * p.B[q*n+j])
			}
		}
	}
	if c := r.Verify(true); c.Wrong != 0 || c.Differ < m*n/2 {
		t.Errorf("another order: %+v", c)
	}
	if c := r.Verify(false); c.Wrong != c.Differ || c.Wrong == 0 {
		t.Errorf("another order, of Tandem: %+v", c)
	}
	p.C[7] -= p.A[0] * p.B[7]
	if c := r.Verify(true); c.Wrong != 1 {
		t.Errorf("a product too few: %+v", c)
	}
	p.C[7] = Poison[T]()
	if c := r.Verify(true); c.Wrong != 1 {
		t.Errorf("an element that was not written: %+v", c)
	}
}

// An element outside the rows that are known, and never written, is found.
func TestUnwritten(t *testing.T) {
	p := RandomProduct[float32](100, 5, 5)
	r := NewReference(p, 0)
	host.Gemm(100, 5, 5, 1, p.A, 5, p.B, 5, 0, p.C, 5)
	p.C[1*5] = Poison[float32]()
	if slices.Contains(r.rows, 1) {
		t.Fatal("row 1 is known")
	}
	for _, peer := range []bool{false, true} {
		if c := r.Verify(peer); c.Wrong != 1 {
			t.Errorf("peer %v: %+v", peer, c)
		}
	}
}

func TestSigns(t *testing.T) {
	p := &Product[float32]{M: 1, N: 2, K: 1, C: []float32{float32(math.Copysign(0, -1)), 1}}
	r := Reference[float32]{p: p, rows: []int{0}, want: []float32{0, 1}, bound: []float64{0, 1}}
	if own, peer := r.Verify(false), r.Verify(true); own.Differ != 1 || own.Wrong != 1 || peer.Wrong != 0 {
		t.Errorf("-0 for 0: %+v, of a peer %+v", own, peer)
	}
	p.C[0] = 0
	if c := r.Verify(false); c.Differ != 0 {
		t.Errorf("the same: %+v", c)
	}
}

func TestCompare(t *testing.T) {
	want := []float64{0, -8, 1}
	for _, c := range []struct {
		got           []float64
		wrong, differ int
	}{
		{[]float64{0, -8, 1}, 0, 0},
		{[]float64{0.5, -8, 1}, 0, 1},
		{[]float64{0, -8, 1.9}, 1, 1},
		{[]float64{0, math.NaN(), math.Inf(1)}, 2, 2},
	} {
		check := Compare(c.got, want, 0.1)
		if check.Wrong != c.wrong || check.Differ != c.differ || check.Elements != 3 {
			t.Errorf("%v: %+v", c.got, check)
		}
	}
	if check := Compare([]float32{0.1}, []float64{0.1}, 0); check.Differ != 0 || check.Wrong != 0 {
		t.Errorf("float32(0.1) beside 0.1: %+v", check)
	}
}

// A transpose has every element in its place, and one of a wrong place is found.
func TestMove(t *testing.T) {
	m := NewMove[int32](7)
	host.Transpose(7, 7, m.Src, 7, m.Dst, 7)
	if c := m.Result(m.Transposed).Verify(false); c.Wrong != 0 || c.Elements != 49 {
		t.Errorf("%+v", c)
	}
	m.Dst[8], m.Dst[9] = m.Dst[9], m.Dst[8]
	if c := m.Result(m.Transposed).Verify(false); c.Wrong != 2 {
		t.Errorf("two are exchanged: %+v", c)
	}
}

// A check poisons the result, also before what was computed elsewhere is brought back.
func TestCheckOrder(t *testing.T) {
	log := ""
	note := func(s string) func() error { return func() error { log += s; return nil } }
	r := Result{
		Reset:  func() { log += "reset " },
		Verify: func(peer bool) Check { log += "verify"; return Check{Elements: 1} },
	}
	run := Repeat(func() error { log += "run "; return nil })
	if _, err := r.Contender("c", run, note("put "), note("get ")).Check(); err != nil ||
		log != "reset put run reset get verify" {
		t.Errorf("%q, %v", log, err)
	}
	log = ""
	if _, err := r.Contender("c", run, nil, nil).Check(); err != nil || log != "reset run verify" {
		t.Errorf("%q, %v", log, err)
	}
	lost := errors.New("lost")
	fail := func() error { return lost }
	for _, c := range []*Contender{
		r.Contender("", run, fail, nil), r.Contender("", run, nil, fail),
		r.Contender("", func(int) error { return lost }, nil, nil),
	} {
		if _, err := c.Check(); !errors.Is(err, lost) {
			t.Errorf("%v", err)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{9, 9, 1, 9, 9}, 9}} {
		before := slices.Clone(c.samples)
		if got := Median(c.samples); got != c.want || !slices.Equal(before, c.samples) {
			t.Errorf("Median(%v) = %v, want %v; then %v", before, got, c.want, c.samples)
		}
	}
}

func TestMore(t *testing.T) {
	const sample = 20 * time.Millisecond
	for _, c := range []struct {
		runs int
		d    time.Duration
		want int
	}{
		{1, 10 * time.Millisecond, 3},
		{1, 19 * time.Millisecond, 2},
		{10, 19 * time.Millisecond, 13},
		{1, 0, 100},                      // the clock did not move: not beyond a factor
		{1, time.Microsecond, 100},       // the first run tells little
		{100, time.Microsecond, MaxRuns}, // never beyond the bound
	} {
		if got := more(c.runs, c.d, sample, MaxRuns); got != c.want {
			t.Errorf("more(%d, %v) = %d, want %d", c.runs, c.d, got, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		n, count int
		want     []int
	}{
		{3, 3, []int{0, 1, 2}},
		{3, 9, []int{0, 1, 2}},
		{10, 4, []int{0, 3, 6, 9}},
		{1 << 16, 2, []int{0, 1<<16 - 1}},
	} {
		if got := spread(c.n, c.count); !slices.Equal(got, c.want) {
			t.Errorf("spread(%d, %d) = %v, want %v", c.n, c.count, got, c.want)
		}
	}
}
