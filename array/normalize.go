package array

import (
	"cmp"
	"fmt"

	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// inOrder is the first error of steps, which run as far as there is none.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// normalized calls f with a scratch column, for an operation whose destination has the shape of a.
func normalized[T any](op string, c, a *Array[T], f func(x *Array[T]) error) error {
	s, rows, cols, err := sameDims(op, "a", a, "c", c)
	if err != nil {
		return err
	}
	if err := sameOrApart(op, c, a); err != nil {
		return err
	}
	if rows == 0 || cols == 0 {
		return nil
	}
	return inside.WithScratch(s, rows, 1, f)
}

// checkInput says what is wrong with an operand that is repeated to the shape of c, of which it
// shares no elements.
func checkInput[T any, A Arg[T]](op, name string, c *Array[T], x A) error {
	rows, cols := 1, 1
	switch x := any(&x).(type) { // a pointer, as a number in an interface takes memory
	case **Array[T]:
		if err := check(op, name, *x, c.Session()); err != nil {
			return err
		}
		if inside.Overlap(c, *x) {
			return fmt.Errorf("%w: %s: c and %s", linalg.ErrOverlap, op, name)
		}
		rows, cols = (*x).Dims()
	case *linalg.Matrix[T]:
		if err := x.Check(); err != nil {
			return fmt.Errorf("%s: %s: %w", op, name, err)
		}
		rows, cols = x.Rows, x.Cols
	case *[]T:
		cols = len(*x)
	}
	if m, n := c.Dims(); rows != 1 && rows != m || cols != 1 && cols != n {
		return fmt.Errorf("%w: %s: %s is %dx%d, and is not repeated to %s", linalg.ErrShape, op, name, rows, cols, c)
	}
	return nil
}

// LogSumExp makes c m + log(Sum(exp(a - m))), where m is the Max, or 0 where that is not finite:
// over all of a where c is 1x1, over the rows where it is 1xN, over the columns where it is Mx1. So
// it is +Inf where an element is, and -Inf where all are; where there are none it is ErrShape. Each
// step is rounded: next to 0 the error is some units in the last place of 1, not of the result. c
// shares no elements with a.
func LogSumExp[T Float](c, a *Array[T]) error {
	if err := checkSome("LogSumExp", c, a); err != nil {
		return err
	}
	rows, cols := a.Dims()
	m, n := c.Dims()
	return inside.WithScratch(c.Session(), rows, cols, func(x *Array[T]) error {
		return inside.WithScratch(c.Session(), m, n, func(sum *Array[T]) error {
			return inOrder(
				func() error { return Max(c, a) },
				func() error { return zeroUnlessFinite(c) },
				func() error { return Sub(x, a, c) },
				func() error { return Exp(x, x) },
				func() error { return Sum(sum, x) },
				func() error { return Log(sum, sum) },
				func() error { return Add(c, c, sum) },
			)
		})
	})
}

func zeroUnlessFinite[T Float](c *Array[T]) error {
	m, n := c.Dims()
	return inside.WithScratch(c.Session(), m, n, func(finite *Array[bool]) error {
		if err := IsFinite(finite, c); err != nil {
			return err
		}
		return Where(c, finite, c, Value[T](0))
	})
}

// Softmax makes each row of c exp(a - m)/Sum(exp(a - m)), where m is the Max of the row, or, with
// axis 0, each column so. Each step is rounded. c may be a.
func Softmax[T Float](c, a *Array[T], axis ...int) error {
	return along("Softmax", axis, c, a, softmaxEach[T])
}

func softmaxEach[T Float](c, a *Array[T]) error {
	return normalized("Softmax", c, a, func(x *Array[T]) error {
		return inOrder(
			func() error { return Max(x, a) },
			func() error { return Sub(c, a, x) },
			func() error { return Exp(c, c) },
			func() error { return Sum(x, c) },
			func() error { return Div(c, c, x) },
		)
	})
}

// LayerNorm makes each row of c ((a - Mean)·(1/sqrt(Var + eps)))·gain + bias, with the Mean and the
// Var of the row, of which there are as many as elements. Each step is rounded. gain and bias are
// rows, columns or numbers, as for Mul and Add. c may be a, and shares no elements with them. Of
// float32 the Var of numbers from near 1e19 on is infinite, of float64 from 1e154: then 0 stands
// for the product with 1/sqrt(Var + eps), or NaN where a - Mean is infinite, too. It is NaN where
// Var and eps are 0.
func LayerNorm[T Float, G, B Arg[T]](c, a *Array[T], gain G, bias B, eps T) error {
	return normalized("LayerNorm", c, a, func(mean *Array[T]) error {
		err := cmp.Or(checkInput("LayerNorm", "gain", c, gain), checkInput("LayerNorm", "bias", c, bias))
		if err != nil {
			return err
		}
		rows, _ := a.Dims()
		return inside.WithScratch(c.Session(), rows, 1, func(scale *Array[T]) error {
			return inOrder(
				func() error { return Mean(mean, a) },
				func() error { return Var(scale, a, 0) },
				func() error { return Sub(c, a, mean) },
				func() error { return normalize(c, scale, gain, eps) },
				func() error { return Add(c, c, bias) },
			)
		})
	})
}

// RMSNorm makes each row of c (a·(1/sqrt(m + eps)))·gain, where m is the exact sum of the squares
// of the row over their number, rounded once; each other step is rounded. gain is a row, a column
// or a number, as for Mul. c may be a, and shares no elements with it. Where squares are beyond T,
// from near 1e19 of float32 and 1e154 of float64 on, 0 stands for the product with 1/sqrt(m + eps);
// it is NaN where m and eps are 0.
func RMSNorm[T Float, G Arg[T]](c, a *Array[T], gain G, eps T) error {
	return normalized("RMSNorm", c, a, func(scale *Array[T]) error {
		if err := checkInput("RMSNorm", "gain", c, gain); err != nil {
			return err
		}
		return inOrder(
			func() error {
				return sums.Enqueue(sums.Sum[T]{C: scale, X: a, Y: a, Over: uint64(reduced(scale, a))})
			},
			func() error { return Copy(c, a) },
			func() error { return normalize(c, scale, gain, eps) },
		)
	})
}

// normalize makes c (c·(1/sqrt(scale + eps)))·gain.
func normalize[T Float, G Arg[T]](c, scale *Array[T], gain G, eps T) error {
	return inOrder(
		func() error { return Add(scale, scale, Value(eps)) },
		func() error { return Sqrt(scale, scale) },
		func() error { return Div(scale, Value[T](1), scale) },
		func() error { return Mul(c, c, scale) },
		func() error { return Mul(c, c, gain) },
	)
}
