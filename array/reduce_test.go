package array

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/linalg"
)

// summands makes n numbers of a kind: what blocks take at once, and what they do not.
func summands[T Float](r *rand.Rand, kind, n int) []T {
	x := make([]T, n)
	least, top := -1074, 1023
	if _, ok := any(x).([]float32); ok {
		least, top = -149, 127
	}
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
				x[i] = T(math.NaN())
			}
		case 8: // half of them 0
			x[i] = T(max(0, r.NormFloat64()))
		}
	}
	return x
}

const kindsOfNumbers = 9

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

// reductions calls f with kinds of numbers and shapes of matrices, with few for the simulator.
func reductions(s *linalg.Session, f func(kind, rows, cols int)) {
	shapes := [][2]int{{1, 1}, {1, 5}, {7, 1}, {3, 40}, {40, 3}, {2, 5000}, {4500, 2}, {70, 33}}
	if s.Info().Driver == "cudasim" {
		shapes = [][2]int{{3, 40}, {70, 2}}
	}
	for _, shape := range shapes {
		for kind := range kindsOfNumbers {
			if s.Info().Driver == "cudasim" && kind != 0 && kind != 2 && kind != 7 {
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
	reductions(s, func(kind, rows, cols int) {
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
	reductions(s, func(kind, rows, cols int) {
		if kind == 4 || kind == 7 || rows*cols > 1000 { // d overflows, or is no number
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

// A sum in many parts, whose guesses fail here and there, has the bits of package exact.
func TestLongSums(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if s.Info().Driver == "cudasim" {
			t.Skip("seconds of simulation")
		}
		r := rand.New(rand.NewPCG(5, 6))
		for _, kind := range []int{0, 4, 6} {
			x := summands[float32](r, kind, 300000)
			a := upload(t, s, 3, 100000, kind == 6, x)
			got, err := Total(a)
			if want := exact.Sum(x); err != nil || bitsOf(got) != bitsOf(want) {
				t.Errorf("kind %d: %v, %v, want %v", kind, got, err, want)
			}
			got, err = Dot(a, a)
			if want := exact.Dot(x, x); err != nil || bitsOf(got) != bitsOf(want) {
				t.Errorf("dot of kind %d: %v, %v, want %v", kind, got, err, want)
			}
		}
	})
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
		{Sum(nil, a), linalg.ErrShape, "the destination is nil"},
		{Mean(c.Array, nil), linalg.ErrShape, "the operand is nil"},
		{Norm(c.Array, a, 3), backend.ErrArgument, "kind 3"},
		{Max(c.Array, nothing), linalg.ErrShape, "Max of 0x3"},
		{ArgMin(newTarget(t, s, 1, 3, false, int32(7)).Array, nothing), linalg.ErrShape, "no elements"},
		{Var(c.Array, a, -1), backend.ErrArgument, "ddof"},
	} {
		if !errors.Is(c.err, c.want) || !contains(c.err, c.text) {
			t.Errorf("%v, want %v with %q", c.err, c.want, c.text)
		}
	}
	c.check(t, "after what is refused", []float64{math.NaN(), math.NaN(), math.NaN()})
}

func BenchmarkSum(b *testing.B) {
	s, err := linalg.Open("")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for _, n := range []int{1000, 100000, 10000000} {
		b.Run(fmt.Sprintf("float32/%d", n), func(b *testing.B) { benchmarkSum[float32](b, s, 0, n) })
		b.Run(fmt.Sprintf("float64/%d", n), func(b *testing.B) { benchmarkSum[float64](b, s, 0, n) })
		b.Run(fmt.Sprintf("zeros/%d", n), func(b *testing.B) { benchmarkSum[float32](b, s, 8, n) })
	}
}

// benchmarkSum measures a sum over all.
func benchmarkSum[T Float](b *testing.B, s *linalg.Session, kind, n int) {
	a, err := linalg.Upload(s, linalg.NewMatrix(1, n, summands[T](rand.New(rand.NewPCG(1, 1)), kind, n)))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Free()
	c, err := linalg.NewArray[T](s, 1, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Free()
	b.SetBytes(int64(n) * int64(unsafe.Sizeof(T(0))))
	for b.Loop() {
		if err := errors.Join(Sum(c, a), s.Wait()); err != nil {
			b.Fatal(err)
		}
	}
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
		reductions(s, func(kind, rows, cols int) {
			testFolds(t, s, rows, cols, summands[float32](r, kind, rows*cols))
			testFolds(t, s, rows, cols, summands[float64](r, kind, rows*cols))
			ints, mask := make([]int32, rows*cols), make([]bool, rows*cols)
			for i := range ints {
				ints[i] = int32(r.Uint32()) >> (4 * kind)
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
