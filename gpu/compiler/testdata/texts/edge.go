package main

import "github.com/tandem-gpu/tandem/gpu"

// A test of the edge, and neighbours in memory.
//
//tandem:kernel
func saxpy(it gpu.Item, y, x []float32, a float32) {
	if i := it.Global(0); i < len(y) {
		y[i] = gpu.FMA(a, x[i], y[i])
	}
}

func main() {}
