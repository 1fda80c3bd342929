package ptxsim

import (
	"math"
	"math/big"
)

// A conversion is what cvt does, beyond cutting and extending integers.
type conversion struct {
	dst, src typ
	mode     rounding
	integral bool  // rounds to an integer: .rni and the like
	wide     uint8 // bits of the destination register, which may have more than dst
	ftz, sat bool
}

func convert(r []uint64, in *inst) {
	c := &in.x.cvt
	r[in.d] = c.widen(c.convert(r[in.a] & mask(c.src.bits)))
}

// truncate keeps the bits of in.imm.
func truncate(r []uint64, in *inst) { r[in.d] = r[in.a] & uint64(in.imm) }

// extend is for signed integers.
func extend(r []uint64, in *inst) {
	c := &in.x.cvt
	r[in.d] = c.widen(uint64(signExtend(r[in.a], c.src.bits)))
}

// widen fits the low bits of v, a value of type dst, into the register.
func (c *conversion) widen(v uint64) uint64 {
	if c.dst.class == signed {
		return uint64(signExtend(v, c.dst.bits)) & mask(c.wide)
	}
	return v & mask(c.dst.bits)
}

func (c *conversion) convert(v uint64) uint64 {
	switch {
	case c.src.class == float && c.dst.class == float:
		return c.floatToFloat(c.float(v))
	case c.src.class == float:
		return c.floatToInt(c.float(v))
	case c.dst.class == float:
		return c.intToFloat(v)
	}
	return c.intToInt(v)
}

// float is the source, exactly.
func (c *conversion) float(v uint64) float64 {
	switch c.src.bits {
	case 16:
		return halfToFloat(uint16(v))
	case 32:
		x := math.Float32frombits(uint32(v))
		if c.ftz {
			x = flush(x)
		}
		return float64(x)
	}
	return math.Float64frombits(v)
}

func roundIntegral(x float64, mode rounding) float64 {
	switch mode {
	case towardZero:
		return math.Trunc(x)
	case down:
		return math.Floor(x)
	case up:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

func (c *conversion) floatToFloat(x float64) uint64 {
	if c.integral {
		x = roundIntegral(x, c.mode)
	}
	if c.sat {
		x = saturate(x)
	}
	switch c.dst.bits {
	case 16:
		return uint64(floatToHalf(x, c.mode))
	case 32:
		y := float32(x)
		if c.mode != nearest && isFinite(x) && x != 0 && !c.integral {
			y = direct32(x, 0, c.mode)
		}
		if c.ftz {
			y = flush(y)
		}
		return bits32(y)
	}
	return bits64(x)
}

// floatToInt rounds and then limits to the destination's range. NaN is zero, except where 64 bits
// are involved.
func (c *conversion) floatToInt(x float64) uint64 {
	n := c.dst.bits
	if x != x {
		if c.src.bits == 64 || n == 64 {
			return 1 << (n - 1)
		}
		return 0
	}
	x = roundIntegral(x, c.mode)
	if c.dst.class == signed {
		limit := math.Ldexp(1, int(n)-1)
		switch {
		case x >= limit:
			return mask(n - 1)
		case x < -limit:
			return 1 << (n - 1)
		}
		return uint64(int64(x)) & mask(n)
	}
	switch {
	case x >= math.Ldexp(1, int(n)):
		return mask(n)
	case x <= 0:
		return 0
	}
	return uint64(x)
}

func (c *conversion) intToFloat(v uint64) uint64 {
	x := new(big.Float).SetPrec(64)
	var f32 float32
	var f64 float64
	if c.src.class == signed {
		s := signExtend(v, c.src.bits)
		x.SetInt64(s)
		f32, f64 = float32(s), float64(s)
	} else {
		x.SetUint64(v)
		f32, f64 = float32(v), float64(v)
	}
	if c.mode != nearest && v != 0 {
		f32, f64 = round32(x, c.mode), round64(x, c.mode)
	}
	switch c.dst.bits {
	case 16:
		return uint64(floatToHalf(f64, c.mode)) // exact in float64, or beyond the range of 16 bits
	case 32:
		if c.sat {
			f32 = saturate(f32)
		}
		return bits32(f32)
	}
	if c.sat {
		f64 = saturate(f64)
	}
	return bits64(f64)
}

func (c *conversion) intToInt(v uint64) uint64 {
	if c.src.class == signed {
		v = uint64(signExtend(v, c.src.bits))
	}
	if !c.sat {
		return v
	}
	negative := c.src.class == signed && int64(v) < 0
	if c.dst.class != signed {
		if negative {
			return 0
		}
		return min(v, mask(c.dst.bits))
	}
	if negative {
		return uint64(max(int64(v), -1<<(c.dst.bits-1)))
	}
	return min(v, mask(c.dst.bits-1))
}

func halfToFloat(h uint16) float64 {
	exp, frac := int(h>>10&31), float64(h&1023)
	var x float64
	switch exp {
	case 31:
		x = math.Inf(1)
		if frac != 0 {
			return math.NaN()
		}
	case 0:
		x = math.Ldexp(frac, -24)
	default:
		x = math.Ldexp(1024+frac, exp-25)
	}
	if h>>15 == 1 {
		return -x
	}
	return x
}

// floatToHalf rounds x to 11 bits, or to multiples of 2^-24.
func floatToHalf(x float64, mode rounding) uint16 {
	if x != x {
		return 0x7fff
	}
	sign := uint16(0)
	if math.Signbit(x) {
		sign, x = 1<<15, -x
		mode = [...]rounding{nearest, towardZero, up, down}[mode]
	}
	if math.IsInf(x, 1) {
		return sign | 0x7c00
	}
	_, exp := math.Frexp(x) // x < 2^exp
	exp = max(exp, -13)
	n := roundIntegral(math.Ldexp(x, 11-exp), mode) // in units of the last place
	v := math.Ldexp(n, exp-11)
	switch {
	case v > 65504 && mode != nearest && mode != up:
		return sign | 0x7bff
	case v > 65504:
		return sign | 0x7c00
	case v < 0x1p-14:
		return sign | uint16(math.Ldexp(v, 24))
	}
	frac, exp := math.Frexp(v)
	return sign | uint16(exp+14)<<10 | uint16(math.Ldexp(frac, 11))&1023
}
