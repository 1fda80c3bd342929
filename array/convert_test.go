package array

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

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
func convertsTo[D, S Stored](t *testing.T, s *linalg.Session, a *Array[S], strided bool, garbage D, want []D) {
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
	})
}

// All types of elements become all others as the definition has it, bit by bit.
func TestConvert(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		convertsFrom(t, s, func(x float64) bool { return x > 0.5 })
		convertsFrom(t, s, func(x float64) int8 { return int8(int64(x)) })
		convertsFrom(t, s, func(x float64) int16 { return int16(int64(x)) })
		convertsFrom(t, s, func(x float64) int32 { return int32(int64(x)) })
		convertsFrom(t, s, func(x float64) int64 { return int64(x) })
		convertsFrom(t, s, func(x float64) uint8 { return uint8(int64(x)) })
		convertsFrom(t, s, func(x float64) uint16 { return uint16(int64(x)) })
		convertsFrom(t, s, func(x float64) uint32 { return uint32(int64(x)) })
		convertsFrom(t, s, func(x float64) uint64 { return uint64(int64(x)) })
		convertsFrom(t, s, func(x float64) Float16 { return element.ToFloat16(float32(x)) })
		convertsFrom(t, s, func(x float64) BFloat16 { return element.ToBFloat16(float32(x)) })
		convertsFrom(t, s, func(x float64) float32 { return float32(x) })
		convertsFrom(t, s, func(x float64) float64 { return x })
	})
}

// convertsFrom converts elements of a type, which from makes of numbers, to all types.
func convertsFrom[S Stored](t *testing.T, s *linalg.Session, from func(float64) S) {
	convertsWide[bool](t, s, from)
	convertsWide[int8](t, s, from)
	convertsWide[int16](t, s, from)
	convertsWide[int32](t, s, from)
	convertsWide[int64](t, s, from)
	convertsWide[uint8](t, s, from)
	convertsWide[uint16](t, s, from)
	convertsWide[uint32](t, s, from)
	convertsWide[uint64](t, s, from)
	convertsWide[Float16](t, s, from)
	convertsWide[BFloat16](t, s, from)
	convertsWide[float32](t, s, from)
	convertsWide[float64](t, s, from)
}

func convertsWide[D, S Stored](t *testing.T, s *linalg.Session, from func(float64) S) {
	t.Helper()
	const rows, cols = 70, 3
	rng := rand.New(rand.NewPCG(uint64(len(fmt.Sprintf("%T", *new(D)))), 3))
	x, want := make([]S, rows*cols), make([]D, rows*cols)
	for i := range x {
		v := math.Ldexp(rng.Float64()*2-1, rng.IntN(70))
		switch rng.IntN(4) {
		case 0: // beside what ends a type
			v = math.Ldexp(float64(rng.IntN(3)-1), rng.IntN(65)) + float64(rng.IntN(7)-3)/2
		case 1: // beside the middle of two numbers of 16 bits
			v = math.Ldexp(1+(float64(rng.IntN(2048))+0.5)/1024+float64(rng.IntN(3)-1)*0x1p-52, rng.IntN(60)-40)
		case 2:
			v = []float64{
				0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 65519, 65520, 0x1p-25, 0x1.8p-25, 1e-40,
				1e-310, 0x1.fep127, 0x1.ffp127, math.MaxFloat64, math.MaxInt64, -0x1p63, 0x1p64, 0x1p24 + 1, 0x1p53 - 1,
			}[rng.IntN(19)]
		}
		if x[i] = from(v); isHalf(any(*new(D))) && x[i] != x[i] { // its bits are not promised
			x[i] = from(1)
		}
		want[i] = converted[D](x[i])
	}
	for _, strided := range []bool{false, true} {
		c := newTarget(t, s, rows, cols, strided, *new(D))
		try(t, Convert(c.Array, upload(t, s, rows, cols, strided, x)))
		c.check(t, fmt.Sprintf("Convert of %T to %T", x[0], want[0]), want)
	}
	none := upload(t, s, 0, 3, false, []D{})
	try(t, Convert(none, upload(t, s, 1, 1, false, x[:1]))) // repeated
}

// converted is the definition of Convert for one element.
func converted[D, S Stored](x S) (z D) {
	var bits uint64 // of an integer
	float, isFloat, signed := 0.0, false, false
	switch x := any(x).(type) {
	case bool:
		if x {
			bits = 1
		}
	case int8:
		bits, signed = uint64(x), true
	case int16:
		bits, signed = uint64(x), true
	case int32:
		bits, signed = uint64(x), true
	case int64:
		bits, signed = uint64(x), true
	case uint8:
		bits = uint64(x)
	case uint16:
		bits = uint64(x)
	case uint32:
		bits = uint64(x)
	case uint64:
		bits = x
	case Float16:
		float, isFloat = float64(x.Float32()), true
	case BFloat16:
		float, isFloat = float64(x.Float32()), true
	case float32:
		float, isFloat = float64(x), true
	case float64:
		float, isFloat = x, true
	}
	single := float32(float)
	switch {
	case !isFloat && signed: // by package big, as Go's conversions err on 386
		single, _ = new(big.Float).SetInt64(int64(bits)).Float32()
		float = float64(int64(bits))
	case !isFloat:
		single, _ = new(big.Float).SetUint64(bits).Float32()
		float = float64(bits)
	}
	integer := func(size uint, signed bool) uint64 { // of a float the nearest, else the low bits
		least, most := 0.0, math.Ldexp(1, int(size))
		if signed {
			least, most = -math.Ldexp(1, int(size)-1), math.Ldexp(1, int(size)-1)
		}
		switch {
		case !isFloat:
			return bits
		case float != float:
			return 0
		case float <= least:
			return uint64(int64(least))
		case float >= most && signed:
			return 1<<(size-1) - 1
		case float >= most:
			return 1<<size - 1
		case signed:
			return uint64(int64(float))
		}
		return uint64(float)
	}
	switch p := any(&z).(type) {
	case *bool:
		*p = float != 0
	case *int8:
		*p = int8(integer(8, true))
	case *int16:
		*p = int16(integer(16, true))
	case *int32:
		*p = int32(integer(32, true))
	case *int64:
		*p = int64(integer(64, true))
	case *uint8:
		*p = uint8(integer(8, false))
	case *uint16:
		*p = uint16(integer(16, false))
	case *uint32:
		*p = uint32(integer(32, false))
	case *uint64:
		*p = integer(64, false)
	case *float32:
		*p = single
	case *float64:
		*p = float
	case *Float16:
		*p = nearest(float, element.ToFloat16(single), isFloat, Float16.Float32, 0x1p16)
	case *BFloat16:
		*p = nearest(float, element.ToBFloat16(single), isFloat, BFloat16.Float32, 0x1p128)
	}
	return z
}

// nearest is the number of 16 bits that is the nearest to x: near, or one beside it. Of two it is
// the even one. An infinity stands for the number that would follow.
func nearest[H Half](x float64, near H, isFloat bool, value func(H) float32, infinity float64) H {
	if !isFloat || math.IsInf(x, 0) { // an integer is rounded to float32 first
		return near
	}
	var best *big.Float
	found := near
	for _, h := range []H{near, near - 1, near + 1} {
		v := float64(value(h))
		if v != v || math.Signbit(v) != math.Signbit(x) {
			continue
		}
		if math.IsInf(v, 0) {
			v = math.Copysign(infinity, v)
		}
		d := new(big.Float).SetPrec(3000).SetFloat64(v)
		d.Abs(d.Sub(d, new(big.Float).SetFloat64(x)))
		if best == nil || d.Cmp(best) < 0 || d.Cmp(best) == 0 && h%2 == 0 {
			best, found = d, h
		}
	}
	return found
}
