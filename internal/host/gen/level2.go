package main

import "fmt"

// A product of a matrix and a vector reads every element of the matrix once: what counts is that it
// reads along the rows, few at a time. These kernels need AVX2 and no more: wider registers would
// wait for the memory as well.

// columnRows is the rows whose chains columns takes at a time, rowsAtOnce those that rows adds. The
// nearest cache holds no more lines of rows that are a power of two apart.
const (
	columnRows = 8
	rowsAtOnce = 8
)

// level2 writes the kernels of an element type.
func (w *writer) level2(k x86Kernel) {
	w.columns(k)
	w.rows(k)
	w.dot(k)
}

// rowPointers makes R8 a row's bytes, R9 three times as many, and each pointer after the first four
// rows behind the one before.
func (w *writer) rowPointers(k x86Kernel, pointers ...string) {
	w.op("SHLQ $%d, R8", k.shift())
	w.op("LEAQ (R8)(R8*2), R9")
	for i, p := range pointers[1:] {
		w.op("LEAQ (%s)(R8*4), %s", pointers[i], p)
	}
}

// rowAddr is the address of one of the four rows from a pointer on.
func rowAddr(at int, pointer string, row int) string {
	return fmt.Sprintf("%d(%s)%s", at, pointer, [...]string{"", "(R8*1)", "(R8*2)", "(R9*1)"}[row])
}

// columns writes the chains of eight rows with x, four steps at a time. Four elements of 4 bytes,
// or two of 8, of each of four rows fill the lower half of a register each, those of the next four
// rows, or of the next two, the upper half; transposed there, they are columns of 8 or 4 rows.
func (w *writer) columns(k x86Kernel) {
	const steps = 4
	pointers := []string{"SI", "R10"}
	groups := columnRows / k.lanes()
	w.text("columns"+k.name, fmt.Sprintf("k int, a *%s, lda int, x, acc *%[1]s", k.elem), 40)
	w.op("MOVQ k+0(FP), CX")
	w.op("MOVQ a+8(FP), SI")
	w.op("MOVQ lda+16(FP), R8")
	w.op("MOVQ x+24(FP), DI")
	w.op("MOVQ acc+32(FP), DX")
	w.rowPointers(k, pointers...)
	for g := range groups {
		w.op("%s %d(DX), %s", k.load, g*k.width(), k.r(g))
	}
	splat := groups // registers of x, after those of the chains
	w.WriteString("\n\tPCALIGN $32\nloop:\n")
	for i := range steps {
		w.op("%s %d(DI), %s", k.splat, i*k.size, k.r(splat+i))
	}
	for g := range groups {
		for i := 0; i < steps; i += 16 / k.size {
			for j, column := range w.gatherColumns(k, pointers, g, i, splat+steps) {
				w.op("%s %s, %s, %s", k.mulAdd, column, k.r(splat+i+j), k.r(g))
			}
		}
	}
	for _, p := range append(pointers, "DI") {
		w.op("ADDQ $%d, %s", steps*k.size, p)
	}
	w.op("SUBQ $%d, CX", steps)
	w.op("JNZ loop")
	w.WriteString("\n")
	for g := range groups {
		w.op("%s %s, %d(DX)", k.load, k.r(g), g*k.width())
	}
	w.op("VZEROUPPER")
	w.op("RET")
}

// gatherColumns loads the elements from step i on of the rows of a group, and gives the registers
// of their columns. It takes registers from part on.
func (w *writer) gatherColumns(k x86Kernel, pointers []string, group, i, part int) []string {
	n := 16 / k.size // columns
	at := i * k.size
	for r := range n {
		first := group*k.lanes() + r // its rows are first and first+n
		low := rowAddr(at, pointers[first/4], first%4)
		high := rowAddr(at, pointers[(first+n)/4], (first+n)%4)
		w.op("VMOVUPD %s, X%d", low, part+r)
		w.op("VINSERTF128 $1, %s, Y%d, Y%d", high, part+r, part+r)
	}
	y := func(i int) string { return fmt.Sprintf("Y%d", part+i) }
	if n == 2 {
		w.op("VUNPCKLPD %s, %s, %s", y(1), y(0), y(2))
		w.op("VUNPCKHPD %s, %s, %s", y(1), y(0), y(3))
		return []string{y(2), y(3)}
	}
	w.op("VUNPCKLPS %s, %s, %s", y(1), y(0), y(4))
	w.op("VUNPCKHPS %s, %s, %s", y(1), y(0), y(5))
	w.op("VUNPCKLPS %s, %s, %s", y(3), y(2), y(6))
	w.op("VUNPCKHPS %s, %s, %s", y(3), y(2), y(7))
	w.op("VUNPCKLPD %s, %s, %s", y(6), y(4), y(0))
	w.op("VUNPCKHPD %s, %s, %s", y(6), y(4), y(1))
	w.op("VUNPCKLPD %s, %s, %s", y(7), y(5), y(2))
	w.op("VUNPCKHPD %s, %s, %s", y(7), y(5), y(3))
	return []string{y(0), y(1), y(2), y(3)}
}

// rows writes y = fma(a, x, y) for eight rows, one after the other, two registers at a time.
func (w *writer) rows(k x86Kernel) {
	const vectors = 2
	pointers := []string{"SI", "R10"}
	w.text("rows"+k.name, fmt.Sprintf("n int, a *%s, lda int, x, y *%[1]s", k.elem), 40)
	w.op("MOVQ n+0(FP), CX")
	w.op("MOVQ a+8(FP), SI")
	w.op("MOVQ lda+16(FP), R8")
	w.op("MOVQ x+24(FP), DI")
	w.op("MOVQ y+32(FP), DX")
	w.rowPointers(k, pointers...)
	for r := range rowsAtOnce {
		w.op("%s %d(DI), %s", k.splat, r*k.size, k.r(vectors+r))
	}
	w.WriteString("\n\tPCALIGN $32\nloop:\n")
	for v := range vectors {
		w.op("%s %d(DX), %s", k.load, v*k.width(), k.r(v))
	}
	for r := range rowsAtOnce {
		for v := range vectors {
			w.op("%s %s, %s, %s", k.mulAdd, rowAddr(v*k.width(), pointers[r/4], r%4), k.r(vectors+r), k.r(v))
		}
	}
	for v := range vectors {
		w.op("%s %s, %d(DX)", k.load, k.r(v), v*k.width())
	}
	for _, p := range append(pointers, "DX") {
		w.op("ADDQ $%d, %s", vectors*k.width(), p)
	}
	w.op("SUBQ $%d, CX", vectors*k.lanes())
	w.op("JNZ loop")
	w.op("VZEROUPPER")
	w.op("RET")
}

// dot writes the products of x and y, added in eight lanes of float64.
func (w *writer) dot(k x86Kernel) {
	w.text("dot"+k.name, fmt.Sprintf("n int, x, y *%s, lanes *[8]float64", k.elem), 32)
	w.op("MOVQ n+0(FP), CX")
	w.op("MOVQ x+8(FP), SI")
	w.op("MOVQ y+16(FP), DI")
	w.op("MOVQ lanes+24(FP), DX")
	w.op("VMOVUPD 0(DX), Y0")
	w.op("VMOVUPD 32(DX), Y1")
	w.WriteString("\n\tPCALIGN $32\nloop:\n")
	for v := range 2 {
		at := 4 * v * k.size
		if k.size == 8 {
			w.op("VMOVUPD %d(SI), Y%d", at, 2+v)
			w.op("VFMADD231PD %d(DI), Y%d, Y%d", at, 2+v, v)
			continue
		}
		w.op("VCVTPS2PD %d(SI), Y%d", at, 2+v)
		w.op("VCVTPS2PD %d(DI), Y%d", at, 4+v)
		w.op("VFMADD231PD Y%d, Y%d, Y%d", 4+v, 2+v, v)
	}
	w.op("ADDQ $%d, SI", 8*k.size)
	w.op("ADDQ $%d, DI", 8*k.size)
	w.op("SUBQ $8, CX")
	w.op("JNZ loop")
	w.op("VMOVUPD Y0, 0(DX)")
	w.op("VMOVUPD Y1, 32(DX)")
	w.op("VZEROUPPER")
	w.op("RET")
}
