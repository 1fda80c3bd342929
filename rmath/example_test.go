package rmath_test

import (
	"fmt"

	"github.com/tandem-gpu/tandem/rmath"
)

// The bits are the same on every machine, and in a kernel on every device.
func Example() {
	for _, x := range []float64{rmath.Exp(1), rmath.Log(10), rmath.Sin(1e22), rmath.Pow(2, 0.5)} {
		fmt.Printf("%.17g %x\n", x, x)
	}
	// Output:
	// 2.7182818284590451 0x1.5bf0a8b145769p+01
	// 2.3025850929940459 0x1.26bb1bbb55516p+01
	// -0.85220084976718879 -0x1.b453ab76bf397p-01
	// 1.4142135623730951 0x1.6a09e667f3bcdp+00
}

// SinPi is exact where math.Sin(math.Pi) only comes close.
func ExampleSinPi() {
	fmt.Println(rmath.SinPi(1), rmath.SinPi(0.5), rmath.CosPi(1e15+0.5))
	// Output: 0 1 0
}
