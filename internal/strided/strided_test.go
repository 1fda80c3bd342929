package strided

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Overlap against looking at every element of two rectangles of one array.
func TestOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		stride := 1 + rng.IntN(8)
		xr, xc := rng.IntN(5), rng.IntN(stride+1)
		yr, yc := rng.IntN(5), rng.IntN(stride+1)
		off := rng.IntN(80) - 40
		used := map[int]bool{}
		for i := range xr {
			for j := range xc {
				used[i*stride+j] = true
			}
		}
		want := false
		for i := range yr {
			for j := range yc {
				want = want || used[off+i*stride+j]
			}
		}
		if got := Overlap(xr, xc, stride, off, yr, yc, stride); got != want {
			t.Fatalf("x %dx%d, y %dx%d at %d, stride %d: %v, want %v", xr, xc, yr, yc, off, stride, got, want)
		}
	}
}

// The same of rectangles whose strides differ.
func TestOverlapStrides(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200_000 {
		xs, ys := 1+rng.IntN(6), 1+rng.IntN(6)
		xr, xc, yr, yc := rng.IntN(5), rng.IntN(xs+1), rng.IntN(5), rng.IntN(ys+1)
		off := rng.IntN(40) - 20
		want := false
		for i := range xr * xc {
			for j := range yr * yc {
				want = want || i/xc*xs+i%xc == off+j/yc*ys+j%yc
			}
		}
		if got := Overlap(xr, xc, xs, off, yr, yc, ys); got != want {
			t.Fatalf("x %dx%d/%d, y %dx%d/%d at %d: %v, want %v", xr, xc, xs, yr, yc, ys, off, got, want)
		}
	}
}

// The stride of a single row may be anything.
func TestOverlapOneRow(t *testing.T) {
	for _, off := range []int{-4, 2, 5, 6, 22} { // in gaps, before and behind
		if Overlap(3, 2, 10, off, 1, 4, math.MaxInt) {
			t.Errorf("a row of 4 at %d overlaps", off)
		}
	}
}
