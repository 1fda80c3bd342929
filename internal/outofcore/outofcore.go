// Package outofcore computes matrices that are larger than the memory they are computed in, and by
// several devices. An operation is known by its regions: which region of each input a region of the
// result needs, for some steps of its chains. A [Job] is on matrices in the host's memory, whose
// tiles are shared out to devices, and go through those with memory of their own in a pipeline.
// [Files] is on .npy files, of which some blocks are in memory at a time.
package outofcore

import (
	"github.com/tandem-gpu/tandem/internal/tiles"
)

// A Shape is what is said of an operation: its result, operand 0, is computed by regions, from step
// k to step l-1 of the chains at a time. What has no chains has one step.
type Shape struct {
	Rows, Cols, Steps int
	Inputs            int // 1 or 2, which are operands 1 and 2
	Region            Region
}

// A Region is what region c of the result needs of operand i for the steps k to l-1.
type Region func(i int, c tiles.Tile, k, l int) tiles.Tile

// ProductRegion is the rows of A, or the columns of B.
func ProductRegion(i int, c tiles.Tile, k, l int) tiles.Tile {
	if i == 1 {
		c.Col, c.Cols = k, l-k
	} else {
		c.Row, c.Rows = k, l-k
	}
	return c
}

// TransposeRegion is the region at the other side of the diagonal.
func TransposeRegion(_ int, c tiles.Tile, _, _ int) tiles.Tile {
	return tiles.Tile{Row: c.Col, Col: c.Row, Rows: c.Cols, Cols: c.Rows}
}

// SameRegion is the region of the result.
func SameRegion(_ int, c tiles.Tile, _, _ int) tiles.Tile { return c }

// reuses tells whether several tiles of the result need one region of an operand, as those of a
// product do.
func (s *Shape) reuses() bool {
	for i := 1; i <= s.Inputs; i++ {
		if rows, cols := s.dependsOn(i); !rows || !cols {
			return true
		}
	}
	return false
}

// dependsOn tells whether tiles in other rows, or in other columns, need another region of operand
// i.
func (s *Shape) dependsOn(i int) (rows, cols bool) {
	at := func(row, col int) tiles.Tile {
		return s.Region(i, tiles.Tile{Row: row, Col: col, Rows: 1, Cols: 1}, 0, 1)
	}
	return at(0, 0) != at(1, 0), at(0, 0) != at(0, 1)
}

func ceil(n, by int) int { return (n + by - 1) / by }
