package main

import "fmt"

// choleskyRows is the rows of the largest matrix that cholesky takes.
const choleskyRows = 32

// cholesky writes the factorization of a small matrix, row by row of Lᵀ: element (i, j) for j of at
// least i is row*i + col*j elements behind a. The rows are copied to the stack first, where they
// lie in whole registers; so no mask is needed, and the lanes before the diagonal and behind the
// last column have numbers that nobody reads. Each finished row is copied back. The result is the
// first row whose chain is not above 0, or -1.
//
// DX points to the rows on the stack, SI to the element on the diagonal of a, AX to that on the
// stack, and DI to the registers of a row that are worked on.
func (w *writer) cholesky(k x86Kernel) {
	const splat, zero, first = 8, 9, 10
	vectors, ld := choleskyRows/k.lanes(), choleskyRows*k.size
	frame := choleskyRows*ld + 64
	move := k.scalar("VMOVS%s")
	w.function("cholesky"+k.name, fmt.Sprintf("n int, a *%s, row, col int) (failed int", k.elem), frame, 40)
	w.op("MOVQ n+0(FP), BX")
	w.op("MOVQ a+8(FP), SI")
	w.strides(k, "row+16", "R8", "col+24", "R9")
	w.op("ADDQ R9, R8") // along the diagonal
	w.op("LEAQ x-%d(SP), DX", frame)
	w.op("ADDQ $63, DX")
	w.op("ANDQ $-64, DX")
	w.op("%s %s, %s, %s", k.xor, k.r(zero), k.r(zero), k.r(zero))
	w.op("LEAQ -1(BX), R13")
	w.op("ANDQ $%d, R13", -k.lanes())
	w.op("SHLQ $%d, R13", k.shift()) // of the last register
	w.op("MOVQ SI, R10")
	w.op("MOVQ DX, R11")
	w.op("MOVQ DX, AX")
	w.op("MOVQ BX, R12")
	w.label("copy")
	w.op("MOVQ AX, DI")
	w.op("ANDQ $-32, DI")
	w.op("%s %s, (DI)", k.load, k.r(zero))
	w.op("%s %s, (R11)(R13*1)", k.load, k.r(zero))
	w.choleskyRow(k, "in", func(from, to string) {
		w.op("%s (%s), X0", move, from)
		w.op("%s X0, (%s)", move, to)
	}, "R10", "AX", "R12")
	w.op("ADDQ R8, R10")
	w.op("ADDQ $%d, R11", ld)
	w.op("ADDQ $%d, AX", ld+k.size)
	w.op("DECQ R12")
	w.op("JNZ copy")
	w.op("MOVQ DX, AX")
	w.op("MOVQ DX, R10") // the registers of the first row
	w.op("XORL R12, R12")
	for v := vectors; v > 1; v-- {
		w.op("CMPQ BX, $%d", (v-1)*k.lanes())
		w.op("JGT by%d", v)
	}
	w.op("JMP by1")
	for v := vectors; v > 0; v-- {
		w.label("by%d", v)
		w.op("MOVQ R12, CX")
		w.op("IMULQ $%d, CX", ld)
		w.op("LEAQ (R10)(CX*1), R11")
		w.op("LEAQ (DX)(R12*%d), R13", k.size)
		w.op("MOVQ R10, DI")
		for i := range v {
			w.op("%s %d(R11), %s", k.load, i*k.width(), k.r(i))
		}
		w.op("CMPQ R13, AX")
		w.op("JEQ root%d", v)
		w.label("step%d", v)
		w.op("%s (R13), %s", k.splat, k.r(splat))
		for i := range v {
			w.op("%s %d(DI), %s, %s", negated(k.mulAdd), i*k.width(), k.r(splat), k.r(i))
		}
		w.op("ADDQ $%d, R13", ld)
		w.op("ADDQ $%d, DI", ld)
		w.op("CMPQ R13, AX")
		w.op("JNE step%d", v)
		w.label("root%d", v)
		w.op("%s %s, (R11)", k.load, k.r(0))
		w.op("%s (AX), X%d", move, first)
		w.op("%s X%d, X%d", k.scalar("VUCOMIS%s"), zero, first)
		w.op("JLS failed")
		w.op("%s X%d, X%d, X%[2]d", k.scalar("VSQRTS%s"), first, first)
		w.op("%s X%d, %s", k.splat, first, k.r(splat))
		for i := range v {
			w.op("%s %s, %s, %[3]s", k.div(), k.r(splat), k.r(i))
			w.op("%s %s, %d(R11)", k.load, k.r(i), i*k.width())
		}
		w.op("%s X%d, (SI)", move, first)
		w.op("DECQ BX")
		w.op("JZ done")
		w.op("LEAQ (SI)(R9*1), R11")
		w.op("LEAQ %d(AX), R13", k.size)
		w.choleskyRow(k, fmt.Sprint("out", v), func(to, from string) {
			w.op("%s (%s), X0", move, from)
			w.op("%s X0, (%s)", move, to)
		}, "R11", "R13", "BX")
		w.op("ADDQ R8, SI")
		w.op("ADDQ $%d, AX", ld+k.size)
		w.op("INCQ R12")
		w.op("TESTQ $%d, R12", k.lanes()-1)
		w.op("JNZ by%d", v)
		w.op("ADDQ $%d, R10", k.width())
	}
	w.label("done")
	w.op("MOVQ $-1, R12")
	w.label("failed")
	w.op("MOVQ R12, failed+32(FP)")
	w.op("VZEROUPPER")
	w.op("RET")
}

// choleskyRow writes a loop over count elements of a row of a and of one on the stack.
func (w *writer) choleskyRow(k x86Kernel, name string, move func(inA, inStack string), a, stack, count string) {
	w.op("MOVQ %s, CX", a)
	w.op("MOVQ %s, DI", stack)
	w.op("MOVQ %s, R14", count)
	w.label("%s", name)
	move("CX", "DI")
	w.op("ADDQ R9, CX")
	w.op("ADDQ $%d, DI", k.size)
	w.op("DECQ R14")
	w.op("JNZ %s", name)
}
