package main

import (
	"fmt"
	"io"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/examples/handwriting"
	"github.com/tandem-gpu/tandem/linalg"
)

// network learns from 1,500 digits, a hundred at each step, and reads the others.
func network(w io.Writer, s *linalg.Session, steps int) result {
	const hidden, trained, batch, rate = 32, 1500, 100, 0.5
	images, labels, err := handwriting.Load()
	check(err)
	x, digit := np.Mul(np.Upload(s, images), 1.0/16), np.FromColumn(s, labels)
	y, r := np.Convert[float32](np.Equal(digit, np.Range[int32](s, 10, 0, 1))), &array.Stream{Seed: 3}
	w1, b1 := np.Mul(np.Normal[float32](s, r, 64, hidden), 0.2), np.Zeros[float32](s, 1, hidden)
	w2, b2 := np.Mul(np.Normal[float32](s, r, hidden, 10), 0.2), np.Zeros[float32](s, 1, 10)
	read := func(x *np.Array[float32]) (h, p *np.Array[float32]) {
		h = np.MatMul(x, w1)
		check(array.Add(h, h, b1), array.Relu(h, h))
		p = np.MatMul(h, w2)
		check(array.Add(p, p, b2), array.Softmax(p, p))
		return h, p
	}
	step, losses := array.Value[float32](-rate/batch), np.Zeros[float32](s, 1, steps)
	check(losses.Err())
	for i := range steps {
		from := i * batch % trained
		x, y := np.Rows(x, from, from+batch), np.Rows(y, from, from+batch)
		h, p := read(x)
		check(array.Mean(np.Cols(losses, i, i+1), np.Sum(np.Mul(np.Log(p), y), 1)))
		dz := np.Sub(p, y)
		dh := np.Where(np.Greater(h, 0), np.MatMulT(dz, w2), 0)
		check(w2.Gemm(-rate/batch, blas.Trans, h, blas.NoTrans, dz, 1),
			w1.Gemm(-rate/batch, blas.Trans, x, blas.NoTrans, dh, 1),
			array.FMA(b2, np.Sum(dz, 0), step, b2), array.FMA(b1, np.Sum(dh, 0), step, b1))
	}
	losses = np.Neg(losses)
	check(plotLosses(losses))
	_, p := read(np.Rows(x, trained, images.Rows))
	right := np.Equal(np.ArgMax(p, 1), np.Rows(digit, trained, images.Rows))
	fmt.Fprintf(w, "loss: %.4f at first, %.4f at last; right: %v of %d\n",
		np.Cols(losses, 0, 1), np.Cols(losses, steps-1, steps), np.Count(right), images.Rows-trained)
	return w1
}
