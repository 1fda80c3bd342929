package ptxsim

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
)

// A semantic is one instruction with what it computes, by other means than the simulator's: big
// numbers, or plain definitions.
type semantic struct {
	text  string // with registers %d, %a, %b, %c
	types string // of d, a, b, c: "u32 u32 u32"
	want  func(v [3]uint64) uint64
}

var edges = map[uint8][]uint64{
	16: {0, 1, 2, 7, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x1234},
	32: {
		0, 1, 2, 5, 31, 32, 33, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe,
		0xffffffff, 0x12345678, 0xdeadbeef,
	},
	64: {
		0, 1, 3, 63, 64, 65, 0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 2, 1<<64 - 1,
		0x123456789abcdef0, 0xdeadbeefcafebabe,
	},
}

var edges32 = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, 1.5, -2.5, 0.1, -1.0 / 3, 3, 0x1p-149, -0x1p-149, 0x1.8p-127, 0x1p-126,
	-0x1p-126, 0x1.fffffep127,
	-0x1.fffffep127, 0x1.000002p0, 0x1.fffffep-1, 0x1p24, 0x1.000001p24, 0x1p31, -0x1p31, 0x1p63, 1e20, 65504, 65520,
	0x1p-24, 0x1p-25, 0.49999997,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
}

var edges64 = []float64{
	0, math.Copysign(0, -1), 1, -1, 1.5, -2.5, 0.1, -1.0 / 3, 3, 0x1p-1074, -0x1p-1074, 0x1p-1022, -0x1.8p-1022,
	math.MaxFloat64, -math.MaxFloat64,
	0x1.0000000000001p0, 0x1.fffffffffffffp-1, 0x1p53, 0x1.fffffefp127, 0x1p-150, 0x1.8p-150, 0x1.000001p-126,
	2147483647.5, -2147483648.5, 4294967295.5,
	0x1p63, -0x1p63, 0x1p64, 0.5, -0.5, 1e300, math.Inf(1), math.Inf(-1), math.NaN(),
}

// values is the edge values of a type.
func values(t typ) (v []uint64) {
	switch {
	case t == f32:
		for _, x := range edges32 {
			v = append(v, uint64(math.Float32bits(x)))
		}
	case t == f64:
		for _, x := range edges64 {
			v = append(v, math.Float64bits(x))
		}
	case t == p1:
		return []uint64{0, 1}
	default:
		return edges[max(t.bits, 16)]
	}
	return v
}

// storage is the type of a register for t.
func storage(t typ) string { return fmt.Sprintf("b%d", max(t.bits, 16)) }

// ptx is a kernel that runs s for each of n triples of operands, which are 8 bytes apart.
func (s *semantic) ptx(ts []typ) string {
	var b strings.Builder
	b.WriteString(`.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .b64 %in, %out, %t;
.reg .b32 %tid;
.reg .b16 %h;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
mov.u32 %tid, %tid.x;
mad.wide.u32 %in, %tid, 24, %in;
mad.wide.u32 %out, %tid, 8, %out;
`)
	for i, t := range ts {
		name := string("dabc"[i])
		if t == p1 {
			fmt.Fprintf(&b, ".reg .pred %%%s;\n", name)
		} else {
			fmt.Fprintf(&b, ".reg .%s %%%s;\n", storage(t), name)
		}
		if i > 0 && t == p1 {
			fmt.Fprintf(&b, "ld.global.b16 %%h, [%%in+%d];\nsetp.ne.b16 %%%s, %%h, 0;\n", 8*(i-1), name)
		} else if i > 0 {
			fmt.Fprintf(&b, "ld.global.%s %%%s, [%%in+%d];\n", storage(t), name, 8*(i-1))
		}
	}
	fmt.Fprintln(&b, s.text)
	switch {
	case ts[0] == p1:
		b.WriteString("selp.b64 %t, 1, 0, %d;" + "\n")
	case ts[0].bits == 64:
		b.WriteString("mov.b64 %t, %d;" + "\n")
	default:
		fmt.Fprintf(&b, "cvt.u64.u%d %%t, %%d;\n", max(ts[0].bits, 16))
	}
	b.WriteString("st.global.b64 [%out], %t;\nret;\n}" + "\n")
	return b.String()
}

func (s *semantic) check(t *testing.T) {
	t.Helper()
	var ts []typ
	for _, name := range strings.Fields(s.types) {
		ts = append(ts, types[name])
	}
	var triples [][3]uint64
	vs := [3][]uint64{{0}, {0}, {0}}
	for i, ty := range ts[1:] {
		vs[i] = values(ty)
	}
	for _, a := range vs[0] {
		for _, b := range vs[1] {
			for i, c := range vs[2] {
				if len(vs[0])*len(vs[1])*len(vs[2]) < 8000 || (len(triples)+i)%7 == 0 || i < 2 {
					triples = append(triples, [3]uint64{a, b, c})
				}
			}
		}
	}
	p := load(t, Config{}, []byte(s.ptx(ts)))
	for len(triples) > 0 {
		n := min(len(triples), 1024)
		got := prefill[uint64](n, 7)
		var in []uint64
		for _, v := range triples[:n] {
			in = append(in, v[:]...)
		}
		p.launch("k", x1(1), x1(n), in, output{got})
		for i, v := range triples[:n] {
			if want := s.want(v); !sameBits(ts[0], got[i], want) {
				t.Fatalf("%s with %#x: %#x, want %#x", s.text, v, got[i], want)
			}
		}
		triples = triples[n:]
	}
}

// sameBits compares results; every NaN is alike.
func sameBits(t typ, got, want uint64) bool {
	switch {
	case t == f32 && math.IsNaN(float64(math.Float32frombits(uint32(want)))):
		return math.IsNaN(float64(math.Float32frombits(uint32(got))))
	case t == f64 && math.IsNaN(math.Float64frombits(want)):
		return math.IsNaN(math.Float64frombits(got))
	}
	return got == want
}

// bigInt is v as a number of type t.
func bigInt(t typ, v uint64) *big.Int {
	v &= mask(t.bits)
	if t.class == signed && v>>(t.bits-1) == 1 {
		return new(big.Int).Sub(new(big.Int).SetUint64(v), new(big.Int).Lsh(big.NewInt(1), uint(t.bits)))
	}
	return new(big.Int).SetUint64(v)
}

// low is the low n bits of x in two's complement.
func low(x *big.Int, n uint8) uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), uint(n))
	return new(big.Int).Mod(x, m).Uint64()
}

// intOp is an instruction of uniform integer type, by its definition on numbers.
func intOp(name string, t typ, n int, f func(a, b, c *big.Int) *big.Int) semantic {
	regs := []string{"%d", "%a", "%b", "%c"}[:n+1]
	tn := strings.TrimPrefix(t.String(), ".")
	return semantic{
		fmt.Sprintf("%s.%s %s;", name, tn, strings.Join(regs, ", ")), strings.Repeat(tn+" ", n+1),
		func(v [3]uint64) uint64 { return low(f(bigInt(t, v[0]), bigInt(t, v[1]), bigInt(t, v[2])), t.bits) },
	}
}

func newInt() *big.Int { return new(big.Int) }

// quotient is a/b or the remainder toward zero; minus one, all bits one, for a zero divisor.
func quotient(f func(z, a, b *big.Int) *big.Int) func(a, b, _ *big.Int) *big.Int {
	return func(a, b, _ *big.Int) *big.Int {
		if b.Sign() == 0 {
			return big.NewInt(-1)
		}
		return f(newInt(), a, b)
	}
}

func TestIntegers(t *testing.T) {
	for _, name := range []string{"u16", "s16", "u32", "s32", "u64", "s64"} {
		ty := types[name]
		high := func(x *big.Int) *big.Int { return x.Rsh(x, uint(ty.bits)) }
		cases := []semantic{
			intOp("add", ty, 2, func(a, b, _ *big.Int) *big.Int { return newInt().Add(a, b) }),
			intOp("sub", ty, 2, func(a, b, _ *big.Int) *big.Int { return newInt().Sub(a, b) }),
			intOp("mul.lo", ty, 2, func(a, b, _ *big.Int) *big.Int { return newInt().Mul(a, b) }),
			intOp("mul.hi", ty, 2, func(a, b, _ *big.Int) *big.Int { return high(newInt().Mul(a, b)) }),
			intOp("mad.lo", ty, 3, func(a, b, c *big.Int) *big.Int { return newInt().Add(newInt().Mul(a, b), c) }),
			intOp("mad.hi", ty, 3, func(a, b, c *big.Int) *big.Int {
				return newInt().Add(high(newInt().Mul(a, b)),
					c)
			}),
			intOp("div", ty, 2, quotient((*big.Int).Quo)),
			intOp("rem", ty, 2, quotient((*big.Int).Rem)),
			intOp("neg", ty, 1, func(a, _, _ *big.Int) *big.Int { return newInt().Neg(a) }),
			intOp("min", ty, 2, func(a, b, _ *big.Int) *big.Int { return pick(a.Cmp(b) < 0, a, b) }),
			intOp("max", ty, 2, func(a, b, _ *big.Int) *big.Int { return pick(a.Cmp(b) > 0, a, b) }),
			intOp("sad", ty, 3, func(a, b, c *big.Int) *big.Int { d := newInt().Sub(a, b); return d.Add(d.Abs(d), c) }),
		}
		if ty.class == signed {
			cases = append(cases, intOp("abs", ty, 1, func(a, _, _ *big.Int) *big.Int { return newInt().Abs(a) }))
		}
		if ty.bits < 64 {
			wide := typ{ty.class, 2 * ty.bits}.String()[1:]
			cases = append(cases, semantic{"mul.wide." + name + " %d, %a, %b;", wide + " " + name + " " +
				name, func(v [3]uint64) uint64 {
				return low(newInt().Mul(bigInt(ty, v[0]), bigInt(ty, v[1])), 2*ty.bits)
			}}, semantic{"mad.wide." + name + " %d, %a, %b, %c;", wide + " " + name + " " + name + " " +
				wide, func(v [3]uint64) uint64 {
				p := newInt().Mul(bigInt(ty, v[0]), bigInt(ty, v[1]))
				return low(p.Add(p, bigInt(typ{ty.class, 2 * ty.bits}, v[2])), 2*ty.bits)
			}})
		}
		for _, op := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
			cases = append(cases, semantic{"setp." + op + "." + name + " %d, %a, %b;", "pred " + name + " " +
				name, func(v [3]uint64) uint64 {
				return flag(ordered(op, bigInt(ty, v[0]).Cmp(bigInt(ty, v[1]))))
			}})
		}
		for _, c := range cases {
			c.check(t)
		}
	}
}

func pick(first bool, a, b *big.Int) *big.Int {
	if first {
		return a
	}
	return b
}

// ordered is a comparison of two numbers whose order is sign.
func ordered(op string, sign int) bool {
	switch op {
	case "eq":
		return sign == 0
	case "ne":
		return sign != 0
	case "lt":
		return sign < 0
	case "le":
		return sign <= 0
	case "gt":
		return sign > 0
	}
	return sign >= 0
}

// bit is bit i of v, for every i from 0 to beyond 64.
func bit(v uint64, i int) uint64 {
	if i < 0 || i > 63 {
		return 0
	}
	return v >> i & 1
}

// byBits builds n bits from their definition.
func byBits(n int, f func(i int) uint64) (v uint64) {
	for i := range n {
		v |= f(i) << i
	}
	return v
}

func TestBits(t *testing.T) {
	var cases []semantic
	for _, n := range []int{16, 32, 64} {
		b, u, s := fmt.Sprintf("b%d", n), fmt.Sprintf("u%d", n), fmt.Sprintf("s%d", n)
		three := b + " " + b + " " + b
		cases = append(cases,
			semantic{"and." + b + " %d, %a, %b;", three, func(v [3]uint64) uint64 { return v[0] & v[1] }},
			semantic{"or." + b + " %d, %a, %b;", three, func(v [3]uint64) uint64 { return v[0] | v[1] }},
			semantic{"xor." + b + " %d, %a, %b;", three, func(v [3]uint64) uint64 { return v[0] ^ v[1] }},
			semantic{"not." + b + " %d, %a;", b + " " +
				b, func(v [3]uint64) uint64 { return byBits(n, func(i int) uint64 { return 1 - bit(v[0], i) }) }},
			semantic{"shl." + b + " %d, %a, %b;", b + " " + b + " u32", func(v [3]uint64) uint64 {
				return byBits(n, func(i int) uint64 { return bit(v[0], i-int(v[1])) })
			}},
			semantic{"shr." + u + " %d, %a, %b;", u + " " + u + " u32", func(v [3]uint64) uint64 {
				return byBits(n, func(i int) uint64 { return bit(v[0], i+int(v[1])) })
			}},
			semantic{"shr." + s + " %d, %a, %b;", s + " " + s + " u32", func(v [3]uint64) uint64 {
				return byBits(n, func(i int) uint64 { return bit(v[0], min(i+int(v[1]), n-1)) })
			}},
			semantic{
				"selp." + b + " %d, %a, %b, %c;", three + " pred", func(v [3]uint64) uint64 { return v[int(1-v[2])] },
			},
		)
		if n == 16 {
			continue
		}
		cases = append(cases,
			semantic{"popc." + b + " %d, %a;", "u32 " + b, func(v [3]uint64) (c uint64) {
				for i := range n {
					c += bit(v[0], i)
				}
				return c
			}},
			semantic{"clz." + b + " %d, %a;", "u32 " + b, func(v [3]uint64) uint64 {
				c := 0
				for c < n && bit(v[0], n-1-c) == 0 {
					c++
				}
				return uint64(c)
			}},
			semantic{"brev." + b + " %d, %a;", b + " " +
				b, func(v [3]uint64) uint64 { return byBits(n, func(i int) uint64 { return bit(v[0], n-1-i) }) }},
			semantic{"bfind." + u + " %d, %a;", "u32 " + u, func(v [3]uint64) uint64 { return highest(n, v[0], 0) }},
			semantic{"bfind." + s + " %d, %a;", "u32 " +
				s, func(v [3]uint64) uint64 { return highest(n, v[0], bit(v[0], n-1)) }},
			semantic{"bfind.shiftamt." + s + " %d, %a;", "u32 " + s, func(v [3]uint64) uint64 {
				if h := highest(n, v[0], bit(v[0], n-1)); h != 1<<32-1 {
					return uint64(n) - 1 - h
				}
				return 1<<32 - 1
			}},
			semantic{
				"bfe." + u + " %d, %a, %b, %c;", u + " " + u + " u32 u32",
				func(v [3]uint64) uint64 { return field(n, v, false) },
			},
			semantic{
				"bfe." + s + " %d, %a, %b, %c;", s + " " + s + " u32 u32",
				func(v [3]uint64) uint64 { return field(n, v, true) },
			},
			semantic{"bfi." + b + " %d, %a, %b, %c, 9;", b + " " + b + " " + b + " u32", func(v [3]uint64) uint64 {
				at := int(v[2] & 255)
				return byBits(n, func(i int) uint64 {
					if i >= at && i < at+9 {
						return bit(v[0], i-at)
					}
					return bit(v[1], i)
				})
			}},
		)
	}
	three := "b32 b32 b32 b32"
	funnel := func(v [3]uint64, i int) uint64 { // bit i of b:a
		return bit(v[0]|v[1]<<32, i)
	}
	cases = append(cases,
		semantic{"shf.l.wrap.b32 %d, %a, %b, %c;", three, func(v [3]uint64) uint64 {
			return byBits(32, func(i int) uint64 { return funnel(v, 32+i-int(v[2]%32)) })
		}},
		semantic{"shf.l.clamp.b32 %d, %a, %b, %c;", three, func(v [3]uint64) uint64 {
			return byBits(32, func(i int) uint64 { return funnel(v, 32+i-int(min(v[2], 32))) })
		}},
		semantic{"shf.r.wrap.b32 %d, %a, %b, %c;", three, func(v [3]uint64) uint64 {
			return byBits(32, func(i int) uint64 { return funnel(v, i+int(v[2]%32)) })
		}},
		semantic{"shf.r.clamp.b32 %d, %a, %b, %c;", three, func(v [3]uint64) uint64 {
			return byBits(32, func(i int) uint64 { return funnel(v, i+int(min(v[2], 32))) })
		}},
		semantic{
			"lop3.b32 %d, %a, %b, %c, 0xca;", three,
			func(v [3]uint64) uint64 { return v[0]&v[1] | ^v[0]&v[2]&mask(32) },
		},
		semantic{"lop3.b32 %d, %a, %b, %c, 0x96;", three, func(v [3]uint64) uint64 { return v[0] ^ v[1] ^ v[2] }},
		semantic{"prmt.b32 %d, %a, %b, %c;", three, func(v [3]uint64) uint64 {
			return byBits(32, func(i int) uint64 {
				sel := v[2] >> (4 * (i / 8)) & 15
				at := 8 * int(sel&7)
				if sel&8 != 0 {
					return funnel(v, at+7)
				}
				return funnel(v, at+i%8)
			})
		}},
		semantic{"and.pred %d, %a, %b;", "pred pred pred", func(v [3]uint64) uint64 { return v[0] & v[1] }},
		semantic{"xor.pred %d, %a, %b;", "pred pred pred", func(v [3]uint64) uint64 { return v[0] ^ v[1] }},
		semantic{"not.pred %d, %a;", "pred pred", func(v [3]uint64) uint64 { return 1 - v[0] }},
		semantic{"dp4a.s32.u32 %d, %a, %b, %c;", three, func(v [3]uint64) uint64 {
			sum := bigInt(u32, v[2])
			for i := range 4 {
				sum.Add(sum, newInt().Mul(bigInt(types["s8"], v[0]>>(8*i)), bigInt(types["u8"], v[1]>>(8*i))))
			}
			return low(sum, 32)
		}},
		semantic{
			"setp.lt.and.u32 %d, %a, %b, %c;", "pred u32 u32 pred",
			func(v [3]uint64) uint64 { return flag(v[0] < v[1]) & v[2] },
		},
		semantic{
			"setp.lt.xor.u32 %d, %a, %b, !%c;", "pred u32 u32 pred",
			func(v [3]uint64) uint64 { return flag(v[0] < v[1]) ^ 1 ^ v[2] },
		},
		semantic{
			".reg .pred %q; setp.lt.or.u32 %q|%d, %a, %b, %c;", "pred u32 u32 pred",
			func(v [3]uint64) uint64 { return flag(v[0] >= v[1]) | v[2] },
		},
		semantic{"mov.b64 %d, {%a, %b};", "b64 b32 b32", func(v [3]uint64) uint64 { return v[0] | v[1]<<32 }},
		semantic{
			".reg .b32 %x, %y; mov.b64 {%x, %y}, %a; mov.b64 %d, {%y, %x};", "b64 b64",
			func(v [3]uint64) uint64 { return v[0]>>32 | v[0]<<32 },
		},
		semantic{"mov.b32 %d, {%a, %b};", "b32 b16 b16", func(v [3]uint64) uint64 { return v[0] | v[1]<<16 }},
	)
	for _, c := range cases {
		c.check(t)
	}
}

// highest is the highest bit of v that is not sign; all ones if there is none.
func highest(n int, v, sign uint64) uint64 {
	for i := n - 1; i >= 0; i-- {
		if bit(v, i) != sign {
			return uint64(i)
		}
	}
	return 1<<32 - 1
}

// field is bfe, bit by bit.
func field(n int, v [3]uint64, signed bool) uint64 {
	at, length := int(v[1]&255), int(v[2]&255)
	s := uint64(0)
	if signed && length > 0 {
		s = bit(v[0], min(at+length-1, n-1))
	}
	return byBits(n, func(i int) uint64 {
		if i < length && at+i < n {
			return bit(v[0], at+i)
		}
		return s
	})
}

// Chains of carries are additions of 128 bits.
func TestCarry(t *testing.T) {
	for _, c := range []semantic{
		{".reg .b64 %x; add.cc.u64 %x, %a, %b; addc.u64 %d, %a, %b;", "u64 u64 u64", func(v [3]uint64) uint64 {
			return low(sum128(v[0], v[0], v[1], v[1], (*big.Int).Add), 64)
		}},
		{".reg .b64 %x; sub.cc.u64 %x, %a, %b; subc.u64 %d, %a, %b;", "u64 u64 u64", func(v [3]uint64) uint64 {
			return low(sum128(v[0], v[0], v[1], v[1], (*big.Int).Sub), 64)
		}},
		{
			".reg .b32 %x; add.cc.u32 %x, %a, %b; addc.cc.u32 %x, %a, %b; addc.u32 %d, %c, 0;", "u32 u32 u32 u32",
			func(v [3]uint64) uint64 {
				s := newInt().Add(newInt().SetUint64(v[0]<<32|v[0]), newInt().SetUint64(v[1]<<32|v[1]))
				return low(s.Add(s.Rsh(s, 64), bigInt(u32, v[2])), 32)
			},
		},
		{
			".reg .b32 %x; mad.lo.cc.u32 %x, %a, %b, %c; madc.hi.u32 %d, %a, %b, %c;", "u32 u32 u32 u32",
			func(v [3]uint64) uint64 {
				p := newInt().Mul(bigInt(u32, v[0]), bigInt(u32, v[1]))
				return low(p.Rsh(p.Add(p, newInt().SetUint64(v[2]<<32|v[2])), 32), 32)
			},
		},
		{
			".reg .b32 %x; sub.cc.u32 %x, %a, %b; subc.cc.u32 %x, %b, %a; subc.u32 %d, %c, 0;", "u32 u32 u32 u32",
			func(v [3]uint64) uint64 {
				x, y := v[1]<<32|v[0], v[0]<<32|v[1]
				return (v[2] - flag(x < y)) & mask(32)
			},
		},
	} {
		c.check(t)
	}
}

// sum128 is the upper half of f of two numbers of 128 bits.
func sum128(ah, al, bh, bl uint64, f func(z, a, b *big.Int) *big.Int) *big.Int {
	a := newInt().Add(newInt().Lsh(newInt().SetUint64(ah), 64), newInt().SetUint64(al))
	b := newInt().Add(newInt().Lsh(newInt().SetUint64(bh), 64), newInt().SetUint64(bl))
	s := f(newInt(), a, b)
	return s.Rsh(s, 64)
}
