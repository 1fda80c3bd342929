package host

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Transpose writes the transpose of src, of rows by cols, to dst, of cols by rows: dst[j*ldd+i] =
// src[i*lds+j]. They must not overlap.
func Transpose[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	check("src", rows, cols, lds, len(src))
	check("dst", cols, rows, ldd, len(dst))
	if rows == 0 || cols == 0 {
		return
	}
	if min(rows, cols) <= stripLines && rows*cols <= stripBytes/int(unsafe.Sizeof(T(0))) {
		transposeTiles(rows, cols, src, lds, dst, ldd)
		return
	}
	f := transposeBlocks[T]
	if streams(rows, cols, dst, ldd) {
		f = transposeStream[T]
	}
	if isSmall[T](rows, cols) { // spares the closure below, which lives on the heap
		f(rows, cols, src, lds, dst, ldd)
		return
	}
	// Each turn takes a part of some rows: one that reads only little of a row waits for the
	// memory, and one that reads much of it writes to more rows than there are pages at hand.
	size := int(unsafe.Sizeof(T(0)))
	width := min(cols, turnBytes/size)
	height := roundUp(bandBytes/size/width, blockBytes/size)
	across := (cols + width - 1) / width
	parallel.Do(across*((rows+height-1)/height), func(turn int) {
		i, j := turn/across*height, turn%across*width
		f(min(height, rows-i), min(width, cols-j), src[i*lds+j:], lds, dst[j*ldd+i:], ldd)
	})
}

// transposeRows transposes the rows from i on, an element at a time.
func transposeRows[T element.Element](i, rows, cols int, src []T, lds int, dst []T, ldd int) {
	for ; i < rows; i++ {
		at := i
		for _, x := range src[i*lds:][:cols] {
			dst[at] = x
			at += ldd
		}
	}
}

const (
	turnBytes   = 2 << 10 // of a row of src that a turn reads
	blockBytes  = 256     // of the pieces of rows that transposeBlock reads and writes
	streamBytes = 4 << 20 // of matrices that the caches do not keep
)

// A strip, of few rows or columns, is transposed in its tiles, which the caches keep while their
// lines fill up, and in this goroutine: by way of a block, and on several cores, it takes twice as
// long.
const (
	stripLines = 64
	stripBytes = 1 << 20
)

// streams tells whether transposeStream is for dst.
func streams[T element.Element](rows, cols int, dst []T, ldd int) bool {
	size := int(unsafe.Sizeof(T(0)))
	run := transposer().stream(size)
	aligned := (uintptr(unsafe.Pointer(&dst[0]))|uintptr(ldd*size))%cacheLine == 0
	return run != nil && aligned && rows > streamBytes/size/cols
}

// transposeStream transposes to rows that are aligned to a cache line: it writes whole lines, past
// the caches.
func transposeStream[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	size := int(unsafe.Sizeof(T(0)))
	run, tile := transposer().stream(size), cacheLine/size
	h, w := rows/tile*tile, cols/tile*tile
	for i := 0; i < h && w > 0; i += tile {
		run(unsafe.Pointer(&src[i*lds]), lds*size, unsafe.Pointer(&dst[i]), ldd*size, w/tile)
	}
	for i := range rows {
		from := w
		if i >= h {
			from = 0
		}
		for j := from; j < cols; j++ {
			dst[j*ldd+i] = src[i*lds+j]
		}
	}
}

// transposeBlocks transposes in square blocks, or at once where dst is so small that it stays in
// the first-level cache.
func transposeBlocks[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	size := int(unsafe.Sizeof(T(0)))
	if ldd <= directBytes/size/cols {
		transposeTiles(rows, cols, src, lds, dst, ldd)
		return
	}
	block := blockBytes / size
	s, temp := Take[T](block * block)
	defer s.Give()
	for i := 0; i < rows; i += block {
		for j := 0; j < cols; j += block {
			transposeBlock(min(block, rows-i), min(block, cols-j), src[i*lds+j:], lds, temp, dst[j*ldd+i:], ldd)
		}
	}
}

// transposeBlock transposes a block by way of temp, which stays in the first-level cache. src and
// dst are read and written a row at a time: along the columns, rows of an unlucky leading dimension
// push each other out of the caches.
func transposeBlock[T element.Element](rows, cols int, src []T, lds int, temp []T, dst []T, ldd int) {
	ldt := blockBytes / int(unsafe.Sizeof(T(0)))
	transposeTiles(rows, cols, src, lds, temp, ldt)
	for j := range cols {
		copy(dst[j*ldd:][:rows], temp[j*ldt:])
	}
}

// transposeTiles transposes in the processor's tiles, and what is left an element at a time.
func transposeTiles[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	size := int(unsafe.Sizeof(T(0)))
	i := 0
	if run, tile := transposer().tiles(size); run != nil && cols >= tile {
		for ; i+tile <= rows; i += tile {
			run(unsafe.Pointer(&src[i*lds]), lds*size, unsafe.Pointer(&dst[i]), ldd*size, cols/tile)
			for j := cols / tile * tile; j < cols; j++ {
				for r := i; r < i+tile; r++ {
					dst[j*ldd+r] = src[r*lds+j]
				}
			}
		}
	}
	transposeRows(i, rows, cols, src, lds, dst, ldd)
}

// A tileTranspose transposes square tiles, of as many rows as there are elements in a register:
// they are neighbours in src, and below each other in dst. lds and ldd are in bytes, tiles is at
// least 1.
type tileTranspose func(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

// A transposeSet is the transposes of an instruction set, for elements of 4 and of 8 bytes. Those
// that stream write past the caches, in tiles of a cache line, and need rows of dst that are
// aligned to it.
type transposeSet struct {
	name                                 string // for tests
	width                                int    // bytes of a register
	four, eight, streamFour, streamEight tileTranspose
}

// The transposes of this processor, best first; the last has none.
var transposeSets = append(nativeTransposes(), &transposeSet{name: "go", width: 1})

func transposer() *transposeSet { return transposeSets[0] }

// tiles is the transpose for elements of a size, and the rows and columns of its tile; nil where
// there is none.
func (t *transposeSet) tiles(size int) (run tileTranspose, tile int) {
	if size == 4 {
		return t.four, t.width / 4
	}
	return t.eight, t.width / 8
}

// stream is the one past the caches; nil where there is none.
func (t *transposeSet) stream(size int) tileTranspose {
	if size == 4 {
		return t.streamFour
	}
	return t.streamEight
}
