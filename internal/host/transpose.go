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
	if isSmall[T](rows, cols) { // spares the closure below, which lives on the heap
		transposeTiles(rows, cols, src, lds, dst, ldd)
		return
	}
	run := transposeTiles[T]
	if streams(rows, cols, dst, ldd) {
		run = transposeStream[T]
	}
	f := run // what never changes is not on the heap before the closure is made
	// Each turn takes a part of some rows: one that reads only little of a row waits for the
	// memory, and one that reads much of it writes to more rows than there are pages at hand.
	size := int(unsafe.Sizeof(T(0)))
	width := min(cols, turnBytes/size)
	height := roundUp(bandBytes/size/width, cacheLine/size)
	across := (cols + width - 1) / width
	parallel.Do(across*((rows+height-1)/height), func(turn int) {
		i, j := turn/across*height, turn%across*width
		f(min(height, rows-i), min(width, cols-j), src[i*lds+j:], lds, dst[j*ldd+i:], ldd)
	})
}

const (
	turnBytes   = 2 << 10 // of a row of src that a turn reads
	streamBytes = 4 << 20 // of matrices that the caches do not keep
)

// streams tells whether transposeStream is for dst.
func streams[T element.Element](rows, cols int, dst []T, ldd int) bool {
	size := int(unsafe.Sizeof(T(0)))
	run := transposesOf(size).stream
	aligned := (uintptr(unsafe.Pointer(&dst[0]))|uintptr(ldd*size))%cacheLine == 0
	return run != nil && aligned && rows > streamBytes/size/cols
}

// transposeStream transposes to rows that are aligned to a cache line: it writes whole lines, past
// the caches.
func transposeStream[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	size := int(unsafe.Sizeof(T(0)))
	run, tile := transposesOf(size).stream, cacheLine/size
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

// transposeTiles transposes in the processor's tiles, the last of which may overlap those before.
func transposeTiles[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	size := int(unsafe.Sizeof(T(0)))
	tiles := transposesOf(size).tiles
	for len(tiles) > 0 && tiles[0].side > min(rows, cols) {
		tiles = tiles[1:]
	}
	if len(tiles) == 0 {
		transposeLines(rows, cols, src, lds, dst, ldd)
		return
	}
	t := tiles[0]
	for next := 0; next < rows; next += t.side {
		i, j := min(next, rows-t.side), cols-t.side
		t.run(unsafe.Pointer(&src[i*lds]), lds*size, unsafe.Pointer(&dst[i]), ldd*size, cols/t.side)
		if cols%t.side > 0 {
			t.run(unsafe.Pointer(&src[i*lds+j]), lds*size, unsafe.Pointer(&dst[j*ldd+i]), ldd*size, 1)
		}
	}
}

// transposeLines transposes an element at a time, and so many rows that a line of dst is written at
// once.
func transposeLines[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	line := cacheLine / int(unsafe.Sizeof(T(0)))
	for i := 0; i < rows; i += line {
		h := min(line, rows-i)
		for j := range cols {
			at := i*lds + j
			to := dst[j*ldd+i:][:h]
			for r := range to {
				to[r] = src[at]
				at += lds
			}
		}
	}
}

// A tileTranspose transposes square tiles, which are neighbours in src, and below each other in
// dst. lds and ldd are in bytes, tiles is at least 1.
type tileTranspose func(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

// A squareTile is one for tiles of side by side elements.
type squareTile struct {
	side int
	run  tileTranspose
}

// transposes are those of the processor for elements of a size: in tiles, the largest first, and
// past the caches, in tiles of a cache line, to rows that are aligned to it; nil where there is
// none.
type transposes struct {
	tiles  []squareTile
	stream tileTranspose
}

// transposesOf are those for elements of size bytes.
func transposesOf(size int) transposes {
	switch {
	case !hasVectors:
		return transposes{}
	case size == 4:
		return nativeTransposes4
	}
	return nativeTransposes8
}
