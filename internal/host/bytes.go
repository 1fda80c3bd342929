package host

import "unsafe"

// A product of bytes is one of int32 whose elements are words of 1, 2 or 4 neighbours along k, as
// the kernel takes them: an int32, two int16, or four bytes. A kernel adds all products of two
// words to an element of C; so packing, blocks and cores are those of int32. The words of a block
// of A and of B are made first.

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
	m, quads := byteMatrix[E]{x, ldx, along}, &bytesKernel{width: 4}
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

// A bytesKernel multiplies words of width neighbours. For pairs along and down make the first words
// of a row, of signed bytes and of others: whole vectors of n bytes, or columns.
type bytesKernel struct {
	*microKernel[int32]
	width int
	along [2]func(dst, src unsafe.Pointer, n int)
	down  [2]func(dst, src, next unsafe.Pointer, n int)
}

// wordsAllowed is false in tests of what other processors run.
var wordsAllowed = true

// bytesKernelOf is the kernel of this processor.
func bytesKernelOf(unsigned bool) *bytesKernel {
	if kern := nativeBytes(unsigned); kern != nil && wordsAllowed {
		return kern
	}
	return &bytesKernel{microKernel: kernelsI32[0], width: 1}
}

// gemmBytes is [GemmBytes] of operands of which words can be made.
func gemmBytes(unsigned bool, m, n, k int, a, b wordMaker, add bool, c []int32, ldc int) {
	if k == 0 {
		if !add {
			scaleC(m, n, 0, c, ldc)
		}
		return
	}
	kern := bytesKernelOf(unsigned)
	width := kern.width
	rows, cols, steps := equal(m, wordRows, 1), equal(n, wordRows, 1), equal(k, wordSteps, 4)
	most := (steps + width - 1) / width
	s, memory := Take[int32]((rows + cols) * most)
	defer s.Give()
	x, y := memory[:rows*most], memory[rows*most:]
	for j := 0; j < n; j += cols {
		for p := 0; p < k; p += steps {
			nc, kc := min(cols, n-j), min(steps, k-p)
			ldb, transB := b.words(kern, j, nc, p, kc, y)
			for i := 0; i < m; i += rows {
				mc := min(rows, m-i)
				lda, along := a.words(kern, i, mc, p, kc, x)
				q := newProduct(kern.microKernel, problem[int32]{
					m: mc, n: nc, k: (kc + width - 1) / width, alpha: 1, accumulate: add || p > 0,
					transA: !along, transB: transB, a: x, lda: lda, b: y, ldb: ldb, c: c[i*ldc+j:], ldc: ldc,
				})
				q.choose()
			}
		}
	}
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
	bands[int32](rows, cols, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// wordsAlong makes the words of a row's elements.
func wordsAlong[E Byte](kern *bytesKernel, x []E, dst []int32) {
	done, kind := 0, kindOf[E]()
	switch {
	case kern.width == 1:
		for i, v := range x {
			dst[i] = int32(v)
		}
		return
	case kern.width == 4:
		done = len(x) / 4
		copy(unsafe.Slice((*E)(unsafe.Pointer(&dst[0])), 4*done), x)
	case kern.along[kind] != nil && len(x) >= 32:
		done = len(x) / 32 * 16
		kern.along[kind](unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), 2*done)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = word(kern.width, x[kern.width*i:], 1, min(kern.width, len(x)-kern.width*i))
	}
}

// wordsDown makes the words of rows below each other, of which there are width at most.
func wordsDown[E Byte](kern *bytesKernel, x []E, stride, rows int, dst []int32) {
	done, kind := 0, kindOf[E]()
	switch {
	case kern.width == 1:
		for j, v := range x[:len(dst)] {
			dst[j] = int32(v)
		}
		return
	case kern.width == 4 && rows == 4:
		done = len(dst)
		x1, x2, x3 := x[stride:][:done], x[2*stride:][:done], x[3*stride:][:done]
		for j, v := range x[:done] {
			dst[j] = int32(uint32(uint8(v)) | uint32(uint8(x1[j]))<<8 | uint32(uint8(x2[j]))<<16 | uint32(x3[j])<<24)
		}
	case kern.down[kind] != nil && rows == 2 && len(dst) >= 16:
		done = len(dst) / 16 * 16
		kern.down[kind](unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&x[stride]), done)
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
		bytes := unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(x.data))), 4*len(x.data))
		return byteMatrix[E]{bytes, 4 * x.stride, true}.words(kern, o, lines, p, steps, dst)
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
