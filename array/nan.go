package array

import (
	"math"

	"github.com/tandem-gpu/tandem/internal/inside"
)

// NanSum is [Sum] of the elements that are not NaN. Where all are it is +0.
func NanSum[T Float](c, a *Array[T]) error {
	return withoutNaN("NanSum", c, a, 0, func(x *Array[T], _ *Array[bool]) error { return Sum(c, x) })
}

// NanMean makes c the [NanSum] of a over the number of elements that are not NaN, which is rounded
// to T: two roundings, where [Mean] has one. Where all are NaN, or there are none, it is NaN.
func NanMean[T Float](c, a *Array[T]) error {
	return withoutNaN("NanMean", c, a, 0, func(x *Array[T], known *Array[bool]) error {
		rows, cols := c.Dims()
		return inside.WithScratch(c.Session(), rows, cols, func(n *Array[int32]) error {
			return inside.WithScratch(c.Session(), rows, cols, func(over *Array[T]) error {
				return inOrder(
					func() error { return Sum(c, x) },
					func() error { return Count(n, known) },
					func() error { return Convert(over, n) },
					func() error { return Div(c, c, over) },
				)
			})
		})
	})
}

// NanMax is [Max] of the elements that are not NaN. Where all are it is NaN.
func NanMax[T Float](c, a *Array[T]) error {
	return nanMost("NanMax", c, a, math.Inf(-1), Max[T])
}

// NanMin is [Min] of the elements that are not NaN. Where all are it is NaN.
func NanMin[T Float](c, a *Array[T]) error {
	return nanMost("NanMin", c, a, math.Inf(1), Min[T])
}

// nanMost is most of a, in which what is NaN counts as the element that any other comes before.
func nanMost[T Float](op string, c, a *Array[T], last float64, most func(c, a *Array[T]) error) error {
	if err := checkSome(op, c, a); err != nil {
		return err
	}
	return withoutNaN(op, c, a, T(last), func(x *Array[T], known *Array[bool]) error {
		rows, cols := c.Dims()
		return inside.WithScratch(c.Session(), rows, cols, func(some *Array[bool]) error {
			return inOrder(
				func() error { return most(c, x) },
				func() error { return Any(some, known) },
				func() error { return Where(c, some, c, Value(T(math.NaN()))) },
			)
		})
	})
}

// withoutNaN calls f with a copy of a that has v for NaN, and whether elements are another: for a
// reduction of a to c.
func withoutNaN[T Float](op string, c, a *Array[T], v T, f func(x *Array[T], known *Array[bool]) error) error {
	if err := checkReduction(op, c, a); err != nil {
		return err
	}
	rows, cols := a.Dims()
	return inside.WithScratch(c.Session(), rows, cols, func(x *Array[T]) error {
		return inside.WithScratch(c.Session(), rows, cols, func(known *Array[bool]) error {
			return inOrder(
				func() error { return Equal(known, a, a) },
				func() error { return Where(x, known, a, Value(v)) },
				func() error { return f(x, known) },
			)
		})
	})
}

// FMax makes c the larger of a and b: +0 is above -0, and a number counts where the other is NaN.
func FMax[T Float, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchFMax[T](session(c), c, a, b)
}

//tandem:map float32 float64
func fMax[T Float](x, y T) T {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return max(x, y)
}

// FMin makes c the smaller of a and b: -0 is below +0, and a number counts where the other is NaN.
func FMin[T Float, A, B Arg[T]](c *Array[T], a A, b B) error {
	return launchFMin[T](session(c), c, a, b)
}

//tandem:map float32 float64
func fMin[T Float](x, y T) T {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return min(x, y)
}
