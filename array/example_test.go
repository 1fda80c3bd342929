package array_test

import (
	"fmt"
	"log"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// check ends an example that fails. A program handles its errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// open is a session on the cpu device, with an array.
func open[T any](rows, cols int) (*linalg.Session, *linalg.Array[T]) {
	s, err := linalg.Open("cpu")
	check(err)
	a, err := linalg.NewArray[T](s, rows, cols)
	check(err)
	return s, a
}

// Operands are arrays, rows and columns, which are repeated, and numbers.
func Example() {
	s, x := open[float32](2, 3)
	defer s.Close()
	mask, err := linalg.NewArray[bool](s, 2, 3)
	check(err)
	check(array.Range(x, 1, 1))                          // 1 2 3, 4 5 6
	check(array.Mul(x, x, []float32{1, 10, 100}))        // by columns
	check(array.Less(mask, x, array.Value[float32](50))) // where x < 50
	check(array.Where(x, mask, x, array.Value[float32](50)))
	check(array.Log2(x, x))
	fmt.Printf("%.3f\n", x)
	// Output:
	// ⎡0.000  4.322  5.644⎤
	// ⎣2.000  5.644  5.644⎦
}

// Each array that is filled takes another stream of its seed.
func ExampleStream() {
	s, dice := open[int32](2, 6)
	defer s.Close()
	r := &array.Stream{Seed: 2026}
	check(array.Integers(r, dice, 1, 7))
	fmt.Printf("%d\n%v\n", r.Next, dice)
	// Output:
	// 1
	// ⎡3  4  5  2  6  3⎤
	// ⎣3  5  5  5  6  6⎦
}

// Arrays of slices: one dimension is a row, or, by name, a column, which is repeated.
func ExampleFromRows() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	x, err := array.FromRows(s, [][]float64{{1, 2, 3}, {4, 5, 6}})
	check(err)
	column, err := array.FromColumn(s, []float64{10, 20})
	check(err)
	check(array.Add(x, x, column))
	check(x.Set(0, 0, -1))
	last, err := x.At(1, 2)
	check(err)
	fmt.Printf("%v\n%v\n", x, last)
	// Output:
	// ⎡-1  12  13⎤
	// ⎣24  25  26⎦
	// 26
}

// Integers wrap, and floats become the nearest integer that there is.
func ExampleConvert() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	x, err := array.FromSlice(s, []float32{-1, 2.7, 300})
	check(err)
	bytes, err := array.Zeros[uint8](s, 1, 3)
	check(err)
	check(array.Convert(bytes, x))
	whole, err := bytes.Download()
	check(err)
	integers, err := array.FromSlice(s, []int32{-1, 2, 300})
	check(err)
	check(array.Convert(bytes, integers))
	low, err := bytes.Download()
	check(err)
	fmt.Printf("%d %d\n", whole.Data, low.Data)
	// Output:
	// [0 2 255] [255 2 44]
}

// The covariances of two variables, a row each.
func ExampleCov() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	x, err := array.FromRows(s, [][]float64{{1, 2, 3}, {6, 4, 2}})
	check(err)
	c, err := array.Zeros[float64](s, 2, 2)
	check(err)
	check(array.Cov(c, x, 1))
	fmt.Println(c)
	check(array.Corr(c, x))
	fmt.Println(c)
	// Output:
	// ⎡ 1  -2⎤
	// ⎣-2   4⎦
	// ⎡ 1  -1⎤
	// ⎣-1   1⎦
}

// Floor division, as Python has it.
func ExampleFloorDiv() {
	s, x := open[int32](1, 5)
	defer s.Close()
	check(array.Range(x, -4, 2)) // -4 -2 0 2 4
	quotient, err := array.Zeros[int32](s, 1, 5)
	check(err)
	check(array.FloorDiv(quotient, x, array.Value[int32](3)))
	check(array.FloorMod(x, x, array.Value[int32](3)))
	fmt.Println(quotient)
	fmt.Println(x)
	// Output:
	// [-2  -1  0  0  1]
	// [2  1  0  2  1]
}

// The two points that are nearest to each query: a vector store in four calls.
func ExamplePoints_Nearest() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	a, err := array.FromRows(s, [][]float32{{1, 0}, {0, 1}, {-1, 0}, {3, 4}})
	check(err)
	queries, err := array.FromRows(s, [][]float32{{1, 1}, {3, 3}})
	check(err)
	index, err := linalg.NewArray[int32](s, 2, 2)
	check(err)
	dist, err := linalg.NewArray[float32](s, 2, 2)
	check(err)

	points, err := array.NewPoints[float32](a, array.SquaredEuclidean)
	check(err)
	defer points.Free()
	check(points.Nearest(index, dist, queries))
	fmt.Printf("%v\n%v\n", index, dist)
	// Output:
	// ⎡0  1⎤
	// ⎣3  0⎦
	// ⎡1   1⎤
	// ⎣1  13⎦
}
