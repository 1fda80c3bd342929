package linalg_test

import (
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/linalg"
)

// A small matrix prints its elements, as gonum's Formatted does; %s and larger ones the shape.
func TestFormat(t *testing.T) {
	data := []float64{1, -2.5, 1e10, 0.125, 3, 4}
	m := linalg.NewMatrix(2, 3, data)
	for _, verb := range []string{"%v", "%.3f", "%g", "%10.2e"} {
		want := fmt.Sprintf(verb, mat.Formatted(mat.NewDense(2, 3, data), mat.Squeeze()))
		if got := fmt.Sprintf(verb, m); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", verb, got, want)
		}
	}
	for _, c := range []struct{ got, want string }{
		{fmt.Sprint(linalg.NewMatrix(1, 2, []float32{0.1, 2})), "[0.1  2]"},
		{fmt.Sprint(linalg.NewMatrix(3, 1, []int32{1, -20, 3})), "⎡  1⎤\n⎢-20⎥\n⎣  3⎦"},
		{fmt.Sprint(linalg.NewMatrix(2, 3, data).Slice(0, 2, 1, 2)), "⎡-2.5⎤\n⎣   3⎦"},
		{fmt.Sprintf("%s", m), m.String()},
		{fmt.Sprint(linalg.NewMatrix[float32](40, 40, nil)), linalg.NewMatrix[float32](40, 40, nil).String()},
		{fmt.Sprint(linalg.NewMatrix[float32](0, 4, nil)), linalg.NewMatrix[float32](0, 4, nil).String()},
		{fmt.Sprint(linalg.Matrix[float32]{Rows: 2, Cols: 2, Stride: 2}), "2x2 float32"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if s := fmt.Sprint(m); strings.Contains(s, "%!") {
		t.Error(s)
	}
}
