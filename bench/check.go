package bench

import (
	"math"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// A reference is the result of a product as the contract has it, in full or, where that would take
// too long, in some of its rows, and how far another order of the sums can lie from it.
type reference[T linalg.Element] struct {
	n     int   // columns
	rows  []int // that are known, ascending
	want  []T   // these rows, packed
	bound []float64
}

// checkOperations is how many operations a reference may take: seconds at most.
func checkOperations() float64 {
	if host.InstructionSet() == "go" {
		return 2e9
	}
	return 5e10
}

// newReference computes at most as many rows as take so many operations, but four at least.
func newReference[T linalg.Element](p problem[T], operations float64) *reference[T] {
	r := &reference[T]{n: p.n, rows: spread(p.m, max(4, int(operations/(2*float64(p.n)*float64(p.k)))))}
	a := make([]T, len(r.rows)*p.k)
	for i, row := range r.rows {
		copy(a[i*p.k:][:p.k], p.a[row*p.k:])
	}
	r.want = make([]T, len(r.rows)*p.n)
	host.Gemm(len(r.rows), p.n, p.k, 1, a, p.k, p.b, p.n, 0, r.want, p.n)
	return r
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

// limits computes what the sums in any order can differ by from the contract's: both lie within
// k*eps*(|A||B|) of the exact product, and a little more, as k*eps is small.
func (r *reference[T]) limits(p problem[T]) {
	if r.bound != nil {
		return
	}
	a, b := make([]T, len(r.rows)*p.k), make([]T, len(p.b))
	for i, row := range r.rows {
		magnitudes(a[i*p.k:][:p.k], p.a[row*p.k:])
	}
	magnitudes(b, p.b)
	sums := make([]T, len(r.want))
	host.Gemm(len(r.rows), p.n, p.k, 1, a, p.k, b, p.n, 0, sums, p.n)
	r.bound = make([]float64, len(sums))
	for i, s := range sums {
		r.bound[i] = 2.02 * float64(p.k+2) * epsilon[T]() * float64(s)
	}
}

func magnitudes[T linalg.Element](dst, src []T) {
	for i := range dst {
		dst[i] = src[i]
		if dst[i] < 0 {
			dst[i] = -dst[i]
		}
	}
}

// epsilon is the unit roundoff of T.
func epsilon[T linalg.Element]() float64 {
	switch element.TypeOf[T]() {
	case element.Float32:
		return 0x1p-24
	case element.Float64:
		return 0x1p-53
	}
	return 0
}

// poison is what memory holds before a check: nothing that the operands, which are finite, give.
func poison[T linalg.Element]() T {
	if element.TypeOf[T]().Integer() {
		return T(int32(0x5aa5c33c))
	}
	return T(math.NaN())
}

func fill[T linalg.Element](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// exact checks the rows that are known for the contract's bits, and that float elements of all rows
// were written.
func (r *reference[T]) exact(got []T) Check {
	c := Check{Elements: len(r.want)}
	for i, row := range r.rows {
		g, w := got[row*r.n:][:r.n], r.want[i*r.n:][:r.n]
		for j := range w {
			if !sameBits(g[j], w[j]) {
				c.Differ++
			}
		}
	}
	c.Wrong = max(c.Differ, unwritten(got))
	return c
}

// close checks the rows that are known against the limits.
func (r *reference[T]) close(got []T) Check {
	c := Check{Elements: len(r.want)}
	for i, row := range r.rows {
		g, w, bound := got[row*r.n:][:r.n], r.want[i*r.n:][:r.n], r.bound[i*r.n:][:r.n]
		for j := range w {
			if sameBits(g[j], w[j]) {
				continue
			}
			c.Differ++
			off := math.Abs(float64(g[j]) - float64(w[j]))
			if !(off <= bound[j]) { // NaN, too
				c.Wrong++
			} else if off > 0 {
				c.OfBound = max(c.OfBound, off/bound[j])
			}
		}
	}
	c.Wrong = max(c.Wrong, unwritten(got))
	return c
}

// unwritten counts the NaN: operands are finite and small, so that no product has one.
func unwritten[T linalg.Element](s []T) (n int) {
	for _, v := range s {
		if v != v {
			n++
		}
	}
	return n
}

// sameBits compares finite numbers.
func sameBits[T linalg.Element](x, y T) bool {
	return x == y && (x != 0 || math.Signbit(float64(x)) == math.Signbit(float64(y)))
}
