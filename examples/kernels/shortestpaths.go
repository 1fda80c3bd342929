package main

// All shortest paths of a graph, by Floyd and Warshall in tiles (Venkataraman, Sahni and
// Mukhopadhyaya, A blocked all-pairs shortest-paths algorithm, 2003): paths through the nodes of
// one tile after the other. Of every such step the tile on the diagonal comes first, then those of
// its row and column, which need it, then all others, which need these: three launches.

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// side is the rows and columns of a tile.
const side = 16

// unreachable is longer than every path; twice that fits an int32.
const unreachable = 1<<30 - 1

// The tiles that a launch of paths works on.
const (
	diagonal = iota
	cross    // of the diagonal tile's row and column
	rest
)

// paths makes element (i, j) of d, the length of a path, the least that goes through nodes of tile
// k as well.
//
//tandem:kernel
//tandem:group 16 16
func paths(it gpu.Item, d gpu.Matrix[int32], k, part int) {
	a, b := gpu.Local[[side][side]int32](it), gpu.Local[[side][side]int32](it)
	i, j := it.Group(1), it.Group(0)
	switch part {
	case diagonal:
		i, j = k, k
	case cross: // groups in two rows
		if i == 0 {
			i = k
		} else {
			i, j = j, k
		}
	}
	if part != diagonal && i == k && j == k || part == rest && (i == k || j == k) {
		return
	}
	y, x := it.Local(1), it.Local(0)
	a[y][x] = distance(d, i*side+y, k*side+x)
	b[y][x] = distance(d, k*side+y, j*side+x)
	own := distance(d, i*side+y, j*side+x)
	it.Barrier()
	for p := range side {
		own = min(own, a[y][p]+b[p][x])
		if part != rest { // the tile is one of those that it is made from
			it.Barrier()
			if j == k {
				a[y][x] = own
			}
			if i == k {
				b[y][x] = own
			}
			it.Barrier()
		}
	}
	if i, j := i*side+y, j*side+x; i < d.Rows && j < d.Cols {
		d.Set(i, j, own)
	}
}

func distance(d gpu.Matrix[int32], i, j int) int32 {
	if i < d.Rows && j < d.Cols {
		return d.At(i, j)
	}
	return unreachable
}

// shortestPaths makes element (i, j) of d, the length of the way from node i to node j, that of the
// shortest path. Lengths are at least 0 and less than unreachable/2.
func shortestPaths(s *linalg.Session, d *linalg.Array[int32]) error {
	n, _ := d.Dims()
	all := tiles(n, n, side)
	one, two := all, all
	one.Groups[0], one.Groups[1], two.Groups[1] = 1, 1, 2
	for k := range all.Groups[0] {
		if err := launchPaths(s, one, d, k, diagonal); err != nil {
			return err
		}
		if err := launchPaths(s, two, d, k, cross); err != nil {
			return err
		}
		if err := launchPaths(s, all, d, k, rest); err != nil {
			return err
		}
	}
	return nil
}
