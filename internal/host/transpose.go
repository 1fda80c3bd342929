package host

import "unsafe"

// Transpose writes the transpose of src, of rows by cols, to dst, of cols by rows: dst[j*ldd+i] = src[i*lds+j]. They must not overlap.
func Transpose[T Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	check("src", rows, cols, lds, len(src))
	check("dst", cols, rows, ldd, len(dst))
	if rows == 0 || cols == 0 {
		return
	}
	block := blockBytes / int(unsafe.Sizeof(T(0)))
	bands[T](cols, rows, block, func(lo, hi int) {
		s, temp := take[T](block * block)
		defer s.give()
		for i := 0; i < rows; i += block {
			for j := lo; j < hi; j += block {
				transposeBlock(min(block, rows-i), min(block, hi-j), src[i*lds+j:], lds, temp, dst[j*ldd+i:], ldd)
			}
		}
	})
}

// blockBytes is the length of the pieces of rows that Transpose reads and writes.
const blockBytes = 256

// transposeBlock transposes a block by way of temp, which stays in the first-level cache. src and dst are read and written a row at a
// time: along the columns, rows of an unlucky leading dimension push each other out of the caches.
func transposeBlock[T Element](rows, cols int, src []T, lds int, temp []T, dst []T, ldd int) {
	size := int(unsafe.Sizeof(T(0)))
	ldt := blockBytes / size
	i := 0
	if run, tile := transposer(size); run != nil && cols >= tile {
		for ; i+tile <= rows; i += tile {
			run(unsafe.Pointer(&src[i*lds]), lds*size, unsafe.Pointer(&temp[i]), ldt*size, cols/tile)
			for j := cols / tile * tile; j < cols; j++ {
				for r := i; r < i+tile; r++ {
					temp[j*ldt+r] = src[r*lds+j]
				}
			}
		}
	}
	for ; i < rows; i++ {
		at := i
		for _, x := range src[i*lds:][:cols] {
			temp[at] = x
			at += ldt
		}
	}
	for j := range cols {
		copy(dst[j*ldd:][:rows], temp[j*ldt:])
	}
}

// A tileTranspose transposes tiles of as many rows as fit 32 bytes: they are neighbours in src, and below each other in dst. lds and ldd are
// in bytes, tiles is at least 1.
type tileTranspose func(src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int)

// transposer is the processor's own transpose for elements of a size, and the rows and columns of its tile; nil where there is none.
func transposer(size int) (run tileTranspose, tile int) {
	if size == 4 {
		return transpose4, 8
	}
	return transpose8, 4
}
