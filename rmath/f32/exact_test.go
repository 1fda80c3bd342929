package f32

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

// corners is arguments where functions change, beside random ones.
func corners(n int) []float32 {
	x := []float32{
		0, 0.5, 1, 1.5, 2.5, 3, 10, 1.0 / 3, math.Pi, 1 << 22, 1 << 23, 1 << 24, 0x1p-126, 0x1p-149, 0x1p-125, 0x1p127,
		math.MaxFloat32, infinity, nan(),
	}
	for _, v := range x {
		x = append(x, math.Nextafter32(v, 0), math.Nextafter32(v, infinity))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		x = append(x, math.Float32frombits(r.Uint32()>>1), float32(r.IntN(1000))/2)
	}
	for _, v := range x {
		x = append(x, -v)
	}
	return x
}

// The functions whose results are exact have those of package math for float64, rounded.
func TestExactFunctions(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	for _, c := range []struct {
		name string
		f    func(float32) float32
		g    func(float64) float64
	}{
		{"Trunc", Trunc, math.Trunc},
		{"Floor", Floor, math.Floor},
		{"Ceil", Ceil, math.Ceil},
		{"Round", Round, math.Round},
		{"RoundToEven", RoundToEven, math.RoundToEven},
	} {
		for _, x := range corners(50000) {
			if got, want := c.f(x), float32(c.g(float64(x))); !sameBits(got, want) {
				t.Fatalf("%s(%v) = %v, want %v", c.name, x, got, want)
			}
		}
	}
	for _, x := range corners(1000) {
		frac, n := Frexp(x)
		f, m := math.Frexp(float64(x))
		if !sameBits(frac, float32(f)) || n != m {
			t.Fatalf("Frexp(%v) = %v, %d, want %v, %d", x, frac, n, f, m)
		}
		for _, n := range []int{0, 1, -1, 24, -24, 100, -100, 130, -150, 277, -278, 300, -300, 1e5, -1e5} {
			if got, want := Ldexp(x, n), float32(math.Ldexp(float64(x), n)); !sameBits(got, want) {
				t.Fatalf("Ldexp(%v, %d) = %v, want %v", x, n, got, want)
			}
		}
		for _, y := range corners(100) {
			if got, want := Mod(x, y), float32(math.Mod(float64(x), float64(y))); !sameBits(got, want) {
				t.Fatalf("Mod(%v, %v) = %v, want %v", x, y, got, want)
			}
		}
	}
}
