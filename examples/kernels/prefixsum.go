package main

// Prefix sums: element i becomes the sum of all up to it. Each group scans its block in local
// memory in log2(block) steps, in which every element gets that one which is 1, 2, 4, ... before it
// (Hillis and Steele, Data Parallel Algorithms, 1986), and leaves the block's sum; the sums are
// scanned in the same way, and a second kernel adds to each block what is before it.

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// block is the elements that a group scans, and its work-items.
const block = 128

// prefixSum scans every block of x, and makes sums their last elements.
//
//tandem:kernel
//tandem:group 128
func prefixSum(it gpu.Item, sums, x []int32) {
	t := gpu.Local[[block]int32](it)
	i, l := it.Global(0), it.Local(0)
	t[l] = 0
	if i < len(x) {
		t[l] = x[i]
	}
	for d := 1; d < block; d *= 2 {
		it.Barrier()
		before := int32(0)
		if l >= d {
			before = t[l-d]
		}
		it.Barrier()
		t[l] += before
	}
	if i < len(x) {
		x[i] = t[l]
	}
	if l == block-1 {
		sums[it.Group(0)] = t[l]
	}
}

// addBefore adds to every block of x but the first the scanned sum of those before it.
//
//tandem:kernel
//tandem:group 128
func addBefore(it gpu.Item, x, sums []int32) {
	if i, g := it.Global(0), it.Group(0); g > 0 && i < len(x) {
		x[i] += sums[g-1]
	}
}

// scan makes x its prefix sums.
func scan(s *linalg.Session, x *linalg.Array[int32]) error {
	_, n := x.Dims()
	grid := groups(n, block)
	sums, err := linalg.NewArray[int32](s, 1, grid.Groups[0])
	if err != nil {
		return err
	}
	defer sums.Free()
	if err := launchPrefixSum(s, grid, sums, x); err != nil || n <= block {
		return err
	}
	if err := scan(s, sums); err != nil {
		return err
	}
	return launchAddBefore(s, grid, x, sums)
}
