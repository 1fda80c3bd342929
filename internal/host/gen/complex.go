package main

import "fmt"

// complexRow writes y[j] = y[j] + op(a[p])*op(b[p,j]) for complex numbers, which go on with chains
// of fma for each part: two steps for each p, by the real and by the imaginary part of a[p]. signs,
// of 1 and -1, are those of what multiplies b and then of what multiplies b with its parts
// exchanged, for a real and an imaginary part each. With zero the chains begin at +0, and y is not
// read. Numbers of b are bCol elements apart: side by side some registers of them are done at a
// time, else four.
func (w *writer) complexRow(k x86Kernel) {
	const re, im, other, mask, signs = 4, 5, 6, 8, 9
	w.text("complexRow"+k.name,
		fmt.Sprintf("k, n int, a *%s, aStep int, signs, b *%[1]s, bRow, bCol int, y *%[1]s, zero bool",
			k.elem), 73)
	w.op("MOVQ n+8(FP), BX")
	w.op("MOVQ b+40(FP), SI")
	w.op("MOVQ y+64(FP), DX")
	w.strides(k, "aStep+24", "R12", "bRow+48", "R8", "bCol+56", "R13")
	w.op("MOVQ signs+32(FP), R9")
	for i := range 2 {
		w.op("%s %d(R9), %s", k.splatNumber(), i*2*k.size, k.r(signs+i))
	}
	chains := func(name string, vectors int, load, step func()) {
		w.op("CMPB zero+72(FP), $0")
		w.op("JNE %szero", name)
		load()
		w.op("JMP %sbegin", name)
		w.label("%szero", name)
		for v := range vectors {
			w.op("VXORPS %s, %[1]s, %[1]s", k.r(v))
		}
		w.label("%sbegin", name)
		w.op("MOVQ SI, R10")
		w.op("MOVQ a+16(FP), DI")
		w.op("MOVQ k+0(FP), CX")
		w.label("%sloop", name)
		for i, part := range []int{re, im} {
			w.op("%s %d(DI), %s", k.splat, i*k.size, k.r(part))
			w.op("%s %s, %s, %[3]s", k.mul, k.r(signs+i), k.r(part))
		}
		step()
		w.op("ADDQ R12, DI")
		w.op("ADDQ R8, R10")
		w.op("DECQ CX")
		w.op("JNZ %sloop", name)
	}
	add := func(reg string, v, b int) {
		w.op("%s %s%d, %[2]s%[4]d, %[2]s%[5]d", k.mulAdd, reg, b, re, v)
		w.exchange(k, reg, b, b)
		w.op("%s %s%d, %[2]s%[4]d, %[2]s%[5]d", k.mulAdd, reg, b, im, v)
	}
	w.op("CMPQ R13, $%d", 2*k.size)
	w.op("JNE apart")
	w.op("SHLQ $1, BX")
	w.columnBlocks(k, []string{"SI", "DX"}, func(vectors int) {
		chains(fmt.Sprint("by", vectors), vectors, func() { w.loadVectors(k, vectors) }, func() {
			for v := range vectors {
				w.op("%s %d(R10), %s", k.load, v*k.width(), k.r(other+v%2))
				add(k.reg, v, other+v%2)
			}
		})
		w.storeVectors(k, vectors)
	})
	w.restMask(k, k.r(mask))
	chains("rest", 1, func() { w.op("%s (DX), %s, %s", k.masked, k.r(mask), k.r(0)) }, func() {
		w.op("%s (R10), %s, %s", k.masked, k.r(mask), k.r(other))
		add(k.reg, 0, other)
	})
	w.storeRest(k)
	w.label("done")
	w.op("VZEROUPPER")
	w.op("RET")
	w.label("apart")
	w.op("LEAQ (R13)(R13*2), R11")
	w.label("four")
	w.op("CMPQ BX, $4")
	w.op("JLT fewer")
	fours := 8 / k.lanes()
	chains("four", fours, func() { w.loadVectors(k, fours) }, func() {
		w.loadFour(k, other)
		for v := range fours {
			add(k.reg, v, other+v)
		}
	})
	w.storeVectors(k, fours)
	w.op("LEAQ (SI)(R13*4), SI")
	w.op("ADDQ $%d, DX", 8*k.size)
	w.op("SUBQ $4, BX")
	w.op("JMP four")
	w.label("fewer")
	w.op("TESTQ BX, BX")
	w.op("JZ done")
	w.label("one")
	one := [...]string{4: "VMOVSD", 8: "VMOVUPD"}[k.size]
	chains("one", 1, func() { w.op("%s (DX), X0", one) }, func() {
		w.op("%s (R10), X%d", one, other)
		add("X", 0, other)
	})
	w.op("%s X0, (DX)", one)
	w.op("ADDQ R13, SI")
	w.op("ADDQ $%d, DX", 2*k.size)
	w.op("DECQ BX")
	w.op("JNZ one")
	w.op("VZEROUPPER")
	w.op("RET")
}

// loadFour loads the four numbers from R10 on that are R13 bytes apart: R11 is three times that.
func (w *writer) loadFour(k x86Kernel, v int) {
	at := []string{"(R10)", "(R10)(R13*1)", "(R10)(R13*2)", "(R10)(R11*1)"}
	if k.size == 8 {
		for i := range 2 {
			w.op("VMOVUPD %s, X%d", at[2*i], v+i)
			w.op("VINSERTF128 $1, %s, Y%d, Y%[2]d", at[2*i+1], v+i)
		}
		return
	}
	for i := range 2 {
		w.op("VMOVSD %s, X%d", at[2*i], v+i)
		w.op("VMOVHPS %s, X%d, X%[2]d", at[2*i+1], v+i)
	}
	w.op("VINSERTF128 $1, X%d, Y%d, Y%[2]d", v+1, v)
}

// complexDivide writes x[j] = (d[0:2]*x'[j] + d[2:4]*x[j])/d[4:6], part by part and by fma, for n
// complex numbers, where x' are they with their parts exchanged, or with high with x and x'
// exchanged.
func (w *writer) complexDivide(k x86Kernel) {
	const x, other, ratio, signs, sum, mask = 0, 1, 2, 3, 4, 5
	w.text("complexDivide"+k.name, fmt.Sprintf("n int, x, d *%s, high bool", k.elem), 25)
	w.op("MOVQ n+0(FP), BX")
	w.op("SHLQ $1, BX")
	w.op("MOVQ x+8(FP), DX")
	w.op("MOVQ d+16(FP), DI")
	w.op("MOVBLZX high+24(FP), AX")
	for i, v := range []int{ratio, signs, sum} {
		w.op("%s %d(DI), %s", k.splatNumber(), i*2*k.size, k.r(v))
	}
	divide := func(name string) {
		w.exchange(k, k.reg, x, other)
		w.op("TESTL AX, AX")
		w.op("JZ %s", name)
		w.op("VMOVAPS %s, %s", k.r(x), k.r(mask+1))
		w.op("VMOVAPS %s, %s", k.r(other), k.r(x))
		w.op("VMOVAPS %s, %s", k.r(mask+1), k.r(other))
		w.label("%s", name)
		w.op("%s %s, %s, %[3]s", k.mul, k.r(signs), k.r(x))
		w.op("%s %s, %s, %s", k.mulAdd, k.r(other), k.r(ratio), k.r(x))
		w.op("%s %s, %s, %[3]s", [...]string{4: "VDIVPS", 8: "VDIVPD"}[k.size], k.r(sum), k.r(x))
	}
	w.label("loop")
	w.op("CMPQ BX, $%d", k.lanes())
	w.op("JLT rest")
	w.op("%s (DX), %s", k.load, k.r(x))
	divide("wide")
	w.op("%s %s, (DX)", k.load, k.r(x))
	w.op("ADDQ $%d, DX", k.width())
	w.op("SUBQ $%d, BX", k.lanes())
	w.op("JMP loop")
	w.label("rest")
	w.op("TESTQ BX, BX")
	w.op("JZ done")
	w.restMask(k, k.r(mask))
	w.op("%s (DX), %s, %s", k.masked, k.r(mask), k.r(x))
	divide("restwide")
	w.storeRest(k)
	w.label("done")
	w.op("VZEROUPPER")
	w.op("RET")
}

// splatNumber is the instruction that makes a register copies of a complex number.
func (k x86Kernel) splatNumber() string {
	return [...]string{4: "VBROADCASTSD", 8: "VBROADCASTF128"}[k.size]
}

// exchange makes a register the complex numbers of another with their parts exchanged.
func (w *writer) exchange(k x86Kernel, reg string, from, to int) {
	w.op("%s, %s%d, %[2]s%[4]d", [...]string{4: "VPERMILPS $0xb1", 8: "VPERMILPD $5"}[k.size], reg, from, to)
}
