package f32_test

import (
	"fmt"

	"github.com/tandem-gpu/tandem/rmath/f32"
)

// Every function of one argument gives the float32 nearest to its value.
func Example() {
	fmt.Println(f32.Exp(1), f32.Log(10), f32.Sigmoid(-2))
	// Output: 2.7182817 2.3025851 0.11920292
}

// A slice is computed on all cores; the bits are those of single calls.
func ExampleApply() {
	x := []float32{0, 0.5, 1, 2}
	f32.Apply(f32.Exp, x, x)
	fmt.Println(x)
	// Output: [1 1.6487212 2.7182817 7.389056]
}
