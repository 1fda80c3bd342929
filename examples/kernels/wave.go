package main

// A wave on a membrane, step by step: a stencil of five points. A group brings its tile and the
// halo around it, one element on each side, into local memory with neighbours reading neighbours;
// every element is then read from global memory once and not five times.

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// side is the rows and columns of a tile.
const side = 16

// wave makes next the membrane one step after now, which is one after before:
//
//	next = 2*now - before + c2*(north + south + west + east - 4*now)
//
// c2 is the square of the speed, at most 1/2. The membrane is held at 0 all around.
//
//tandem:kernel float32 float64
//tandem:group 16 16
func wave[T gpu.Float](it gpu.Item, next, now, before gpu.Matrix[T], c2 T) {
	const wide = side + 2
	t := gpu.Local[[wide][wide]T](it)
	top, left := it.Group(1)*side-1, it.Group(0)*side-1
	for y := it.Local(1); y < wide; y += side {
		for x := it.Local(0); x < wide; x += side {
			i, j := top+y, left+x
			t[y][x] = 0
			if i >= 0 && j >= 0 && i < now.Rows && j < now.Cols {
				t[y][x] = now.At(i, j)
			}
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
	return launchWave[T](s, tiles(rows, cols, side), next, now, before, c2)
}
