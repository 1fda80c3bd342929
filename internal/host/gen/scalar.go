package main

import "fmt"

// A scalarKernel is a tile of 3 rows by 4 columns, for processors that have AVX but not AVX2. Those
// of them that fuse a multiplication and an addition do so for one element at a time here. int32
// needs no such instruction: a row of the tile is a register of 4 elements.
type scalarKernel struct {
	name, elem string
	size       int // bytes of an element
	move       string
	mulAdd     string // empty for int32
}

var scalarKernels = []scalarKernel{
	{"gemmF32FMA", "float32", 4, "VMOVSS", "VFMADD231SS"},
	{"gemmF64FMA", "float64", 8, "VMOVSD", "VFMADD231SD"},
	{"gemmI32AVX", "int32", 4, "VMOVDQU", ""},
}

// A scalarKernel's rows and columns.
const scalarRows, scalarCols = 3, 4

// vectors is the number of registers of a row of the tile.
func (k scalarKernel) vectors() int {
	if k.mulAdd == "" {
		return 1
	}
	return scalarCols
}

// acc is the register of the tile's row that begins with column col. The tile takes the first
// registers.
func (k scalarKernel) acc(row, col int) string { return fmt.Sprintf("X%d", row*k.vectors()+col) }

// addr is the address of element col of a row.
func (k scalarKernel) addr(base, stride string, row, col int) string {
	return fmt.Sprintf("%d(%s)%s", col*k.size, base, [...]string{"", "(" + stride + "*1)", "(" + stride + "*2)"}[row])
}

// scalar writes a kernel. Its instructions clear the upper halves of the registers, so that there
// is nothing for VZEROUPPER to do.
func (w *writer) scalar(k scalarKernel) {
	args := fmt.Sprintf("kc int, a *%s, aRow, aStep int, b *%[1]s, bStep int, c *%[1]s, ldc int, zero bool", k.elem)
	w.text(k.name, args, 65)
	w.op("MOVQ kc+0(FP), CX")
	w.op("MOVQ a+8(FP), SI")
	w.op("MOVQ aRow+16(FP), R11")
	w.op("MOVQ aStep+24(FP), R12")
	w.op("MOVQ b+32(FP), DI")
	w.op("MOVQ bStep+40(FP), R13")
	w.op("MOVQ c+48(FP), DX")
	w.op("MOVQ ldc+56(FP), R8")
	w.op("MOVBLZX zero+64(FP), R10")
	for _, r := range []string{"R11", "R12", "R13", "R8"} {
		w.op("SHLQ $%d, %s", k.size/4+1, r)
	}
	w.op("TESTL R10, R10")
	w.op("JNZ zero")
	for row := range scalarRows {
		for col := range k.vectors() {
			w.op("%s %s, %s", k.move, k.addr("DX", "R8", row, col), k.acc(row, col))
		}
	}
	w.op("JMP loop")
	w.label("zero")
	for i := range scalarRows * k.vectors() {
		w.op("VXORPS X%d, X%d, X%d", i, i, i)
	}
	w.loop("loop")
	if k.mulAdd == "" {
		w.stepInt32(k)
	} else {
		w.stepFloat(k)
	}
	w.op("ADDQ R12, SI")
	w.op("ADDQ R13, DI")
	w.op("DECQ CX")
	w.op("JNZ loop")
	w.WriteString("\n")
	for row := range scalarRows {
		for col := range k.vectors() {
			w.op("%s %s, %s", k.move, k.acc(row, col), k.addr("DX", "R8", row, col))
		}
	}
	w.op("RET")
}

// stepFloat is a step of the chains. X12 to X14 take A's column, X15 the elements of B's row in
// turn.
func (w *writer) stepFloat(k scalarKernel) {
	for row := range scalarRows {
		w.op("%s %s, X%d", k.move, k.addr("SI", "R11", row, 0), 12+row)
	}
	for col := range scalarCols {
		w.op("%s %s, X15", k.move, k.addr("DI", "", 0, col))
		for row := range scalarRows {
			w.op("%s X15, X%d, %s", k.mulAdd, 12+row, k.acc(row, col))
		}
	}
}

// stepInt32 is the same. X12 to X14 take the products, X15 B's row.
func (w *writer) stepInt32(k scalarKernel) {
	w.op("%s (DI), X15", k.move)
	for row := range scalarRows {
		product := fmt.Sprintf("X%d", 12+row)
		w.op("VBROADCASTSS %s, %s", k.addr("SI", "R11", row, 0), product)
		w.op("VPMULLD X15, %s, %s", product, product)
		w.op("VPADDD %s, %s, %s", product, k.acc(row, 0), k.acc(row, 0))
	}
}
