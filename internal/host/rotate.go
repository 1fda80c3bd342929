package host

import "math"

// RotationColumns is the columns of a matrix that [Rotate] takes.
var RotationColumns = rotationColumns()

// Rotate rotates rows of RotationColumns elements, which lie one after the other: for k = 0, 1, ...
// with s = st[2k] and t = st[2k+1], row k, x, becomes fma(s, fma(-t, x, y), x), and row k+1, y,
// becomes fma(-s, fma(t, y, x), y). Where t is s/(1+c) these are c*x + s*y and c*y - s*x, and small
// angles lose nothing (H. Rutishauser).
func Rotate(st, rows []float64) {
	n := len(st) / 2
	if n == 0 {
		return
	}
	rows = rows[:RotationColumns*(n+1)]
	if !rotateNative(n, &st[0], &rows[0]) {
		rotateGo(st, rows)
	}
}

func rotateGo(st, rows []float64) {
	for ; len(st) > 0; st, rows = st[2:], rows[RotationColumns:] {
		s, t := st[0], st[1]
		x, y := rows[:RotationColumns], rows[RotationColumns:][:RotationColumns]
		for i, u := range x {
			v := y[i]
			x[i] = math.FMA(s, math.FMA(-t, u, v), u)
			y[i] = math.FMA(-s, math.FMA(t, v, u), v)
		}
	}
}
