package main

import "fmt"

// rotate writes rotations of rows of four registers, which are step bytes apart, from row 0 on. For
// k = 0 ... n-1, with s = st[2k] and t = st[2k+1]: row k becomes fma(s, fma(-t, x, y), x), and row
// k+1 fma(-s, fma(t, y, x), y), for x row k and y row k+1. The row that the next rotation changes
// again stays in registers, half of which are done at a time.
func (w *writer) rotate(name, reg string, width int) {
	const next, minus, plus, s, t = 4, 8, 10, 14, 15
	r := func(i int) string { return fmt.Sprint(reg, i) }
	w.text(name, "n int, st, row *float64, step int", 32)
	w.op("MOVQ n+0(FP), CX")
	w.op("MOVQ st+8(FP), SI")
	w.op("MOVQ row+16(FP), DI")
	w.op("MOVQ step+24(FP), R8")
	for v := range 4 {
		w.op("VMOVUPD %d(DI), %s", v*width, r(v))
	}
	w.loop("loop")
	w.op("VBROADCASTSD (SI), %s", r(s))
	w.op("VBROADCASTSD 8(SI), %s", r(t))
	for half := range 2 {
		pair := []int{2 * half, 2*half + 1}
		for i, v := range pair {
			w.op("VMOVUPD %d(DI)(R8*1), %s", v*width, r(next+i))
			w.op("VMOVAPD %s, %s", r(next+i), r(minus+i))
			w.op("VMOVAPD %s, %s", r(v), r(plus+i))
		}
		for i, v := range pair {
			w.op("VFNMADD231PD %s, %s, %s", r(t), r(v), r(minus+i))
			w.op("VFMADD231PD %s, %s, %s", r(t), r(next+i), r(plus+i))
		}
		for i, v := range pair {
			w.op("VFMADD231PD %s, %s, %s", r(s), r(minus+i), r(v))
			w.op("VMOVUPD %s, %d(DI)", r(v), v*width)
			w.op("VFNMADD231PD %s, %s, %s", r(s), r(plus+i), r(next+i))
			w.op("VMOVAPD %s, %s", r(next+i), r(v))
		}
	}
	w.op("ADDQ R8, DI")
	w.op("ADDQ $16, SI")
	w.op("DECQ CX")
	w.op("JNZ loop")
	w.WriteString("\n")
	for v := range 4 {
		w.op("VMOVUPD %s, %d(DI)", r(v), v*width)
	}
	w.op("VZEROUPPER")
	w.op("RET")
}
