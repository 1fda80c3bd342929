// Package superacc has the arithmetic of exact sums: a sum is an integer of many words, times a
// power of two, and is rounded once. Package exact and the kernels that sum share it, so it calls
// nothing that kernels in Go do not have.
package superacc

// Add adds m * 2^p to the words w, of which word k counts 2^(32k); or subtracts it. It adds less
// than 2^32 to each of three words.
func Add(w []int64, p int, m uint64, neg bool) {
	k, s, sign := p>>5, uint(p&31), int64(0)
	if neg {
		sign = -1
	}
	top := m >> (32 - s)
	w[k] += int64(m<<s&(1<<32-1)) ^ sign - sign
	w[k+1] += int64(top&(1<<32-1)) ^ sign - sign
	w[k+2] += int64(top>>32) ^ sign - sign
}

// A Place says where the words of a number lie: word k is element At + k*Step, of N.
type Place struct{ At, Step, N int }

// AddPart is part k of three of an Add of v to the words at a place; others add 0.
func AddPart(w []int64, at Place, p int, v int64, k int) {
	m, s := uint64(max(v, -v)), p&31-32*k
	m = (m<<uint(s) | m>>uint(-s)) & (1<<32 - 1) // one of the shifts is huge, and shifts all away
	if v < 0 {
		m = -m
	}
	w[at.At+(p>>5+k)*at.Step] += int64(m)
}

// Carry leaves 32 bits in each word, and the sign in the last.
func Carry(w []int64, at Place) {
	c := int64(0)
	for k := range at.N - 1 {
		v := w[at.At+k*at.Step] + c
		c = v >> 32
		w[at.At+k*at.Step] = v & (1<<32 - 1)
	}
	w[at.At+(at.N-1)*at.Step] += c
}

// What is no number, in a sum: a set of these.
const (
	NaN = 1 << iota
	Inf
	NegInf
)

// Special is the set of x, which is NaN or infinite.
func Special[T float32 | float64](x T) int64 {
	switch {
	case x != x:
		return NaN
	case x > 0:
		return Inf
	}
	return NegInf
}
