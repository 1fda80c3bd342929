package conformance

import (
	"math"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// Factorizations work on the host, with products on the device: with all of those that a division
// by halves leaves.

// factors are the shapes m, n of the kernels of factorizations. In the larger ones there are
// products.
var factors = map[string][][2]int{
	"lu":       {{5, 5}, {33, 20}, {20, 33}, {100, 100}, {130, 70}, {70, 130}},
	"cholesky": {{5, 5}, {33, 33}, {100, 100}},
	"qr":       {{5, 5}, {33, 20}, {20, 33}, {100, 70}, {70, 130}},
	"eigh":     {{1, 1}, {33, 33}, {100, 100}},
	"svd":      {{1, 1}, {33, 33}, {100, 40}, {40, 70}},
	"solve":    {{5, 3}, {33, 1}, {100, 7}},
}

func (m *caseMaker) factors() {
	for name, shapes := range factors {
		for i, s := range shapes {
			c := Case{
				Kernel: name, Type: m.typ, M: s[0], N: s[1], Quick: s[0] == 33 || s[0] == 100, sets: none,
				values: uniform, gap: 1 + i%4, offset: 2 * i, alpha: 1,
			}
			m.add(c)
			if c.values = special; name == "lu" {
				m.add(c)
			}
		}
	}
}

func (c *Case) factorization() bool { return factors[c.Kernel] != nil }

// factorVariant is the one way to run a factorization: with the product that the device gets for a
// trailing one.
func (c *Case) factorVariant(info *backend.Info) variant {
	p := tuning.ChooseMatMul(info, c.Type, c.M, c.N, 64)
	return variant{source: kernels.MatMul(c.Type, p), product: p}
}

// factorOperands makes A and B: of a symmetric matrix A's lower triangle counts.
func factorOperands[T host.Float](c *Case) (a, b matrix[T]) {
	if c.Kernel == "lu" || c.Kernel == "qr" || c.Kernel == "svd" {
		return generate[T](c, c.M, c.N, "a"), b
	}
	a = generate[T](c, c.M, c.M, "a")
	if c.Kernel == "solve" {
		return a, generate[T](c, c.M, c.N, "b")
	}
	if c.Kernel == "eigh" {
		return a, b
	}
	for i := range c.M {
		d := &a.data[i*(c.M+1)]
		*d = max(*d, -*d) + T(16*c.M)
		clear(a.data[i*c.M+i+1 : (i+1)*c.M])
	}
	return a, b
}

// appendPivots appends the pivots to L and U as numbers.
func appendPivots[T host.Float](data []T, piv []int) []T {
	for _, p := range piv {
		data = append(data, T(p))
	}
	return data
}

// factorReference is the digest of a factorization by the definition.
func factorReference[T host.Float](c *Case) string {
	a, b := factorOperands[T](c)
	n, piv := a.cols, make([]int, min(a.rows, a.cols))
	if c.Kernel == "cholesky" {
		solve.CholeskyReference(n, func(i, j int) *T { return &a.data[i*n+j] })
		return Digest(a.data)
	}
	if f := decomposition[T](c); f != nil {
		data, err := f(solve.Solver[float64]{Update: plainUpdate}, a)
		if err != nil {
			panic(err)
		}
		return Digest(data)
	}
	if c.Kernel == "qr" {
		tau := make([]T, len(piv))
		solve.QRReference(a.rows, n, a.data, n, tau)
		return Digest(append(a.data, tau...))
	}
	solve.LUReference(a.rows, n, a.data, n, piv)
	if c.Kernel == "lu" {
		return Digest(appendPivots(a.data, piv))
	}
	at := func(i, k int) T { return a.data[i*n+k] }
	for j := range c.N {
		x := make([]T, n)
		for i := range x {
			x[i] = b.data[i*c.N+j]
		}
		for i, p := range piv {
			x[i], x[p] = x[p], x[i]
		}
		solve.TriangleReference(true, n, at, false, true, 1, x)
		solve.TriangleReference(true, n, at, true, false, 1, x)
		for i, v := range x {
			b.data[i*c.N+j] = v
		}
	}
	return Digest(b.data)
}

// plainUpdate is C + A*B, or with negate C - A*B, by the definition.
func plainUpdate(negate bool, m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) error {
	for i := range m {
		for j := range n {
			for p := range k {
				v := a[i*lda+p]
				if negate {
					v = -v
				}
				c[i*ldc+j] = math.FMA(v, b[p*ldb+j], c[i*ldc+j])
			}
		}
	}
	return nil
}

// eigenvectors is the eigenvectors of a, row by row, and then the eigenvalues.
func eigenvectors[T host.Float](s solve.Solver[float64], a matrix[T]) ([]T, error) {
	n := a.rows
	x, w := converted[float64](a.data), make([]float64, n)
	_, err := solve.EigSym(s, true, true, n, x, n, w)
	return converted[T](append(x, w...)), err
}

// singularVectors is U, row by row, Vᵀ, and the singular values.
func singularVectors[T host.Float](s solve.Solver[float64], a matrix[T]) ([]T, error) {
	m, n, k := a.rows, a.cols, min(a.rows, a.cols)
	u, vt, values := make([]float64, m*k), make([]float64, k*n), make([]float64, k)
	_, err := solve.SVD(s, m, n, converted[float64](a.data), n, values,
		solve.SingularVectors{U: u, Cols: k, LdU: k, VT: vt, Rows: k, LdVT: n})
	return converted[T](slices.Concat(u, vt, values)), err
}

// decomposition is what a case computes in float64, or nil.
func decomposition[T host.Float](c *Case) func(solve.Solver[float64], matrix[T]) ([]T, error) {
	switch c.Kernel {
	case "eigh":
		return eigenvectors[T]
	case "svd":
		return singularVectors[T]
	}
	return nil
}

func converted[D, S host.Float](x []S) []D {
	y := make([]D, len(x))
	for i, v := range x {
		y[i] = D(v)
	}
	return y
}

// runFactor runs a factorization on a session and returns its digest. k is the product's kernel.
func runFactor[T host.Float](c *Case, x *session, k *backend.Kernel, v variant) (string, error) {
	a, b := factorOperands[T](c)
	update := func(negate bool, m, n, steps int, a []T, lda int, b []T, ldb int, to []T, ldc int) error {
		return updateOn(c, x, k, v, negate, packed(m, steps, a, lda), packed(steps, n, b, ldb), packed(m, n, to, ldc),
			to, ldc)
	}
	s := solve.Solver[T]{Update: update}
	if f := decomposition[T](c); f != nil { // in float64, so that of float32 nothing runs on the device
		d, _ := any(s).(solve.Solver[float64])
		data, err := f(d, a)
		return Digest(data), err
	}
	n, piv := a.cols, make([]int, min(a.rows, a.cols))
	if c.Kernel == "cholesky" {
		_, err := s.Cholesky(true, n, a.data, n)
		return Digest(a.data), err
	}
	if c.Kernel == "qr" {
		tau := make([]T, len(piv))
		err := s.QR(a.rows, n, a.data, n, tau)
		return Digest(append(a.data, tau...)), err
	}
	if _, err := s.LU(a.rows, n, a.data, n, piv); err != nil {
		return "", err
	}
	if c.Kernel == "lu" {
		return Digest(appendPivots(a.data, piv)), nil
	}
	err := s.SolveLU(false, n, c.N, a.data, n, piv, b.data, c.N)
	return Digest(b.data), err
}

// packed is a copy of a matrix, without gaps.
func packed[T element.Element](rows, cols int, x []T, ld int) matrix[T] {
	m := matrix[T]{rows, cols, make([]T, rows*cols)}
	host.CopyMatrix(rows, cols, x, ld, m.data, cols)
	return m
}

// updateOn makes what is at to C + A*B, or with negate C - A*B, on the device.
func updateOn[T host.Float](c *Case, x *session, k *backend.Kernel, v variant, negate bool, a, b, old matrix[T],
	to []T, ldc int,
) error {
	args := kernels.AddMulArgs[T]
	if negate {
		args = kernels.SubMulArgs[T]
	}
	m, n := old.rows, old.cols
	result, err := launch(c, x, k, kernels.MatMulGrid(v.product, m, n), a, b, old, true,
		func(x, y, z kernels.Operand) []backend.Arg { return args(nil, kernels.Batch{}, m, n, a.cols, x, y, z) })
	if err != nil {
		return err
	}
	host.CopyMatrix(m, n, result, n, to, ldc)
	return nil
}
