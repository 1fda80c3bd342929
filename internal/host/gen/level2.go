package main

import (
	"fmt"
	"slices"
)

// A product of a matrix and a vector reads every element of the matrix once: what counts is that it
// reads along the rows, few at a time. These kernels need AVX2 and no more: wider registers would
// wait for the memory as well.

// rowsAtOnce is the rows that rows adds. The nearest cache holds no more lines of rows that are a
// power of two apart.
const rowsAtOnce = 8

// crossRows is the rows that cross takes.
const crossRows = 16

// level2 writes the kernels of an element type.
func (w *writer) level2(k x86Kernel) {
	w.columns(k)
	w.cross(k)
	w.chains(k)
	w.rows(k)
	w.panel(k)
	w.outer(k, false)
	w.outer(k, true)
	w.substitute(k)
	w.accumulate(k)
	w.symmetric(k)
	w.complexRow(k)
	w.complexDivide(k)
	w.sum(k, "dot", true)
	w.sum(k, "asum", false)
}

// An entry is a function of both element types: its last argument tells which, and it jumps to that
// one. In small calls a function in Go that chose would be felt, which is too large to be inlined.
type entry struct {
	name, args string
	double     int // where the last argument is
	result     string
	size       int
}

var entries = []entry{
	{"chains", chainArgs, 72, "", 73},
	{"outer", outerArgs, 72, "", 73},
	{"outer2", outerArgs + ", u, v unsafe.Pointer", 88, "", 89},
	{"substitute", "n int, e unsafe.Pointer, eRow, eCol int, b unsafe.Pointer, bRow int, unit bool", 49, "", 50},
	{
		"accumulate", "upper, unit bool, n int, e unsafe.Pointer, eRow, eCol int, x unsafe.Pointer, incX int, " +
			"acc unsafe.Pointer", 64, "", 65,
	},
	{"symmetric", "lower bool, n int, a unsafe.Pointer, lda int, x, acc unsafe.Pointer", 48, "", 49},
	{"dot", "n int, x, y unsafe.Pointer", 24, " (sum float64)", 40},
	{"asum", "n int, x unsafe.Pointer", 16, " (sum float64)", 32},
}

const (
	chainArgs = "m, k int, a unsafe.Pointer, lda, step int, x unsafe.Pointer, incX int, y unsafe.Pointer, incY int"
	outerArgs = "m, n, dn int, alpha float64, x, y unsafe.Pointer, dy int, a unsafe.Pointer, da int"
)

// entries writes the entries.
func (w *writer) entries() {
	for _, e := range entries {
		fmt.Fprintf(w, "\n// func %sAVX2(%s, double bool)%s\n", e.name, e.args, e.result)
		fmt.Fprintf(w, "TEXT ·%sAVX2(SB), NOSPLIT, $0-%d\n", e.name, e.size)
		w.op("CMPB double+%d(FP), $0", e.double)
		w.op("JEQ single")
		w.op("JMP %sF64AVX2<>(SB)", e.name)
		w.label("single")
		w.op("JMP %sF32AVX2<>(SB)", e.name)
	}
}

// body starts what an entry jumps to.
func (w *writer) body(name string, k x86Kernel) {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
	fmt.Fprintf(w, "\nTEXT %s%s<>(SB), NOSPLIT, $0-%d\n", name, k.name, entries[i].size)
}

// number loads an argument of an entry, a float64, as an element.
func (w *writer) number(k x86Kernel, arg string, reg int) {
	w.op("VMOVSD %s(FP), X%d", arg, reg)
	if k.size == 4 {
		w.op("VCVTSD2SS X%d, X%[1]d, X%[1]d", reg)
	}
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

// A strip is some rows whose chains go on along them, a line at a time.
type strip struct {
	x86Kernel
	rows     int
	pointers []string // to four rows each
	at       int      // bytes from there to the line
}

func (k x86Kernel) strip(rows int) strip {
	return strip{x86Kernel: k, rows: rows, pointers: []string{"SI", "R10", "R11", "R12"}[:rows/4]}
}

// chains is the registers of the rows' chains.
func (s strip) chains() int { return s.rows / s.lanes() }

// across is the register of the chains of half a line's columns.
func (s strip) across(half int) string { return s.r(s.chains() + half) }

// columns writes the chains of 16 rows with x, which do not wait for each other.
func (w *writer) columns(k x86Kernel) {
	s := k.strip(16)
	w.text("columns"+k.name, fmt.Sprintf("k int, a *%s, lda int, x, acc *%[1]s", k.elem), 40)
	w.stripBegin(s)
	w.loop("loop")
	for r := range s.rows {
		w.op("PREFETCHT1 %s", rowAddr(512, s.pointers[r/4], r%4))
	}
	for i := range 2 * s.chains() {
		w.stripBlock(s, i/2, i%2, false)
	}
	w.stripNext(s)
	w.op("JNZ loop")
	w.WriteString("\n")
	w.stripEnd(s)
}

// cross writes columns for 16 rows, and rows for the same ones with u: each element is loaded once.
// The second eight rows follow the first by a line: both chains go on at a time, and no more than
// eight lines of rows that are a power of two apart are needed at once.
func (w *writer) cross(k x86Kernel) {
	s := k.strip(crossRows)
	w.text("cross"+k.name, fmt.Sprintf("k int, a *%s, lda int, x, acc, u, y *%[1]s", k.elem), 56)
	w.op("MOVQ u+40(FP), BX")
	w.op("MOVQ y+48(FP), AX")
	w.stripBegin(s)
	w.crossHalf(s, 0, 0)
	w.crossHalf(s, 0, 1)
	w.stripNext(s, "AX")
	w.op("JZ last")
	w.loop("loop")
	before := s
	before.at = -64
	for half := range 2 {
		w.crossHalf(s, 0, half)
		w.crossHalf(before, 1, half)
	}
	w.stripNext(s, "AX")
	w.op("JNZ loop")
	w.label("last")
	w.crossHalf(before, 1, 0)
	w.crossHalf(before, 1, 1)
	w.stripEnd(s)
}

// crossHalf writes the steps of half a line for eight rows of cross.
func (w *writer) crossHalf(s strip, which, half int) {
	at := s.at + half*s.width()
	w.op("%s %d(AX), %s", s.load, at, s.across(half))
	for i := range s.chains() / 2 {
		w.stripBlock(s, which*s.chains()/2+i, half, true)
	}
	w.op("%s %s, %d(AX)", s.load, s.across(half), at)
}

// stripBegin loads the chains.
func (w *writer) stripBegin(s strip) {
	w.op("MOVQ k+0(FP), CX")
	w.op("MOVQ a+8(FP), SI")
	w.op("MOVQ lda+16(FP), R8")
	w.op("MOVQ x+24(FP), DI")
	w.op("MOVQ acc+32(FP), DX")
	w.rowPointers(s.x86Kernel, s.pointers...)
	for g := range s.chains() {
		w.op("%s %d(DX), %s", s.load, g*s.width(), s.r(g))
	}
}

// stripNext goes to the next line.
func (w *writer) stripNext(s strip, more ...string) {
	for _, p := range slices.Concat(s.pointers, []string{"DI"}, more) {
		w.op("ADDQ $64, %s", p)
	}
	w.op("SUBQ $%d, CX", 64/s.size)
}

// stripEnd stores the chains.
func (w *writer) stripEnd(s strip) {
	for g := range s.chains() {
		w.op("%s %s, %d(DX)", s.load, s.r(g), g*s.width())
	}
	w.op("VZEROUPPER")
	w.op("RET")
}

// stripBlock writes the steps of half a line for the chains of a register, whose rows are a square
// then, that is transposed; before that, where across is set, the steps of the rows for the chains
// of the columns. All of a line of so few rows comes before the next rows: the nearest cache keeps
// no more than eight lines of rows that are a power of two apart.
func (w *writer) stripBlock(s strip, group, half int, across bool) {
	first := s.chains() + 2
	a, b, c := s.four(first), s.four(first+4), s.four(first+8)
	load := func(pointer int, to, temp []string) {
		for r := range to {
			w.op("%s %s, %s", s.load, rowAddr(s.at+half*s.width(), s.pointers[pointer], r), to[r])
			if across {
				w.op("%s %d(BX), %s", s.splat, (4*pointer+r)*s.size, temp[r])
				w.op("%s %s, %s, %s", s.mulAdd, to[r], temp[r], s.across(half))
			}
		}
	}
	steps := func(at int, columns, temp []string) {
		for i, column := range columns {
			w.op("%s %d(DI), %s", s.splat, s.at+half*s.width()+(at+i)*s.size, temp[i])
			w.op("%s %s, %s, %s", s.mulAdd, column, temp[i], s.r(group))
		}
	}
	if s.size == 8 {
		load(group, a, b)
		w.pairs("QDQ", a, b)
		w.halves(0x20, b[0], b[2], a[0])
		w.halves(0x20, b[1], b[3], a[1])
		w.halves(0x31, b[0], b[2], a[2])
		w.halves(0x31, b[1], b[3], a[3])
		steps(0, a, b)
		return
	}
	load(2*group, a, b)
	w.squares(a, b)
	load(2*group+1, b, c)
	w.squares(b, c)
	for i := range 4 {
		w.halves(0x20, a[i], b[i], c[i])
		w.halves(0x31, a[i], b[i], a[i])
	}
	steps(0, c, b)
	steps(4, a, b)
}

// four is the names of four registers.
func (k x86Kernel) four(first int) []string {
	return []string{k.r(first), k.r(first + 1), k.r(first + 2), k.r(first + 3)}
}

// pairs interleaves the rows 0 and 1, and 2 and 3, within each half of a register, as integers:
// Intel's processors have two units for these, and one for floating-point numbers.
func (w *writer) pairs(unit string, rows, to []string) {
	for i := range to {
		w.op("VPUNPCK%s%s %s, %s, %s", [...]string{"L", "H"}[i%2], unit, rows[i/2*2+1], rows[i/2*2], to[i])
	}
}

// squares transposes squares of four elements of 4 bytes: rows[i] has the columns i and i+4 then.
func (w *writer) squares(rows, temp []string) {
	w.pairs("DQ", rows, temp)
	w.pairs("QDQ", []string{temp[0], temp[2], temp[1], temp[3]}, rows)
}

// halves makes a register of the lower (0x20) or upper halves (0x31) of two.
func (w *writer) halves(which int, low, high, to string) {
	w.op("VPERM2F128 $%d, %s, %s, %s", which, high, low, to)
}

// chainRows is the rows that chains takes at a time: as many chains as keep two units busy.
const chainRows = 8

// chains writes the chains of any rows with x, one element at a time: what columns leaves, what is
// small, and vectors whose elements are apart.
func (w *writer) chains(k x86Kernel) {
	const x = chainRows
	move, mulAdd := k.scalar("VMOVS%s"), k.scalar("VFMADD231S%s")
	w.body("chains", k)
	w.op("MOVQ m+0(FP), BX")
	w.op("MOVQ a+16(FP), SI")
	w.strides(k, "lda+24", "R8", "step+32", "R11", "incX+48", "R13", "incY+64", "R14")
	w.op("MOVQ y+56(FP), DX")
	w.op("LEAQ (R8)(R8*2), R9")
	w.label("next")
	w.op("MOVQ k+8(FP), CX")
	w.op("MOVQ x+40(FP), DI")
	w.op("MOVQ SI, R12")
	w.op("LEAQ (SI)(R8*4), R10")
	w.op("MOVQ DX, AX")
	for rows := chainRows; rows > 1; rows-- {
		w.op("CMPQ BX, $%d", rows)
		if rows == chainRows {
			w.op("JGE rows%d", rows)
		} else {
			w.op("JEQ rows%d", rows)
		}
	}
	eachRow := func(rows int, pointer string, do func(r int)) {
		for r := range rows {
			do(r)
			w.op("ADDQ R14, %s", pointer)
		}
	}
	for rows := 1; rows <= chainRows; rows++ {
		w.label("rows%d", rows)
		eachRow(rows, "AX", func(r int) { w.op("%s (AX), X%d", move, r) })
		w.label("loop%d", rows)
		w.op("%s (DI), X%d", move, x)
		for r := range rows {
			w.op("%s %s, X%d, X%d", mulAdd, rowAddr(0, []string{"SI", "R10"}[r/4], r%4), x, r)
		}
		w.op("ADDQ R13, DI")
		w.op("ADDQ R11, SI")
		w.op("ADDQ R11, R10")
		w.op("DECQ CX")
		w.op("JNZ loop%d", rows)
		eachRow(rows, "DX", func(r int) { w.op("%s X%d, (DX)", move, r) })
		if rows < chainRows {
			w.op("RET")
		}
	}
	w.op("LEAQ (R12)(R8*%d), SI", chainRows)
	w.op("SUBQ $%d, BX", chainRows)
	w.op("JNZ next")
	w.op("RET")
}

// strides loads arguments that count elements, and makes bytes of them.
func (w *writer) strides(k x86Kernel, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		w.op("MOVQ %s(FP), %s", pairs[i], pairs[i+1])
		w.op("SHLQ $%d, %s", k.shift(), pairs[i+1])
	}
}

// substitute writes the solution of a lower triangular system, one column after the other: as soon
// as an unknown is known, the others take what it gives them.
func (w *writer) substitute(k x86Kernel) {
	move := k.scalar("VMOVS%s")
	w.body("substitute", k)
	w.op("MOVQ n+0(FP), BX")
	w.op("MOVQ e+8(FP), SI")
	w.strides(k, "eRow+16", "R8", "eCol+24", "R9", "bRow+40", "R10")
	w.op("MOVQ b+32(FP), DX")
	w.op("MOVBLZX unit+48(FP), R11")
	w.op("ADDQ R8, R9")
	w.label("column")
	w.op("%s (DX), X0", move)
	w.op("TESTL R11, R11")
	w.op("JNZ known")
	w.op("%s (SI), X0, X0", k.scalar("VDIVS%s"))
	w.op("%s X0, (DX)", move)
	w.label("known")
	w.op("LEAQ (SI)(R8*1), DI")
	w.op("LEAQ (DX)(R10*1), DX")
	w.op("MOVQ DX, AX")
	w.op("MOVQ BX, CX")
	w.op("DECQ CX")
	w.op("JZ done")
	w.label("row")
	w.op("%s (AX), X1", move)
	w.op("%s (DI), X0, X1", k.scalar("VFNMADD231S%s"))
	w.op("%s X1, (AX)", move)
	w.op("ADDQ R8, DI")
	w.op("ADDQ R10, AX")
	w.op("DECQ CX")
	w.op("JNZ row")
	w.op("ADDQ R9, SI")
	w.op("DECQ BX")
	w.op("JMP column")
	w.label("done")
	w.op("RET")
}

// accumulate writes the chains of a triangle with x, one column after the other.
func (w *writer) accumulate(k x86Kernel) {
	move, mulAdd := k.scalar("VMOVS%s"), k.scalar("VFMADD231S%s")
	w.body("accumulate", k)
	w.op("MOVQ n+8(FP), BX")
	w.op("MOVQ e+16(FP), SI")
	w.strides(k, "eRow+24", "R8", "eCol+32", "R9", "incX+48", "R13")
	w.op("MOVQ x+40(FP), R12")
	w.op("MOVQ acc+56(FP), DX")
	w.op("XORL R11, R11")
	w.label("column")
	w.op("%s (R12), X0", move)
	w.op("ADDQ R13, R12")
	w.op("LEAQ (SI)(R8*1), DI")
	w.op("LEAQ %d(DX)(R11*%d), AX", k.size, k.size)
	w.op("LEAQ -1(BX), CX")
	w.op("MOVQ SI, R10")
	w.op("CMPB upper+0(FP), $0")
	w.op("JEQ beside")
	w.op("MOVQ e+16(FP), DI")
	w.op("MOVQ DX, AX")
	w.op("MOVQ R11, CX")
	w.op("ADDQ R9, e+16(FP)")
	w.label("beside")
	w.op("TESTQ CX, CX")
	w.op("JZ diagonal")
	w.label("row")
	w.op("%s (AX), X1", move)
	w.op("%s (DI), X0, X1", mulAdd)
	w.op("%s X1, (AX)", move)
	w.op("ADDQ R8, DI")
	w.op("ADDQ $%d, AX", k.size)
	w.op("DECQ CX")
	w.op("JNZ row")
	w.label("diagonal")
	w.op("%s (DX)(R11*%d), X1", move, k.size)
	w.op("CMPB unit+1(FP), $0")
	w.op("JEQ product")
	w.op("%s X0, X1, X1", k.scalar("VADDS%s"))
	w.op("JMP store")
	w.label("product")
	w.op("%s (R10), X0, X1", mulAdd)
	w.label("store")
	w.op("%s X1, (DX)(R11*%d)", move, k.size)
	w.op("ADDQ R8, SI")
	w.op("ADDQ R9, SI")
	w.op("INCQ R11")
	w.op("DECQ BX")
	w.op("JNZ column")
	w.op("RET")
}

// symmetric writes the chains of a small symmetric matrix with x: each element beside the diagonal
// is a step of the chain of its row and of that of its column.
func (w *writer) symmetric(k x86Kernel) {
	move, mulAdd := k.scalar("VMOVS%s"), k.scalar("VFMADD231S%s")
	w.body("symmetric", k)
	w.op("MOVBLZX lower+0(FP), R11")
	w.op("MOVQ n+8(FP), BX")
	w.op("MOVQ a+16(FP), SI")
	w.strides(k, "lda+24", "R8")
	w.op("MOVQ x+32(FP), DI")
	w.op("MOVQ acc+40(FP), DX")
	w.op("XORL R9, R9")
	w.label("row")
	w.op("TESTL R11, R11")
	w.op("JZ upper")
	// R9 is i, X0 x[i], X1 the chain. R10, R12 and R13 go along the row, x and the other chains.
	w.op("%s (DI)(R9*%d), X0", move, k.size)
	w.op("%s (DX)(R9*%d), X1", move, k.size)
	w.op("MOVQ SI, R10")
	w.op("MOVQ DI, R12")
	w.op("MOVQ DX, R13")
	w.op("MOVQ R9, CX")
	w.op("TESTQ CX, CX")
	w.op("JZ lowerend")
	w.symmetricRow(k, "lower")
	w.label("lowerend")
	w.op("%s (R10), X0, X1", mulAdd)
	w.op("%s X1, (DX)(R9*%d)", move, k.size)
	w.op("ADDQ R8, SI")
	w.op("INCQ R9")
	w.op("DECQ BX")
	w.op("JNZ row")
	w.op("RET")
	w.label("upper")
	w.op("%s (DI), X0", move)
	w.op("%s (DX), X1", move)
	w.op("%s (SI), X0, X1", mulAdd)
	w.op("LEAQ %d(SI), R10", k.size)
	w.op("LEAQ %d(DI), R12", k.size)
	w.op("LEAQ %d(DX), R13", k.size)
	w.op("MOVQ BX, CX")
	w.op("DECQ CX")
	w.op("JZ upperend")
	w.symmetricRow(k, "upper")
	w.label("upperend")
	w.op("%s X1, (DX)", move)
	w.op("LEAQ %d(SI)(R8*1), SI", k.size)
	w.op("ADDQ $%d, DI", k.size)
	w.op("ADDQ $%d, DX", k.size)
	w.op("DECQ BX")
	w.op("JNZ row")
	w.op("RET")
}

// symmetricRow writes the steps of CX elements beside the diagonal.
func (w *writer) symmetricRow(k x86Kernel, name string) {
	move, mulAdd := k.scalar("VMOVS%s"), k.scalar("VFMADD231S%s")
	w.label("%sloop", name)
	w.op("%s (R10), X2", move)
	w.op("%s (R13), X3", move)
	w.op("%s (R12), X2, X1", mulAdd)
	w.op("%s X2, X0, X3", mulAdd)
	w.op("%s X3, (R13)", move)
	for _, p := range []string{"R10", "R12", "R13"} {
		w.op("ADDQ $%d, %s", k.size, p)
	}
	w.op("DECQ CX")
	w.op("JNZ %sloop", name)
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
	w.loop("loop")
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

// panel writes y = fma(a, x, y) for any rows, which stay in registers while the rows go by: what
// rows leaves, and what is small.
func (w *writer) panel(k x86Kernel) {
	const splat, rest, mask = 4, 5, 6
	w.text("panel"+k.name, fmt.Sprintf("k, n int, a *%s, lda int, x, y *%[1]s", k.elem), 48)
	w.op("MOVQ n+8(FP), BX")
	w.op("MOVQ a+16(FP), SI")
	w.op("MOVQ lda+24(FP), R8")
	w.op("MOVQ y+40(FP), DX")
	w.op("SHLQ $%d, R8", k.shift())
	column := func(name string, move, stepRow func()) {
		w.op("MOVQ SI, R10")
		w.op("MOVQ x+32(FP), DI")
		w.op("MOVQ k+0(FP), CX")
		move()
		w.label("%sloop", name)
		w.op("%s (DI), %s", k.splat, k.r(splat))
		stepRow()
		w.op("ADDQ $%d, DI", k.size)
		w.op("ADDQ R8, R10")
		w.op("DECQ CX")
		w.op("JNZ %sloop", name)
	}
	w.columnBlocks(k, []string{"SI", "DX"}, func(vectors int) {
		column(fmt.Sprint("by", vectors),
			func() { w.loadVectors(k, vectors) },
			func() {
				for v := range vectors {
					w.op("%s %d(R10), %s, %s", k.mulAdd, v*k.width(), k.r(splat), k.r(v))
				}
			})
		w.storeVectors(k, vectors)
	})
	w.restMask(k, k.r(mask))
	column("rest",
		func() { w.op("%s (DX), %s, %s", k.masked, k.r(mask), k.r(0)) },
		func() {
			w.op("%s (R10), %s, %s", k.masked, k.r(mask), k.r(rest))
			w.op("%s %s, %s, %s", k.mulAdd, k.r(rest), k.r(splat), k.r(0))
		})
	w.storeRest(k)
	w.label("done")
	w.op("VZEROUPPER")
	w.op("RET")
}

// outer writes a = fma(alpha*x, y, a) for a matrix a, with alpha*x rounded. After a row the next
// one begins da elements behind its beginning, is dn elements longer, and takes y from dy elements
// on: it may be one of a triangle. With two vectors more the same follows for them, u and v. What
// is left of a row is done in halves of a register, and their halves: moves under a mask take long
// on many processors, and where they reach into a page that nobody has touched.
func (w *writer) outer(k x86Kernel, two bool) {
	const splat, other, alpha, rest = 4, 5, 6, 7
	name := "outer"
	if two {
		name = "outer2"
	}
	w.body(name, k)
	w.op("MOVQ m+0(FP), CX")
	w.op("MOVQ n+8(FP), AX")
	w.number(k, "alpha+24", alpha)
	w.op("MOVQ x+32(FP), DI")
	w.op("MOVQ y+40(FP), R12")
	w.op("MOVQ a+56(FP), SI")
	w.strides(k, "dy+48", "R13", "da+64", "R8")
	factor := func(pointer string, reg int) {
		w.op("%s (%s), X%d, X%d", k.scalar("VMULS%s"), pointer, alpha, reg)
		w.op("%s X%d, %s", k.splat, reg, k.r(reg))
	}
	pointers := []string{"R10", "DX"}
	if two {
		w.op("MOVQ u+72(FP), R9")
		w.op("MOVQ v+80(FP), R14")
		pointers = append(pointers, "R11")
	}
	w.label("row")
	factor("DI", splat)
	w.op("MOVQ AX, BX")
	w.op("MOVQ R12, R10")
	w.op("MOVQ SI, DX")
	if two {
		factor("R9", other)
		w.op("MOVQ R14, R11")
	}
	w.columnBlocks(k, pointers, func(vectors int) {
		w.loadVectors(k, vectors)
		for v := range vectors {
			w.op("%s %d(R10), %s, %s", k.mulAdd, v*k.width(), k.r(splat), k.r(v))
			if two {
				w.op("%s %d(R11), %s, %s", k.mulAdd, v*k.width(), k.r(other), k.r(v))
			}
		}
		w.storeVectors(k, vectors)
	})
	for lanes := k.lanes() / 2; lanes > 0; lanes /= 2 {
		w.op("TESTQ $%d, BX", lanes)
		w.op("JZ without%d", lanes)
		move := [...]string{4: "VMOVSS", 8: "VMOVSD", 16: "VMOVUPS"}[lanes*k.size]
		w.op("%s (DX), X0", move)
		for i, pointer := range pointers {
			if pointer != "DX" {
				w.op("%s (%s), X%d", move, pointer, rest)
				w.op("%s X%d, X%d, X0", k.mulAdd, rest, splat+i/2)
			}
		}
		w.op("%s X0, (DX)", move)
		for _, pointer := range pointers {
			w.op("ADDQ $%d, %s", lanes*k.size, pointer)
		}
		w.label("without%d", lanes)
	}
	w.label("done")
	w.op("ADDQ $%d, DI", k.size)
	w.op("ADDQ R13, R12")
	if two {
		w.op("ADDQ $%d, R9", k.size)
		w.op("ADDQ R13, R14")
	}
	w.op("ADDQ R8, SI")
	w.op("ADDQ dn+16(FP), AX")
	w.op("DECQ CX")
	w.op("JNZ row")
	w.op("VZEROUPPER")
	w.op("RET")
}

// columnBlocks writes block for four registers of columns as long as BX has so many, and then for
// two and one, after each of which the pointers go on. It jumps to done where nothing is left.
func (w *writer) columnBlocks(k x86Kernel, pointers []string, block func(vectors int)) {
	for _, vectors := range []int{4, 2, 1} {
		w.label("wide%d", vectors)
		w.op("CMPQ BX, $%d", vectors*k.lanes())
		w.op("JLT less%d", vectors)
		block(vectors)
		for _, p := range pointers {
			w.op("ADDQ $%d, %s", vectors*k.width(), p)
		}
		w.op("SUBQ $%d, BX", vectors*k.lanes())
		if vectors == 4 { // of two and one there are no more
			w.op("JMP wide%d", vectors)
		}
		w.label("less%d", vectors)
	}
	w.op("TESTQ BX, BX")
	w.op("JZ done")
}

func (w *writer) loadVectors(k x86Kernel, vectors int) {
	for v := range vectors {
		w.op("%s %d(DX), %s", k.load, v*k.width(), k.r(v))
	}
}

func (w *writer) storeVectors(k x86Kernel, vectors int) {
	for v := range vectors {
		w.op("%s %s, %d(DX)", k.load, k.r(v), v*k.width())
	}
}

// restMask makes a register the mask of the first BX lanes.
func (w *writer) restMask(k x86Kernel, mask string) {
	w.op("LEAQ masks<>+32(SB), R9")
	w.op("LEAQ (BX*%d), R11", k.size)
	w.op("SUBQ R11, R9")
	w.op("%s (R9), %s", k.load, mask)
}

// storeRest stores the first BX lanes of the first register at DX, and changes both: stores under a
// mask take long on many processors.
func (w *writer) storeRest(k x86Kernel) {
	for lanes := k.lanes() / 2; lanes > 0; lanes /= 2 {
		w.op("TESTQ $%d, BX", lanes)
		w.op("JZ without%d", lanes)
		switch lanes * k.size {
		case 16:
			w.op("VMOVUPS X0, (DX)")
			w.op("VEXTRACTF128 $1, Y0, X0")
		case 8:
			w.op("VMOVSD X0, (DX)")
			w.op("VPERMILPD $1, X0, X0")
		default:
			w.op("VMOVSS X0, (DX)")
		}
		w.op("ADDQ $%d, DX", lanes*k.size)
		w.label("without%d", lanes)
	}
}

// sum writes the products of x and y, or without y the magnitudes of x, added in eight lanes of
// float64, and the sum of these. What is left of the elements goes to the first lanes alone: to add
// zero to the others would change one of -0.
func (w *writer) sum(k x86Kernel, name string, products bool) {
	w.body(name, k)
	w.op("MOVQ n+0(FP), BX")
	w.op("MOVQ x+8(FP), SI")
	result := 24
	if products {
		result = 32
		w.op("MOVQ y+16(FP), DI")
	} else { // all bits but the sign
		w.op("VPCMPEQD Y8, Y8, Y8")
		w.op("VPSRLQ $1, Y8, Y8")
	}
	w.op("VXORPD Y0, Y0, Y0")
	w.op("VXORPD Y1, Y1, Y1")
	w.op("MOVQ BX, CX")
	w.op("SHRQ $3, CX")
	w.op("JZ rest")
	w.loop("loop")
	for v := range 2 {
		w.addLanes(products, fmt.Sprint(4*v*k.size), v, func(from string, to string) {
			if k.size == 8 {
				w.op("VMOVUPD %s, %s", from, to)
			} else {
				w.op("VCVTPS2PD %s, %s", from, to)
			}
		})
		w.op("VMOVAPD Y%d, Y%d", 4+v, v)
	}
	w.op("ADDQ $%d, SI", 8*k.size)
	if products {
		w.op("ADDQ $%d, DI", 8*k.size)
	}
	w.op("DECQ CX")
	w.op("JNZ loop")
	w.label("rest")
	w.op("ANDQ $7, BX")
	w.op("JZ sum")
	w.op("LEAQ masks<>+32(SB), R9")
	w.op("MOVQ BX, R10")
	w.op("MOVQ $4, R11")
	w.op("CMPQ R10, R11")
	w.op("CMOVQGT R11, R10")
	w.op("SUBQ R10, BX")
	for v, n := range []string{"R10", "BX"} {
		w.op("MOVQ %s, R11", n)
		w.op("SHLQ $3, R11")
		w.op("NEGQ R11")
		w.op("VMOVUPD (R9)(R11*1), Y6")
		w.op("SARQ $1, R11")
		w.op("VMOVUPS (R9)(R11*1), X7")
		w.addLanes(products, fmt.Sprint(4*v*k.size), v, func(from string, to string) {
			if k.size == 8 {
				w.op("VMASKMOVPD %s, Y6, %s", from, to)
			} else {
				x := "X" + to[1:]
				w.op("VMASKMOVPS %s, X7, %s", from, x)
				w.op("VCVTPS2PD %s, %s", x, to)
			}
		})
		w.op("VBLENDVPD Y6, Y%d, Y%d, Y%d", 4+v, v, v)
	}
	w.label("sum")
	w.op("VADDPD Y1, Y0, Y0")
	w.op("VEXTRACTF128 $1, Y0, X1")
	w.op("VADDPD X1, X0, X0")
	w.op("VPERMILPD $1, X0, X1")
	w.op("VADDSD X1, X0, X0")
	w.op("VZEROUPPER")
	w.op("MOVSD X0, sum+%d(FP)", result)
	w.op("RET")
}

// addLanes makes register 4+v what four lanes, in register v, become by the elements at an offset.
func (w *writer) addLanes(products bool, at string, v int, load func(from, to string)) {
	load(at+"(SI)", "Y2")
	if products {
		load(at+"(DI)", "Y3")
		w.op("VMOVAPD Y%d, Y%d", v, 4+v)
		w.op("VFMADD231PD Y3, Y2, Y%d", 4+v)
		return
	}
	w.op("VANDPD Y8, Y2, Y2")
	w.op("VADDPD Y2, Y%d, Y%d", v, 4+v)
}
