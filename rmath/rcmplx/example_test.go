package rcmplx_test

import (
	"fmt"
	"math/cmplx"

	"github.com/tandem-gpu/tandem/rmath/rcmplx"
)

// Much cancels in the real part, of which plain Go keeps nothing, or on some processors some.
func ExampleMul() {
	x, y := complex(1+0x1p-30, 1), complex(1-0x1p-30, 1)
	fmt.Println(rcmplx.Mul(x, y))
	// Output: (-8.673617379884035e-19+2i)
}

func ExampleDiv() {
	x := complex(1e300, 1e300)
	fmt.Println(rcmplx.Div(x, x), rcmplx.Mul(x, x), cmplx.IsInf(rcmplx.Mul(x, x)))
	// Output: (1+0i) (0+Infi) true
}
