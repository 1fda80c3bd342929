package main

import (
	"fmt"
	"io"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/examples/internal/digits"
	"github.com/tandem-gpu/tandem/linalg"
)

// network learns from 1,500 digits, a hundred at each step, and reads the others.
func network(w io.Writer, s *linalg.Session, steps int) result {
	const hidden, trained, batch, rate = 32, 1500, 100, 0.5
	images, labels, err := digits.Load()
	check(err)
	n, tested := images.Rows, images.Rows-trained
	digit := linalg.NewMatrix[int32](n, 1, nil)
	for i, d := range labels {
		digit.Set(i, 0, int32(d))
	}
	x, digits := must(linalg.Upload(s, images)), must(linalg.Upload(s, digit))
	is, y, losses := bools(s, n, 10), floats(s, n, 10), floats(s, 1, steps)
	w1, b1, db1 := floats(s, 64, hidden), floats(s, 1, hidden), floats(s, 1, hidden)
	w2, b2, db2 := floats(s, hidden, 10), floats(s, 1, 10), floats(s, 1, 10)
	h, dh, z, logs := floats(s, batch, hidden), floats(s, batch, hidden), floats(s, batch, 10), floats(s, batch, 10)
	guess, right, sum := ints(s, tested, 1), bools(s, tested, 1), ints(s, 1, 1)
	r := &array.Stream{Seed: 3}
	check(array.Mul(x, x, number(1.0/16)),
		array.Equal(is, digits, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), array.Where(y, is, number(1), number(0)),
		array.Normal(r, w1), array.Mul(w1, w1, number(0.2)), array.Normal(r, w2), array.Mul(w2, w2, number(0.2)))
	read := func(x, h, z *linalg.Array[float32]) {
		check(h.Mul(x, w1), array.Add(h, h, b1), array.Relu(h, h),
			z.Mul(h, w2), array.Add(z, z, b2), array.Softmax(z, z))
	}
	for i := range steps {
		from := i * batch % trained
		x, y := rows(x, from, from+batch), rows(y, from, from+batch)
		read(x, h, z)
		check(array.Log(logs, z), array.Mul(logs, logs, y), array.Sum(losses.Slice(0, 1, i, i+1), logs),
			z.Sub(z, y), dh.Gemm(1, blas.NoTrans, z, blas.Trans, w2, 0), launchWhereOn(s, dh, dh, h),
			w2.Gemm(-rate/batch, blas.Trans, h, blas.NoTrans, z, 1),
			w1.Gemm(-rate/batch, blas.Trans, x, blas.NoTrans, dh, 1),
			array.Sum(db2, z), array.FMA(b2, db2, number(-rate/batch), b2),
			array.Sum(db1, dh), array.FMA(b1, db1, number(-rate/batch), b1))
	}
	check(array.Mul(losses, losses, number(-1.0/batch)), plotLosses(losses))
	h, z = floats(s, tested, hidden), floats(s, tested, 10)
	read(rows(x, trained, n), h, z)
	check(array.ArgMax(guess, z), array.Equal(right, guess, rows(digits, trained, n)), array.Count(sum, right))
	fmt.Fprintf(w, "loss: %.4f at first, %.4f at last; right: %v of %d\n",
		losses.Slice(0, 1, 0, 1), losses.Slice(0, 1, steps-1, steps), sum, tested)
	return w1
}

// whereOn is a slope where the unit that it is of was on.
//
//tandem:map
func whereOn(slope, unit float32) float32 {
	if unit > 0 {
		return slope
	}
	return 0
}
