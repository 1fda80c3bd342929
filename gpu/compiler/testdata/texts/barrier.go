package main

import "github.com/tandem-gpu/tandem/gpu"

// Local memory and barriers.
//
//tandem:kernel
//tandem:group 64
func reverse(it gpu.Item, x []int32) {
	t := gpu.Local[[64]int32](it)
	i, l := it.Global(0), it.Local(0)
	t[l] = x[i]
	it.Barrier()
	x[i] = t[63-l]
}

func main() {}
