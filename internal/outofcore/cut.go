package outofcore

import (
	"iter"
	"math"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/internal/tiles"
)

// A cut is how the result is cut into blocks, which are computed so many steps at a time.
type cut struct {
	rows, cols, depth int
	down              bool // the block below comes next, not the one beside
}

// A budget is how many elements the matrices may have at a time, how often the result's block
// counts, and what it costs to continue the chains of a byte of it, in bytes of a file.
type budget struct {
	elements, copies int
	stepCost         float64
}

// programMemory is what a program takes beside the matrices: itself, PoCL's compiler, buffers.
const programMemory = 192 << 20

// budget leaves to the devices what they need for themselves of the host's memory.
func (f *Files[T]) budget() budget {
	program, b := int64(programMemory), budget{copies: 1, stepCost: 0.25}
	for _, d := range f.Devices {
		switch {
		case !d.SharesMemory():
			program += int64(2 * stagingBuffers * stagingBytes)
			b.stepCost = 2
		case len(f.Devices) > 1:
			b.copies = 2
		}
	}
	b.elements = int((f.Memory - min(f.Memory/2, program)) / int64(f.Out.Type.Size()))
	return b
}

// runCost is how many bytes are read in the time that it takes to begin elsewhere in a file.
const runCost = 32 << 10

// cut chooses the cut that fits in the memory at the least cost, if there is one. Two regions of
// each input are there at a time.
func (f *Files[T]) cut(room budget) (best cut, ok bool) {
	least := math.Inf(1)
	for rows := range lengths(f.Rows) {
		for cols := range lengths(f.Cols) {
			depth, ok := f.depthIn(room.elements-room.copies*rows*cols, rows, cols)
			if !ok {
				continue
			}
			for _, down := range []bool{false, true} {
				b := cut{rows, cols, depth, down}
				if cost := f.cost(b, room.stepCost); cost < least {
					least, best = cost, b
				}
			}
		}
	}
	return best, best.rows > 0
}

// lengths are n cut into 1, 2 and more even parts, down to length 1.
func lengths(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 1; ; i += 1 + i/8 {
			if length := ceil(n, i); !yield(length) || length == 1 {
				return
			}
		}
	}
}

// depthIn is how many steps a block of rows by cols can have at a time, where the inputs' regions
// have room for so many elements; false if there is no room.
func (f *Files[T]) depthIn(room, rows, cols int) (depth int, ok bool) {
	depth = 1
	if f.reuses() {
		depth = min(f.Steps, f.MaxDim, room/(2*(rows+cols)))
		if f.Steps > 0 && depth > 0 {
			depth = ceil(f.Steps, ceil(f.Steps, depth))
		}
	} else {
		room -= 2 * len(f.In) * rows * cols
	}
	return depth, room >= 0 && (depth >= 1 || f.Steps == 0) && max(rows, cols) <= f.MaxDim
}

// cost is what it takes to read and write the files by such blocks, in bytes of a file.
func (f *Files[T]) cost(b cut, stepCost float64) float64 {
	cost := passCost(f.Out, b.rows, b.cols)
	if b.depth > 0 {
		size := float64(f.Out.Type.Size())
		cost += stepCost * size * float64(f.Rows) * float64(f.Cols) * float64(ceil(f.Steps, b.depth)-1)
	}
	for i, in := range f.In {
		r := f.Region(i+1, tiles.Tile{Rows: b.rows, Cols: b.cols}, 0, b.depth)
		if r.Rows > 0 && r.Cols > 0 {
			cost += f.passes(i+1, b) * passCost(in, r.Rows, r.Cols)
		}
	}
	return cost
}

// passes is how often operand i is read.
func (s *Shape) passes(i int, b cut) float64 {
	onRows, onCols := s.dependsOn(i)
	switch {
	case !onCols && (b.down || b.depth < s.Steps): // one region for all blocks beside each other
		return float64(ceil(s.Cols, b.cols))
	case !onRows && (!b.down || b.depth < s.Steps):
		return float64(ceil(s.Rows, b.rows))
	}
	return 1
}

// passCost is the cost to go once through a file by regions of r by c, in bytes.
func passCost[T element.Element](b *npy.Blocks[T], r, c int) float64 {
	rows, cols := b.Rows, b.Cols
	if b.Fortran() {
		rows, cols, r, c = cols, rows, c, r
	}
	runs := float64(ceil(rows, r))
	if c < cols {
		runs = float64(rows) * float64(ceil(cols, c))
	}
	return float64(b.Type.Size())*float64(rows)*float64(cols) + runCost*runs
}

// A part is some steps of a block of the result.
type part struct {
	c    tiles.Tile
	k, l int
}

// parts are all parts in their order. It turns at the edges, where what was read last is of use
// again.
func (s *Shape) parts(b cut) iter.Seq[part] {
	rows, cols := ceil(s.Rows, b.rows), ceil(s.Cols, b.cols)
	return func(yield func(part) bool) {
		for p := range rows * cols {
			i, j := p/cols, p%cols
			if b.down {
				i, j = p%rows, p/rows
			}
			if b.down && j%2 == 1 {
				i = rows - 1 - i
			} else if !b.down && i%2 == 1 {
				j = cols - 1 - j
			}
			c := tiles.Tile{Row: i * b.rows, Col: j * b.cols}
			c.Rows, c.Cols = min(b.rows, s.Rows-c.Row), min(b.cols, s.Cols-c.Col)
			for k, l := 0, -1; l < s.Steps; k = l {
				l = min(k+b.depth, s.Steps)
				if !yield(part{c, k, l}) {
					return
				}
			}
		}
	}
}
