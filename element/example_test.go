package element_test

import (
	"fmt"

	"github.com/tandem-gpu/tandem/element"
)

func Example() {
	for _, t := range element.Types() {
		fmt.Println(t, t.CName(), t.NumPy(), t.Size())
	}
	_, ok := element.Of[struct{ x, y int32 }]()
	fmt.Println(ok)
	// Output:
	// float32 float f4 4
	// float64 double f8 8
	// int32 int i4 4
	// false
}

func ExampleToFloat16() {
	third := element.ToFloat16(1.0 / 3)
	fmt.Printf("%#04x %v\n", uint16(third), third.Float32())
	// Output: 0x3555 0.33325195
}
