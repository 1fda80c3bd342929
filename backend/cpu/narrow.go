package cpu

import (
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// A map of a few columns whose rows lie apart is worked on in packed copies, some rows at a time:
// machine code takes as long for a row of one element as for one of sixteen.

// What a map is narrow by, and the elements of a copy: few enough for the nearest cache.
const (
	fewColumns   = 8
	leastRows    = 16
	tileElements = 1024
)

// matrixWords is the words of a matrix: an address, an offset, rows, columns and a stride.
const matrixWords = 5

// isNarrow tells whether a call is of a map that is worked on so.
func (n *native) isNarrow(words []uint64) bool {
	if !n.isMap {
		return false
	}
	rows, cols := words[2], words[3]
	return cols > 0 && cols <= fewColumns && rows >= leastRows
}

// callNarrow is call for such a map: of all rows the groups take as many each, in order.
func (n *native) callNarrow(g backend.Grid, lo, hi int, words []uint64, f *frame) error {
	rows, cols, groups := int(words[2]), int(words[3]), g.Count()
	each := tileElements / cols
	one := backend.Grid{Groups: [3]int{1, 1, 1}, Local: g.Local}
	size := 8 * tileElements * len(n.operands)
	f.tiles = slices.Grow(f.tiles[:0], size)[:size]
	f.words = append(f.words[:0], words...)
	for i, end := rows*lo/groups, rows*hi/groups; i < end; i += each {
		m := min(each, end-i)
		var z strip
		for k, o := range n.operands {
			s := stripOf(words[o.at:], o.size, i, m, cols)
			if k == 0 {
				z = s
			}
			if s.isPacked() {
				s.put(f.words[o.at:], s.first)
			} else if !s.isSingle() {
				tile := unsafe.Pointer(&f.tiles[8*tileElements*k])
				if k > 0 {
					s.move(tile, true)
				}
				s.put(f.words[o.at:], tile)
			}
		}
		if err := n.call(one, 0, 1, f.words, f); err != nil {
			return err
		}
		if !z.isPacked() {
			z.move(unsafe.Pointer(&f.tiles[0]), false)
		}
	}
	return nil
}

// A strip is some rows of an operand, as the result has them: an input may repeat a row, a column
// or an element.
type strip struct {
	first      unsafe.Pointer
	size       int // of an element, in bytes
	rows, cols int
	row, col   int  // how far apart rows and columns are, in bytes; 0 where they repeat
	of         int  // the columns of the operand
	isNumber   bool // there is no matrix
}

// stripOf is rows i to i+m-1 of the operand that has the words.
func stripOf(words []uint64, size int64, i, m, cols int) strip {
	s := strip{size: int(size), rows: m, cols: cols, of: int(words[3]), isNumber: words[2] == 0}
	s.row = int(words[4]) * s.size
	if s.of > 1 {
		s.col = s.size
	}
	s.first = unsafe.Add(address(words[0]), int(words[1])*s.size+i*s.row)
	return s
}

// address is where a word points to: memory of the launch's arguments, which they keep.
func address(word uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&word)) }

// isSingle tells whether it is one element, or a number in the place of a matrix.
func (s *strip) isSingle() bool { return s.isNumber || s.of == 1 && s.row == 0 }

// isPacked tells whether its elements lie side by side, none of them twice.
func (s *strip) isPacked() bool {
	return !s.isNumber && s.of == s.cols && s.row == s.cols*s.size
}

// put makes the words of an operand those of one row of the elements at p.
func (s *strip) put(words []uint64, p unsafe.Pointer) {
	n := uint64(s.rows * s.cols)
	copy(words[:matrixWords], []uint64{uint64(uintptr(p)), 0, 1, n, n})
}

// move copies the elements to or from memory where they lie side by side.
func (s *strip) move(side unsafe.Pointer, to bool) {
	switch s.size {
	case 1:
		moveStrip[uint8](s, side, to)
	case 2:
		moveStrip[uint16](s, side, to)
	case 4:
		moveStrip[uint32](s, side, to)
	default:
		moveStrip[uint64](s, side, to)
	}
}

// moveStrip goes down the columns: loops of a few steps would take longer.
func moveStrip[E any](s *strip, side unsafe.Pointer, to bool) {
	x := unsafe.Slice((*E)(side), s.rows*s.cols)
	for j := range s.cols {
		column, at, k := unsafe.Add(s.first, j*s.col), 0, j
		for ; to && k < len(x); k, at = k+s.cols, at+s.row {
			x[k] = *(*E)(unsafe.Add(column, at))
		}
		for ; !to && k < len(x); k, at = k+s.cols, at+s.row {
			*(*E)(unsafe.Add(column, at)) = x[k]
		}
	}
}
