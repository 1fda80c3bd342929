package linalg_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/linalg"
)

// A small matrix prints its elements, as gonum's Formatted does; %s the shape.
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
		{fmt.Sprint(linalg.NewMatrix(1, 2, []linalg.Float16{0x3c00, 0xc100})), "[1  -2.5]"},
		{fmt.Sprintf("%.1f", linalg.NewMatrix(1, 1, []linalg.BFloat16{0x3f80})), "[1.0]"},
		{fmt.Sprint(linalg.NewMatrix(2, 3, data).Slice(0, 2, 1, 2)), "⎡-2.5⎤\n⎣   3⎦"},
		{fmt.Sprintf("%s", m), "2x3 float64"},
		{fmt.Sprint(linalg.NewMatrix[float32](0, 4, nil)), "0x4 float32"},
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

// A large matrix is shortened, and so is an array, of which no more is copied than is printed.
func TestFormatShortens(t *testing.T) {
	m := linalg.NewMatrix[int32](1002, 7, nil)
	for i := range m.Data {
		m.Data[i] = int32(i)
	}
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := linalg.Upload(s, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rows, cols int // of the part
		want       string
	}{
		{1002, 7, `1002x7 int32
⎡   0     1     2  ...     4     5     6⎤
⎢   7     8     9  ...    11    12    13⎥
⎢  14    15    16  ...    18    19    20⎥
⎢ ...   ...   ...  ...   ...   ...   ...⎥
⎢6993  6994  6995  ...  6997  6998  6999⎥
⎢7000  7001  7002  ...  7004  7005  7006⎥
⎣7007  7008  7009  ...  7011  7012  7013⎦`},
		{1001, 1, "1001x1 int32\n⎡   0⎤\n⎢   7⎥\n⎢  14⎥\n⎢ ...⎥\n⎢6986⎥\n⎢6993⎥\n⎣7000⎦"},
		{3, 2, "⎡ 0   1⎤\n⎢ 7   8⎥\n⎣14  15⎦"},
	} {
		if got := fmt.Sprint(m.Slice(0, c.rows, 0, c.cols)); got != c.want {
			t.Errorf("a matrix:\n%s\nwant\n%s", got, c.want)
		}
		if got := fmt.Sprint(a.Slice(0, c.rows, 0, c.cols)); got != c.want {
			t.Errorf("an array:\n%s\nwant\n%s", got, c.want)
		}
	}
	if got, want := fmt.Sprint(linalg.NewMatrix[bool](1, 1001, nil)),
		"1x1001 bool\n[false  false  false  ...  false  false  false]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An array prints its elements when they are there, its shape for %s, and why it has none.
func TestFormatArray(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	m := linalg.NewMatrix(2, 2, []float64{1, -0.5, math.NaN(), math.Inf(1)})
	a, err := linalg.Upload(s, m)
	if err != nil {
		t.Fatal(err)
	}
	mask, err := linalg.Upload(s, linalg.NewMatrix(1, 2, []bool{true, false}))
	if err != nil {
		t.Fatal(err)
	}
	empty, err := linalg.NewArray[float32](s, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Add(a, a); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{fmt.Sprint(a), "⎡  2    -1⎤\n⎣NaN  +Inf⎦"},
		{fmt.Sprintf("%.3f", a), "⎡2.000  -1.000⎤\n⎣  NaN    +Inf⎦"},
		{fmt.Sprintf("%s", a), "2x2 float64 on " + s.Info().Name},
		{fmt.Sprint(mask), "[true  false]"},
		{fmt.Sprint(empty), "0x3 float32 on " + s.Info().Name},
		{fmt.Sprint((*linalg.Array[int32])(nil)), "<nil>"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%v", a), "%!v("+fmt.Sprintf("%s", a)+": "+a.CopyTo(m).Error()+")"; got != want {
		t.Errorf("after Close: %s, want %s", got, want)
	}
}
