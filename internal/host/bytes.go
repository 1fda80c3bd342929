package host

import (
	"crypto/subtle"
	"encoding/binary"
	"sync"
	"unsafe"
)

// A product of bytes is one of int32 whose elements are words of 1, 2 or 4 neighbours along k, as
// the kernel takes them: an int32, two int16, or four bytes. A kernel adds all products of two
// words to an element of C; so packing, blocks and cores are those of int32. The words of a block
// of A and of B are made first.

// LittleEndian tells whether a word's first neighbour is its first byte in memory, too, so that
// rows of bytes are rows of words as they lie.
var LittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// A Byte is an element of products of bytes.
type Byte interface{ int8 | uint8 }

// wordSteps and wordRows are the steps, and the rows of op(A) or columns of op(B), whose words are
// made at a time: at most 16 MiB.
const wordSteps, wordRows = 2048, 4096

// GemmBytes computes C = op(A)*op(B), or with add C + op(A)*op(B), modulo 2^32, for op(A) of m by
// k, op(B) of k by n and C of m by n, which overlaps neither. k == 0 reads neither A nor B.
func GemmBytes[A Byte](
	transA, transB bool, m, n, k int, a []A, lda int, b []int8, ldb int, add bool, c []int32, ldc int,
) {
	check("C", m, n, ldc, len(c))
	if m == 0 || n == 0 {
		return
	}
	if k > 0 {
		checkOp("A", transA, m, k, lda, len(a))
		checkOp("B", transB, k, n, ldb, len(b))
	}
	gemmBytes(kindOf[A]() == 1, m, n, k, byteMatrix[A]{a, lda, !transA}, byteMatrix[int8]{b, ldb, transB}, add, c, ldc)
}

// GemmQuads is [GemmBytes] of words of four neighbours along k: op(A) is m by k words, op(B) k by
// n. unsigned says what A's bytes are.
func GemmQuads(
	unsigned, transA, transB bool, m, n, k int, a []int32, lda int, b []int32, ldb int, add bool, c []int32, ldc int,
) {
	check("C", m, n, ldc, len(c))
	if m == 0 || n == 0 {
		return
	}
	if k > 0 {
		checkOp("A", transA, m, k, lda, len(a))
		checkOp("B", transB, k, n, ldb, len(b))
	}
	y := quadMatrix[int8]{b, ldb, transB}
	if unsigned {
		gemmBytes(true, m, n, 4*k, quadMatrix[uint8]{a, lda, !transA}, y, add, c, ldc)
	} else {
		gemmBytes(false, m, n, 4*k, quadMatrix[int8]{a, lda, !transA}, y, add, c, ldc)
	}
}

// Quads makes words of four neighbours in the rows of a matrix of rows by cols, or without along
// below each other, with zeros beyond: a matrix of rows by ceil(cols/4) words, or of ceil(rows/4)
// by cols.
func Quads[E Byte](along bool, rows, cols int, x []E, ldx int, dst []int32) {
	m, quads := byteMatrix[E]{x, ldx, along}, quads()
	switch {
	case rows == 0 || cols == 0:
	case along:
		m.words(quads, 0, rows, 0, cols, dst)
	default:
		m.words(quads, 0, cols, 0, rows, dst)
	}
}

// kindOf is 0 where E is int8, 1 where it is uint8.
func kindOf[E Byte]() int {
	if ^E(0) > 0 {
		return 1
	}
	return 0
}

// A bytesKernel multiplies words of width neighbours. With unsigned it takes A's bytes as unsigned.
// along and down make words; nil where there is no fast way.
type bytesKernel struct {
	*microKernel[int32]
	width       int
	unsigned    bool
	along, down wordsFunc
}

// A wordsFunc makes n words of bytes, a multiple of 16: of those that lie side by side, or of rows
// that are stride bytes apart. unsigned says what the bytes are.
type wordsFunc func(dst, src unsafe.Pointer, stride, n int, unsigned bool)

// bytesKernels gives the kernels of this processor for products of signed bytes, and of unsigned
// ones, by signed ones, best first. The last is that of int32. They are looked for at the first
// product, since the system is asked for some.
var bytesKernels = sync.OnceValue(func() (kernels [2][]*bytesKernel) {
	for i := range kernels {
		kernels[i] = append(nativeBytes(i == 1), &bytesKernel{microKernel: kernelsI32[0], width: 1})
	}
	return kernels
})

// quads makes words of four.
func quads() *bytesKernel {
	if hasVectors {
		return &bytesKernel{width: 4, down: quadsDownNative}
	}
	return &bytesKernel{width: 4}
}

// skipBytesKernels is not 0 in tests of what other processors run.
var skipBytesKernels = 0

// gemmBytes is [GemmBytes] of operands of which words can be made.
func gemmBytes(unsigned bool, m, n, k int, a, b wordMaker, add bool, c []int32, ldc int) {
	if k == 0 {
		if !add {
			scaleC(m, n, 0, c, ldc)
		}
		return
	}
	kern := bytesKernels()[0][skipBytesKernels]
	if unsigned {
		kern = bytesKernels()[1][skipBytesKernels]
	}
	width := kern.width
	rows, cols, steps := equal(m, wordRows, 1), equal(n, wordRows, 1), equal(k, wordSteps, 64)
	most := (steps + width - 1) / width
	s, memory := Take[int32]((rows + cols) * most)
	defer s.Give()
	x, y := memory[:rows*most], memory[rows*most:]
	var turned []int32 // A's words, where they lie down its columns and the kernel takes them along rows
	for j := 0; j < n; j += cols {
		for p := 0; p < k; p += steps {
			nc, kc := min(cols, n-j), min(steps, k-p)
			ldb, transB := b.words(kern, j, nc, p, kc, y)
			part := problem[int32]{
				n: nc, k: (kc + width - 1) / width, alpha: 1, accumulate: add || p > 0,
				transB: transB, b: y, ldb: ldb, ldc: ldc, ordered: kern.unsigned || kern.inPlace,
			}
			for i := 0; i < m; i += rows {
				part.m, part.c = min(rows, m-i), c[i*ldc+j:]
				lda, along := a.words(kern, i, part.m, p, kc, x)
				part.a, part.lda, part.transA = x, lda, !along
				if kern.inPlace && !along {
					if turned == nil {
						s, turned = Take[int32](rows * most)
						defer s.Give()
					}
					Transpose(part.k, part.m, x, lda, turned, most)
					part.a, part.lda, part.transA = turned, most, false
				}
				if kern.unsigned && !unsigned {
					kern.multiplyFlipped(part)
				} else {
					multiply(kern.microKernel, part)
				}
			}
		}
	}
}

func multiply(kern *microKernel[int32], part problem[int32]) {
	q := newProduct(kern, part)
	q.choose()
}

// multiplyFlipped multiplies signed bytes with a kernel for unsigned ones: A+128, whose bytes are
// A's with their sign bits flipped. That is more by what a row of 128s by B gives, which is taken
// from each row of C first.
func (kern *bytesKernel) multiplyFlipped(part problem[int32]) {
	s, memory := Take[int32](part.k + part.n)
	defer s.Give()
	signs, more := memory[:part.k], memory[part.k:]
	for i := range signs {
		signs[i] = -0x7f7f7f80 // of four bytes
	}
	row := part
	row.m, row.accumulate, row.transA = 1, false, false
	row.a, row.lda, row.c, row.ldc = signs, part.k, more, part.n
	multiply(kern.microKernel, row)

	bands[int32](part.m, max(part.n, part.k), 1, func(lo, hi int) {
		kern.finish(hi-lo, part.n, -1, &more[0], 0, 1, &part.c[lo*part.ldc], part.ldc, part.accumulate)
		for i := lo; i < hi; i++ {
			words := asBytes(part.a[i*part.k:][:part.k])
			subtle.XORBytes(words, words, asBytes(signs))
		}
	})
	part.accumulate = true
	multiply(kern.microKernel, part)
}

func asBytes(x []int32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// A wordMaker is A or B as lines, rows of op(A) or columns of op(B), of k steps.
type wordMaker interface {
	// words makes dst the words of steps p to p+steps of lines o to o+lines, zeros beyond: a line
	// after the other where a line's steps lie along a row, else a step's words. It gives the
	// elements of such a row.
	words(kern *bytesKernel, o, lines, p, steps int, dst []int32) (ld int, along bool)
}

// byteMatrix is bytes: with along, element p of line o is data[o*stride+p], else data[p*stride+o].
type byteMatrix[E Byte] struct {
	data   []E
	stride int
	along  bool
}

func (x byteMatrix[E]) words(kern *bytesKernel, o, lines, p, steps int, dst []int32) (ld int, along bool) {
	width := kern.width
	count := (steps + width - 1) / width
	if x.along {
		wordBands(lines, count, func(i int) {
			wordsAlong(kern, x.data[(o+i)*x.stride+p:][:steps], dst[i*count:][:count])
		})
		return count, true
	}
	wordBands(count, lines, func(w int) {
		wordsDown(kern, x.data[(p+w*width)*x.stride+o:], x.stride, min(width, steps-w*width), dst[w*lines:][:lines])
	})
	return lines, false
}

// wordBands calls f for each row of words, over the cores where there are many.
func wordBands(rows, cols int, f func(row int)) {
	bands[int32](rows, 2*cols, 1, func(lo, hi int) { // they are read and written
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// wordsAlong makes the words of a row's elements.
func wordsAlong[E Byte](kern *bytesKernel, x []E, dst []int32) {
	done := 0
	switch {
	case kern.width == 1:
		for i, v := range x {
			dst[i] = int32(v)
		}
		return
	case kern.width == 4 && LittleEndian:
		done = len(x) / 4
		copy(unsafe.Slice((*E)(unsafe.Pointer(&dst[0])), 4*done), x)
	case kern.along != nil && len(x) >= 16*kern.width:
		done = len(x) / kern.width / 16 * 16
		kern.along(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), 0, done, kindOf[E]() == 1)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = word(kern.width, x[kern.width*i:], 1, min(kern.width, len(x)-kern.width*i))
	}
}

// wordsDown makes the words of rows below each other, of which there are width at most.
func wordsDown[E Byte](kern *bytesKernel, x []E, stride, rows int, dst []int32) {
	done := 0
	switch {
	case kern.width == 1:
		for j, v := range x[:len(dst)] {
			dst[j] = int32(v)
		}
		return
	case kern.down != nil && rows == kern.width && len(dst) >= 16:
		done = len(dst) / 16 * 16
		kern.down(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), stride, done, kindOf[E]() == 1)
	}
	for j := done; j < len(dst); j++ {
		dst[j] = word(kern.width, x[j:], stride, rows)
	}
}

func pair[E Byte](lo, hi E) int32 { return int32(uint16(int16(lo))) | int32(hi)<<16 }

// word is the word of n elements that are step apart.
func word[E Byte](width int, x []E, step, n int) (w int32) {
	mask := int32(uint32(1)<<(32/width) - 1)
	for i := range n {
		w |= (int32(x[i*step]) & mask) << (32 / width * i)
	}
	return w
}

// quadMatrix is words of four bytes: with along, word p of line o is data[o*stride+p], else
// data[p*stride+o].
type quadMatrix[E Byte] struct {
	data   []int32
	stride int
	along  bool
}

func (x quadMatrix[E]) words(kern *bytesKernel, o, lines, p, steps int, dst []int32) (ld int, along bool) {
	if x.along {
		return x.rowsOfBytes(o, lines, p, steps).words(kern, 0, lines, 0, steps, dst)
	}
	width := kern.width
	wordBands(steps/width, lines, func(w int) {
		row, shift := x.data[(p+w*width)/4*x.stride+o:][:lines], 8*(w*width%4)
		dst := dst[w*lines:][:lines]
		for j, q := range row {
			q >>= shift
			switch width {
			case 1:
				dst[j] = int32(E(q))
			case 2:
				dst[j] = pair(E(q), E(q>>8))
			case 4:
				dst[j] = q
			}
		}
	})
	return lines, false
}

// rowsOfBytes is steps p to p+steps of lines o to o+lines.
func (x quadMatrix[E]) rowsOfBytes(o, lines, p, steps int) byteMatrix[E] {
	words := x.data[o*x.stride:]
	if LittleEndian {
		bytes := unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(words))), 4*len(words))
		return byteMatrix[E]{bytes[p:], 4 * x.stride, true}
	}
	bytes := make([]E, lines*steps)
	for i := range lines {
		for s := range steps {
			bytes[i*steps+s] = E(words[i*x.stride+(p+s)/4] >> ((p + s) % 4 * 8))
		}
	}
	return byteMatrix[E]{bytes, steps, true}
}

// GemmBytesReference computes what [GemmBytes] does by the definition.
func GemmBytesReference[A Byte](
	transA, transB bool, m, n, k int, a []A, lda int, b []int8, ldb int, add bool, c []int32, ldc int,
) {
	aRow, aStep := Steps(transA, lda)
	bStep, bCol := Steps(transB, ldb)
	for i := range m {
		for j := range n {
			acc := int32(0)
			if add {
				acc = c[i*ldc+j]
			}
			for p := range k {
				acc += int32(a[i*aRow+p*aStep]) * int32(b[p*bStep+j*bCol])
			}
			c[i*ldc+j] = acc
		}
	}
}
