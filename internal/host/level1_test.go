package host

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Sums are what their comments say, to the bit, and so are the rest of level 1.
func TestLevel1(t *testing.T) {
	t.Run("float32", testLevel1[float32])
	t.Run("float64", testLevel1[float64])
}

func testLevel1[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	sizes := append(slices.Repeat([]int{1}, 40), // whose product may be -0, which a sum is not
		0, 2, 3, 4, 3, 4, 7, 8, 9, 18, 31, 1000, piece, piece+1, 3*piece+5, 20*piece+13)
	for i, n := range sizes {
		in := inputs[T]()[i%len(inputs[T]())]
		alpha := []T{1, -1.5, 0.1}[i%3]
		x, y := in.matrix(rng, 1, n, 0), in.matrix(rng, 1, n, 0)
		product := func(k int, acc float64) float64 { return math.FMA(float64(x.data[k]), float64(y.data[k]), acc) }
		magnitude := func(k int, acc float64) float64 { return acc + math.Abs(float64(x.data[k])) }
		for what, sums := range map[string][2]float64{
			"dot":  {Dot(x.data, y.data), sumReference(n, product)},
			"asum": {Asum(x.data), sumReference(n, magnitude)},
		} {
			if got, want := sums[0], sums[1]; bitsOf(got) != bitsOf(want) {
				t.Errorf("%s of %d %s is %v, want %v", what, n, in.name, got, want)
			}
		}
		axpy := newMatrix(1, n, 0, func(_, k int) T { return FMA(alpha, x.data[k], y.data[k]) })
		scal := newMatrix(1, n, 0, func(_, k int) T { return Mul(alpha, x.data[k]) })
		Axpy(alpha, x.data, y.data)
		if err := y.diff(axpy); err != nil {
			t.Errorf("axpy of %d %s: %v", n, in.name, err)
		}
		Scal(alpha, x.data)
		if err := x.diff(scal); err != nil {
			t.Errorf("scal of %d %s: %v", n, in.name, err)
		}
	}
}

// Products below 0 that vanish are -0, and so is their sum where every lane has one.
func TestDotVanishes(t *testing.T) {
	for n := range 20 {
		x, y := slices.Repeat([]float64{1e-200}, n), slices.Repeat([]float64{-1e-200}, n)
		want := sumReference(n, func(k int, acc float64) float64 { return math.FMA(x[k], y[k], acc) })
		if got := Dot(x, y); bitsOf(got) != bitsOf(want) {
			t.Errorf("dot of %d is %v, want %v", n, got, want)
		}
	}
}

// sumReference adds n elements by the definition.
func sumReference(n int, add func(k int, acc float64) float64) float64 {
	var sum float64
	for first := 0; first < n || first == 0; first += piece {
		var s [lanes]float64
		for k := first; k < min(first+piece, n); k++ {
			s[k%lanes] = add(k, s[k%lanes])
		}
		for half := lanes / 2; half > 0; half /= 2 {
			for l := range half {
				s[l] += s[l+half]
			}
		}
		if first == 0 {
			sum = s[0]
		} else {
			sum += s[0]
		}
	}
	return sum
}

func TestIamax(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x    []float64
		want int
	}{
		{nil, -1},
		{[]float64{math.Copysign(0, -1)}, 0},
		{[]float64{0, -3, 3}, 1},
		{[]float64{1, -inf, nan, nan}, 2},
		{[]float64{1, 2, -inf, inf}, 2},
	} {
		if got := Iamax(c.x); got != c.want {
			t.Errorf("the largest of %v is at %d, want %d", c.x, got, c.want)
		}
		single := make([]float32, len(c.x))
		for i, v := range c.x {
			single[i] = float32(v)
		}
		if got := Iamax(single); got != c.want {
			t.Errorf("float32: the largest of %v is at %d, want %d", single, got, c.want)
		}
	}
}

func TestNrm2(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{math.Copysign(0, -1)}, 0},
		{[]float64{-3, 4}, 5},
		{[]float64{-0x3p1000, 0x4p1000, 0}, 0x5p1000},
		{[]float64{0x3p-1070, 0x4p-1070}, 0x5p-1070},
		{[]float64{0x1p-600, 0x1p600}, 0x1p600},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.Inf(1)},
		{[]float64{1, inf, 2}, math.Inf(1)},
		{[]float64{inf, nan}, nan},
		{[]float64{0x1p-40, nan}, nan},
	} {
		if got := Nrm2(c.x); bitsOf(got) != bitsOf(c.want) {
			t.Errorf("the norm of %v is %v, want %v", c.x, got, c.want)
		}
	}
	if got, want := Nrm2([]float32{0x3p-140, 0x4p-140}), 0x5p-140; got != want {
		t.Errorf("float32: %v, want %v", got, want)
	}
}
