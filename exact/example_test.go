package exact_test

import (
	"fmt"

	"github.com/tandem-gpu/tandem/exact"
)

func ExampleSum() {
	x := []float64{1e100, 1, -1e100, 0.1, 0.2, -0.3}
	var plain float64
	for _, v := range x {
		plain += v
	}
	fmt.Println(plain, exact.Sum(x))
	// Output: 5.551115123125783e-17 1
}

// Two halves of a sum have the bits of the whole, in whatever order they come.
func ExampleAcc_Merge() {
	var left, right exact.Acc
	left.Add(1e30)
	left.AddProduct(0.1, 10) // a bit more than 1, since 0.1 is a bit more than a tenth
	right.Add(-1e30)
	right.Add(-1)
	left.Merge(&right)
	fmt.Println(left.Float64())
	// Output: 5.551115123125783e-17
}
