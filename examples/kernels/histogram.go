package main

// A histogram of bytes. Atomic additions to one bin wait for each other, so each group counts in
// local memory, which no other group sees, and adds what it has to the result once.

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// bins is the values of a byte.
const bins = 256

// histogram adds to counts how often every byte occurs in data.
//
//tandem:kernel
func histogram(it gpu.Item, counts []uint32, data []uint8) {
	t := gpu.Local[[bins]uint32](it)
	for b := it.Local(0); b < bins; b += it.LocalSize(0) {
		t[b] = 0
	}
	it.Barrier()
	for i := it.Global(0); i < len(data); i += it.GlobalSize(0) {
		gpu.AtomicAdd(&t[data[i]], 1)
	}
	it.Barrier()
	for b := it.Local(0); b < bins; b += it.LocalSize(0) {
		if n := t[b]; n > 0 {
			gpu.AtomicAdd(&counts[b], n)
		}
	}
}

// count is the histogram of data.
func count(s *linalg.Session, data *linalg.Array[uint8]) (*linalg.Array[uint32], error) {
	counts, err := linalg.NewArray[uint32](s, 1, bins)
	if err != nil {
		return nil, err
	}
	return counts, launchHistogram(s, backend.Grid1(8, 64), counts, data)
}
