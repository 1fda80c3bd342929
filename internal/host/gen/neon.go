package main

import "fmt"

// A neonKernel is a tile of 6 rows of 4 registers.
type neonKernel struct {
	name, elem string
	size       int    // bytes of an element
	lanes      string // arrangement of a register
	// multiply is a multiplication and an addition that the assembler does not have, of the
	// broadcast and B's register, in this order; its name is for the comment.
	multiply uint32
	comment  string
}

var neonKernels = []neonKernel{
	{"gemmF32NEON", "float32", 4, "S4", 0, ""},
	{"gemmF64NEON", "float64", 8, "D2", 0, ""},
	{"gemmI32NEON", "int32", 4, "S4", 0x4EA09400, "MLA V%d.S4, V%d.S4, V%d.S4"},
	// words of four bytes
	{"gemmI8SDOT", "int32", 4, "S4", 0x4E809400, "SDOT V%d.B16, V%d.B16, V%d.S4"},
	{"gemmU8USDOT", "int32", 4, "S4", 0x4E809C00, "USDOT V%[2]d.B16, V%[1]d.B16, V%[3]d.S4"},
}

// neon writes a kernel. The tile takes V0 to V23, B's row V24 to V27, and broadcasts V28 to V31 in
// turn. R10 to R15 point to A's rows.
func (w *writer) neon(k neonKernel) {
	const rows, vectors = 6, 4
	list := func(i int) string {
		return fmt.Sprintf("[V%d.%s, V%d.%s, V%d.%s, V%d.%s]", i, k.lanes, i+1, k.lanes, i+2, k.lanes, i+3, k.lanes)
	}
	args := fmt.Sprintf("kc int, a *%s, aRow, aStep int, b *%[1]s, bStep int, c *%[1]s, ldc int, zero bool", k.elem)
	w.text(k.name, args, 65)
	w.op("MOVD kc+0(FP), R0")
	w.op("MOVD a+8(FP), R10")
	w.op("MOVD aRow+16(FP), R1")
	w.op("MOVD aStep+24(FP), R7")
	w.op("MOVD b+32(FP), R2")
	w.op("MOVD bStep+40(FP), R8")
	w.op("MOVD c+48(FP), R3")
	w.op("MOVD ldc+56(FP), R4")
	w.op("MOVBU zero+64(FP), R5")
	for _, r := range []string{"R1", "R7", "R8", "R4"} {
		w.op("LSL $%d, %s", k.size/4+1, r)
	}
	for row := 1; row < rows; row++ {
		w.op("ADD R1, R%d, R%d", 9+row, 10+row)
	}
	w.op("CBNZ R5, zero")
	w.op("MOVD R3, R6")
	for row := range rows {
		w.op("VLD1 (R6), %s", list(row*vectors))
		if row < rows-1 {
			w.op("ADD R4, R6")
		}
	}
	w.op("B loop")
	w.WriteString("\nzero:\n")
	for i := range rows * vectors {
		w.op("VEOR V%d.B16, V%d.B16, V%d.B16", i, i, i)
	}
	w.WriteString("\n\tPCALIGN $16\nloop:\n")
	w.op("VLD1.P (R2)(R8), %s", list(24))
	for row := range rows {
		splat := 28 + row%4
		w.op("VLD1R.P (R%d)(R7), [V%d.%s]", 10+row, splat, k.lanes)
		for v := range vectors {
			acc := row*vectors + v
			if k.multiply != 0 {
				w.op("WORD $0x%08X // "+k.comment, k.multiply|uint32((24+v)<<16|splat<<5|acc), 24+v, splat, acc)
			} else {
				w.op("VFMLA V%d.%s, V%d.%s, V%d.%s", splat, k.lanes, 24+v, k.lanes, acc, k.lanes)
			}
		}
	}
	w.op("SUBS $1, R0, R0")
	w.op("BNE loop")
	w.WriteString("\n")
	for row := range rows {
		w.op("VST1 %s, (R3)", list(row*vectors))
		if row < rows-1 {
			w.op("ADD R4, R3")
		}
	}
	w.op("RET")
}
