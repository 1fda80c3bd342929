package ptxsim

import "math/bits"

// An aluFunc runs an instruction that reads and writes registers only.
type aluFunc func(r []uint64, in *inst)

type unsignedInt interface{ uint16 | uint32 | uint64 }

type integer interface {
	unsignedInt | int16 | int32 | int64
}

// isSigned reports whether T has a sign.
func isSigned[T integer]() bool { return ^T(0) < 0 }

// width is the bits of U.
func width[U unsignedInt]() int { return bits.Len64(uint64(^U(0))) }

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// In what follows T is the type of the operands, and U is T without a sign: registers hold values
// that are extended by zeros.

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

func notPred(r []uint64, in *inst) { r[in.d] = r[in.a] ^ 1 }

func divInt[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(T(r[in.a]) / T(r[in.b])))
}

func remInt[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(T(r[in.a]) % T(r[in.b])))
}

func minInt[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(min(T(r[in.a]), T(r[in.b]))))
}

func maxInt[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(max(T(r[in.a]), T(r[in.b]))))
}

func absInt[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(max(T(r[in.a]), -T(r[in.a]))))
}

// sumOfDifference is c + |a-b|.
func sumOfDifference[T integer, U unsignedInt](r []uint64, in *inst) {
	a, b := T(r[in.a]), T(r[in.b])
	r[in.d] = uint64(U(r[in.c]) + U(max(a, b)) - U(min(a, b)))
}

// product is the product of two numbers of up to 32 bits.
func product[T integer](a, b uint64) uint64 { return uint64(int64(T(a)) * int64(T(b))) }

// mulWide keeps the bits of in.imm, the mask of the wider type.
func mulWide[T integer](r []uint64, in *inst) {
	r[in.d] = product[T](r[in.a], r[in.b]) & uint64(in.imm)
}

func madWide[T integer](r []uint64, in *inst) {
	r[in.d] = (product[T](r[in.a], r[in.b]) + r[in.c]) & uint64(in.imm)
}

// highProduct is the upper half of a product.
func highProduct[T integer, U unsignedInt](a, b uint64) U {
	if n := width[U](); n < 64 {
		return U(product[T](a, b) >> n)
	}
	hi, _ := bits.Mul64(a, b)
	if isSigned[T]() {
		hi -= a&-(b>>63) + b&-(a>>63) // from the unsigned product to the signed one
	}
	return U(hi)
}

func mulHigh[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(highProduct[T, U](r[in.a], r[in.b]))
}

func madHigh[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(highProduct[T, U](r[in.a], r[in.b]) + U(r[in.c]))
}

// A shift by the width of the type or more shifts everything out; the shift count has 32 bits.

func shiftLeft[U unsignedInt](r []uint64, in *inst) { r[in.d] = uint64(U(r[in.a]) << uint32(r[in.b])) }

func shiftRight[T integer, U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(U(T(r[in.a]) >> uint32(r[in.b])))
}

// What funnelShift does, in inst.imm.
const (
	funnelRight = 1
	funnelClamp = 2 // counts above 32 are 32, and not taken modulo 32
)

// funnelShift shifts 64 bits, of which a is the low word and b the high one.
func funnelShift(r []uint64, in *inst) {
	n := uint32(r[in.c]) & 31
	if in.imm&funnelClamp != 0 {
		n = min(uint32(r[in.c]), 32)
	}
	both := r[in.b]<<32 | r[in.a]&mask(32)
	if in.imm&funnelRight != 0 {
		r[in.d] = both >> n & mask(32)
	} else {
		r[in.d] = both << n >> 32
	}
}

func popCount[U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(bits.OnesCount64(uint64(U(r[in.a]))))
}

func countLeadingZeros[U unsignedInt](r []uint64, in *inst) {
	r[in.d] = uint64(width[U]() - bits.Len64(uint64(U(r[in.a]))))
}

func reverseBits[U unsignedInt](r []uint64, in *inst) {
	r[in.d] = bits.Reverse64(r[in.a]) >> (64 - width[U]())
}

// findLeading is the position of the highest bit that is not a sign bit, or how far left it can be
// shifted (in.imm != 0); all ones if there is none.
func findLeading[T integer, U unsignedInt](r []uint64, in *inst) {
	v := T(r[in.a])
	if v < 0 {
		v = ^v
	}
	n := uint32(bits.Len64(uint64(v))) - 1
	if in.imm != 0 && v != 0 {
		n = uint32(width[U]()) - 1 - n
	}
	r[in.d] = uint64(n)
}

// extractField is c bits of a from bit b. Above a are its sign bits, if it has a sign.
func extractField[T integer, U unsignedInt](r []uint64, in *inst) {
	pos, n := r[in.b]&0xff, r[in.c]&0xff
	above := uint64(width[U]()) - min(n, uint64(width[U]()))
	r[in.d] = uint64(U(T(r[in.a]) >> pos << above >> above))
}

// insertField is b with a's low x.e bits put at bit c.
func insertField[U unsignedInt](r []uint64, in *inst) {
	pos, n := r[in.c]&0xff, r[in.x.e]&0xff
	m := (U(1)<<n - 1) << pos
	r[in.d] = uint64(U(r[in.b])&^m | U(r[in.a])<<pos&m)
}

// permute makes a word of bytes of a and b, chosen by the nibbles of c; bit 3 of a nibble
// replicates the byte's sign.
func permute(r []uint64, in *inst) {
	both, sel := r[in.b]<<32|r[in.a]&mask(32), r[in.c]
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

// What addCarry does with the carry, in inst.imm.
const (
	carryIn  = 1 << iota // adds it
	carryOut             // leaves one
	borrow               // subtracts, with a borrow for a carry
)

// addCarry adds a and b, or the product that x.fn computes and c. The carry is in x.e.
func addCarry(r []uint64, in *inst) {
	x, n := in.x, in.x.typ.bits
	a, b := r[in.a], r[in.b]
	if x.fn != nil {
		b = r[in.c]
		x.fn(r, in)
		a = r[in.d]
	}
	a, b = a&mask(n), b&mask(n)
	var c, sum, out uint64
	if in.imm&carryIn != 0 {
		c = r[x.e]
	}
	if in.imm&borrow != 0 {
		sum, out = bits.Sub64(a, b, c)
	} else {
		sum, out = bits.Add64(a, b, c)
	}
	if n < 64 {
		out = sum >> n & 1
	}
	r[in.d] = sum & mask(n)
	if in.imm&carryOut != 0 {
		r[x.e] = out
	}
}
