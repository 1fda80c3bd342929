package array

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// testHalf compares the conversions of a type of 16 bits with those of package element, bit by bit,
// NaN too: from all numbers, and to it from these, what is between them, and any others.
func testHalf[H Half](t *testing.T, s *linalg.Session, widen func(H) float32, narrow func(float32) H) {
	const rows, cols = 1 << 8, 1 << 8
	random := rand.New(rand.NewPCG(16, 32))
	halves, singles := make([]H, rows*cols), make([]float32, rows*cols)
	numbers := make([]float32, 4*rows*cols)
	for i := range halves {
		h := H(i)
		x, next := widen(h), widen(h+1)
		middle := x + (next-x)/2
		halves[i], singles[i] = h, x
		copy(numbers[4*i:], []float32{middle, math.Nextafter32(middle, x), math.Nextafter32(middle, next),
			math.Float32frombits(random.Uint32())})
	}
	from := upload(t, s, rows, cols, true, halves)
	for _, strided := range []bool{false, true} {
		convertsTo(t, s, from, strided, -3, singles)
		convertsTo(t, s, upload(t, s, rows, cols, strided, singles), true, 3, narrowAll(singles, narrow))
		convertsTo(t, s, upload(t, s, 4*rows, cols, strided, numbers), strided, 3, narrowAll(numbers, narrow))
	}
	convertsTo(t, s, from, true, 3, halves)
}

func narrowAll[H Half](x []float32, narrow func(float32) H) []H {
	h := make([]H, len(x))
	for i := range h {
		h[i] = narrow(x[i])
	}
	return h
}

// convertsTo converts an array, which must give want, bit by bit.
func convertsTo[D, S Element | Half](t *testing.T, s *linalg.Session, a *Array[S], strided bool, garbage D, want []D) {
	t.Helper()
	rows, cols := a.Dims()
	c := newTarget(t, s, rows, cols, strided, garbage)
	if err := Convert(c.Array, a); err != nil {
		t.Fatal(err)
	}
	c.check(t, "Convert", want)
	got, err := c.Download()
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got.Data { // NaN, too
		y, isFloat := any(x).(float32)
		if w, _ := any(want[i]).(float32); isFloat && math.Float32bits(y) != math.Float32bits(w) {
			t.Fatalf("Convert: element %d is %#x, want %#x", i, math.Float32bits(y), math.Float32bits(w))
		}
	}
}

func TestConvertHalf(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testHalf(t, s, Float16.Float32, element.ToFloat16)
		testHalf(t, s, BFloat16.Float32, element.ToBFloat16)
		err := Convert(upload(t, s, 1, 1, false, []float64{0}), upload(t, s, 1, 1, false, []Float16{0}))
		if !errors.Is(err, backend.ErrArgument) {
			t.Errorf("from Float16 to float64: %v", err)
		}
	})
}
