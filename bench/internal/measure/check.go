package measure

import (
	"math"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Reference is the result of a product as the contract has it, in full or, where that would take
// too long, in some of its rows, and how far another order of the sums can lie from it.
type Reference[T linalg.Element] struct {
	p     *Product[T]
	rows  []int // that are known, ascending
	want  []T   // these rows, packed
	bound []float64
}

// CheckOperations is how many operations a reference may take: seconds at most.
func CheckOperations() float64 {
	if host.InstructionSet() == "go" {
		return 2e9
	}
	return 5e10
}

// NewReference computes at most as many rows as take so many operations, but four at least.
func NewReference[T linalg.Element](p *Product[T], operations float64) *Reference[T] {
	r := &Reference[T]{p: p, rows: spread(p.M, max(4, int(operations/(2*float64(p.N)*float64(p.K)))))}
	r.want = r.multiply(p.A, p.B)
	return r
}

// multiply is the known rows of a*b.
func (r *Reference[T]) multiply(a, b []T) []T {
	n, k := r.p.N, r.p.K
	some, c := make([]T, len(r.rows)*k), make([]T, len(r.rows)*n)
	for i, row := range r.rows {
		copy(some[i*k:][:k], a[row*k:])
	}
	host.Gemm(len(r.rows), n, k, 1, some, k, b, n, 0, c, n)
	return c
}

// spread is count of the numbers 0 ... n-1, with the first and the last, or all of them where there
// are no more.
func spread(n, count int) []int {
	count = min(n, count)
	list := make([]int, count)
	for i := range list {
		list[i] = i
		if count < n {
			list[i] = int(int64(i) * int64(n-1) / int64(count-1))
		}
	}
	return list
}

// limit is how far the sums of element i can lie from the contract's in any order: both lie within
// k*eps*(|A||B|) of the exact product, and a little more, as k*eps is small.
func (r *Reference[T]) limit(i int) float64 {
	if r.bound == nil {
		sums := r.multiply(magnitudes(r.p.A), magnitudes(r.p.B))
		r.bound = make([]float64, len(sums))
		for i, s := range sums {
			r.bound[i] = 2.02 * float64(r.p.K+2) * Epsilon[T]() * float64(s)
		}
	}
	return r.bound[i]
}

func magnitudes[T linalg.Element](s []T) []T {
	m := make([]T, len(s))
	for i, v := range s {
		m[i] = max(v, -v)
	}
	return m
}

// Verify checks the rows that are known, and that float elements of all rows were written. Of a
// peer another rounding is right.
func (r *Reference[T]) Verify(peer bool) Check {
	n, got := r.p.N, r.p.C
	c := Check{Elements: len(r.want)}
	for i, w := range r.want {
		g := got[r.rows[i/n]*n+i%n]
		if g == w && (w != 0 || math.Signbit(float64(g)) == math.Signbit(float64(w))) {
			continue
		}
		c.Differ++
		if !peer || !(math.Abs(float64(g)-float64(w)) <= r.limit(i)) { // NaN, too
			c.Wrong++
		}
	}
	unwritten := 0
	for _, v := range got { // operands are finite and small, so that no product has a NaN
		if v != v {
			unwritten++
		}
	}
	c.Wrong = max(c.Wrong, unwritten)
	return c
}

// Compare counts the numbers of got that are not those of want, rounded to T, and those that are no
// numbers or further from them than loss times the largest: rounding in any order is below it, a
// wrong algorithm above.
func Compare[T, W linalg.Element](got []T, want []W, loss float64) Check {
	c := Check{Elements: len(want)}
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(float64(w)))
	}
	for i, w := range want {
		off := math.Abs(float64(got[i]) - float64(T(w)))
		if off != 0 {
			c.Differ++
		}
		if !(off <= loss*largest) {
			c.Wrong++
		}
	}
	return c
}

// Epsilon is the unit roundoff of T, 0 of integers.
func Epsilon[T linalg.Element]() float64 {
	return map[element.Type]float64{element.Float32: 0x1p-24, element.Float64: 0x1p-53}[element.TypeOf[T]()]
}

// Poison is what memory holds before a check: nothing that the operands, which are finite, give.
func Poison[T linalg.Element]() T {
	if element.TypeOf[T]().Integer() {
		return T(int32(0x5aa5c33c))
	}
	return T(math.NaN())
}

// Fill makes all elements of s the same.
func Fill[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}
