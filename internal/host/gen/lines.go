package main

// lines writes y = alpha*acc, for the chains acc = fma(x[p], a[p], acc), or with subtract
// fma(-x[p], a[p], acc), for rows p = 0 ... k-1 of float64 that are n whole cache lines long. acc
// starts from what from points to, or from +0. Eight registers at a time are as many as chains need
// to keep the multipliers busy.
func (w *writer) lines(k x86Kernel, subtract bool) {
	const most, splat, alpha = 8, 8, 9
	name, mulAdd := "addLines", k.mulAdd
	if subtract {
		name, mulAdd = "subLines", negated(k.mulAdd)
	}
	perLine := 64 / k.width()
	w.text(name+k.name[len("F64"):], "k, n int, a *float64, lda int, x, from *float64, alpha float64, y *float64", 64)
	w.op("MOVQ n+8(FP), BX")
	w.op("MOVQ a+16(FP), SI")
	w.op("MOVQ lda+24(FP), R8")
	w.op("MOVQ from+40(FP), R9")
	w.op("%s alpha+48(FP), %s", k.splat, k.r(alpha))
	w.op("MOVQ y+56(FP), DX")
	w.op("SHLQ $3, R8")
	w.label("next")
	w.op("MOVQ SI, R10")
	w.op("MOVQ x+32(FP), DI")
	w.op("MOVQ k+0(FP), CX")
	for v := perLine; v < most; v += perLine {
		w.op("CMPQ BX, $%d", v/perLine)
		w.op("JEQ by%d", v)
	}
	for v := most; v > 0; v -= perLine {
		w.label("by%d", v)
		for i := range v {
			w.op("%s %s, %s, %[2]s", k.xor, k.r(i), k.r(i))
		}
		w.op("TESTQ R9, R9")
		w.op("JZ zero%d", v)
		for i := range v {
			w.op("%s %d(R9), %s", k.load, i*k.width(), k.r(i))
		}
		w.label("zero%d", v)
		w.op("TESTQ CX, CX")
		w.op("JZ end%d", v)
		w.loop("step%d", v)
		w.op("%s (DI), %s", k.splat, k.r(splat))
		for i := range v {
			w.op("%s %d(R10), %s, %s", mulAdd, i*k.width(), k.r(splat), k.r(i))
		}
		w.op("ADDQ $8, DI")
		w.op("ADDQ R8, R10")
		w.op("DECQ CX")
		w.op("JNZ step%d", v)
		w.label("end%d", v)
		for i := range v {
			w.op("%s %s, %s, %[3]s", k.mul, k.r(alpha), k.r(i))
			w.op("%s %s, %d(DX)", k.load, k.r(i), i*k.width())
		}
		if v == most {
			w.op("SUBQ $%d, BX", most/perLine)
			w.op("JZ done")
			for _, p := range []string{"SI", "DX"} {
				w.op("ADDQ $%d, %s", most*k.width(), p)
			}
			w.op("TESTQ R9, R9")
			w.op("JZ next")
			w.op("ADDQ $%d, R9", most*k.width())
			w.op("JMP next")
			w.label("done")
		}
		w.op("VZEROUPPER")
		w.op("RET")
	}
}
