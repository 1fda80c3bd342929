package main

// A convolution in two dimensions, as filters of images and layers of neural networks are: each
// element becomes a weighted sum of the square around it. A group brings its tile with a halo of
// reach elements on each side into local memory, and the weights beside it.

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// reach is how far the filter looks to each side, taps the rows and columns of its weights.
const (
	reach = 2
	taps  = 2*reach + 1
)

// convolve makes element (i, j) of out the sum of weights[p*taps+q] * in(i+reach-p, j+reach-q) over
// all p and q in this order, each step one fused multiply-add; around the matrix is 0.
//
//tandem:kernel
//tandem:group 32 8
func convolve(it gpu.Item, out, in gpu.Matrix[float32], weights []float32) {
	const wide, high = across + 2*reach, down + 2*reach
	t, w := gpu.Local[[high][wide]float32](it), gpu.Local[[taps * taps]float32](it)
	if l := it.Local(1)*across + it.Local(0); l < taps*taps {
		w[l] = weights[l]
	}
	top, left := it.Group(1)*down-reach, it.Group(0)*across-reach
	for y := it.Local(1); y < high; y += down {
		for x := it.Local(0); x < wide; x += across {
			i, j := top+y, left+x
			var u float32
			if i >= 0 && j >= 0 && i < in.Rows && j < in.Cols {
				u = in.At(i, j)
			}
			t[y][x] = u
		}
	}
	it.Barrier()
	i, j := it.Global(1), it.Global(0)
	if i < out.Rows && j < out.Cols {
		y, x := it.Local(1)+2*reach, it.Local(0)+2*reach
		var sum float32
		for p := range taps {
			for q := range taps {
				sum = gpu.FMA(w[p*taps+q], t[y-p][x-q], sum)
			}
		}
		out.Set(i, j, sum)
	}
}

// filter makes out the convolution of in with weights, taps by taps.
func filter(s *linalg.Session, out, in *linalg.Array[float32], weights []float32) error {
	rows, cols := in.Dims()
	return launchConvolve(s, convolveKernel.GridFor(cols, rows), out, in, weights)
}
