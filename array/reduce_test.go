package array

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/linalg"
)

// summands makes n numbers of a kind: what blocks take at once, and what they do not.
func summands[T Float](r *rand.Rand, kind, n int) []T {
	x := make([]T, n)
	least, top, precision := -1074, 1023, 53
	if _, ok := any(x).([]float32); ok {
		least, top, precision = -149, 127, 24
	}
	spread := r.IntN(2) * (least + 76)
	odd := []float64{0, math.Copysign(0, -1), math.Inf(-1), math.Inf(1), math.Copysign(math.NaN(), -1), math.NaN()}
	odd = odd[r.IntN(5):]
	odd = odd[:1+r.IntN(len(odd))]
	for i := range x {
		switch kind {
		case 0: // all of one sort
			x[i] = T(r.NormFloat64())
		case 1: // of any size
			x[i] = T(math.Ldexp(r.Float64()-0.5, least+r.IntN(top-least+1)))
		case 2: // zeros among few bits, which cancel
			x[i] = T(r.IntN(5)-2) * T(math.Ldexp(1, r.IntN(40)-20))
		case 3: // subnormal
			x[i] = T(math.Ldexp(float64(r.IntN(9)-4), least+r.IntN(3)))
		case 4: // sums that overflow on the way
			x[i] = T(math.Ldexp(1-2*r.Float64(), top+r.IntN(2)))
		case 5: // all the same
			x[i] = T(1.5)
		case 6: // growing, so that the guess for a block fails
			x[i] = T(math.Ldexp(1+r.Float64(), i*(top/2)/n))
		case 7: // what is no number
			x[i] = T(r.NormFloat64())
			switch r.IntN(n + 5) {
			case 0:
				x[i] = T(math.Inf(1))
			case 1:
				x[i] = T(math.Inf(-1))
			case 2:
				x[i] = T(math.Float64frombits(1<<64 - 1)) // NaN, the largest bits
			}
		case 8: // half of them 0
			x[i] = T(max(0, r.NormFloat64()))
		case 9: // exponents that differ by some 70, half of them of numbers just below a power of two
			x[i] = T(math.Ldexp(1-2*r.Float64(), spread-r.IntN(74)))
			if i%2 == 1 {
				x[i] = T(math.Ldexp(1-math.Ldexp(1, -precision), spread-r.IntN(74)))
			}
		case 10: // zeros, and what is no number, of both signs
			x[i] = T(odd[r.IntN(len(odd))])
		}
	}
	return x
}

const kindsOfNumbers = 11

// over calls f with the elements that make each element of a result of rows by cols.
func over[T, R any](x []T, xr, xc, rows, cols int, f func([]T) R) []R {
	var out []R
	switch {
	case rows*cols == 1:
		return []R{f(x)}
	case cols == 1:
		for i := range rows {
			out = append(out, f(x[i*xc:(i+1)*xc]))
		}
	default:
		for j := range cols {
			var column []T
			for i := range xr {
				column = append(column, x[i*xc+j])
			}
			out = append(out, f(column))
		}
	}
	return out
}

func rounded[T Float](a *exact.Acc) T {
	if _, ok := any(T(0)).(float32); ok {
		return T(a.Float32())
	}
	return T(a.Float64())
}

func magnitudes[T Float](x []T) T {
	var a exact.Acc
	for _, v := range x {
		a.Add(math.Abs(float64(v)))
	}
	return rounded[T](&a)
}

// eachReduction calls f with kinds of numbers and shapes of matrices, with few for the simulator.
func eachReduction(s *linalg.Session, f func(kind, rows, cols int)) {
	shapes := [][2]int{{1, 1}, {1, 5}, {7, 1}, {3, 40}, {40, 3}, {2, 5000}, {4500, 2}, {70, 33}, {700, 5}}
	if s.Info().Driver == "cudasim" {
		shapes = [][2]int{{3, 40}, {70, 2}}
	}
	for _, shape := range shapes {
		for kind := range kindsOfNumbers {
			if s.Info().Driver == "cudasim" && kind != 0 && kind != 2 && kind != 7 && kind < 9 {
				continue
			}
			f(kind, shape[0], shape[1])
		}
	}
}

// Sums have the bits of package exact over all, rows and columns, of packed arrays and slices.
func TestSums(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testSums[float32](t, s)
		testSums[float64](t, s)
	})
}

func testSums[T Float](t *testing.T, s *linalg.Session) {
	r := rand.New(rand.NewPCG(1, 2))
	eachReduction(s, func(kind, rows, cols int) {
		x := summands[T](r, kind, rows*cols)
		strided := r.IntN(2) == 0
		a := upload(t, s, rows, cols, strided, x)
		for _, to := range [][2]int{{1, 1}, {1, cols}, {rows, 1}} {
			what := fmt.Sprintf("kind %d of %dx%d", kind, rows, cols)
			c := newTarget(t, s, to[0], to[1], strided, T(7))
			if err := Sum(c.Array, a); err != nil {
				t.Fatal(err)
			}
			c.check(t, "sum of "+what, over(x, rows, cols, to[0], to[1], exact.Sum[T]))
			c = newTarget(t, s, to[0], to[1], strided, T(7))
			if err := Norm(c.Array, a, 1); err != nil {
				t.Fatal(err)
			}
			c.check(t, "norm 1 of "+what, over(x, rows, cols, to[0], to[1], magnitudes[T]))
		}
		y := summands[T](r, r.IntN(kindsOfNumbers), rows*cols)
		b := upload(t, s, rows, cols, !strided, y)
		got, err := Dot(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if want := exact.Dot(x, y); bitsOf(got) != bitsOf(want) {
			t.Errorf("Dot of kind %d of %dx%d: %v, want %v", kind, rows, cols, got, want)
		}
	})
}

// Parts of sums whose magnitudes differ, from part to part or within one, have the bits of package
// exact, in wide arrays and in narrow ones.
func TestSumsOfParts(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testSumsOfParts[float32](t, s, 30, []int{-148, -140, -126, 0, 60, 110})
		testSumsOfParts[float64](t, s, 300, []int{-1073, -1065, -1022, 0, 500, 990})
	})
}

// testSumsOfParts has magnitudes that go far from those around, and parts at the ends of the range.
func testSumsOfParts[T Float](t *testing.T, s *linalg.Session, far int, ends []int) {
	r := rand.New(rand.NewPCG(5, 6))
	shapes := [][2]int{{9000, 1}, {2, 9001}, {70, 70}, {7001, 3}, {1, 30000}}
	if s.Info().Driver == "cudasim" {
		shapes = shapes[:3]
	}
	for _, d := range shapes {
		for kind := range 5 {
			rows, cols := d[0], d[1]
			x := make([]T, rows*cols)
			e := 0
			for i := range x {
				switch {
				case kind == 4 && r.IntN(1500) == 0:
					e = ends[r.IntN(len(ends))]
				case kind > 0 && kind < 4 && r.IntN(2000) == 0:
					e = r.IntN(20) // of those that follow
				}
				x[i] = T(math.Ldexp(r.Float64()-0.25, e))
				if (kind == 2 || kind == 3) && r.IntN(3000) == 0 { // below what fits, or above
					x[i] = T(math.Ldexp(float64(x[i]), (2-r.IntN(4))*far/2))
				}
			}
			if kind == 3 && r.IntN(2) == 0 {
				x[r.IntN(len(x))] = T(math.Inf(-1))
			}
			a := upload(t, s, rows, cols, true, x)
			for _, to := range [][2]int{{1, 1}, {1, cols}, {rows, 1}} {
				c := newTarget(t, s, to[0], to[1], true, T(7))
				if err := Sum(c.Array, a); err != nil {
					t.Fatal(err)
				}
				c.check(t, fmt.Sprintf("sum of kind %d of %dx%d", kind, rows, cols),
					over(x, rows, cols, to[0], to[1], exact.Sum[T]))
			}
			got, err := Dot(a, a)
			if err != nil {
				t.Fatal(err)
			}
			if want := exact.Dot(x, x); bitsOf(got) != bitsOf(want) {
				t.Errorf("Dot of kind %d of %dx%d: %v, want %v", kind, rows, cols, got, want)
			}
		}
	}
}

// Sums whose rounding hangs on what is far below, or on what remains when all above cancels, have
// the bits of package exact, in rows and in columns.
func TestHardSums(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testHardSums[float32](t, s, 24, 120)
		testHardSums[float64](t, s, 53, 1000)
	})
}

func testHardSums[T Float](t *testing.T, s *linalg.Session, precision, far int) {
	const rows, cols = 40, 9
	r := rand.New(rand.NewPCG(3, 4))
	x, transposed := make([]T, rows*cols), make([]T, rows*cols)
	power := func(e int) T { return T(math.Ldexp(float64(1-2*r.IntN(2)), e)) }
	for i := range rows {
		big := power(r.IntN(far / 2))
		row := []T{big, -big, power(0), power(-precision), power(-r.IntN(far)), power(-far), big, -big, power(-1)}
		if i%3 == 0 { // a tie, but for what is far below, and may cancel
			row = []T{1, T(r.IntN(4)) * power(1-precision), power(-precision), 0, 0, power(-far), power(-far), 0, 0}
		}
		for j, k := range r.Perm(cols) {
			x[i*cols+j], transposed[j*rows+i] = row[k], row[k]
		}
	}
	want := over(x, rows, cols, rows, 1, exact.Sum[T])
	across, down := newTarget(t, s, rows, 1, false, T(7)), newTarget(t, s, 1, rows, false, T(7))
	if err := Sum(across.Array, upload(t, s, rows, cols, false, x)); err != nil {
		t.Fatal(err)
	}
	across.check(t, "rows", want)
	if err := Sum(down.Array, upload(t, s, cols, rows, true, transposed)); err != nil {
		t.Fatal(err)
	}
	down.check(t, "columns", want)
}

// quotient is what math/big makes of an exact sum: it over n, or the root of that.
func quotient[T Float](sum *big.Rat, n int, root bool) T {
	if n <= 0 {
		return T(math.NaN())
	}
	sum.Quo(sum, new(big.Rat).SetInt64(int64(n)))
	f := new(big.Float).SetPrec(5000).SetRat(sum)
	if root {
		f.Sqrt(f)
	}
	if _, ok := any(T(0)).(float32); ok {
		v, _ := f.Float32()
		return T(v)
	}
	v, _ := f.Float64()
	return T(v)
}

func ratOf[T Float](x T) *big.Rat { return new(big.Rat).SetFloat64(float64(x)) }

func mean[T Float](x []T) T {
	sum := new(big.Rat)
	for _, v := range x {
		sum.Add(sum, ratOf(v))
	}
	return quotient[T](sum, len(x), false)
}

// squared is the exact sum of the squares of x - shift over n, or its root.
func squared[T Float](x []T, shift T, n int, root bool) T {
	sum := new(big.Rat)
	for _, v := range x {
		d := ratOf(v - shift)
		sum.Add(sum, d.Mul(d, d))
	}
	return quotient[T](sum, n, root)
}

// Means, variances, deviations and norms have the bits of math/big, rounded once.
func TestStatistics(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testStatistics[float32](t, s)
		testStatistics[float64](t, s)
	})
}

func testStatistics[T Float](t *testing.T, s *linalg.Session) {
	r := rand.New(rand.NewPCG(3, 4))
	eachReduction(s, func(kind, rows, cols int) {
		if kind == 4 || kind == 7 || kind == 10 || rows*cols > 1000 { // d overflows, or is no number
			return
		}
		x := summands[T](r, kind, rows*cols)
		strided := r.IntN(2) == 0
		a := upload(t, s, rows, cols, strided, x)
		for _, to := range [][2]int{{1, 1}, {1, cols}, {rows, 1}} {
			what := fmt.Sprintf("of kind %d of %dx%d", kind, rows, cols)
			for _, c := range []struct {
				name string
				f    func(c *linalg.Array[T]) error
				want func(x []T) T
			}{
				{"mean", func(c *linalg.Array[T]) error { return Mean(c, a) }, mean[T]},
				{"variance", func(c *linalg.Array[T]) error { return Var(c, a, 1) }, func(x []T) T {
					return squared(x, mean(x), len(x)-1, false)
				}},
				{"deviation", func(c *linalg.Array[T]) error { return Std(c, a, 0) }, func(x []T) T {
					return squared(x, mean(x), len(x), true)
				}},
				{"norm 2", func(c *linalg.Array[T]) error { return Norm(c, a, 2) }, func(x []T) T {
					return squared(x, 0, 1, true)
				}},
			} {
				to := newTarget(t, s, to[0], to[1], strided, T(7))
				if err := c.f(to.Array); err != nil {
					t.Fatal(err)
				}
				rr, cc := to.Dims()
				to.check(t, c.name+" "+what, over(x, rows, cols, rr, cc, c.want))
			}
		}
	})
}

// A sum in many parts, whose guesses fail here and there, or in one part and not in another, has
// the bits of package exact.
func TestLongSums(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if s.Info().Driver == "cudasim" {
			t.Skip("seconds of simulation")
		}
		testLongSums[float32](t, s)
		testLongSums[float64](t, s)
	})
}

func testLongSums[T Float](t *testing.T, s *linalg.Session) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, kind := range []int{0, 1, 4, 6, 7, 9} {
		x := summands[T](r, kind, 300000)
		a := upload(t, s, 3, 100000, kind == 6, x)
		got, err := Total(a)
		if want := exact.Sum(x); err != nil || bitsOf(got) != bitsOf(want) {
			t.Errorf("kind %d of %T: %v, %v, want %v", kind, want, got, err, want)
		}
		got, err = Dot(a, a)
		if want := exact.Dot(x, x); err != nil || bitsOf(got) != bitsOf(want) {
			t.Errorf("dot of kind %d of %T: %v, %v, want %v", kind, want, got, err, want)
		}
	}
}

// A sum of a tall matrix with gaps, whose rows are too many to be added up at once, has the bits of
// package exact.
func TestTallSums(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if s.Info().Driver == "cudasim" {
			t.Skip("seconds of simulation")
		}
		testTallSums[float32](t, s)
		testTallSums[float64](t, s)
	})
}

func testTallSums[T Float](t *testing.T, s *linalg.Session) {
	const rows, cols = 32000, 1
	r := rand.New(rand.NewPCG(25, 26))
	x, y := summands[T](r, 9, rows*cols), summands[T](r, 1, rows*cols)
	a, b := upload(t, s, rows, cols, true, x), upload(t, s, rows, cols, true, y)
	got, err := Total(b)
	if want := exact.Sum(y); err != nil || bitsOf(got) != bitsOf(want) {
		t.Errorf("the total of %T: %v, %v, want %v", want, got, err, want)
	}
	got, err = Dot(a, b)
	if want := exact.Dot(x, y); err != nil || bitsOf(got) != bitsOf(want) {
		t.Errorf("Dot of %T: %v, %v, want %v", want, got, err, want)
	}
	c := newTarget(t, s, 1, 1, false, T(7))
	try(t, Var(c.Array, a, 1))
	c.check(t, "Var", []T{squared(x, mean(x), rows-1, false)})
}

// Reductions of nothing, and what is refused.
func TestReduceErrors(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	nothing := upload(t, s, 0, 3, false, []float64{})
	c := newTarget(t, s, 1, 3, false, 7.0)
	if err := Sum(c.Array, nothing); err != nil {
		t.Fatal(err)
	}
	c.check(t, "the sum of nothing", []float64{0, 0, 0})
	if err := Mean(c.Array, nothing); err != nil {
		t.Fatal(err)
	}
	c.check(t, "the mean of nothing", []float64{math.NaN(), math.NaN(), math.NaN()})
	if got, err := Total(nothing); got != 0 || err != nil {
		t.Errorf("the total of nothing: %v, %v", got, err)
	}

	a := upload(t, s, 2, 3, false, []float64{1, 2, 3, 4, 5, 6})
	for _, c := range []struct {
		err  error
		want error
		text string
	}{
		{Sum(upload(t, s, 1, 2, false, []float64{0, 0}), a), linalg.ErrShape, "1x3 (over the rows) or 2x1"},
		{Sum(a.Slice(0, 1, 0, 3), a), linalg.ErrOverlap, "Sum"},
		{Sum(nil, a), backend.ErrArgument, "the destination is nil"},
		{Mean(c.Array, nil), backend.ErrArgument, "the operand is nil"},
		{Norm(c.Array, a, 3), backend.ErrArgument, "kind 3"},
		{Max(c.Array, nothing), linalg.ErrShape, "Max of 0x3"},
		{ArgMin(newTarget(t, s, 1, 3, false, int32(7)).Array, nothing), linalg.ErrShape, "no elements"},
		{Var(c.Array, a, -1), backend.ErrArgument, "ddof"},
		{CumSum(nil, a), backend.ErrArgument, "CumSum: c is nil"},
		{CumSum(c.Array, a), linalg.ErrShape, "CumSum: a is 2x3 float64"},
		{CumSum(a.Slice(0, 2, 0, 2), a.Slice(0, 2, 1, 3)), linalg.ErrOverlap, "CumSum: c and a"},
	} {
		if !errors.Is(c.err, c.want) || !contains(c.err, c.text) {
			t.Errorf("%v, want %v with %q", c.err, c.want, c.text)
		}
	}
	c.check(t, "after what is refused", []float64{math.NaN(), math.NaN(), math.NaN()})
}

// foldOf is f over x, from its first element.
func foldOf[T any](x []T, f func(a, b T) T) T {
	s := x[0]
	for _, v := range x[1:] {
		s = f(s, v)
	}
	return s
}

// first is the first index in x of what f leaves of it.
func first[T Element](x []T, f func(a, b T) T) int32 {
	want := bitsOf(foldOf(x, f))
	return int32(slices.IndexFunc(x, func(v T) bool { return bitsOf(v) == want }))
}

// Maxima, minima and their first indices are those of Go; so are norms, totals and counts.
func TestFolds(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		r := rand.New(rand.NewPCG(7, 8))
		eachReduction(s, func(kind, rows, cols int) {
			if s.Info().Driver == "opencl" && kind != 0 && kind != 10 {
				return // its launches take a millisecond
			}
			testFolds(t, s, rows, cols, summands[float32](r, kind, rows*cols))
			testFolds(t, s, rows, cols, summands[float64](r, kind, rows*cols))
			ints, mask := make([]int32, rows*cols), make([]bool, rows*cols)
			for i := range ints {
				ints[i] = int32(r.Uint32()) >> (4 * kind)
				if kind >= 9 { // all are the smallest, or the largest
					ints[i] = math.MinInt32 + int32(9-kind)
				}
				mask[i] = r.IntN(2+kind*kind) != 0
			}
			testFolds(t, s, rows, cols, ints)
			reduction(t, s, rows, cols, ints, "total", Sum, func(x []int32) int32 {
				return foldOf(x, func(a, b int32) int32 { return a + b })
			})
			n := func(x []bool) (n int32) {
				for _, v := range x {
					if v {
						n++
					}
				}
				return n
			}
			reduction(t, s, rows, cols, mask, "count", Count, n)
			reduction(t, s, rows, cols, mask, "any", Any, func(x []bool) bool { return n(x) > 0 })
			reduction(t, s, rows, cols, mask, "all", All, func(x []bool) bool { return int(n(x)) == len(x) })
		})
	})
}

func testFolds[T Element](t *testing.T, s *linalg.Session, rows, cols int, x []T) {
	most, least := func(a, b T) T { return max(a, b) }, func(a, b T) T { return min(a, b) }
	reduction(t, s, rows, cols, x, "max", Max, func(x []T) T { return foldOf(x, most) })
	reduction(t, s, rows, cols, x, "min", Min, func(x []T) T { return foldOf(x, least) })
	reduction(t, s, rows, cols, x, "argmax", ArgMax[T], func(x []T) int32 { return first(x, most) })
	reduction(t, s, rows, cols, x, "argmin", ArgMin[T], func(x []T) int32 { return first(x, least) })
	switch x := any(x).(type) {
	case []float32:
		testLargest(t, s, rows, cols, x)
	case []float64:
		testLargest(t, s, rows, cols, x)
	}
}

func testLargest[T Float](t *testing.T, s *linalg.Session, rows, cols int, x []T) {
	norm := func(c, a *linalg.Array[T]) error { return Norm(c, a, math.Inf(1)) }
	reduction(t, s, rows, cols, x, "norm inf", norm, func(x []T) T {
		return foldOf(append([]T{0}, x...), func(a, b T) T { return max(a, b, -b) })
	})
}

// reduction tries a reduction over all, rows and columns.
func reduction[T, R any](t *testing.T, s *linalg.Session, rows, cols int, x []T, what string,
	f func(c *linalg.Array[R], a *linalg.Array[T]) error, want func(x []T) R,
) {
	t.Helper()
	strided := rows%2 == 0
	a := upload(t, s, rows, cols, strided, x)
	for _, to := range [][2]int{{1, 1}, {1, cols}, {rows, 1}} {
		c := newTarget(t, s, to[0], to[1], strided, *new(R))
		if err := f(c.Array, a); err != nil {
			t.Fatal(err)
		}
		c.check(t, fmt.Sprintf("%s of %s", what, a), over(x, rows, cols, to[0], to[1], want))
	}
}

// prefixes is the sum of every beginning of x.
func prefixes[T Element](x []T) []T {
	out := make([]T, len(x))
	switch x := any(x).(type) {
	case []int32:
		s := int32(0)
		for i, v := range x {
			s += v
			out[i] = any(s).(T)
		}
	case []float32:
		exactPrefixes(x, any(out).([]float32))
	case []float64:
		exactPrefixes(x, any(out).([]float64))
	}
	return out
}

func exactPrefixes[T Float](x, out []T) {
	var a exact.Acc
	for i, v := range x {
		a.Add(float64(v))
		out[i] = rounded[T](&a)
	}
}

// CumSum has the bits of package exact at every element, in short rows and in rows of many blocks,
// in place and elsewhere.
func TestCumSum(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		r := rand.New(rand.NewPCG(7, 8))
		testCumSum(t, s, func(kind, n int) []float32 { return summands[float32](r, kind, n) }, 7)
		testCumSum(t, s, func(kind, n int) []float64 { return summands[float64](r, kind, n) }, 7)
		testCumSum(t, s, func(_, n int) []int32 { return some[int32](r, n) }, 7)
	})
}

func testCumSum[T Element](t *testing.T, s *linalg.Session, elements func(kind, n int) []T, guard T) {
	shapes := [][2]int{{1, 1}, {0, 3}, {3, 0}, {3, 40}, {50, 3}, {2, 2500}}
	for kind := range kindsOfNumbers {
		if s.Info().Driver == "cudasim" {
			shapes = [][2]int{{3, 9}, {1, 2100}}
			if _, ok := any(guard).(int32); ok && kind == 0 {
				shapes = append(shapes, [2]int{1, 33000}) // many blocks for Offsets
			}
			if kind != 0 && kind != 1 && kind != 7 {
				continue
			}
		}
		for i, shape := range shapes {
			rows, cols := shape[0], shape[1]
			x := elements(kind, rows*cols)
			var want []T
			for j := range rows {
				want = append(want, prefixes(x[j*cols:(j+1)*cols])...)
			}
			a := upload(t, s, rows, cols, i%2 == 0, x)
			c := newTarget(t, s, rows, cols, i%2 != 0, guard)
			try(t, CumSum(c.Array, a))
			c.check(t, fmt.Sprintf("CumSum of kind %d", kind), want)
			try(t, CumSum(a, a))
			equal(t, fmt.Sprintf("CumSum of kind %d in place", kind), a, want)
		}
	}
}

// What is before each block of a row is the same by a group of any size.
func TestOffsets(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		r := rand.New(rand.NewPCG(11, 12))
		const rows, words = 3, 2
		for _, blocks := range []int{1, 5, 70, 700} {
			x := make([]int64, (words+1)*rows*blocks) // words of each row, and marks
			want := make([]int64, len(x))
			for i := range x {
				if x[i] = r.Int64(); i >= words*rows*blocks {
					x[i] = 1 << r.IntN(4) >> 1
				}
				switch {
				case i%blocks == 0:
				case i < words*rows*blocks:
					want[i] = want[i-1] + x[i-1]
				default:
					want[i] = want[i-1] | x[i-1]
				}
			}
			for _, lanes := range []int{1, 7, 64} {
				a := upload(t, s, 1, len(x), true, x)
				try(t, sums.LaunchOffsets(s, backend.Grid2(4, 1, lanes, 1), a, rows, blocks, words))
				equal(t, fmt.Sprintf("%d blocks by %d", blocks, lanes), a, want)
			}
		}
	})
}

// AddRows has the bits of package exact, whatever rows are there how often.
func TestAddRows(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		r := rand.New(rand.NewPCG(9, 10))
		testAddRows(t, s, func(kind, n int) []float32 { return summands[float32](r, kind, n) })
		testAddRows(t, s, func(kind, n int) []float64 { return summands[float64](r, kind, n) })
		testAddRows(t, s, func(_, n int) []int32 { return some[int32](r, n) })
	})
}

func testAddRows[T Element](t *testing.T, s *linalg.Session, elements func(kind, n int) []T) {
	r := rand.New(rand.NewPCG(11, 12))
	for kind := range kindsOfNumbers {
		if s.Info().Driver == "cudasim" && kind != 0 && kind != 1 && kind != 7 {
			continue
		}
		for _, shape := range [][3]int{{1, 1, 1}, {5, 70, 3}, {3, 0, 2}, {4, 2, 0}, {90, 30, 7}, {1, 300, 2}} {
			rows, n, cols := shape[0], shape[1], shape[2]
			old, x, index := elements(kind, rows*cols), elements(kind, n*cols), make([]int32, n)
			to := make([][]T, rows*cols)
			for i := range index {
				index[i] = int32(r.IntN(rows))
				for j := range cols {
					at := int(index[i])*cols + j
					to[at] = append(to[at], x[i*cols+j])
				}
			}
			want := slices.Clone(old)
			for at, added := range to {
				if len(added) > 0 {
					want[at] = prefixes(append(added, old[at]))[len(added)]
				}
			}
			c := newTarget[T](t, s, rows, cols, kind%2 == 0, 7)
			try(t, c.CopyFrom(linalg.NewMatrix(rows, cols, old)))
			try(t, AddRows(c.Array, upload(t, s, n, cols, kind%2 != 0, x), upload(t, s, n, 1, kind%2 == 0, index)))
			c.check(t, fmt.Sprintf("AddRows of kind %d", kind), want)
		}
	}
}

func TestAllClose(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for _, c := range []struct {
			a, b, rtol, atol float64
			want             bool
		}{
			{1, 1, 0, 0, true},
			{1, 1 + 0x1p-20, 0, 0, false},
			{1, 1 + 0x1p-20, 0x1p-20, 0, true},
			{100, 101, 0, 1, true},
			{100, 101.5, 0, 1, false},
			{math.Copysign(0, -1), 0, 0, 0, true},
			{inf, inf, 0, 0, true},
			{inf, -inf, 1, 1, false},
			{1, inf, 1, 1, false},
			{inf, 1, 1, 1, false},
			{nan, nan, 1, 1, false},
			{1, 2, 0, nan, false},
		} {
			testAllClose[float32](t, s, c.a, c.b, c.rtol, c.atol, c.want)
			testAllClose[float64](t, s, c.a, c.b, c.rtol, c.atol, c.want)
		}
		a := upload(t, s, 0, 3, false, []float32{})
		if got, err := AllClose(a, a, 0, 0); !got || err != nil {
			t.Errorf("AllClose of nothing: %v, %v", got, err)
		}
		other := upload(t, s, 4, 3, false, make([]float32, 12))
		if _, err := AllClose(a, other, 0, 0); !errors.Is(err, linalg.ErrShape) {
			t.Errorf("AllClose of 0x3 and 4x3: %v", err)
		}
	})
}

// testAllClose compares rows whose last elements are x and y.
func testAllClose[T Float](t *testing.T, s *linalg.Session, x, y, rtol, atol float64, want bool) {
	a := upload(t, s, 1, 4, true, []T{1, 2, 3, T(x)})
	got, err := AllClose(a, []T{1, 2, 3, T(y)}, T(rtol), T(atol))
	if err != nil || got != want {
		t.Errorf("AllClose of %T %v and %v with %v and %v: %v, %v", T(0), x, y, rtol, atol, got, err)
	}
}

// A copy may come from another session, in parts, and repeated.
func TestCopyBetweenSessions(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		other, err := linalg.Open("cpu")
		try(t, err)
		defer other.Close()
		x := some[float64](rand.New(rand.NewPCG(13, 14)), 35)
		a := upload(t, other, 5, 7, true, x)
		c := newTarget(t, s, 5, 7, true, 7.0)
		try(t, Copy(c.Array, a))
		c.check(t, "Copy of another session", x)
		try(t, Copy(c.Array, a.Slice(0, 1, 0, 7)))
		c.check(t, "Copy of another session's row", elements(5, 7, func(_, j int) float64 { return x[j] }))
		if err := Copy(c.Array, a.Slice(0, 2, 0, 7)); !errors.Is(err, linalg.ErrShape) {
			t.Errorf("Copy of 2x7 into 5x7: %v", err)
		}
		err = CumSum(c.Array, a)
		if !errors.Is(err, backend.ErrArgument) || !contains(err, "a belongs to another session") {
			t.Errorf("CumSum of another session: %v", err)
		}
	})
}
