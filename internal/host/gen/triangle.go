package main

import "fmt"

// trianglePanel is the registers of a row of B that are worked on at a time, and triangleRows the
// rows of the largest triangle.
const (
	trianglePanel = 4
	triangleRows  = 32
)

// The registers beside the row's own, which are the first.
const (
	triangleSplat = trianglePanel + iota
	triangleTerm
	triangleTemp
	triangleAlpha
)

// triangles writes the functions that multiply and solve by a small triangle E. They take panels of
// B's columns one after the other. For row i of a panel they add, or subtract, the products of E's
// row with rows of B: a chain of fused multiply-adds for each element.
func (w *writer) triangles(k x86Kernel) {
	w.triangle(k, "multiply")
	w.triangle(k, "solve")
}

// triangle writes one of the two. AX holds the columns that are left, BX points to the panel's
// first row, and SI and DX point to the current rows of E and B. Multiplied rows are taken from the
// last, so that those above are still B's. Solved ones are kept on the stack as well, in whole
// registers, from where they are read at once: what was stored under a mask is not forwarded to a
// load.
func (w *writer) triangle(k x86Kernel, name string) {
	solve, frame := name == "solve", 0
	if solve {
		frame = triangleRows*trianglePanel*k.width() + 64
	}
	args := fmt.Sprintf("n, cols int, alpha %s, e *%[1]s, eRow, eCol int, b *%[1]s, bRow int, unit bool", k.elem)
	w.function(name+k.name, args, frame, 65)
	w.op("MOVQ cols+8(FP), AX")
	w.op("%s alpha+16(FP), %s", k.splat, k.r(triangleAlpha))
	w.op("MOVQ eRow+32(FP), R8")
	w.op("MOVQ eCol+40(FP), R9")
	w.op("MOVQ b+48(FP), BX")
	w.op("MOVQ bRow+56(FP), R10")
	w.op("MOVBLZX unit+64(FP), R15")
	for _, r := range []string{"R8", "R9", "R10"} {
		w.op("SHLQ $%d, %s", k.shift(), r)
	}
	if solve {
		w.op("LEAQ x-%d(SP), R13", frame)
		w.op("ADDQ $63, R13")
		w.op("ANDQ $-64, R13")
	}
	w.label("panel")
	w.op("MOVQ e+24(FP), SI")
	w.op("MOVQ BX, DX")
	for v := trianglePanel; v > 1; v-- {
		w.op("CMPQ AX, $%d", (v-1)*k.lanes())
		w.op("JGT panel%d", v)
	}
	for v := 1; v <= trianglePanel; v++ {
		t := x86Tile{k, fmt.Sprintf("panel%d", v), 1, v, true}
		w.label("%s", t.label)
		w.panelMask(t)
		if solve {
			w.solvePanel(t)
		} else {
			w.multiplyPanel(t)
		}
		w.op("ADDQ $%d, BX", v*k.width())
		w.op("SUBQ $%d, AX", v*k.lanes())
		w.op("JGT panel")
		w.op("VZEROUPPER")
		w.op("RET")
	}
}

// panelMask makes the mask for the panel's last register.
func (w *writer) panelMask(t x86Tile) {
	w.op("MOVQ AX, R11")
	w.op("SUBQ $%d, R11", (t.vectors-1)*t.lanes())
	if t.vectors == trianglePanel {
		w.op("CMPQ R11, $%d", t.lanes())
		w.op("JLE %smask", t.label)
		w.op("MOVQ $%d, R11", t.lanes())
		w.label("%smask", t.label)
	}
	w.setMask(t.x86Kernel, "R11")
}

// multiplyPanel takes the products of a row in ascending order of the columns of E. Where E is
// upper triangular its rows and columns are given in reverse order, which a negative bRow tells:
// then the element on the diagonal is the first instead of the last, and the others are taken from
// there.
func (w *writer) multiplyPanel(t x86Tile) {
	w.op("MOVQ n+0(FP), R12")
	w.op("DECQ R12")
	w.op("MOVQ R12, CX")
	w.op("IMULQ R8, CX")
	w.op("ADDQ CX, SI")
	w.op("MOVQ R12, CX")
	w.op("IMULQ R10, CX")
	w.op("ADDQ CX, DX")
	w.label("%srow", t.label)
	for v := range t.vectors {
		w.op("%s %s, %s, %s", t.xor, t.r(v), t.r(v), t.r(v))
	}
	w.op("MOVQ R12, R13")
	w.op("IMULQ R9, R13")
	w.op("ADDQ SI, R13") // the element on the diagonal
	w.op("TESTQ R10, R10")
	w.op("JS %sreverse", t.label)
	w.op("MOVQ SI, DI")
	w.op("MOVQ BX, R11")
	w.multiplySteps(t, t.label+"step", t.label+"last", "ADDQ")
	w.multiplyDiagonal(t, t.label+"lower")
	w.op("JMP %send", t.label)
	w.label("%sreverse", t.label)
	w.op("MOVQ R13, DI")
	w.op("MOVQ DX, R11")
	w.multiplyDiagonal(t, t.label+"upper")
	w.op("SUBQ R9, DI")
	w.op("SUBQ R10, R11")
	w.multiplySteps(t, t.label+"back", t.label+"end", "SUBQ")
	w.eachVector(t, t.mul, triangleAlpha)
	w.storeRow(t, "DX")
	w.op("SUBQ R8, SI")
	w.op("SUBQ R10, DX")
	w.op("DECQ R12")
	w.op("JGE %srow", t.label)
}

// multiplySteps adds R12 products: DI points to the first element of E, R11 to the first row of B.
func (w *writer) multiplySteps(t x86Tile, step, end, next string) {
	w.op("MOVQ R12, CX")
	w.op("TESTQ CX, CX")
	w.op("JZ %s", end)
	w.label("%s", step)
	w.multiplyAdd(t, "(DI)", "R11")
	w.op("%s R9, DI", next)
	w.op("%s R10, R11", next)
	w.op("DECQ CX")
	w.op("JNZ %s", step)
	w.label("%s", end)
}

// multiplyDiagonal adds the product of the element on the diagonal, at R13, or of 1.
func (w *writer) multiplyDiagonal(t x86Tile, label string) {
	w.op("TESTL R15, R15")
	w.op("JZ %s", label)
	w.op("LEAQ one%s<>(SB), R13", t.elem)
	w.label("%s", label)
	w.multiplyAdd(t, "(R13)", "DX")
}

// multiplyAdd adds the product of an element of E and a row of B.
func (w *writer) multiplyAdd(t x86Tile, element, row string) {
	w.op("%s %s, %s", t.splat, element, t.r(triangleSplat))
	for v := range t.vectors {
		at := fmt.Sprintf("%d(%s)", v*t.width(), row)
		if t.isMasked(v) {
			w.loadMasked(t.x86Kernel, at, t.r(triangleTerm), t.r(triangleTemp))
			at = t.r(triangleTerm)
		}
		w.op("%s %s, %s, %s", t.mulAdd, at, t.r(triangleSplat), t.r(v))
	}
}

func (w *writer) solvePanel(t x86Tile) {
	w.op("XORQ R12, R12")
	w.label("%srow", t.label)
	w.loadRow(t, "DX")
	w.eachVector(t, t.mul, triangleAlpha)
	w.op("MOVQ SI, DI")
	w.op("MOVQ R13, R11")
	w.op("MOVQ R12, CX")
	w.op("TESTQ CX, CX")
	w.op("JZ %send", t.label)
	w.label("%sstep", t.label)
	w.op("%s (DI), %s", t.splat, t.r(triangleSplat))
	for v := range t.vectors {
		w.op("%s %d(R11), %s, %s", negated(t.mulAdd), v*t.width(), t.r(triangleSplat), t.r(v))
	}
	w.op("ADDQ R9, DI")
	w.op("ADDQ $%d, R11", t.vectors*t.width())
	w.op("DECQ CX")
	w.op("JNZ %sstep", t.label)
	w.label("%send", t.label)
	w.op("TESTL R15, R15")
	w.op("JNZ %sunit", t.label)
	w.op("%s (DI), %s", t.splat, t.r(triangleSplat))
	w.eachVector(t, t.div(), triangleSplat)
	w.label("%sunit", t.label)
	for v := range t.vectors {
		w.op("%s %s, %d(R11)", t.load, t.r(v), v*t.width())
	}
	w.storeRow(t, "DX")
	w.op("ADDQ R8, SI")
	w.op("ADDQ R10, DX")
	w.op("INCQ R12")
	w.op("CMPQ R12, n+0(FP)")
	w.op("JLT %srow", t.label)
}

// loadRow and storeRow move the panel's part of a row of B.
func (w *writer) loadRow(t x86Tile, base string) {
	for v := range t.vectors {
		addr := fmt.Sprintf("%d(%s)", v*t.width(), base)
		if t.isMasked(v) {
			w.loadMasked(t.x86Kernel, addr, t.r(v), t.r(triangleTemp))
		} else {
			w.op("%s %s, %s", t.load, addr, t.r(v))
		}
	}
}

func (w *writer) storeRow(t x86Tile, base string) {
	for v := range t.vectors {
		addr := fmt.Sprintf("%d(%s)", v*t.width(), base)
		if t.isMasked(v) {
			w.storeMasked(t.x86Kernel, t.r(v), addr, t.r(triangleTemp))
		} else {
			w.op("%s %s, %s", t.load, t.r(v), addr)
		}
	}
}

// eachVector applies an operation to the row's registers and another one.
func (w *writer) eachVector(t x86Tile, op string, by int) {
	for v := range t.vectors {
		w.op("%s %s, %s, %s", op, t.r(by), t.r(v), t.r(v))
	}
}

// ones are 1 in each type, for the diagonal of a unit triangle.
func (w *writer) ones() {
	w.WriteString("DATA onefloat32<>+0(SB)/4, $0x3f800000\nGLOBL onefloat32<>(SB), RODATA|NOPTR, $4\n" +
		"DATA onefloat64<>+0(SB)/8, $0x3ff0000000000000\nGLOBL onefloat64<>(SB), RODATA|NOPTR, $8\n")
}

// div divides, as mul multiplies.
func (k x86Kernel) div() string { return "VDIV" + k.mul[len("VMUL"):] }

// negated is the fused operation that subtracts the product.
func negated(mulAdd string) string { return "VFNMADD" + mulAdd[len("VFMADD"):] }
