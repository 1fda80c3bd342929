package element

import "math"

// A Float16 is a number of IEEE 754's binary16, NumPy's float16, by its bits. There is no
// arithmetic in it: it is how numbers are stored.
type Float16 uint16

// A BFloat16 is the upper half of a float32, by its bits, and only stored, too.
type BFloat16 uint16

// ToFloat16 is x rounded to nearest even. Of a NaN the upper bits are kept, and it becomes quiet.
func ToFloat16(x float32) Float16 {
	bits := math.Float32bits(x)
	sign, abs := Float16(bits>>16&0x8000), bits&^(1<<31)
	switch {
	case x != x: // by bits and not abs, as a GPU's |NaN| is another NaN
		return sign | 0x7e00 | Float16(bits>>13&0x3ff)
	case abs < 0x38800000: // below 2^-14: multiples of 2^-24, as which float32 rounds beside 0.5
		return sign | Float16(math.Float32bits(math.Float32frombits(abs)+0.5)-math.Float32bits(0.5))
	case abs >= 0x47800000: // 2^16 and above
		return sign | 0x7c00
	}
	abs += 0xfff + abs>>13&1 // a carry goes into the exponent, and from the last one to infinity
	return sign | Float16((abs-0x38000000)>>13)
}

// Float32 is the number, which is exact.
func (h Float16) Float32() float32 {
	sign, abs := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case abs >= 0x7c00: // infinity and NaN
		return math.Float32frombits(sign | 0x7f800000 | abs&0x3ff<<13)
	case abs < 0x400: // a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(abs)*0x1p-24))
	}
	return math.Float32frombits(sign | (abs<<13 + 0x38000000))
}

// ToBFloat16 is x rounded to nearest even. Of a NaN the upper bits are kept, and it becomes quiet.
func ToBFloat16(x float32) BFloat16 {
	bits := math.Float32bits(x)
	if x != x {
		return BFloat16(bits>>16 | 0x40)
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 is the number, which is exact.
func (b BFloat16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }
