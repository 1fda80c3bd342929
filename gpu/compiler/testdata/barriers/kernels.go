// Package main has kernels that need each of their barriers: TestMissingBarriers takes them away.
package main

import "github.com/tandem-gpu/tandem/gpu"

// sum adds the 32 numbers of a group.
//
//tandem:kernel
func sum(it gpu.Item, out, x []float32) {
	s := gpu.Local[[32]float32](it)
	l := it.Local(0)
	s[l] = x[it.Global(0)]
	for n := 16; n > 0; n /= 2 {
		it.Barrier()
		if l < n {
			s[l] += s[l+n]
		}
	}
	if l == 0 {
		out[it.Group(0)] = s[0]
	}
}

// prefix sums the numbers of a group up to each.
//
//tandem:kernel
func prefix(it gpu.Item, out, x []float32) {
	s := gpu.Local[[32]float32](it)
	l := it.Local(0)
	s[l] = x[it.Global(0)]
	it.Barrier()
	for d := 1; d < 32; d *= 2 {
		v := s[l]
		if l >= d {
			v += s[l-d]
		}
		it.Barrier()
		s[l] = v
		it.Barrier()
	}
	out[it.Global(0)] = s[l]
}

// product is x*x, 8 by 8 elements in tiles of 4 by 4, by the first 16 work-items of each group.
//
//tandem:kernel
func product(it gpu.Item, out, x []float32) {
	const n, tile = 8, 4
	a, b := gpu.Local[[tile][tile]float32](it), gpu.Local[[tile][tile]float32](it)
	i, j := it.Local(0)/tile%tile, it.Local(0)%tile
	row, col := it.Group(0)/2*tile+i, it.Group(0)%2*tile+j
	acc := float32(0)
	for k := 0; k < n; k += tile {
		if it.Local(0) < tile*tile {
			a[i][j] = x[row*n+k+j]
			b[i][j] = x[(k+i)*n+col]
		}
		it.Barrier()
		for p := range tile {
			acc = gpu.FMA(a[i][p], b[p][j], acc)
		}
		it.Barrier()
	}
	if it.Local(0) < tile*tile {
		out[row*n+col] = acc
	}
}

// turned is a transpose of 4 by 8 elements in a group.
//
//tandem:kernel
func turned(it gpu.Item, out, x []float32) {
	s := gpu.Local[[4][9]float32](it)
	l, first := it.Local(0), it.Group(0)*32
	s[l/8][l%8] = x[first+l]
	it.Barrier()
	out[first+l] = s[l%4][l/4]
}

// heat is four steps of a stencil in local memory.
//
//tandem:kernel
func heat(it gpu.Item, out, x []float32) {
	s := gpu.Local[[34]float32](it)
	l := it.Local(0)
	s[l+1] = x[it.Global(0)]
	if l < 2 {
		s[l*33] = 0
	}
	for range 4 {
		it.Barrier()
		v := (s[l] + s[l+2]) / 2
		it.Barrier()
		s[l+1] = v
	}
	out[it.Global(0)] = s[l+1]
}

// settled takes the larger of two neighbours until nothing changes: Any is one of its barriers.
//
//tandem:kernel
func settled(it gpu.Item, out, x []float32) {
	s := gpu.Local[[33]float32](it)
	l := it.Local(0)
	s[l] = x[it.Global(0)]
	if l == 0 {
		s[32] = 0
	}
	for changed := true; it.Any(changed); {
		v := max(s[l], s[l+1])
		it.Barrier()
		changed = v != s[l]
		s[l] = v
	}
	out[it.Global(0)] = s[l] + gpu.Uniform(it, s[l])
}
