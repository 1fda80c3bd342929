package array

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

// A mapTester compares elementwise functions with what they are by definition: a function in Go.
type mapTester struct {
	*testing.T
	s      *linalg.Session
	random *rand.Rand
}

// numbers is n elements: special ones, and random ones of many sizes.
func numbers[T any](m *mapTester, n int) []T {
	x := make([]T, n)
	special := []float64{
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0.5, -0.5, 1.5, 2.5, 3e-310, -3e-310,
		1e-40, math.MaxFloat32, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Pi, 709.5, 88.5, -104,
		2e9, -2147483648,
	}
	for i := range x {
		f := math.Ldexp(m.random.Float64()*2-1, m.random.IntN(24)-8)
		if m.random.IntN(4) == 0 {
			f = special[m.random.IntN(len(special))]
		}
		switch p := any(&x[i]).(type) {
		case *float32:
			*p = float32(f)
		case *float64:
			*p = f
		case *int32:
			*p = int32(m.random.Uint32()) >> m.random.IntN(32)
			if m.random.IntN(16) == 0 {
				*p = math.MinInt32
			}
		case *bool:
			*p = m.random.IntN(2) == 0
		default: // a type that is only stored: any bits
			bits := unsafe.Slice((*byte)(unsafe.Pointer(&x[i])), unsafe.Sizeof(x[i]))
			for k := range bits {
				bits[k] = byte(m.random.Uint32())
			}
		}
	}
	return x
}

// A form is the shape of an operand of a 7x41 result.
type form int

const (
	whole form = iota
	strided
	row
	column
	single
)

// operand is an array of numbers of a form, and its elements as those of the result see them.
func operand[T any](m *mapTester, f form) (*Array[T], func(k int) T) {
	rows, cols := mapRows, mapCols
	if f == row || f == single {
		rows = 1
	}
	if f == column || f == single {
		cols = 1
	}
	x := numbers[T](m, rows*cols)
	a := upload(m.T, m.s, rows, cols, f != whole, x)
	return a, func(k int) T { return x[min(k/mapCols, rows-1)*cols+min(k%mapCols, cols-1)] }
}

const mapRows, mapCols = 7, 41

func results[Z any](want func(k int) Z) []Z {
	z := make([]Z, mapRows*mapCols)
	for k := range z {
		z[k] = want(k)
	}
	return z
}

func garbage[Z any](m *mapTester) Z { return numbers[Z](m, 1)[0] }

func map1[Z, X any](m *mapTester, name string, run func(*Array[Z], *Array[X]) error, f func(X) Z) {
	m.Helper()
	for _, form := range []form{whole, strided, row} {
		a, x := operand[X](m, form)
		c := newTarget(m.T, m.s, mapRows, mapCols, form != whole, garbage[Z](m))
		if err := run(c.Array, a); err != nil {
			m.Fatalf("%s: %v", name, err)
		}
		c.check(m.T, name, results(func(k int) Z { return f(x(k)) }))
	}
}

func map2[Z, X, Y any](m *mapTester, name string, run func(*Array[Z], *Array[X], *Array[Y]) error, f func(X, Y) Z) {
	m.Helper()
	for _, forms := range [][2]form{{whole, whole}, {strided, column}, {single, strided}} {
		a, x := operand[X](m, forms[0])
		b, y := operand[Y](m, forms[1])
		c := newTarget(m.T, m.s, mapRows, mapCols, forms[0] != whole, garbage[Z](m))
		if err := run(c.Array, a, b); err != nil {
			m.Fatalf("%s: %v", name, err)
		}
		c.check(m.T, name, results(func(k int) Z { return f(x(k), y(k)) }))
	}
}

func map3[Z, X, Y, V any](m *mapTester, name string, run func(*Array[Z], *Array[X], *Array[Y], *Array[V]) error,
	f func(X, Y, V) Z,
) {
	m.Helper()
	for _, forms := range [][3]form{{whole, whole, whole}, {strided, row, column}} {
		a, x := operand[X](m, forms[0])
		b, y := operand[Y](m, forms[1])
		d, v := operand[V](m, forms[2])
		c := newTarget(m.T, m.s, mapRows, mapCols, forms[0] != whole, garbage[Z](m))
		if err := run(c.Array, a, b, d); err != nil {
			m.Fatalf("%s: %v", name, err)
		}
		c.check(m.T, name, results(func(k int) Z { return f(x(k), y(k), v(k)) }))
	}
}

func elementMaps[T Element](m *mapTester) {
	type a = *Array[T]
	map2(m, "Add", Add[T, a, a], add[T])
	map2(m, "Sub", Sub[T, a, a], sub[T])
	map2(m, "Mul", Mul[T, a, a], mul[T])
	map3(m, "FMA", FMA[T, a, a, a], fma[T])
	map1(m, "Neg", Neg[T, a], neg[T])
	map1(m, "Abs", Abs[T, a], abs[T])
	map1(m, "Sign", Sign[T, a], sign[T])
	map2(m, "Minimum", Minimum[T, a, a], func(x, y T) T { return min(x, y) })
	map2(m, "Maximum", Maximum[T, a, a], func(x, y T) T { return max(x, y) })
	map3(m, "Clip", Clip[T, a, a, a], clip[T])
	map1(m, "Copy", Copy[T, a], same[T])
	whereMap[T](m)
	map2(m, "Less", Less[T, a], less[T])
	map2(m, "LessEqual", LessEqual[T, a], lessEqual[T])
	map2(m, "Equal", Equal[T, a], equals[T])
	map2(m, "NotEqual", NotEqual[T, a], notEqual[T])
	map2(m, "Greater", Greater[T, a], func(x, y T) bool { return x > y })
	map2(m, "GreaterEqual", GreaterEqual[T, a], func(x, y T) bool { return x >= y })
}

func whereMap[T Stored](m *mapTester) {
	map3(m, "Where", Where[T, *Array[bool], *Array[T], *Array[T]], func(x bool, y, z T) T {
		if x {
			return y
		}
		return z
	})
}

func floatMaps[T Float](m *mapTester) {
	type a = *Array[T]
	map2(m, "Div", Div[T, a, a], div[T])
	map2(m, "FMax", FMax[T, a, a], func(x, y T) T { return withoutNaNs(x, y, max(x, y)) })
	map2(m, "FMin", FMin[T, a, a], func(x, y T) T { return withoutNaNs(x, y, min(x, y)) })
	for _, tolerance := range []T{0, 0.5} {
		map2(m, "IsClose", func(c *Array[bool], a, b *Array[T]) error { return IsClose(c, a, b, tolerance, tolerance) },
			func(x, y T) bool { return near(x, y, tolerance, tolerance) })
	}
	map1(m, "Sqrt", Sqrt[T, a], sqrt[T])
	map1(m, "IsNaN", IsNaN[T], func(x T) bool { return math.IsNaN(float64(x)) })
	map1(m, "IsFinite", IsFinite[T], func(x T) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) })
	map1(m, "Relu", Relu[T, a], relu[T])
	map2(m, "LeakyRelu", LeakyRelu[T, a, a], leakyRelu[T])
	for _, f := range elementaryFunctions[T]() {
		map1(m, f.name, f.run, f.f)
	}
	map2(m, "Pow", Pow[T, a, a], pow[T])
	map2(m, "Atan2", Atan2[T, a, a], atan2[T])
	map2(m, "Hypot", Hypot[T, a, a], hypot[T])
	map2(m, "Mod", Mod[T, a, a], mod[T])
}

// withoutNaNs is most, which is of x and y, but for one beside NaN that one.
func withoutNaNs[T Float](x, y, most T) T {
	switch {
	case math.IsNaN(float64(x)):
		return y
	case math.IsNaN(float64(y)):
		return x
	}
	return most
}

type elementaryFunction[T Float] struct {
	name string
	run  func(*Array[T], *Array[T]) error
	f    func(T) T
}

func elementaryFunctions[T Float]() []elementaryFunction[T] {
	type a = *Array[T]
	return []elementaryFunction[T]{
		{"Exp", Exp[T, a], exp[T]}, {"Exp2", Exp2[T, a], exp2[T]}, {"Expm1", Expm1[T, a], expm1[T]},
		{"Log", Log[T, a], log[T]}, {"Log2", Log2[T, a], log2[T]}, {"Log10", Log10[T, a], log10[T]},
		{"Log1p", Log1p[T, a], log1p[T]}, {"Sin", Sin[T, a], sin[T]}, {"Cos", Cos[T, a], cos[T]},
		{"Tan", Tan[T, a], tan[T]}, {"SinPi", SinPi[T, a], sinPi[T]}, {"CosPi", CosPi[T, a], cosPi[T]},
		{"Asin", Asin[T, a], asin[T]}, {"Acos", Acos[T, a], acos[T]}, {"Atan", Atan[T, a], atan[T]},
		{"Sinh", Sinh[T, a], sinh[T]}, {"Cosh", Cosh[T, a], cosh[T]}, {"Tanh", Tanh[T, a], tanh[T]},
		{"Asinh", Asinh[T, a], asinh[T]}, {"Acosh", Acosh[T, a], acosh[T]}, {"Atanh", Atanh[T, a], atanh[T]},
		{"Cbrt", Cbrt[T, a], cbrt[T]}, {"Rsqrt", Rsqrt[T, a], rsqrt[T]}, {"Erf", Erf[T, a], erf[T]},
		{"Erfc", Erfc[T, a], erfc[T]}, {"Sigmoid", Sigmoid[T, a], sigmoid[T]}, {"Floor", Floor[T, a], floor[T]},
		{"Ceil", Ceil[T, a], ceil[T]}, {"Trunc", Trunc[T, a], trunc[T]}, {"Round", Round[T, a], round[T]},
		{"RoundToEven", RoundToEven[T, a], roundToEven[T]}, {"Softplus", Softplus[T, a], softplus[T]},
		{"Silu", Silu[T, a], silu[T]}, {"Gelu", Gelu[T, a], gelu[T]},
	}
}

func otherMaps(m *mapTester) {
	type a = *Array[int32]
	map2(m, "Quo", Quo[a, a], quo)
	map2(m, "Rem", Rem[a, a], rem)
	map2(m, "BitAnd", BitAnd[a, a], bitAnd)
	map2(m, "BitOr", BitOr[a, a], bitOr)
	map2(m, "BitXor", BitXor[a, a], bitXor)
	map2(m, "ShiftLeft", ShiftLeft[a, a], shiftLeft)
	map2(m, "ShiftRight", ShiftRight[a, a], shiftRight)
	type b = *Array[bool]
	map2(m, "And", And[b, b], and)
	map2(m, "Or", Or[b, b], or)
	map2(m, "Xor", Xor[b, b], notEqual[bool])
	map2(m, "Equal", Equal[bool, b], equals[bool])
	map2(m, "NotEqual", NotEqual[bool, b], notEqual[bool])
	map1(m, "Not", Not[b], func(x bool) bool { return !x })
	map1(m, "Copy", Copy[bool, b], same[bool])
	whereMap[bool](m)
	whereMap[Float16](m)
	whereMap[BFloat16](m)
	whereMap[int8](m)
	whereMap[int16](m)
	whereMap[int64](m)
	whereMap[uint8](m)
	whereMap[uint16](m)
	whereMap[uint32](m)
	whereMap[uint64](m)
	map1(m, "Convert", Convert[float32, float64], func(x float64) float32 { return float32(x) })
	map1(m, "Convert", Convert[float64, float32], func(x float32) float64 { return float64(x) })
	map1(m, "Convert", Convert[int32, float32], converted[int32, float32])
	map1(m, "Convert", Convert[uint8, bool], converted[uint8, bool])
	map1(m, "Convert", Convert[Float16, int32], converted[Float16, int32])
}

func TestMaps(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		m := &mapTester{t, s, rand.New(rand.NewPCG(28, 2))}
		elementMaps[float32](m)
		elementMaps[float64](m)
		elementMaps[int32](m)
		floatMaps[float32](m)
		floatMaps[float64](m)
		otherMaps(m)
	})
}

// Numbers, host memory, and results in place of operands.
func TestMapOperands(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		x := []float32{1, 2, 3, 4, 5, 6}
		a := upload(t, s, 2, 3, true, x)
		steps := []func() error{
			func() error { return Mul(a, a, Value[float32](2)) },                       // 2 4 6 8 10 12
			func() error { return Sub(a, Value[float32](1), a) },                       // -1 -3 -5 -7 -9 -11
			func() error { return Add(a, a, []float32{100, 200, 300}) },                // a row
			func() error { return Div(a, a, linalg.NewMatrix(2, 1, []float32{1, 2})) }, // a column
		}
		for _, step := range steps {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "in place", a, []float32{99, 197, 295, 46.5, 95.5, 144.5})
		host := make([]bool, 6)
		if err := launchLess[float32](s, linalg.NewMatrix(2, 3, host), a, Value[float32](98)); err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{false, false, false, true, true, false} {
			if host[i] != want {
				t.Errorf("element %d of the mask is %v", i, host[i])
			}
		}
		c := upload(t, s, 3, 4, true, make([]float64, 12))
		if err := Range(c, 1, 0.5); err != nil {
			t.Fatal(err)
		}
		equal(t, "Range", c, []float64{1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5})
		if err := Fill(c.Slice(0, 3, 0, 2), -1); err != nil {
			t.Fatal(err)
		}
		equal(t, "Fill", c, []float64{-1, -1, 2, 2.5, -1, -1, 4, 4.5, -1, -1, 6, 6.5})
		none := upload(t, s, 0, 3, false, []float32{})
		if err := Add(none, none, Value[float32](1)); err != nil {
			t.Errorf("of nothing: %v", err)
		}
	})
}

// Packed results, which are one long row where all operands allow it.
func TestMapPacked(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		row, col := upload(t, s, 1, 3, false, []float64{1, 2, 3}), upload(t, s, 2, 1, false, []float64{10, 20})
		one := col.Slice(1, 2, 0, 1)
		a := upload(t, s, 2, 3, false, []float64{1, 2, 3, 4, 5, 6})
		for _, step := range []struct {
			f    func() error
			want []float64
		}{
			{func() error { return Add(a, a, row) }, []float64{2, 4, 6, 5, 7, 9}},
			{func() error { return Add(a, col, a) }, []float64{12, 14, 16, 25, 27, 29}},
			{func() error { return Add(a, a, one) }, []float64{32, 34, 36, 45, 47, 49}},
			{func() error { return Sub(a, a, a) }, make([]float64, 6)},
			{func() error { return Copy[float64](a, one) }, []float64{20, 20, 20, 20, 20, 20}},
		} {
			if err := step.f(); err != nil {
				t.Fatal(err)
			}
			equal(t, "packed", a, step.want)
		}
		long := upload(t, s, 40, 1, false, make([]float64, 40))
		want := slices.Repeat([]float64{20}, 40)
		if err := Add(long, long, one); err != nil {
			t.Fatal(err)
		}
		equal(t, "a column", long, want)
	})
}

// What a map refuses, without writing anything.
func TestMapErrors(t *testing.T) {
	s, other := openCPU(t), openCPU(t)
	x := []float32{1, 2, 3, 4, 5, 6}
	a, b := upload(t, s, 2, 3, false, x), upload(t, s, 3, 2, false, x)
	var none *Array[float32]
	for name, c := range map[string]struct {
		err  error
		want error
		text string
	}{
		"shape": {
			Add(a, a, b), linalg.ErrShape, "array.add: input 2: linalg: shape: it is 3x2 and the result 2x3; an",
		},
		"nothing repeats": {Add(a, a, upload(t, s, 1, 0, false, []float32{})), linalg.ErrShape, "1x0"},
		"overlap": {
			Add(a.Slice(0, 2, 0, 2), a.Slice(0, 2, 1, 3), Value[float32](1)), linalg.ErrOverlap, "array.add: input 1",
		},
		"a row of itself": {Add(a, a.Slice(0, 1, 0, 3), a), linalg.ErrOverlap, "input 1"},
		"session":         {Add(a, upload(t, other, 2, 3, false, x), a), backend.ErrArgument, "another session"},
		"nil operand":     {Add(a, a, none), backend.ErrArgument, "array.add: input 2"},
		"nil result":      {Add(none, a, a), backend.ErrArgument, "array.add: launch: kernel add_float32"},
		"short host memory": {
			Add(a, a, linalg.Matrix[float32]{Rows: 2, Cols: 3, Stride: 3, Data: x[:5]}), linalg.ErrShape, "input 2",
		},
	} {
		if !errors.Is(c.err, c.want) || !contains(c.err, c.text) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	equal(t, "after errors", a, x)
}

func openCPU(t *testing.T) *linalg.Session {
	t.Helper()
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// The rows of all operations compute what the functions do: at once, on two devices, and of files.
func TestOperations(t *testing.T) {
	s := openCPU(t)
	two, err := linalg.Open("cpu+opencl")
	if err != nil {
		backendtest.Require(t, "opencl", err)
		return
	}
	defer two.Close()
	m := &mapTester{t, s, rand.New(rand.NewPCG(28, 3))}
	a, b := linalg.NewMatrix(40, 30, numbers[float32](m, 1200)), linalg.NewMatrix(40, 30, numbers[float32](m, 1200))
	for _, op := range Operations() {
		in := []linalg.Matrix[float32]{a, b}[:op.Inputs]
		c := upload(t, s, 40, 30, true, a.Data)
		second := []*Array[float32]{c, upload(t, s, 40, 30, false, b.Data)}[:op.Inputs]
		if err := c.Elementwise(op, 3, second...); err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		want, err := c.Download()
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*linalg.Session{"one device": s, "two": two} {
			got, err := linalg.Elementwise(op, 3, in, linalg.On(s), linalg.WithContext(t.Context()))
			if err != nil || !sameBits(got.Data, want.Data) {
				t.Errorf("%s of matrices on %s: %v", op.Name, name, err)
			}
		}
	}
	_, err = linalg.Elementwise(Elementary("Exp"), 0, []linalg.Matrix[int32]{linalg.NewMatrix[int32](1, 1, nil)},
		linalg.On(s), linalg.WithContext(t.Context()))
	if !errors.Is(err, backend.ErrUnsupported) || !contains(err, "exp of int32") {
		t.Errorf("exp of int32: %v", err)
	}
}

func sameBits[T any](x, y []T) bool {
	for i := range x {
		if bitsOf(x[i]) != bitsOf(y[i]) {
			return false
		}
	}
	return len(x) == len(y)
}
