package exact

import "math"

// Sum is the exact sum of x, rounded once.
func Sum[T float32 | float64](x []T) T {
	var a Acc
	AddSlice(&a, x)
	return rounded[T](&a)
}

// Dot is the exact sum of the products of x and y, rounded once. It panics unless they have one
// length.
func Dot[T float32 | float64](x, y []T) T {
	var a Acc
	AddDot(&a, x, y)
	return rounded[T](&a)
}

// AddSlice adds the elements of x to a, as fast as [Sum]: several times as fast as one by one.
func AddSlice[T float32 | float64](a *Acc, x []T) { addSlice(a, x, false) }

// SubSlice takes the elements of x away from a, as fast as [Sum].
func SubSlice[T float32 | float64](a *Acc, x []T) { addSlice(a, x, true) }

func addSlice[T float32 | float64](a *Acc, x []T, away bool) {
	var block [blockSize]float64
	for len(x) > 0 {
		n := min(len(x), blockSize)
		for i, v := range x[:n] {
			block[i] = float64(v)
		}
		a.addBlock(block[:n], away)
		x = x[n:]
	}
}

// AddDot adds the products of the elements of x and y to a, as fast as [Dot]. It panics unless they
// have one length.
func AddDot[T float32 | float64](a *Acc, x, y []T) { addDot(a, x, y, false) }

// SubDot takes the products of the elements of x and y away from a, as fast as [Dot]. It panics
// unless they have one length.
func SubDot[T float32 | float64](a *Acc, x, y []T) { addDot(a, x, y, true) }

func addDot[T float32 | float64](a *Acc, x, y []T, away bool) {
	if len(x) != len(y) {
		panic("exact: products of slices of different lengths")
	}
	if !single[T]() {
		for i, v := range x {
			a.addProduct(float64(v), float64(y[i]), away)
		}
		return
	}
	var block [blockSize]float64
	for len(x) > 0 {
		n := min(len(x), blockSize)
		for i, v := range x[:n] {
			block[i] = float64(v) * float64(y[i]) // 48 bits
		}
		a.addBlock(block[:n], away)
		x, y = x[n:], y[n:]
	}
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

// addBlock adds numbers whose exponents seldom differ much, or takes them away. z - m has of each
// what lies above a unit, the rest is what lies below; the sums of both are exact by construction,
// as Rump, Ogita and Oishi extract them ("Accurate floating-point summation", 2008).
func (a *Acc) addBlock(x []float64, away bool) {
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
			a.add(v, away)
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
		a.add(v, away)
	}
	for _, v := range x {
		a.add(v, away)
	}
}
