package array

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestNan(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testNan[float32](t, s, 77)
		testNan[float64](t, s, 77)
	})
}

func testNan[T Float](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for n, size := range [][2]int{{1, 1}, {3, 40}, {40, 3}, {70, 33}, {2, 900}} {
		rows, cols := size[0], size[1]
		x := some[T](rng, rows*cols)
		for j := range cols { // a row without numbers, but not in the matrix of one row
			x[j] = T(math.NaN())
		}
		for i := range rows { // and a column
			x[i*cols+cols-1] = T(math.NaN())
		}
		a := upload(t, s, rows, cols, n%2 == 0, x)
		for _, to := range [][2]int{{1, 1}, {1, cols}, {rows, 1}} {
			for what, f := range map[string]struct {
				run  func(c, a *Array[T]) error
				want func(x []T) T
			}{
				"NanSum":  {NanSum[T], nanSum[T]},
				"NanMean": {NanMean[T], func(x []T) T { return nanSum(x) / T(len(known(x))) }},
				"NanMax":  {NanMax[T], func(x []T) T { return nanMostOf(x, func(x, y T) T { return max(x, y) }) }},
				"NanMin":  {NanMin[T], func(x []T) T { return nanMostOf(x, func(x, y T) T { return min(x, y) }) }},
			} {
				c := newTarget(t, s, to[0], to[1], true, guard)
				try(t, f.run(c.Array, a))
				c.check(t, what, over(x, rows, cols, to[0], to[1], f.want))
			}
		}
	}
}

// known is the elements that are not NaN.
func known[T Float](x []T) (y []T) {
	for _, v := range x {
		if v == v {
			y = append(y, v)
		}
	}
	return y
}

func nanSum[T Float](x []T) T {
	var a exact.Acc
	for _, v := range known(x) {
		a.Add(float64(v))
	}
	return rounded[T](&a)
}

func nanMostOf[T Float](x []T, most func(x, y T) T) T {
	y := known(x)
	if len(y) == 0 {
		return T(math.NaN())
	}
	z := y[0]
	for _, v := range y {
		z = most(z, v)
	}
	return z
}

func TestCumProd(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testCumProd[float32](t, s, 77)
		testCumProd[float64](t, s, 77)
		testCumProd[int32](t, s, 77)
	})
}

func testCumProd[T Element](t *testing.T, s *linalg.Session, guard T) {
	m := &mapTester{t, s, rand.New(rand.NewPCG(5, 4))}
	for n, size := range [][2]int{{1, 1}, {3, 40}, {300, 3}, {0, 3}, {2, 0}, {2, 700}} {
		rows, cols := size[0], size[1]
		x := numbers[T](m, rows*cols)
		for i := range x {
			if n == 5 {
				x[i] = T(1 + 1/float64(i+2)) // goes on without an end in infinity or 0
			}
		}
		want := make([]T, len(x))
		for i := range rows {
			product := T(1)
			for j := range cols {
				product *= x[i*cols+j]
				want[i*cols+j] = product
			}
		}
		c := newTarget(t, s, rows, cols, n%2 == 0, guard)
		try(t, CumProd(c.Array, upload(t, s, rows, cols, n%2 == 1, x)))
		c.check(t, "CumProd", want)
		try(t, Copy(c.Array, upload(t, s, rows, cols, false, x)))
		try(t, CumProd(c.Array, c.Array))
		c.check(t, "CumProd in place", want)
	}
}
