package main

// words writes the two functions that make words of two int16 from bytes, which the instruction
// extend extends: of neighbours, 32 at a time, and of two rows, 16 columns at a time. n is a
// multiple of that, and not 0.
func (w *writer) words(suffix, extend string) {
	w.text("pairsAlong"+suffix, "dst, src unsafe.Pointer, n int", 24)
	w.op("MOVQ dst+0(FP), DI")
	w.op("MOVQ src+8(FP), SI")
	w.op("MOVQ n+16(FP), CX")
	w.loop("loop")
	for i := range 2 {
		w.op("%s %d(SI), Y%d", extend, 16*i, i)
	}
	w.storePairs("SI", 32)
	w.text("pairsDown"+suffix, "dst, src, next unsafe.Pointer, n int", 32)
	w.op("MOVQ dst+0(FP), DI")
	w.op("MOVQ src+8(FP), SI")
	w.op("MOVQ next+16(FP), DX")
	w.op("MOVQ n+24(FP), CX")
	w.op("SUBQ SI, DX")
	w.loop("loop")
	w.op("VMOVDQU (SI), X2")
	w.op("VMOVDQU (SI)(DX*1), X3")
	w.op("VPUNPCKLBW X3, X2, X0")
	w.op("VPUNPCKHBW X3, X2, X1")
	for i := range 2 {
		w.op("%s X%d, Y%d", extend, i, i)
	}
	w.storePairs("SI", 16)
}

// storePairs ends the loop of words, which has read so many bytes from base.
func (w *writer) storePairs(base string, read int) {
	w.op("VMOVDQU Y0, (DI)")
	w.op("VMOVDQU Y1, 32(DI)")
	w.op("ADDQ $64, DI")
	w.op("ADDQ $%d, %s", read, base)
	w.op("SUBQ $%d, CX", read)
	w.op("JNZ loop")
	w.op("VZEROUPPER")
	w.op("RET")
}
