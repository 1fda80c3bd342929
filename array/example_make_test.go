package array_test

import (
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// onCPU is a session on the cpu device.
func onCPU() *linalg.Session {
	s, err := linalg.Open("cpu")
	check(err)
	return s
}

func ExampleZeros() {
	s := onCPU()
	defer s.Close()
	a, err := array.Zeros[float32](s, 1, 3)
	check(err)
	fmt.Println(a)
	// Output: [0  0  0]
}

func ExampleOnes() {
	s := onCPU()
	defer s.Close()
	a, err := array.Ones[float64](s, 2, 2)
	check(err)
	fmt.Println(a)
	// Output:
	// ⎡1  1⎤
	// ⎣1  1⎦
}

func ExampleFull() {
	s := onCPU()
	defer s.Close()
	a, err := array.Full(s, 2, 3, int32(7))
	check(err)
	fmt.Println(a)
	// Output:
	// ⎡7  7  7⎤
	// ⎣7  7  7⎦
}

// A slice is a row.
func ExampleFromSlice() {
	s := onCPU()
	defer s.Close()
	a, err := array.FromSlice(s, []float64{1, 2, 3})
	check(err)
	fmt.Println(a)
	// Output: [1  2  3]
}

// A column is repeated where a row is the other operand.
func ExampleFromColumn() {
	s := onCPU()
	defer s.Close()
	column, err := array.FromColumn(s, []float64{10, 20})
	check(err)
	c, err := array.Zeros[float64](s, 2, 3)
	check(err)
	check(array.Add(c, column, []float64{1, 2, 3}))
	fmt.Println(c)
	// Output:
	// ⎡11  12  13⎤
	// ⎣21  22  23⎦
}

func ExampleRange() {
	s, a := open[int32](2, 3)
	defer s.Close()
	check(array.Range(a, 10, 5))
	fmt.Println(a)
	// Output:
	// ⎡10  15  20⎤
	// ⎣25  30  35⎦
}

func ExampleLinspace() {
	s, a := open[float64](1, 5)
	defer s.Close()
	check(array.Linspace(a, 0, 1))
	fmt.Println(a)
	// Output: [0  0.25  0.5  0.75  1]
}

func ExampleEye() {
	s, a := open[float32](2, 2)
	defer s.Close()
	check(array.Eye(a))
	fmt.Println(a)
	// Output:
	// ⎡1  0⎤
	// ⎣0  1⎦
}

// The elements of each row in the order of another array's.
func ExampleTakeAlong() {
	s := onCPU()
	defer s.Close()
	ages, err := array.FromSlice(s, []int32{41, 7, 23})
	check(err)
	heights, err := array.FromSlice(s, []float64{1.75, 1.2, 1.8})
	check(err)
	order, err := array.Zeros[int32](s, 1, 3)
	check(err)
	check(array.ArgSort(order, ages))
	c, err := array.Zeros[float64](s, 1, 3)
	check(err)
	check(array.TakeAlong(c, heights, order))
	fmt.Println(c)
	// Output: [1.2  1.8  1.75]
}

// The shape of the destination says over what: of each column, the mean of what is known.
func ExampleNanMean() {
	s := onCPU()
	defer s.Close()
	a, err := array.FromRows(s, [][]float64{{1, 2, math.NaN()}, {3, math.NaN(), math.NaN()}})
	check(err)
	mean, err := array.Zeros[float64](s, 1, 3)
	check(err)
	check(array.NanMean(mean, a))
	fmt.Println(mean)
	// Output: [2  2  NaN]
}

func ExampleSolve() {
	s := onCPU()
	defer s.Close()
	a, err := array.FromRows(s, [][]float64{{2, 1}, {1, 3}})
	check(err)
	b, err := array.FromColumn(s, []float64{5, 10})
	check(err)
	check(array.Solve(b, a, b)) // b becomes the solution
	fmt.Println(b)
	// Output:
	// ⎡1⎤
	// ⎣3⎦
}
