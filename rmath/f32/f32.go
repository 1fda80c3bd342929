// Package f32 has the elementary functions for float32, under the names of package math. Every
// function of one argument is correctly rounded: the result is the float32 nearest to the value of
// the function, for each of the 2^32 arguments. So the bits are the same on every machine, in plain
// Go and in a kernel (docs/kernels.md), and there is no better result. docs/rmath.md has the
// methods and the proof.
//
// The functions compute in float64, in operations that every processor rounds alike: sums,
// products, fused multiply-adds, quotients and square roots. What they get is wrong by a little
// more than half a unit in the last place of float64, so that its rounding to float32 is wrong only
// where the value lies within about 2^-52 of the middle of two float32.
// The proof tries all arguments and finds these; they are exceptions, listed in their functions.
// Functions of two arguments have too many: near a middle they compute with twice the precision.
//
// Special cases are those of package math.
package f32

import "math"

//go:generate go run ../internal/gen

const (
	toInt   = 0x1.8p52     // x+toInt has the integer nearest to x in its low bits
	toPower = toInt + 1023 // x+toPower that and the bias of an exponent
)

// inf is +Inf; kernels have no variables of their own.
func inf() float32 { return math.Float32frombits(0x7f800000) }

func nan() float32 { return math.Float32frombits(0x7fc00000) }

// mad is x*y + z, rounded once. Other products that may become a term of a sum have a conversion,
// which keeps Go from fusing them on some processors.
func mad(x, y, z float64) float64 { return math.FMA(x, y, z) }

// withSign is x, which is positive, with the sign of s.
func withSign(x, s float32) float32 {
	return math.Float32frombits(math.Float32bits(x) | math.Float32bits(s)&0x80000000)
}

// middle tells whether y is the middle of two float32, or a few units in the last place from it:
// only then an error of y can change its rounding.
func middle(y float64) bool { return (math.Float64bits(y)+8)>>4&0x1ffffff == 0x1000000 }
