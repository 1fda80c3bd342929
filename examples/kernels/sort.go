package main

// Bitonic sort (Batcher, Sorting networks and their applications, 1968): runs of 2, 4, 8, ...
// elements are merged, each merge a fixed sequence of passes in which every work-item puts one pair
// in order. The first pass pairs an element with its mirror image in the run, the others with the
// one half a run away, a quarter, and so on. Every pass puts the smaller element first, so that any
// length works: pairs that reach beyond the end are left out. Passes that stay within a tile run in
// local memory, all in one launch.

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// sortTile is the elements of a tile, twice the work-items of a group.
const sortTile = 256

// sortTiles sorts every tile of x.
//
//tandem:kernel
//tandem:group 128
func sortTiles(it gpu.Item, x []int32) {
	t := gpu.Local[[sortTile]int32](it)
	loadTile(it, t, x)
	for run := 2; run <= sortTile; run *= 2 {
		it.Barrier()
		i, j := pair(it.Local(0), run/2, run-1)
		order(&t[i], &t[j])
		mergeTile(it, t, run/4)
	}
	storeTile(it, x, t)
}

// mergeTiles does the passes of a larger merge that stay within a tile.
//
//tandem:kernel
//tandem:group 128
func mergeTiles(it gpu.Item, x []int32) {
	t := gpu.Local[[sortTile]int32](it)
	loadTile(it, t, x)
	mergeTile(it, t, sortTile/2)
	storeTile(it, x, t)
}

// sortPass is one pass over x in global memory; half and mask are those of pair.
//
//tandem:kernel
func sortPass(it gpu.Item, x []int32, half, mask int) {
	if i, j := pair(it.Global(0), half, mask); j < len(x) {
		order(&x[i], &x[j])
	}
}

// pair is the places of the p-th pair of a pass: the first has a 0 at the bit half, and they differ
// in the bits of mask, of which half is the highest.
func pair(p, half, mask int) (i, j int) {
	i = p&-half<<1 | p&(half-1)
	return i, i ^ mask
}

// order puts the smaller of two first.
func order(a, b *int32) {
	if *b < *a {
		*a, *b = *b, *a
	}
}

// mergeTile is the passes over a tile that pair elements d, d/2, ..., 1 apart.
func mergeTile(it gpu.Item, t *[sortTile]int32, d int) {
	for ; d > 0; d /= 2 {
		it.Barrier()
		i, j := pair(it.Local(0), d, d)
		order(&t[i], &t[j])
	}
}

// loadTile brings the group's tile of x into local memory. What is beyond x stays at its end.
func loadTile(it gpu.Item, t *[sortTile]int32, x []int32) {
	for i := it.Local(0); i < sortTile; i += sortTile / 2 {
		t[i] = math.MaxInt32
		if at := it.Group(0)*sortTile + i; at < len(x) {
			t[i] = x[at]
		}
	}
}

func storeTile(it gpu.Item, x []int32, t *[sortTile]int32) {
	it.Barrier()
	for i := it.Local(0); i < sortTile; i += sortTile / 2 {
		if at := it.Group(0)*sortTile + i; at < len(x) {
			x[at] = t[i]
		}
	}
}

// sortInts sorts x.
func sortInts(s *linalg.Session, x *linalg.Array[int32]) error {
	_, n := x.Dims()
	grid := groups((n+1)/2, sortTile/2)
	if err := launchSortTiles(s, grid, x); err != nil {
		return err
	}
	for run := 2 * sortTile; run/2 < n; run *= 2 {
		pairs := groups((n+run-1)/run*run/2, sortTile/2) // also of the last run, which may be short
		for half, mask := run/2, run-1; half >= sortTile; half, mask = half/2, half/2 {
			if err := launchSortPass(s, pairs, x, half, mask); err != nil {
				return err
			}
		}
		if err := launchMergeTiles(s, grid, x); err != nil {
			return err
		}
	}
	return nil
}
