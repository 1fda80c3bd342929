package host

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/element"
)

// bitsOf is x as comparable bits, all NaN alike.
func bitsOf[T element.Element](x T) uint64 {
	switch x := any(x).(type) {
	case float32:
		if x != x {
			return 1 << 63
		}
		return uint64(math.Float32bits(x))
	case float64:
		if x != x {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(x)
	case int32:
		return uint64(uint32(x))
	}
	panic("unreachable")
}

// bigFMA32 is a*b + c by exact arithmetic, for finite operands.
func bigFMA32(a, b, c float32) float32 {
	newFloat := func(x float32) *big.Float { return new(big.Float).SetPrec(700).SetFloat64(float64(x)) }
	p := newFloat(a)
	p.Mul(p, newFloat(b)) // -0 times a number keeps the sign of zero
	sum := new(big.Float).SetPrec(700).Add(p, newFloat(c))
	r, _ := sum.Float32()
	return r
}

func checkFMA32(t *testing.T, a, b, c float32) {
	t.Helper()
	want := float32(math.FMA(float64(a), float64(b), float64(c))) // right for infinities and NaN
	if !math.IsInf(float64(a), 0) && !math.IsInf(float64(b), 0) && !math.IsInf(float64(c), 0) &&
		a == a && b == b && c == c {
		want = bigFMA32(a, b, c)
	}
	for name, f := range map[string]func(a, b, c float32) float32{
		"FMA32": FMA32, "FMA": FMA[float32], "roundToOdd32": roundToOdd32,
	} {
		if got := f(a, b, c); bitsOf(got) != bitsOf(want) {
			t.Fatalf("%s(%x, %x, %x) = %x, want %x", name,
				math.Float32bits(a), math.Float32bits(b), math.Float32bits(c),
				math.Float32bits(got), math.Float32bits(want))
		}
	}
}

var special32 = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, 1.5, -3,
	0x1p-149, -0x1p-149, 0x1p-148, 0x1.8p-148, 0x1p-126, -0x1p-126, 0x1.fffffcp-127,
	0x1p-75, -0x1p-74, 0x1.000002p-75, 0x1p-24, 0x1p-25, 1 + 0x1p-23, 1 - 0x1p-24,
	0x1.001p0, 0x1.000002p12, 0x1p64, -0x1p63, 0x1.fffffep63,
	math.MaxFloat32, -math.MaxFloat32, 0x1.fffffcp127, 0x1p103, 0x1p102, -0x1p127, 0x1p-60, -0x1p-60,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
}

func TestFMA32Special(t *testing.T) {
	for _, a := range special32 {
		for _, b := range special32 {
			for _, c := range special32 {
				checkFMA32(t, a, b, c)
			}
		}
	}
}

// A sum that is rounded twice gives 0x3f801000 here.
func TestFMA32RoundsOnce(t *testing.T) {
	x := math.Float32frombits(0x3f800800)
	if got := math.Float32bits(FMA32(x, x, 0x1p-60)); got != 0x3f801001 {
		t.Errorf("FMA32 = %x, want 3f801001", got)
	}
}

func TestFMA32Random(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := 300_000
	if isShort() {
		n = 30_000
	}
	withExp := func(e int) float32 { // a random number of about 2^e, subnormal where e asks for it
		return float32(math.Ldexp(float64(math.Float32frombits(0x3f800000|rng.Uint32()&0x807fffff)), e))
	}
	finite := func() float32 {
		for {
			if x := math.Float32frombits(rng.Uint32()); !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) {
				return x
			}
		}
	}
	for range n {
		checkFMA32(t, finite(), finite(), finite())
		// Addends near the product and near its last bits, where rounding is hard.
		e, f := rng.IntN(120)-60, rng.IntN(120)-60
		checkFMA32(t, withExp(e), withExp(f), withExp(e+f+rng.IntN(64)-32))
		// Products that halve the last bit of c exactly, or nearly.
		checkFMA32(t, float32(rng.IntN(4096))*0x1p-12, float32(rng.IntN(4097)-2048)*0x1p-23, withExp(rng.IntN(4)-2))
		// Subnormal and underflowing results.
		e = rng.IntN(60) - 90
		checkFMA32(t, withExp(e), withExp(-140-e+rng.IntN(24)-12), withExp(-149+rng.IntN(26)))
		// Overflowing results.
		checkFMA32(t, withExp(60+rng.IntN(8)), withExp(60+rng.IntN(8)), withExp(127))
	}
}

func TestScalars(t *testing.T) {
	if got := FMA[int32](math.MaxInt32, 3, 7); got != -2147483644 { // 3*(2^31-1) + 7 = 2^32 + 2^31 + 4
		t.Errorf("int32 FMA = %d, want -2147483644", got)
	}
	if got, want := FMA(1+0x1p-52, 1+0x1p-52, -1.0), math.FMA(1+0x1p-52, 1+0x1p-52, -1); got != want {
		t.Errorf("float64 FMA = %x, want %x", got, want)
	}
	// A product that is rounded on its own leaves nothing; a fused one would.
	a := float32(1 + 0x1p-12)
	if got := Add(Mul(a, a), -(1 + 0x1p-11)); got != 0 {
		t.Errorf("Add(Mul) is fused: %x", got)
	}
	d := 1 + 0x1p-27
	if got := Add(Mul(d, d), -(1 + 0x1p-26)); got != 0 {
		t.Errorf("Add(Mul) is fused: %x", got)
	}
	if got := bitsOf(negZero[float32]()); got != 1<<31 {
		t.Errorf("negZero[float32] = %x", got)
	}
	if got := bitsOf(negZero[float64]()); got != 1<<63 {
		t.Errorf("negZero[float64] = %x", got)
	}
	if got := negZero[int32](); got != 0 {
		t.Errorf("negZero[int32] = %d", got)
	}
}
