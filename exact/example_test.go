package exact_test

import (
	"fmt"
	"log"
	"math"

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

// Shards of a sum come over the network, in whatever order: the whole has the bits of one machine.
func ExampleAcc_MarshalBinary() {
	var whole exact.Acc
	for _, shard := range [][]float64{{1e30, 0.1}, {0.2, -1e30}, {0.3}} {
		var part exact.Acc
		exact.AddSlice(&part, shard)
		message, err := part.MarshalBinary() // what the other machine sends
		if err != nil {
			log.Fatal(err)
		}
		var received exact.Acc
		if err := received.UnmarshalBinary(message); err != nil {
			log.Fatal(err)
		}
		whole.Merge(&received)
	}
	fmt.Println(whole.Float64(), exact.Sum([]float64{1e30, 0.1, 0.2, -1e30, 0.3}))
	// Output: 0.6 0.6
}

// The sums of each three numbers: what leaves the window is taken away, without an error.
func ExampleAcc_Sub() {
	x := []float64{1, 1e17, -1e17, 3, math.Inf(1), 4, 5, 6}
	var window exact.Acc
	for i, v := range x {
		window.Add(v)
		if i >= 3 {
			window.Sub(x[i-3])
		}
		if i >= 2 {
			fmt.Print(window.Float64(), " ")
		}
	}
	// Output: 1 3 +Inf +Inf +Inf 15
}
