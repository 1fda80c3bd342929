package main

// A wave on a membrane, step by step: a stencil of five points. A group brings its tile and the
// halo around it, one element on each side, into local memory with neighbours reading neighbours;
// every element is then read from global memory once and not five times.

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// A tile of a stencil is wide, so that neighbours in a group read whole lines of memory.
const across, down = 32, 8

// wave makes next the membrane one step after now, which is one after before:
//
//	next = 2*now - before + c2*(north + south + west + east - 4*now)
//
// c2 is the square of the speed, at most 1/2. The membrane is held at 0 all around.
//
//tandem:kernel float32 float64
//tandem:group 32 8
func wave[T gpu.Float](it gpu.Item, next, now, before gpu.Matrix[T], c2 T) {
	t := gpu.Local[[down + 2][across + 2]T](it)
	top, left := it.Group(1)*down-1, it.Group(0)*across-1
	for y := it.Local(1); y < down+2; y += down {
		for x := it.Local(0); x < across+2; x += across {
			i, j := top+y, left+x
			var u T
			if i >= 0 && j >= 0 && i < now.Rows && j < now.Cols {
				u = now.At(i, j)
			}
			t[y][x] = u
		}
	}
	it.Barrier()
	i, j := it.Global(1), it.Global(0)
	if i < now.Rows && j < now.Cols {
		y, x := it.Local(1)+1, it.Local(0)+1
		u := t[y][x]
		around := t[y-1][x] + t[y+1][x] + (t[y][x-1] + t[y][x+1])
		next.Set(i, j, gpu.FMA(c2, gpu.FMA(-4, u, around), gpu.FMA(2, u, -before.At(i, j))))
	}
}

// moveWave makes next the membrane after now, which is after before. The three are arrays of the
// device, so that nothing is copied from step to step.
func moveWave[T float32 | float64](s *linalg.Session, next, now, before *linalg.Array[T], c2 T) error {
	rows, cols := now.Dims()
	return launchWave[T](s, waveKernels.Of(*new(T)).GridFor(cols, rows), next, now, before, c2)
}
