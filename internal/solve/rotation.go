package solve

import "math"

// rotate makes x and y c*x + s*y and c*y - s*x, for c >= 0, with s/(1+c) in the place of c: so
// small angles lose nothing.
func rotate(c, s float64, x, y []float64) {
	t := s / (1 + c)
	y = y[:len(x)]
	for i, u := range x {
		v := y[i]
		x[i] = math.FMA(s, math.FMA(-t, u, v), u)
		y[i] = math.FMA(-s, math.FMA(t, v, u), v)
	}
}

// rotateRows is rotate for rows i and j of q, of n elements.
func rotateRows(c, s float64, q []float64, n, i, j int) {
	rotate(c, s, q[i*n:][:n], q[j*n:][:n])
}

// rotation is c >= 0 and s with c*f + s*g = r and c*g - s*f = 0.
func rotation(f, g float64) (c, s, r float64) {
	if q := squares(f, g); isPlainRotation(f, g, q) {
		return plainRotation(f, g, q)
	}
	return rareRotation(f, g)
}

func squares(f, g float64) float64 { return math.FMA(f, f, float64(g*g)) }

// isPlainRotation tells whether nothing is lost in the sum q of squares.
func isPlainRotation(f, g, q float64) bool { return f != 0 && g != 0 && q > 0x1p-790 && q < 0x1p790 }

func plainRotation(f, g, q float64) (c, s, r float64) {
	sign, root := math.Copysign(1, f), math.Sqrt(q)
	return math.Abs(f) / root, float64(g*sign) / root, float64(root * sign)
}

// rareRotation is rotation where an element is 0, or squares may be lost.
func rareRotation(f, g float64) (c, s, r float64) {
	switch {
	case g == 0:
		return 1, 0, f
	case f == 0:
		return 0, 1, g
	}
	scale := 1.0 // a power of two, so that no square is lost
	if u := max(math.Abs(f), math.Abs(g)); u < 0x1p-400 {
		scale = 0x1p700
	} else if u > 0x1p400 {
		scale = 0x1p-700
	}
	f, g = f*scale, g*scale
	r = math.Copysign(math.Sqrt(math.FMA(f, f, float64(g*g))), f)
	return f / r, g / r, r / scale
}
