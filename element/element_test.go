package element

import (
	"fmt"
	"slices"
	"testing"
)

type named uint8

// Each type has its row, and all that goes from and to a type agrees on it.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		of, typ             Type
		row                 string // names in Go, OpenCL C and NumPy, size, whether it is an integer
		goName, numpy, pick string
	}{
		{TypeOf[float32](), Float32, "float32 float f4 4 false", "float32", "f4", "a"},
		{TypeOf[float64](), Float64, "float64 double f8 8 false", "float64", "f8", "b"},
		{TypeOf[int32](), Int32, "int32 int i4 4 true", "int32", "i4", "c"},
	} {
		if c.of != c.typ {
			t.Errorf("TypeOf gives %s, want %s", c.of, c.typ)
		}
		if got := fmt.Sprintln(c.typ, c.typ.CName(), c.typ.NumPy(), c.typ.Size(), c.typ.Integer()); got != c.row+"\n" {
			t.Errorf("%s has %q, want %q", c.typ, got, c.row)
		}
		for _, name := range []string{c.goName, c.numpy} {
			if got, err := ParseType(name); got != c.typ || err != nil {
				t.Errorf("%q is %s, %v", name, got, err)
			}
		}
		if got := ByType(c.typ, "a", "b", "c"); got != c.pick {
			t.Errorf("ByType chooses %q for %s", got, c.typ)
		}
	}
	for of, typ := range map[string]func() (Type, bool){
		"float32": Of[float32], "float64": Of[float64], "int32": Of[int32], "bool": Of[bool], "int8": Of[int8],
		"int16": Of[int16], "int64": Of[int64], "uint8": Of[named], "uint16": Of[uint16], "uint32": Of[uint32],
		"uint64": Of[uint64], "float16": Of[Float16], "bfloat16": Of[BFloat16],
		"complex64": Of[complex64], "complex128": Of[complex128],
	} {
		got, ok := typ()
		if !ok || got.String() != of {
			t.Errorf("%s is %s, %v", of, got, ok)
		}
		if again, err := ParseNumPy(got.NumPy()); of != "bfloat16" && (again != got || err != nil) {
			t.Errorf("%s is %s in NumPy, and that is %s, %v", of, got.NumPy(), again, err)
		}
		if got.Arithmetic() != slices.Contains(Types(), got) {
			t.Errorf("arithmetic in %s: %v", got, got.Arithmetic())
		}
	}
	if got, ok := Of[struct{ x int32 }](); ok {
		t.Errorf("a struct is %s", got)
	}
	if got, err := ParseNumPy(""); err == nil {
		t.Errorf("nothing is %s", got)
	}
	if got := Types(); !slices.Equal(got, []Type{Float32, Float64, Int32}) {
		t.Errorf("the types are %s", got)
	}
	const want = `unknown element type "f2": there are f4, f8 and i4`
	if _, err := ParseType("f2"); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
