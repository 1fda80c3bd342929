package main

import "github.com/tandem-gpu/tandem/gpu"

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile

// reverse makes each 64 elements of out those of x from last to first. A barrier is missing.
//
//tandem:kernel
//tandem:group 64
func reverse(it gpu.Item, out, x []int32) {
	t := gpu.Local[[64]int32](it)
	i, l := it.Global(0), it.Local(0)
	t[l] = x[i]
	out[i] = t[63-l] // of a work-item that may not have written it
}

// rise makes out what x grows by from one element to the next. The last has no next.
//
//tandem:kernel
func rise(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	out[i] = x[i+1] - x[i]
}
