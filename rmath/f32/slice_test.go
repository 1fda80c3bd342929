package f32

import "testing"

// Slices of any length have the bits of single calls.
func TestApply(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1 << 11, 10001} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)/100 - 3
		}
		y := make([]float32, n)
		Apply(Erf, y, x)
		for i := range y {
			if want := Erf(x[i]); !sameBits(y[i], want) {
				t.Fatalf("element %d is %v, want %v", i, y[i], want)
			}
		}
		Apply(Erf, x, x)
		for i := range y {
			if !sameBits(y[i], x[i]) {
				t.Fatalf("element %d in place is %v, want %v", i, x[i], y[i])
			}
		}
	}
}

func TestApplyPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("slices of different lengths are taken")
		}
	}()
	Apply(Sin, make([]float32, 3), make([]float32, 4))
}
