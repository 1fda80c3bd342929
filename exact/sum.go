package exact

import "math"

// Sum is the exact sum of x, rounded once.
func Sum[T float32 | float64](x []T) T {
	var a Acc
	var block [blockSize]float64
	for len(x) > 0 {
		n := min(len(x), blockSize)
		for i, v := range x[:n] {
			block[i] = float64(v)
		}
		a.addBlock(block[:n])
		x = x[n:]
	}
	return rounded[T](&a)
}

// Dot is the exact sum of the products of x and y, rounded once. It panics unless they have one
// length.
func Dot[T float32 | float64](x, y []T) T {
	if len(x) != len(y) {
		panic("exact: Dot of slices of different lengths")
	}
	var a Acc
	if !single[T]() {
		for i, v := range x {
			a.AddProduct(float64(v), float64(y[i]))
		}
		return rounded[T](&a)
	}
	var block [blockSize]float64
	for len(x) > 0 {
		n := min(len(x), blockSize)
		for i, v := range x[:n] {
			block[i] = float64(v) * float64(y[i]) // 48 bits
		}
		a.addBlock(block[:n])
		x, y = x[n:], y[n:]
	}
	return rounded[T](&a)
}

func rounded[T float32 | float64](a *Acc) T {
	if single[T]() {
		return T(a.Float32())
	}
	return T(a.Float64())
}

func single[T float32 | float64]() bool {
	_, ok := any(T(0)).(float32)
	return ok
}

// blockSize is the numbers that addBlock takes at most.
const blockSize = 1024

// addBlock adds numbers whose exponents seldom differ much. z - m has of each what lies above a
// unit, the rest is what lies below; the sums of both are exact by construction, as Rump, Ogita and
// Oishi extract them ("Accurate floating-point summation", 2008).
func (a *Acc) addBlock(x []float64) {
	var hi, lo uint64 = 0, math.MaxUint64
	for _, v := range x {
		u := math.Float64bits(v) &^ (1 << 63)
		hi, lo = max(hi, u), min(lo, u-1) // 0 does not count
	}
	if hi == 0 {
		return
	}
	top, low := max(int(hi>>52), 1), max(int((lo+1)>>52), 1)
	// 512 numbers below 2^(top+1) in each of the sums, so m keeps its exponent; their rests are
	// multiples of 2^(low-52), and 512 of them at most 2^(top-32), which 53 bits hold.
	if top-low > 33 || top > 2046-12 {
		for _, v := range x {
			a.Add(v)
		}
		return
	}
	m := math.Float64frombits(uint64(top+12)<<52 | 1<<51)
	s, t, r, q := m, m, 0.0, 0.0
	for len(x) >= 2 {
		z := s + x[0]
		r += x[0] - (z - s)
		s = z
		z = t + x[1]
		q += x[1] - (z - t)
		t = z
		x = x[2:]
	}
	for _, v := range [...]float64{s - m, t - m, r, q} {
		a.Add(v)
	}
	for _, v := range x {
		a.Add(v)
	}
}
