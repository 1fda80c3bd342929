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
// row with the rows of B above it: a chain of fused multiply-adds for each element.
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
	w.loadRow(t, "DX")
	w.op("TESTL R15, R15")
	w.op("JNZ %sunit", t.label)
	w.op("MOVQ R12, CX")
	w.op("IMULQ R9, CX")
	w.op("%s (SI)(CX*1), %s", t.splat, t.r(triangleSplat))
	w.eachVector(t, t.mul, triangleSplat)
	w.label("%sunit", t.label)
	w.eachStep(t, "BX", "R10", func(v int) {
		if t.isMasked(v) {
			w.loadMasked(t.x86Kernel, fmt.Sprintf("%d(R11)", v*t.width()), t.r(triangleTerm), t.r(triangleTemp))
			w.op("%s %s, %s, %s", t.mulAdd, t.r(triangleTerm), t.r(triangleSplat), t.r(v))
		} else {
			w.op("%s %d(R11), %s, %s", t.mulAdd, v*t.width(), t.r(triangleSplat), t.r(v))
		}
	})
	w.eachVector(t, t.mul, triangleAlpha)
	w.storeRow(t, "DX")
	w.op("SUBQ R8, SI")
	w.op("SUBQ R10, DX")
	w.op("DECQ R12")
	w.op("JGE %srow", t.label)
}

func (w *writer) solvePanel(t x86Tile) {
	w.op("XORQ R12, R12")
	w.label("%srow", t.label)
	w.loadRow(t, "DX")
	w.eachVector(t, t.mul, triangleAlpha)
	w.eachStep(t, "R13", fmt.Sprintf("$%d", t.vectors*t.width()), func(v int) {
		w.op("%s %d(R11), %s, %s", negated(t.mulAdd), v*t.width(), t.r(triangleSplat), t.r(v))
	})
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

// eachStep is the loop over the R12 products of row SI of E with the rows of B from the one at
// first, which are next apart. In the body DI points to the element of E, which is in every lane of
// triangleSplat, and R11 to the row.
func (w *writer) eachStep(t x86Tile, first, next string, multiplyAdd func(v int)) {
	w.op("MOVQ SI, DI")
	w.op("MOVQ %s, R11", first)
	w.op("MOVQ R12, CX")
	w.op("TESTQ CX, CX")
	w.op("JZ %send", t.label)
	w.label("%sstep", t.label)
	w.op("%s (DI), %s", t.splat, t.r(triangleSplat))
	for v := range t.vectors {
		multiplyAdd(v)
	}
	w.op("ADDQ R9, DI")
	w.op("ADDQ %s, R11", next)
	w.op("DECQ CX")
	w.op("JNZ %sstep", t.label)
	w.label("%send", t.label)
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

// div divides, as mul multiplies.
func (k x86Kernel) div() string { return "VDIV" + k.mul[len("VMUL"):] }

// negated is the fused operation that subtracts the product.
func negated(mulAdd string) string { return "VFNMADD" + mulAdd[len("VFMADD"):] }
