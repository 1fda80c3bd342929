package main

import (
	"fmt"
	"strconv"
)

// An x86Kernel is a tile of rows by vectors registers.
type x86Kernel struct {
	name, elem       string
	size             int    // bytes of an element
	rows, vectors    int    // of the tile
	reg              string // register name without its number
	load, splat      string
	masked           string // load and store under a mask
	mul, add, mulAdd string // mulAdd is empty for integers: multiply, then add
	xor              string
}

var x86Kernels = []x86Kernel{
	{
		"F32AVX512", "float32", 4, 8, 3, "Z",
		"VMOVUPS", "VBROADCASTSS", "VMOVUPS", "VMULPS", "VADDPS", "VFMADD231PS", "VPXORD",
	},
	{
		"F64AVX512", "float64", 8, 8, 3, "Z",
		"VMOVUPD", "VBROADCASTSD", "VMOVUPD", "VMULPD", "VADDPD", "VFMADD231PD", "VPXORD",
	},
	{"I32AVX512", "int32", 4, 8, 3, "Z", "VMOVDQU32", "VBROADCASTSS", "VMOVDQU32", "VPMULLD", "VPADDD", "", "VPXORD"},
	{
		"F32AVX2", "float32", 4, 6, 2, "Y",
		"VMOVUPS", "VBROADCASTSS", "VMASKMOVPS", "VMULPS", "VADDPS", "VFMADD231PS", "VPXOR",
	},
	{
		"F64AVX2", "float64", 8, 6, 2, "Y",
		"VMOVUPD", "VBROADCASTSD", "VMASKMOVPD", "VMULPD", "VADDPD", "VFMADD231PD", "VPXOR",
	},
	{"I32AVX2", "int32", 4, 6, 2, "Y", "VMOVDQU", "VBROADCASTSS", "VPMASKMOVD", "VPMULLD", "VPADDD", "", "VPXOR"},
}

// pairKernel multiplies words of two int16, and adds both products to an int32.
var pairKernel = x86Kernel{
	"PairsAVX2", "int32", 4, 6, 2, "Y", "VMOVDQU", "VPBROADCASTD", "VPMASKMOVD", "VPMADDWD", "VPADDD", "", "VPXOR",
}

// quadKernel multiplies words of four bytes, A's unsigned and B's signed, and adds the four
// products to an int32.
var quadKernel = x86Kernel{
	"QuadsVNNI", "int32", 4, 8, 3, "Z", "VMOVDQU32", "VPBROADCASTD", "VMOVDQU32", "", "", "VPDPBUSD", "VPXORD",
}

// quadKernelAVX is that for processors that have the instruction, and no AVX-512.
var quadKernelAVX = x86Kernel{
	"QuadsAVXVNNI", "int32", 4, 6, 2, "Y", "VMOVDQU", "VPBROADCASTD", "VPMASKMOVD", "", "", "VEX.VPDPBUSD", "VPXOR",
}

func (k x86Kernel) avx512() bool { return k.reg == "Z" }

func (k x86Kernel) r(i int) string { return fmt.Sprint(k.reg, i) }

// width is the number of bytes of a register.
func (k x86Kernel) width() int {
	if k.avx512() {
		return 64
	}
	return 32
}

func (k x86Kernel) lanes() int { return k.width() / k.size }

// shift is log2 of size.
func (k x86Kernel) shift() int { return k.size/4 + 1 }

// masks writes the table from which an AVX2 kernel takes the mask of the last register of a row: 32
// bytes that start n bytes before the middle let n bytes through.
func (w *writer) masks() {
	w.WriteString("\n")
	for i := range 8 {
		fmt.Fprintf(w, "DATA masks<>+%d(SB)/8, $%d\n", 8*i, i/4-1)
	}
	w.WriteString("GLOBL masks<>(SB), RODATA|NOPTR, $64\n")
}

// setMask makes the mask for the first n lanes of a register, n in a general register other than CX
// and R14: in K1 for AVX-512, else at R14.
func (w *writer) setMask(k x86Kernel, n string) {
	if k.avx512() {
		w.op("MOVQ %s, CX", n)
		w.op("MOVL $1, R14")
		w.op("SHLL CX, R14")
		w.op("DECL R14")
		w.op("KMOVW R14, K1")
		return
	}
	w.op("SHLQ $%d, %s", k.shift(), n)
	w.op("LEAQ masks<>+32(SB), R14")
	w.op("SUBQ %s, R14", n)
}

// loadMasked and storeMasked move the lanes under the mask; what a load leaves out is zero. AVX2
// takes the mask by way of the register temp.
func (w *writer) loadMasked(k x86Kernel, addr, reg, temp string) {
	if k.avx512() {
		w.op("%s.Z %s, K1, %s", k.masked, addr, reg)
		return
	}
	w.op("%s (R14), %s", k.load, temp)
	w.op("%s %s, %s, %s", k.masked, addr, temp, reg)
}

func (w *writer) storeMasked(k x86Kernel, reg, addr, temp string) {
	if k.avx512() {
		w.op("%s %s, K1, %s", k.masked, reg, addr)
		return
	}
	w.op("%s (R14), %s", k.load, temp)
	w.op("%s %s, %s, %s", k.masked, reg, temp, addr)
}

// x86Bases point to A's rows 0, 3 and 6; the two rows that follow each are reached by an index.
var x86Bases = [...]string{"SI", "AX", "BX"}

// cols is the number of columns of the tile.
func (k x86Kernel) cols() int { return k.vectors * k.lanes() }

// gemm writes the product's micro-kernel: a loop for the full tile of packed operands, one for the
// full tile of others, and one for each number of rows and registers under a mask.
func (w *writer) gemm(k x86Kernel) {
	args := fmt.Sprintf("rows, cols, kc int, a *%s, aRow, aStep int, "+
		"b *%[1]s, bStep int, c *%[1]s, ldc int, zero bool", k.elem)
	w.text("gemm"+k.name, args, 81)
	w.op("MOVQ a+24(FP), SI")
	w.op("MOVQ aRow+32(FP), R11")
	w.op("MOVQ aStep+40(FP), R12")
	w.op("MOVQ b+48(FP), DI")
	w.op("MOVQ bStep+56(FP), R13")
	w.op("MOVQ c+64(FP), DX")
	w.op("MOVQ ldc+72(FP), R8")
	for _, r := range []string{"R11", "R12", "R13", "R8"} {
		w.op("SHLQ $%d, %s", k.shift(), r)
	}
	for i := 1; i < (k.rows+2)/3; i++ {
		w.op("LEAQ (%s)(R11*2), %s", x86Bases[i-1], x86Bases[i])
		w.op("ADDQ R11, %s", x86Bases[i])
	}
	w.choose(k)
	full := x86Tile{k, "full", k.rows, k.vectors, false}
	w.tile(full)
	full.label = "packed"
	w.packed(full)
	for v := k.vectors; v >= 1; v-- {
		for rows := k.rows; rows >= 1; rows-- {
			w.tile(x86Tile{k, fmt.Sprintf("tile%dx%d", rows, v), rows, v, true})
		}
	}
}

// choose jumps to the loop for the tile, with kc in CX.
func (w *writer) choose(k x86Kernel) {
	w.op("MOVQ rows+0(FP), R10")
	w.op("MOVQ cols+8(FP), R9")
	w.op("CMPQ R10, $%d", k.rows)
	w.op("JNE edge")
	w.op("CMPQ R9, $%d", k.cols())
	w.op("JNE edge")
	w.op("MOVQ kc+16(FP), CX")
	w.op("CMPQ R11, $%d", k.size)
	w.op("JNE full")
	w.op("CMPQ R12, $%d", k.rows*k.size)
	w.op("JNE full")
	w.op("CMPQ R13, $%d", k.cols()*k.size)
	w.op("JNE full")
	w.op("JMP packed")
	w.label("edge")
	for v := k.vectors; v > 1; v-- {
		w.op("CMPQ R9, $%d", (v-1)*k.lanes())
		w.op("JGT edge%d", v)
	}
	for v := 1; v <= k.vectors; v++ {
		w.label("edge%d", v)
		w.op("SUBQ $%d, R9", (v-1)*k.lanes())
		w.setMask(k, "R9")
		w.op("MOVQ kc+16(FP), CX")
		for rows := k.rows; rows > 1; rows-- {
			w.op("CMPQ R10, $%d", rows)
			w.op("JEQ tile%dx%d", rows, v)
		}
		w.op("JMP tile1x%d", v)
	}
}

// An x86Tile is the part of a kernel for some rows and registers, the last of which is masked or
// not.
type x86Tile struct {
	x86Kernel
	label         string
	rows, vectors int
	mask          bool
}

// The tile takes the first rows*vectors registers, B's row the next, and broadcasts the next two in
// turn.

func (t x86Tile) acc(row, v int) string { return t.r(row*t.vectors + v) }
func (t x86Tile) b(v int) string        { return t.r(t.rows*t.vectors + v) }
func (t x86Tile) splatReg(i int) string { return t.r(t.rows*t.vectors + t.vectors + i) }

func (t x86Tile) isMasked(v int) bool { return t.mask && v == t.vectors-1 }

// tile writes the loop for operands of any strides. B's rows are asked for ahead steps before, as
// with AVX-512 they are used faster than they come.
func (w *writer) tile(t x86Tile) {
	w.label("%s", t.label)
	w.loadC(t)
	w.label("%sloop", t.label)
	w.loadB(t, 0)
	if t.avx512() {
		for v := range t.vectors {
			w.op("PREFETCHT0 %d(DI)(R13*%d)", v*t.width(), ahead)
		}
	}
	for row := range t.rows {
		w.mulAddRow(t, row, fmt.Sprintf("(%s)%s", x86Bases[row/3], [...]string{"", "(R11*1)", "(R11*2)"}[row%3]))
	}
	for _, r := range x86Bases[:(t.rows+2)/3] {
		w.op("ADDQ R12, %s", r)
	}
	w.op("ADDQ R13, DI")
	w.op("DECQ CX")
	w.op("JNZ %sloop", t.label)
	w.storeC(t)
}

// A panel of AVX-512 comes from the second-level cache: B's rows are asked for ahead steps before
// they are used, A's columns aheadA.
const ahead, aheadA = 8, 16

// packed writes the loop for packed operands, four steps at a time.
func (w *writer) packed(t x86Tile) {
	const unroll = 4
	w.label("%s", t.label)
	w.loadC(t)
	w.op("MOVQ CX, R9")
	w.op("ANDQ $%d, CX", unroll-1)
	w.op("SHRQ $2, R9")
	w.op("JZ %srest", t.label)
	w.loop("%sloop", t.label)
	w.packedSteps(t, unroll)
	w.op("DECQ R9")
	w.op("JNZ %sloop", t.label)
	w.label("%srest", t.label)
	w.op("TESTQ CX, CX")
	w.op("JZ %sstore", t.label)
	w.label("%sstep", t.label)
	w.packedSteps(t, 1)
	w.op("DECQ CX")
	w.op("JNZ %sstep", t.label)
	w.label("%sstore", t.label)
	w.storeC(t)
}

func (w *writer) packedSteps(t x86Tile, n int) {
	for step := range n {
		w.loadB(t, step*t.cols()*t.size)
		if t.avx512() {
			for v := range t.vectors {
				w.op("PREFETCHT0 %d(DI)", (step+ahead)*t.cols()*t.size+v*t.width())
			}
			if n > 1 && step*t.rows*t.size%64 == 0 {
				w.op("PREFETCHT0 %d(SI)", (step+aheadA)*t.rows*t.size)
			}
		}
		for row := range t.rows {
			w.mulAddRow(t, row, fmt.Sprintf("%d(SI)", (step*t.rows+row)*t.size))
		}
	}
	w.op("ADDQ $%d, SI", n*t.rows*t.size)
	w.op("ADDQ $%d, DI", n*t.cols()*t.size)
}

// loadC makes the tile what C holds, or zero.
func (w *writer) loadC(t x86Tile) {
	w.op("MOVBLZX zero+80(FP), R10")
	w.op("TESTL R10, R10")
	w.op("JNZ %szero", t.label)
	w.op("MOVQ DX, R10")
	for row := range t.rows {
		for v := range t.vectors {
			w.loadTile(t, v, fmt.Sprintf("%d(R10)", v*t.width()), t.acc(row, v))
		}
		if row < t.rows-1 {
			w.op("ADDQ R8, R10")
		}
	}
	w.op("JMP %sstart", t.label)
	w.label("%szero", t.label)
	for i := range t.rows * t.vectors {
		w.op("%s %s, %s, %s", t.xor, t.r(i), t.r(i), t.r(i))
	}
	w.label("%sstart", t.label)
}

// loadTile loads register v of a row.
func (w *writer) loadTile(t x86Tile, v int, addr, reg string) {
	if t.isMasked(v) {
		w.loadMasked(t.x86Kernel, addr, reg, t.splatReg(0))
		return
	}
	w.op("%s %s, %s", t.load, addr, reg)
}

// loadB loads a row of B.
func (w *writer) loadB(t x86Tile, at int) {
	for v := range t.vectors {
		w.loadTile(t, v, fmt.Sprintf("%d(DI)", at+v*t.width()), t.b(v))
	}
}

// mulAddRow is a step of the chains of a row. The last product of an int32 row goes to the
// broadcast's own register, the others to the one after it.
func (w *writer) mulAddRow(t x86Tile, row int, addr string) {
	if t.mulAdd != "" {
		splat := t.splatReg(row % 2)
		w.op("%s %s, %s", t.splat, addr, splat)
		for v := range t.vectors {
			w.mulAddOp(t, t.b(v), splat, t.acc(row, v))
		}
		return
	}
	splat, product := t.splatReg(0), t.splatReg(1)
	w.op("%s %s, %s", t.splat, addr, splat)
	for v := range t.vectors {
		if v == t.vectors-1 {
			product = splat
		}
		w.op("%s %s, %s, %s", t.mul, t.b(v), splat, product)
		w.op("%s %s, %s, %s", t.add, product, t.acc(row, v), t.acc(row, v))
	}
}

// mulAddOp adds the product of b and a to acc. Go's assembler knows VPDPBUSD of AVX-512 alone: the
// other is C4, two bytes and a last one that say the registers, and 50 between them.
func (w *writer) mulAddOp(t x86Tile, b, a, acc string) {
	if t.mulAdd != quadKernelAVX.mulAdd {
		w.op("%s %s, %s, %s", t.mulAdd, b, a, acc)
		return
	}
	rm, vvvv, reg := registerNumber(b), registerNumber(a), registerNumber(acc)
	w.op("BYTE $0xc4; BYTE $%#x; BYTE $%#x; BYTE $0x50; BYTE $%#x // VPDPBUSD %s, %s, %s",
		(reg>>3^1)<<7|1<<6|(rm>>3^1)<<5|2, (vvvv^15)<<3|5, 0xc0|reg&7<<3|rm&7, b, a, acc)
}

func registerNumber(name string) int {
	n, err := strconv.Atoi(name[1:])
	if err != nil {
		panic(err)
	}
	return n
}

// storeC stores the tile and returns.
func (w *writer) storeC(t x86Tile) {
	for row := range t.rows {
		for v := range t.vectors {
			addr := fmt.Sprintf("%d(DX)", v*t.width())
			if t.isMasked(v) {
				w.storeMasked(t.x86Kernel, t.acc(row, v), addr, t.splatReg(0))
			} else {
				w.op("%s %s, %s", t.load, t.acc(row, v), addr)
			}
		}
		if row < t.rows-1 {
			w.op("ADDQ R8, DX")
		}
	}
	w.op("VZEROUPPER")
	w.op("RET")
}

// finish writes C = fma(alpha, acc, beta*C), or alpha*acc where C is not to be read.
func (w *writer) finish(k x86Kernel) {
	args := fmt.Sprintf("rows, cols int, alpha %s, acc *%[1]s, ldacc int, beta %[1]s, c *%[1]s, ldc int, readC bool",
		k.elem)
	w.text("finish"+k.name, args, 65)
	w.op("MOVQ rows+0(FP), R10")
	w.op("MOVQ cols+8(FP), R11")
	w.op("%s alpha+16(FP), %s", k.splat, k.r(0))
	w.op("MOVQ acc+24(FP), SI")
	w.op("MOVQ ldacc+32(FP), R8")
	w.op("%s beta+40(FP), %s", k.splat, k.r(1))
	w.op("MOVQ c+48(FP), DI")
	w.op("MOVQ ldc+56(FP), R9")
	w.op("MOVBLZX readC+64(FP), R13")
	w.op("SHLQ $%d, R8", k.shift())
	w.op("SHLQ $%d, R9", k.shift())
	w.op("MOVQ R11, BX")
	w.op("SHRQ $%d, R11", k.shiftLanes())
	w.op("ANDQ $%d, BX", k.lanes()-1)
	w.op("MOVQ BX, AX")
	w.setMask(k, "AX")
	w.label("row")
	w.op("XORQ DX, DX")
	w.op("MOVQ R11, CX")
	w.op("TESTQ CX, CX")
	w.op("JZ tail")
	w.label("vector")
	w.op("%s (SI)(DX*1), %s", k.load, k.r(2))
	w.op("TESTL R13, R13")
	w.op("JZ alone")
	w.op("%s (DI)(DX*1), %s", k.load, k.r(3))
	w.combine(k)
	w.op("JMP store")
	w.label("alone")
	w.op("%s %s, %s, %s", k.mul, k.r(0), k.r(2), k.r(3))
	w.label("store")
	w.op("%s %s, (DI)(DX*1)", k.load, k.r(3))
	w.op("ADDQ $%d, DX", k.width())
	w.op("DECQ CX")
	w.op("JNZ vector")
	w.label("tail")
	w.op("TESTQ BX, BX")
	w.op("JZ next")
	w.loadMasked(k, "(SI)(DX*1)", k.r(2), k.r(4))
	w.op("TESTL R13, R13")
	w.op("JZ tailAlone")
	w.loadMasked(k, "(DI)(DX*1)", k.r(3), k.r(4))
	w.combine(k)
	w.op("JMP tailStore")
	w.label("tailAlone")
	w.op("%s %s, %s, %s", k.mul, k.r(0), k.r(2), k.r(3))
	w.label("tailStore")
	w.storeMasked(k, k.r(3), "(DI)(DX*1)", k.r(4))
	w.label("next")
	w.op("ADDQ R8, SI")
	w.op("ADDQ R9, DI")
	w.op("DECQ R10")
	w.op("JNZ row")
	w.op("VZEROUPPER")
	w.op("RET")
}

// combine makes register 3, which holds C, fma(alpha, acc, beta*C).
func (w *writer) combine(k x86Kernel) {
	w.op("%s %s, %s, %s", k.mul, k.r(1), k.r(3), k.r(3))
	if k.mulAdd != "" {
		w.op("%s %s, %s, %s", k.mulAdd, k.r(0), k.r(2), k.r(3))
		return
	}
	w.op("%s %s, %s, %s", k.mul, k.r(0), k.r(2), k.r(2))
	w.op("%s %s, %s, %s", k.add, k.r(2), k.r(3), k.r(3))
}

// shiftLanes is log2 of lanes.
func (k x86Kernel) shiftLanes() int {
	n := 0
	for 1<<n < k.lanes() {
		n++
	}
	return n
}

// pack writes a copy of panels of some registers' width: row by row in src, below each other in
// dst.
func (w *writer) pack(name, reg string, vectors, width int) {
	w.text(name, "src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, panels, rows int", 48)
	w.op("MOVQ src+0(FP), SI")
	w.op("MOVQ lds+8(FP), R8")
	w.op("MOVQ dst+16(FP), DI")
	w.op("MOVQ ldd+24(FP), R9")
	w.op("MOVQ panels+32(FP), CX")
	w.op("MOVQ rows+40(FP), BX")
	w.label("panel")
	w.op("MOVQ SI, R10")
	w.op("MOVQ DI, R11")
	w.op("MOVQ BX, DX")
	w.label("row")
	for i := range vectors {
		w.op("VMOVUPS %d(R10), %s%d", i*width, reg, i)
	}
	for i := range vectors {
		w.op("VMOVUPS %s%d, %d(R11)", reg, i, i*width)
	}
	w.op("ADDQ R8, R10")
	w.op("ADDQ $%d, R11", vectors*width)
	w.op("DECQ DX")
	w.op("JNZ row")
	w.op("ADDQ $%d, SI", vectors*width)
	w.op("ADDQ R9, DI")
	w.op("DECQ CX")
	w.op("JNZ panel")
	w.op("VZEROUPPER")
	w.op("RET")
}
