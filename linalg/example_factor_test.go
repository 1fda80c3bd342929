package linalg_test

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/tandem-gpu/tandem/linalg"
)

// A system of equations is factored once, and solved for any right sides.
func ExampleFactorLU() {
	a := linalg.NewMatrix(2, 2, []float64{4, 1, 2, 3})
	lu, err := linalg.FactorLU(a)
	check(err)
	x, err := lu.Solve(linalg.NewMatrix(2, 1, []float64{1, 2}))
	check(err)
	mantissa, exp := lu.Det()
	fmt.Printf("x = %.2f, determinant %v\n", x.Data, math.Ldexp(mantissa, exp))
	// Output: x = [0.10 0.60], determinant 10
}

// A is L·Lᵀ, if it is positive definite.
func ExampleFactorCholesky() {
	a := linalg.NewMatrix(2, 2, []float64{4, 2, 2, 5})
	f, err := linalg.FactorCholesky(a)
	check(err)
	fmt.Println(f.L().Data)
	_, err = linalg.FactorCholesky(linalg.NewMatrix(2, 2, []float64{1, 2, 2, 1}))
	fmt.Println(err)
	// Output:
	// [2 0 1 2]
	// linalg: matrix is not positive definite: row 1 of 2x2 float64
}

// The line that is nearest to three points: its value at 0, and its slope.
func ExampleLeastSquares() {
	a := linalg.NewMatrix(3, 2, []float64{1, 0, 1, 1, 1, 2})
	y := linalg.NewMatrix(3, 1, []float64{1, 2, 4})
	x, err := linalg.LeastSquares(a, y)
	check(err)
	fmt.Printf("%.3f\n", x.Data)
	// Output: [0.833 1.500]
}

// A is Q·R: the columns of Q are orthogonal, and R is upper triangular.
func ExampleFactorQR() {
	a := linalg.NewMatrix(3, 2, []float64{3, 1, 4, 2, 0, 2})
	f, err := linalg.FactorQR(a)
	check(err)
	q, err := f.Q()
	check(err)
	r := f.R()
	fmt.Printf("%.1f\n", r)
	back, err := linalg.MatMul(q, r)
	check(err)
	fmt.Printf("%.1f\n", back)
	// Output:
	// ⎡-5.0  -2.2⎤
	// ⎣ 0.0  -2.0⎦
	// ⎡3.0  1.0⎤
	// ⎢4.0  2.0⎥
	// ⎣0.0  2.0⎦
}

// Eigenvalues ascend; column j of the vectors belongs to value j.
func ExampleFactorEigSym() {
	a := linalg.NewMatrix(2, 2, []float64{2, 1, 1, 2})
	f, err := linalg.FactorEigSym(a)
	check(err)
	v := f.Vectors()
	fmt.Printf("%.3f, the second with ±(%.3f, %.3f)\n", f.Values(), math.Abs(v.At(0, 1)), math.Abs(v.At(1, 1)))
	// Output: [1.000 3.000], the second with ±(0.707, 0.707)
}

// The matrix of rank 1 that is nearest to A.
func ExampleFactorSVD() {
	a := linalg.NewMatrix(2, 2, []float64{3, 0, 4, 5})
	f, err := linalg.FactorSVD(a)
	check(err)
	values := f.Values()
	fmt.Printf("%.3f, rank %d\n", values, f.Rank(1e-12))
	one, err := linalg.MatMul(f.U().Slice(0, 2, 0, 1), f.VT().Slice(0, 1, 0, 2))
	check(err)
	near, err := linalg.Scale(values[0], one)
	check(err)
	fmt.Printf("%.2f\n", near.Data)
	// Output:
	// [6.708 2.236], rank 2
	// [1.50 1.50 4.50 4.50]
}

// Four products of 2x2 in one launch: the matrices of a batch lie one below the other.
func ExampleBatch() {
	one, turn := []float64{1, 0, 0, 1}, []float64{0, -1, 1, 0}
	half, back := []float64{-1, 0, 0, -1}, []float64{0, 1, -1, 0}
	a := linalg.NewMatrix(4*2, 2, slices.Concat(one, turn, half, back))
	b := linalg.NewMatrix(4*2, 2, slices.Repeat(turn, 4))
	c, err := linalg.MatMul(a, b, linalg.Batch(4))
	check(err)
	for i := range 4 {
		fmt.Println(c.Slice(2*i, 2*i+2, 0, 2).Data)
	}
	// Output:
	// [0 -1 1 0]
	// [-1 0 0 -1]
	// [0 1 -1 0]
	// [1 0 0 1]
}

// Where a device works in the host's memory, a matrix needs no copy.
func ExampleRegister() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	m := linalg.NewMatrix(2, 2, []float32{1, 2, 3, 4})
	a, err := linalg.Register(s, m)
	check(err)
	check(a.Scale(10, a))
	check(s.Wait()) // before the host reads
	fmt.Println(m.Data)
	// Output: [10 20 30 40]
}

// An array as a .npy file, which numpy.load reads.
func ExampleArray_WriteNPY() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	a, err := linalg.Upload(s, linalg.NewMatrix(2, 3, []int32{1, 2, 3, 4, 5, 6}))
	check(err)
	f, err := os.CreateTemp("", "*.npy")
	check(err)
	defer os.Remove(f.Name())
	check(a.WriteNPY(f))
	check(f.Close())
	file, err := os.ReadFile(f.Name())
	check(err)
	fmt.Println(string(file[10:69]))
	// Output: {'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }
}

// The singular values alone take less time.
func ExampleSingularValues() {
	values, err := linalg.SingularValues(linalg.NewMatrix(2, 2, []float64{3, 0, 4, 5}))
	check(err)
	fmt.Printf("%.3f\n", values)
	// Output: [6.708 2.236]
}

// A solution of several right sides at once, with A transposed.
func ExampleLU_SolveTrans() {
	lu, err := linalg.FactorLU(linalg.NewMatrix(2, 2, []float64{2, 1, 0, 4}))
	check(err)
	x, err := lu.SolveTrans(linalg.NewMatrix(2, 2, []float64{2, 4, 5, 10}))
	check(err)
	fmt.Println(x.Data)
	// Output: [1 2 1 2]
}

// Of the solutions of fewer equations than unknowns the one with the smallest norm.
func ExampleFactorLQ() {
	f, err := linalg.FactorLQ(linalg.NewMatrix(1, 2, []float64{3, 4})) // 3x + 4y
	check(err)
	x, err := f.Solve(linalg.NewMatrix(1, 1, []float64{25}))
	check(err)
	fmt.Printf("%.1f\n", x.Data)
	// Output: [3.0 4.0]
}
