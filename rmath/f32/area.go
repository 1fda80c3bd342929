package f32

import "math"

// Asinh is the inverse hyperbolic sine of x: ln(1 + x + x^2/(1 + sqrt(1+x^2))).
func Asinh(x float32) float32 {
	z := abs(x)
	if z < 0x1p-13 || !(z <= math.MaxFloat32) {
		return x
	}
	u := float64(z * z)
	y := log1p(z + u/(1+math.Sqrt(1+u)))
	if middle(y) {
		switch z {
		case 0x1.bacb4ap+24:
			return withSign(0x1.1e0696p+04, x)
		case 0x1.b121a6p+75:
			return withSign(0x1.a9a3f2p+05, x)
		case 0x1.6351d8p+94:
			return withSign(0x1.08b512p+06, x)
		}
	}
	return withSign(float32(y), x)
}

// Acosh is the inverse hyperbolic cosine of x: ln(1 + t + sqrt(2t+t^2)) for t = x-1.
func Acosh(x float32) float32 {
	if !(x >= 1 && x <= math.MaxFloat32) {
		return logSpecial(x - 1)
	}
	t := float64(x) - 1
	y := log1p(t + math.Sqrt(float64(t*(t+2))))
	if middle(y) {
		switch x {
		case 0x1.b121a6p+75:
			return 0x1.a9a3f2p+05
		case 0x1.6351d8p+94:
			return 0x1.08b512p+06
		}
	}
	return float32(y)
}

// Atanh is the inverse hyperbolic tangent of x: half of ln(1 + 2x/(1-x)).
func Atanh(x float32) float32 {
	z := abs(x)
	switch {
	case z == 1:
		return x * inf()
	case !(z < 1):
		return nan()
	case z < 0x1p-13:
		return x
	}
	return withSign(float32(log1p(2*z/(1-z))/2), x)
}
