package ptxsim

import "math/bits"

// An aluFunc runs an instruction that reads and writes registers only.
type aluFunc func(r []uint64, in *inst)

type unsignedInt interface{ uint16 | uint32 | uint64 }

type signedInt interface{ int16 | int32 | int64 }

// bySize chooses among the instances of a generic function for unsigned integers.
func bySize(t typ, f16, f32, f64 aluFunc) aluFunc {
	switch t.bits {
	case 16:
		return f16
	case 32:
		return f32
	}
	return f64
}

// bySign chooses between the functions for signed integers and for others.
func bySign(t typ, s16, s32, s64, u16, u32, u64 aluFunc) aluFunc {
	if t.class == signed {
		return bySize(t, s16, s32, s64)
	}
	return bySize(t, u16, u32, u64)
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func addInt[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) + U(r[in.b])) }
func subInt[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) - U(r[in.b])) }
func mulLow[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) * U(r[in.b])) }
func madLow[U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(r[in.a])*U(r[in.b]) + U(r[in.c]))
}
func negInt[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(-U(r[in.a])) }
func notInt[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(^U(r[in.a])) }
func andInt[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) & U(r[in.b])) }
func orInt[U unsignedInt](r []uint64, in *inst)  { r[in.d] = uint64(U(r[in.a]) | U(r[in.b])) }
func xorInt[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) ^ U(r[in.b])) }
func cnotInt[U unsignedInt](r []uint64, in *inst) {
	r[in.d] = flag(U(r[in.a]) == 0)
}

func notPred(r []uint64, in *inst) { r[in.d] = r[in.a] ^ 1 }

func saturatedAdd(r []uint64, in *inst) {
	r[in.d] = clamp32(int64(int32(r[in.a])) + int64(int32(r[in.b])))
}

func saturatedSub(r []uint64, in *inst) {
	r[in.d] = clamp32(int64(int32(r[in.a])) - int64(int32(r[in.b])))
}

func clamp32(v int64) uint64 { return uint64(uint32(min(max(v, -1<<31), 1<<31-1))) }

func wideS16(r []uint64, in *inst) {
	r[in.d] = uint64(uint32(int32(int16(r[in.a])) * int32(int16(r[in.b]))))
}

func wideU16(r []uint64, in *inst) {
	r[in.d] = uint64(uint32(uint16(r[in.a])) * uint32(uint16(r[in.b])))
}

func wideS32(r []uint64, in *inst) { r[in.d] = uint64(int64(int32(r[in.a])) * int64(int32(r[in.b]))) }
func wideU32(r []uint64, in *inst) { r[in.d] = uint64(uint32(r[in.a])) * uint64(uint32(r[in.b])) }

func madWideS16(r []uint64, in *inst) {
	r[in.d] = uint64(uint32(int32(int16(r[in.a]))*int32(int16(r[in.b]))) + uint32(r[in.c]))
}

func madWideU16(r []uint64, in *inst) {
	r[in.d] = uint64(uint32(uint16(r[in.a]))*uint32(uint16(r[in.b])) + uint32(r[in.c]))
}

func madWideS32(r []uint64, in *inst) {
	r[in.d] = uint64(int64(int32(r[in.a]))*int64(int32(r[in.b]))) + r[in.c]
}

func madWideU32(r []uint64, in *inst) {
	r[in.d] = uint64(uint32(r[in.a]))*uint64(uint32(r[in.b])) + r[in.c]
}

// highProduct is the upper half of the product of two values of type t.
func highProduct(t typ, a, b uint64) uint64 {
	if t.class == signed {
		hi, lo := bits.Mul64(uint64(signExtend(a, t.bits)), uint64(signExtend(b, t.bits)))
		if t.bits == 64 {
			return hi - a&-(b>>63) - b&-(a>>63) // from the unsigned product to the signed one
		}
		return lo >> t.bits & mask(t.bits)
	}
	hi, lo := bits.Mul64(a&mask(t.bits), b&mask(t.bits))
	if t.bits == 64 {
		return hi
	}
	return lo >> t.bits
}

func mulHigh(r []uint64, in *inst) { r[in.d] = highProduct(in.x.typ, r[in.a], r[in.b]) }

func madHigh(r []uint64, in *inst) {
	t := in.x.typ
	r[in.d] = (highProduct(t, r[in.a], r[in.b]) + r[in.c]) & mask(t.bits)
}

// mul24 multiplies the low 24 bits of both operands.
func mul24(r []uint64, in *inst) {
	if in.x.typ.class == signed {
		r[in.d] = uint64(uint32(signExtend(r[in.a], 24) * signExtend(r[in.b], 24)))
	} else {
		r[in.d] = uint64(uint32(r[in.a]&mask(24)) * uint32(r[in.b]&mask(24)))
	}
}

func mad24(r []uint64, in *inst) {
	c := uint32(r[in.c])
	mul24(r, in)
	r[in.d] = uint64(uint32(r[in.d]) + c)
}

// The divisor of the next four is not zero: the interpreter sees to it.

func divSigned[S signedInt, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(S(r[in.a]) / S(r[in.b])))
}

func remSigned[S signedInt, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(S(r[in.a]) % S(r[in.b])))
}

func divUnsigned[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) / U(r[in.b])) }
func remUnsigned[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) % U(r[in.b])) }

func minSigned[S signedInt, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(min(S(r[in.a]), S(r[in.b]))))
}

func maxSigned[S signedInt, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(max(S(r[in.a]), S(r[in.b]))))
}

func minUnsigned[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(min(U(r[in.a]), U(r[in.b]))) }

func maxUnsigned[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(max(U(r[in.a]), U(r[in.b]))) }

func absSigned[S signedInt, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(max(S(r[in.a]), -S(r[in.a]))))
}

// sumOfDifference is c + |a-b|.
func sumOfDifference(r []uint64, in *inst) {
	t := in.x.typ
	a, b := r[in.a]&mask(t.bits), r[in.b]&mask(t.bits)
	less := a < b
	if t.class == signed {
		less = signExtend(a, t.bits) < signExtend(b, t.bits)
	}
	if less {
		a, b = b, a
	}
	r[in.d] = (r[in.c] + a - b) & mask(t.bits)
}

// A shift by the width of the type or more shifts everything out; the shift count has 32 bits.

func shiftLeft[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) << uint32(r[in.b])) }

func shiftUnsigned[U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(r[in.a]) >> uint32(r[in.b]))
}

func shiftSigned[S signedInt, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(S(r[in.a]) >> uint32(r[in.b])))
}

// The funnel shifts take 64 bits: a is the low word, b the high word.

func funnelLeftWrap(r []uint64, in *inst) {
	n := uint32(r[in.c]) & 31
	r[in.d] = uint64(uint32((r[in.b]<<32 | r[in.a]&mask(32)) << n >> 32))
}

func funnelLeftClamp(r []uint64, in *inst) {
	n := min(uint32(r[in.c]), 32)
	r[in.d] = uint64(uint32((r[in.b]<<32 | r[in.a]&mask(32)) << n >> 32))
}

func funnelRightWrap(r []uint64, in *inst) {
	n := uint32(r[in.c]) & 31
	r[in.d] = uint64(uint32((r[in.b]<<32 | r[in.a]&mask(32)) >> n))
}

func funnelRightClamp(r []uint64, in *inst) {
	n := min(uint32(r[in.c]), 32)
	r[in.d] = uint64(uint32((r[in.b]<<32 | r[in.a]&mask(32)) >> n))
}

func popCount(r []uint64, in *inst) {
	r[in.d] = uint64(bits.OnesCount64(r[in.a] & mask(in.x.typ.bits)))
}

func countLeadingZeros(r []uint64, in *inst) {
	n := in.x.typ.bits
	r[in.d] = uint64(int(n) - bits.Len64(r[in.a]&mask(n)))
}

func reverseBits[U unsignedInt](r []uint64, in *inst) {
	if v := U(r[in.a]); uint64(^U(0)) == mask(32) {
		r[in.d] = uint64(bits.Reverse32(uint32(v)))
	} else {
		r[in.d] = bits.Reverse64(uint64(v))
	}
}

// findLeading is the position of the highest bit that is not a sign bit, or how far left it can be
// shifted (in.imm != 0); all ones if there is none.
func findLeading(r []uint64, in *inst) {
	t := in.x.typ
	v := r[in.a] & mask(t.bits)
	if t.class == signed && v>>(t.bits-1) == 1 {
		v = ^v & mask(t.bits)
	}
	n := uint32(bits.Len64(v)) - 1
	if in.imm != 0 && v != 0 {
		n = uint32(t.bits) - 1 - n
	}
	r[in.d] = uint64(n)
}

// extractField is c bits of a from bit b, sign-extended for a signed type.
func extractField(r []uint64, in *inst) {
	t := in.x.typ
	msb := uint32(t.bits) - 1
	pos, n := uint32(r[in.b])&0xff, uint32(r[in.c])&0xff
	a := r[in.a] & mask(t.bits)
	if n == 0 {
		r[in.d] = 0
		return
	}
	v := a >> pos & mask(uint8(min(n, 64)))
	if t.class == signed && a>>min(pos+n-1, msb)&1 == 1 {
		v |= ^uint64(0) << min(n, max(msb+1, pos)-pos)
	}
	r[in.d] = v & mask(t.bits)
}

// insertField is b with a's low x.e bits put at bit c.
func insertField(r []uint64, in *inst) {
	t := in.x.typ
	pos, n := uint32(r[in.c])&0xff, uint32(r[in.x.e])&0xff
	m := mask(uint8(min(n, 64))) << pos
	r[in.d] = (r[in.b]&^m | r[in.a]<<pos&m) & mask(t.bits)
}

// permute makes a word of bytes of a and b, chosen by the nibbles of c; bit 3 of a nibble
// replicates the byte's sign.
func permute(r []uint64, in *inst) {
	both, sel := r[in.b]<<32|r[in.a]&mask(32), permuteSelector(in.imm, uint32(r[in.c]))
	var out uint64
	for i := range 4 {
		nibble := sel >> (4 * i) & 15
		v := both >> (8 * (nibble & 7)) & 0xff
		if nibble&8 != 0 {
			v = 0xff * (v >> 7)
		}
		out |= v << (8 * i)
	}
	r[in.d] = out
}

var permuteModes = []string{"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}

// permuteSelector is the selector of the default mode that does what a special mode does with c.
func permuteSelector(mode int64, c uint32) uint32 {
	n := c & 3
	switch permuteModes[mode] {
	case "f4e":
		return [4]uint32{0x3210, 0x4321, 0x5432, 0x6543}[n]
	case "b4e":
		return [4]uint32{0x5670, 0x6701, 0x7012, 0x0123}[n]
	case "rc8":
		return 0x1111 * n
	case "ecl":
		return [4]uint32{0x3210, 0x3211, 0x3222, 0x3333}[n]
	case "ecr":
		return [4]uint32{0x0000, 0x1110, 0x2210, 0x3210}[n]
	case "rc16":
		return [4]uint32{0x1010, 0x3232, 0x1010, 0x3232}[n]
	}
	return c
}

// lop3 is the bitwise function of a, b and c whose truth table is in.imm.
func lop3(r []uint64, in *inst) {
	var out uint32
	for i := range 8 {
		if in.imm>>i&1 == 0 {
			continue
		}
		m := ^uint32(0)
		for j, v := range [3]uint64{r[in.c], r[in.b], r[in.a]} {
			if i>>j&1 == 1 {
				m &= uint32(v)
			} else {
				m &= ^uint32(v)
			}
		}
		out |= m
	}
	r[in.d] = uint64(out)
}

// dotBytes is dp4a.
func dotBytes(r []uint64, in *inst) { r[in.d] = dot4(r[in.a], r[in.b], r[in.c], in.imm) }

// dot4 is c plus the sum of four products of bytes. Bits 0 and 1 of signs say that the bytes of a
// and b are signed.
func dot4(a, b, c uint64, signs int64) uint64 {
	sum := int64(c)
	for shift := 0; shift < 32; shift += 8 {
		x, y := int64(uint8(a>>shift)), int64(uint8(b>>shift))
		if signs&1 != 0 {
			x = int64(int8(x))
		}
		if signs&2 != 0 {
			y = int64(int8(y))
		}
		sum += x * y
	}
	return uint64(uint32(sum))
}

// dotHalves is c plus the sum of two products, of the halves of a and the two low bytes of b, or
// with bit 2 of in.imm the two high ones. Bits 0 and 1 say that those of a and b are signed.
func dotHalves(r []uint64, in *inst) {
	sum, bytes := int64(r[in.c]), r[in.b]
	if in.imm&4 != 0 {
		bytes >>= 16
	}
	for i := range 2 {
		a, b := int64(r[in.a]>>(16*i)&0xffff), int64(bytes>>(8*i)&0xff)
		if in.imm&1 != 0 {
			a = int64(int16(a))
		}
		if in.imm&2 != 0 {
			b = int64(int8(b))
		}
		sum += a * b
	}
	r[in.d] = uint64(uint32(sum))
}

// addCarry adds, with the carry of x.e if in.imm has bit 0, and leaves the carry there if it has
// bit 1. The others do so too.
func addCarry(r []uint64, in *inst) { carry(r, in, r[in.a], r[in.b], 0) }

// subCarry subtracts: the borrow is kept as a carry of 1.
func subCarry(r []uint64, in *inst) { carry(r, in, r[in.a], r[in.b], 1) }

// madCarry adds the low half of the product (or the high half, with bit 2 of in.imm) to c.
func madCarry(r []uint64, in *inst) {
	t := in.x.typ
	p := r[in.a] * r[in.b]
	if in.imm&4 != 0 {
		p = highProduct(t, r[in.a], r[in.b])
	}
	carry(r, in, p, r[in.c], 0)
}

func carry(r []uint64, in *inst, a, b uint64, subtract int) {
	n := in.x.typ.bits
	a, b = a&mask(n), b&mask(n)
	var c, sum, out uint64
	if in.imm&1 != 0 {
		c = r[in.x.e]
	}
	if subtract != 0 {
		sum, out = bits.Sub64(a, b, c)
		if n < 64 {
			out = sum >> n & 1
		}
	} else {
		sum, out = bits.Add64(a, b, c)
		if n < 64 {
			out = sum >> n & 1
		}
	}
	r[in.d] = sum & mask(n)
	if in.imm&2 != 0 {
		r[in.x.e] = out
	}
}
