package sums

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/linalg"
)

// Sums of float32 without float64 are the exact ones, too.
func TestWithoutDouble(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		x := linalg.NewMatrix[float32](1+r.IntN(40), 1+r.IntN(400), nil)
		for i := range x.Data {
			x.Data[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(1+4*n)-2*n))
		}
		if n%8 == 0 {
			x.Data[r.IntN(len(x.Data))] = float32(math.Inf(n%16 - 8))
		}
		a, err := linalg.Upload(s, x)
		if err != nil {
			t.Fatal(err)
		}
		wide := a.Slice(0, x.Rows, 0, max(1, x.Cols-3)) // not packed
		rows, cols := wide.Dims()
		for _, d := range [][2]int{{1, 1}, {rows, 1}, {1, cols}} {
			c, err := linalg.NewArray[float32](s, d[0], d[1])
			if err != nil {
				t.Fatal(err)
			}
			for _, abs := range []bool{false, true} {
				if err := withoutDouble(Sum[float32]{C: c, X: wide, Abs: abs, Over: 1}); err != nil {
					t.Fatal(err)
				}
				got, err := c.Download()
				if err != nil {
					t.Fatal(err)
				}
				want := make([]exact.Acc, len(got.Data))
				for i := range rows {
					for j := range cols {
						v := float64(x.At(i, j))
						if abs {
							v = math.Abs(v)
						}
						want[i%d[0]*d[1]+j%d[1]].Add(v)
					}
				}
				for k := range want {
					w := want[k].Float32()
					if math.Float32bits(got.Data[k]) != math.Float32bits(w) {
						t.Fatalf("%d: %dx%d into %v, abs %v: element %d is %x, want %x", n, rows, cols, d, abs, k,
							got.Data[k], w)
					}
				}
			}
		}
	}
}
