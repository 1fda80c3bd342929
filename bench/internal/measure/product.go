package measure

import (
	"math/rand/v2"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Product is C = A*B to compute, packed row-major in host memory. Of a batch the A lie below each
// other, and so do the B and the C.
type Product[T linalg.Element] struct {
	M, N, K int
	A, B, C []T
}

// RandomProduct has operands between -1 and 1, of int32 any.
func RandomProduct[T linalg.Element](m, n, k int) *Product[T] {
	p := &Product[T]{M: m, N: n, K: k, A: make([]T, m*k), B: make([]T, k*n), C: make([]T, m*n)}
	rng := rand.New(rand.NewPCG(uint64(m)<<32|uint64(n), uint64(k)))
	for _, s := range [][]T{p.A, p.B} {
		for i := range s {
			s[i] = random[T](rng)
		}
	}
	return p
}

func random[T linalg.Element](rng *rand.Rand) T {
	if element.TypeOf[T]().Integer() {
		return T(int32(rng.Uint32()))
	}
	return T(2*rng.Float64() - 1)
}

// Result is C, which verify checks.
func (p *Product[T]) Result(verify func(peer bool) Check) *Result {
	return &Result{Reset: func() { Fill(p.C, Poison[T]()) }, Verify: verify}
}

// Arrays are matrices on a device: the operands, and the result last.
type Arrays[T linalg.Element] []*linalg.Array[T]

// Upload puts a product on a device.
func (p *Product[T]) Upload(s *linalg.Session) (Arrays[T], error) {
	return Upload(s, []int{p.K, p.N, p.N}, p.A, p.B, p.C)
}

// Upload puts matrices of so many columns on a device.
func Upload[T linalg.Element](s *linalg.Session, columns []int, data ...[]T) (list Arrays[T], err error) {
	for i, d := range data {
		a, err := linalg.Upload(s, linalg.NewMatrix(len(d)/columns[i], columns[i], d))
		if err != nil {
			list.Free()
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// Free frees the arrays.
func (l Arrays[T]) Free() {
	for _, a := range l {
		a.Free()
	}
}

// Operands are the arrays as the functions for arguments of package kernels take them.
func (l Arrays[T]) Operands() (list []kernels.Operand) {
	for _, a := range l {
		list = append(list,
			kernels.Operand{Buffer: a.Buffer(), Offset: int64(a.Offset()), Stride: int64(a.Stride())})
	}
	return list
}

// A Move is a matrix of N by N to bring elsewhere.
type Move[T linalg.Element] struct {
	N        int
	Src, Dst []T
}

// NewMove has no two neighbours in a row or a column that are the same, of any size up to 2^16.
func NewMove[T linalg.Element](n int) *Move[T] {
	m := &Move[T]{N: n, Src: make([]T, n*n), Dst: make([]T, n*n)}
	for i := range m.Src {
		m.Src[i] = T(int32(uint32(i) * 2654435761))
	}
	return m
}

// Upload puts the matrix and room for the result on a device.
func (m *Move[T]) Upload(s *linalg.Session) (Arrays[T], error) {
	return Upload(s, []int{m.N, m.N}, m.Src, m.Dst)
}

// Result is Dst, of which want is row i and column j.
func (m *Move[T]) Result(want func(i, j int) T) *Result {
	return &Result{Reset: func() { Fill(m.Dst, Poison[T]()) }, Verify: func(bool) Check {
		c := Check{Elements: len(m.Dst)}
		for i := range m.N {
			for j, v := range m.Dst[i*m.N:][:m.N] {
				if v != want(i, j) {
					c.Wrong++
				}
			}
		}
		c.Differ = c.Wrong
		return c
	}}
}

// Copied and Transposed are the elements of a copy and of the transpose.
func (m *Move[T]) Copied(i, j int) T     { return m.Src[i*m.N+j] }
func (m *Move[T]) Transposed(i, j int) T { return m.Src[j*m.N+i] }
