package main

import "fmt"

// An x86Transpose transposes as many rows as there are elements in a register. A part of 16 bytes
// of the register takes the elements of one row: n rows to n registers, the next n rows to the next
// part of the same registers, so that transposing n by n elements within the parts is all that is
// left. One that streams writes whole cache lines, which two registers of 32 bytes hold.
type x86Transpose struct {
	name   string
	n      int // elements in 16 bytes
	width  int // bytes of a register
	stream bool
}

// line is the bytes of a row of dst that are written at a time.
func (t x86Transpose) line() int {
	if t.stream {
		return 64
	}
	return t.width
}

var transposes = []x86Transpose{
	{"transpose4AVX512", 4, 64, false},
	{"transpose8AVX512", 2, 64, false},
	{"stream4AVX512", 4, 64, true},
	{"stream8AVX512", 2, 64, true},
	{"transpose4AVX", 4, 16, false},
	{"transpose4AVX2", 4, 32, false},
	{"transpose8AVX2", 2, 32, false},
	{"stream4AVX2", 4, 32, true},
	{"stream8AVX2", 2, 32, true},
}

func (t x86Transpose) r(i int) string {
	return fmt.Sprint(map[int]string{16: "X", 32: "Y", 64: "Z"}[t.width], i)
}

func (w *writer) transpose(t x86Transpose) {
	w.text(t.name, "src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, tiles int", 40)
	w.op("MOVQ src+0(FP), SI")
	w.op("MOVQ lds+8(FP), R8")
	w.op("MOVQ dst+16(FP), DI")
	w.op("MOVQ ldd+24(FP), R9")
	w.op("MOVQ tiles+32(FP), CX")
	w.loop("loop")
	for at := 0; at < t.line(); at += 16 {
		w.op("MOVQ SI, R10")
		for part := 0; part < t.line(); part += t.width {
			w.gather(t, at)
			w.shuffle(t, result(part))
		}
		w.scatter(t)
	}
	w.op("ADDQ $%d, SI", t.line())
	w.op("DECQ CX")
	w.op("JNZ loop")
	if t.stream {
		w.op("SFENCE")
	}
	w.op("VZEROUPPER")
	w.op("RET")
}

// result is the first of the registers with a part of a line of each of n rows.
func result(part int) int { return 4 + part/4 }

// gather loads 16 bytes at offset from each row, from R10 on, which is then the next row.
func (w *writer) gather(t x86Transpose, offset int) {
	for part := range t.width / 16 {
		for r := range t.n {
			switch {
			case part == 0:
				w.op("VMOVUPS %d(R10), X%d", offset, r)
			case t.width == 32:
				w.op("VINSERTF128 $%d, %d(R10), Y%d, Y%d", part, offset, r, r)
			default:
				w.op("VINSERTF32X4 $%d, %d(R10), Z%d, Z%d", part, offset, r, r)
			}
			w.op("ADDQ R8, R10")
		}
	}
}

// shuffle transposes registers 0 to n-1 within the parts, to n registers from to on.
func (w *writer) shuffle(t x86Transpose, to int) {
	op := func(name string, high, low, dst int) { w.op("%s %s, %s, %s", name, t.r(high), t.r(low), t.r(dst)) }
	if t.n == 2 {
		op("VUNPCKLPD", 1, 0, to)
		op("VUNPCKHPD", 1, 0, to+1)
		return
	}
	op("VUNPCKLPS", 1, 0, 8)
	op("VUNPCKHPS", 1, 0, 9)
	op("VUNPCKLPS", 3, 2, 10)
	op("VUNPCKHPS", 3, 2, 11)
	op("VUNPCKLPD", 10, 8, to)
	op("VUNPCKHPD", 10, 8, to+1)
	op("VUNPCKLPD", 11, 9, to+2)
	op("VUNPCKHPD", 11, 9, to+3)
}

// scatter stores the results to the next n rows of dst.
func (w *writer) scatter(t x86Transpose) {
	store := "VMOVUPS"
	if t.stream {
		store = "VMOVNTPS"
	}
	for r := range t.n {
		for part := 0; part < t.line(); part += t.width {
			w.op("%s %s, %d(DI)", store, t.r(result(part)+r), part)
		}
		w.op("ADDQ R9, DI")
	}
}
