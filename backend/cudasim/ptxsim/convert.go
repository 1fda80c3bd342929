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
	case c.src.class != float:
		return c.intToFloat(v)
	case c.dst.class == float:
		return c.floatToFloat(c.float(v))
	}
	return c.floatToInt(c.float(v))
}

// float is the source, exactly.
func (c *conversion) float(v uint64) float64 {
	if c.src == f64 {
		return math.Float64frombits(v)
	}
	x := math.Float32frombits(uint32(v))
	if c.ftz {
		x = flush(x)
	}
	return float64(x)
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
	y := float32(x)
	if c.dst == f32 && c.mode != nearest && isFinite(x) {
		y = round[float32](big.NewFloat(x), c.mode)
	}
	return c.result(y, x)
}

// result is x or y, whichever has the type of the destination.
func (c *conversion) result(y float32, x float64) uint64 {
	if c.ftz {
		y = flush(y)
	}
	if c.sat {
		x, y = saturate(x), saturate(y)
	}
	if c.dst == f32 {
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
	x, exact := float64(v), new(big.Float).SetUint64(v)
	if c.src.class == signed {
		s := signExtend(v, c.src.bits)
		x, exact = float64(s), exact.SetInt64(s)
	}
	y, _ := exact.Float32() // Go's own conversion errs on 386
	if c.mode != nearest {
		x, y = round[float64](exact, c.mode), round[float32](exact, c.mode)
	}
	return c.result(y, x)
}
