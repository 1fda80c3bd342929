// Package functions numbers package gpu's elementary functions, which the conformance cases name
// and package elementary's kernel computes.
package functions

import "github.com/tandem-gpu/tandem/gpu"

// Names is the names of package gpu's elementary functions, in the order of Apply.
var Names = [...]string{
	"Exp", "Exp2", "Expm1", "Log", "Log2", "Log10", "Log1p",
	"Sin", "Cos", "Tan", "SinPi", "CosPi", "Asin", "Acos", "Atan",
	"Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh",
	"Cbrt", "Rsqrt", "Erf", "Erfc", "Sigmoid",
	"Floor", "Ceil", "Trunc", "Round", "RoundToEven",
	"Pow", "Atan2", "Hypot", "Mod",
}

// Apply is elementary function f of package gpu, of x, or of x and y.
func Apply[T gpu.Float](f int, x, y T) T {
	switch f {
	case 0:
		return gpu.Exp(x)
	case 1:
		return gpu.Exp2(x)
	case 2:
		return gpu.Expm1(x)
	case 3:
		return gpu.Log(x)
	case 4:
		return gpu.Log2(x)
	case 5:
		return gpu.Log10(x)
	case 6:
		return gpu.Log1p(x)
	case 7:
		return gpu.Sin(x)
	case 8:
		return gpu.Cos(x)
	case 9:
		return gpu.Tan(x)
	case 10:
		return gpu.SinPi(x)
	case 11:
		return gpu.CosPi(x)
	case 12:
		return gpu.Asin(x)
	case 13:
		return gpu.Acos(x)
	case 14:
		return gpu.Atan(x)
	case 15:
		return gpu.Sinh(x)
	case 16:
		return gpu.Cosh(x)
	case 17:
		return gpu.Tanh(x)
	case 18:
		return gpu.Asinh(x)
	case 19:
		return gpu.Acosh(x)
	case 20:
		return gpu.Atanh(x)
	case 21:
		return gpu.Cbrt(x)
	case 22:
		return gpu.Rsqrt(x)
	case 23:
		return gpu.Erf(x)
	case 24:
		return gpu.Erfc(x)
	case 25:
		return gpu.Sigmoid(x)
	case 26:
		return gpu.Floor(x)
	case 27:
		return gpu.Ceil(x)
	case 28:
		return gpu.Trunc(x)
	case 29:
		return gpu.Round(x)
	case 30:
		return gpu.RoundToEven(x)
	case 31:
		return gpu.Pow(x, y)
	case 32:
		return gpu.Atan2(x, y)
	case 33:
		return gpu.Hypot(x, y)
	}
	return gpu.Mod(x, y)
}
