package element

import (
	"fmt"
	"slices"
	"testing"
)

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
	if got := Types(); !slices.Equal(got, []Type{Float32, Float64, Int32}) {
		t.Errorf("the types are %s", got)
	}
	const want = `unknown element type "f2": there are f4, f8 and i4`
	if _, err := ParseType("f2"); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
