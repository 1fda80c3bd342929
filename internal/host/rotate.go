package host

import (
	"math"
	"unsafe"
)

// RotationColumns is the columns of a matrix that [Rotate] takes.
const RotationColumns = 16

// Rotate rotates rows of RotationColumns elements, which lie one after the other: for k = 0, 1, ...
// with s = st[2k] and t = st[2k+1], row k, x, becomes fma(s, fma(-t, x, y), x), and row k+1, y,
// becomes fma(-s, fma(t, y, x), y). Where t is s/(1+c) these are c*x + s*y and c*y - s*x, and small
// angles lose nothing (H. Rutishauser). With up rows are counted from the last one of the
// rotations.
func Rotate(up bool, st, rows []float64) {
	n := len(st) / 2
	if n == 0 {
		return
	}
	rows = rows[:RotationColumns*(n+1)]
	first, step := 0, RotationColumns
	if up {
		first, step = RotationColumns*n, -step
	}
	if !hasVectors {
		rotateGo(st, rows, first, step)
		return
	}
	rotateNative(n, unsafe.Pointer(&st[0]), unsafe.Pointer(&rows[first]), step)
}

func rotateGo(st, rows []float64, first, step int) {
	for ; len(st) > 0; st, first = st[2:], first+step {
		s, t := st[0], st[1]
		x, y := rows[first:][:RotationColumns], rows[first+step:][:RotationColumns]
		for i, u := range x {
			v := y[i]
			x[i] = math.FMA(s, math.FMA(-t, u, v), u)
			y[i] = math.FMA(-s, math.FMA(t, v, u), v)
		}
	}
}
