package poly

import "github.com/tandem-gpu/tandem/gpu"

// one has an argument that no file has.
//
//tandem:kernel
func one(it gpu.Item, x []struct{ a, b float32 }) { x[it.Global(0)].a = 1 }

// two has one that no number is.
//
//tandem:kernel
func two(it gpu.Item, x []float32, by [2]float32) { x[it.Global(0)] *= by[0] * by[1] }
