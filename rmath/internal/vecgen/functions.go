package main

import "math"

// The functions, as package f32 has them.
var functions = []struct {
	name  string
	build func(g *generator, x value) value
}{
	{"expAVX2", func(g *generator, x value) value {
		g.require(x, atLeast, -104)
		g.require(x, atMost, 89)
		return g.exp(x)
	}},
	{"exp2AVX2", func(g *generator, x value) value {
		g.require(x, atLeast, -150)
		g.require(x, atMost, 128)
		g.require(g.abs(x), atLeast, 0x1p-26)
		k := g.mad(x, g.c(64), g.c(toInt))
		r := g.sub(x, g.mul(g.sub(k, g.c(toInt)), g.c(1.0/64)))
		t, u := g.powerOf2(k)
		y := g.add(t, g.mad(t, g.expm1Poly(g.mul(r, g.c(math.Ln2))), u))
		g.notMiddle(y)
		return y
	}},
	{"expm1AVX2", func(g *generator, x value) value {
		g.require(x, atLeast, -18)
		g.require(x, atMost, 89)
		g.require(g.abs(x), atLeast, 0x1p-26)
		return g.expm1(x)
	}},
	{"sigmoidAVX2", func(g *generator, x value) value {
		g.require(x, atLeast, -104)
		g.require(x, atMost, 18)
		g.require(g.abs(x), atLeast, 0x1p-10)
		y := g.div(g.load(g.c(1)), g.add(g.exp(g.xor(x, g.bits(sign))), g.c(1)))
		g.notMiddle(y)
		return y
	}},
	{"sinhAVX2", func(g *generator, x value) value {
		a := g.abs(x)
		g.require(a, atLeast, 0x1p-13)
		g.require(a, atMost, 90)
		t := g.expm1(a)
		y := g.mul(g.add(t, g.div(t, g.add(t, g.c(1)))), g.c(0.5))
		g.notMiddle(y)
		return g.withSign(y, x)
	}},
	{"coshAVX2", func(g *generator, x value) value {
		a := g.abs(x)
		g.require(a, atLeast, 0x1p-13)
		g.require(a, atMost, 90)
		t := g.exp(a)
		return g.mul(g.add(t, g.div(g.load(g.c(1)), t)), g.c(0.5))
	}},
	{"tanhAVX2", func(g *generator, x value) value {
		a := g.abs(x)
		g.require(a, atLeast, 0x1p-13)
		g.require(a, atMost, 10)
		t := g.expm1(g.add(a, a))
		return g.withSign(g.div(t, g.add(t, g.c(2))), x)
	}},
	{"logAVX2", func(g *generator, x value) value {
		e, i, r := g.reduceLog(x)
		y := g.logSum(e, i, r)
		g.notMiddle(y)
		return y
	}},
	{"log2AVX2", func(g *generator, x value) value {
		e, i, r := g.reduceLog(x)
		return g.logBase(g.add(e, g.gather("log2Table", i, 2, 0)), g.gather("log2Table", i, 2, 1), r, "log2E_")
	}},
	{"log10AVX2", func(g *generator, x value) value {
		e, i, r := g.reduceLog(x)
		large := g.mad(e, g.c("log10Of2_0"), g.gather("log10Table", i, 2, 0))
		small := g.mad(e, g.c("log10Of2_1"), g.gather("log10Table", i, 2, 1))
		y := g.logBase(large, small, r, "log10E_")
		g.notMiddle(y)
		return y
	}},
	{"sinAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		k, r, v := g.reduceHalfPi(z)
		y := g.xor(g.quadrant(k, r, v), g.and(x, g.bits(sign)))
		g.notMiddle(y)
		return y
	}},
	{"cosAVX2", func(g *generator, x value) value {
		k, r, v := g.reduceHalfPi(g.abs(x))
		y := g.quadrant(g.addInt(k, g.bits(1)), r, v)
		g.notMiddle(y)
		return y
	}},
	{"tanAVX2", func(g *generator, x value) value {
		k, r, v := g.reduceHalfPi(g.abs(x))
		s, c := g.sinPoly(r, v), g.cosPoly(r, v)
		odd := g.left(k, 63)
		y := g.div(g.choose(odd, s, g.xor(c, g.bits(sign))), g.choose(odd, c, s))
		y = g.xor(y, g.and(x, g.bits(sign)))
		g.notMiddle(y)
		return y
	}},
	{"rsqrtAVX2", func(g *generator, x value) value {
		g.require(x, greater, 0)
		g.require(x, atMost, math.MaxFloat32)
		return g.div(g.load(g.c(1)), g.sqrt(x))
	}},
	{"cbrtAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(z, greater, 0)
		g.require(z, atMost, math.MaxFloat32)
		third := g.right(g.op("VPMULUDQ", g.right(z, 32), g.bits(0xaaaaaaab)), 33)
		t := g.addInt(g.left(third, 32), g.bits(g.integers["cbrtOffset"]))
		r := g.mul(g.mul(t, t), g.div(t, z))
		w := g.mul(r, r)
		p := g.horner(w, "cbrtPoly", 0, 2, 4)
		t = g.mul(t, g.add(p, g.mul(g.horner(w, "cbrtPoly", 1, 2, 3), r)))
		t = g.and(g.addInt(t, g.bits(1<<26)), g.bits(^uint64(1<<27-1)))
		r = g.div(z, g.mul(t, t))
		return g.withSign(g.mad(t, g.div(g.sub(r, t), g.add(g.add(t, t), r)), t), x)
	}},
	{"log1pAVX2", func(g *generator, x value) value {
		g.require(x, greater, -1)
		g.require(x, atMost, math.MaxFloat32)
		g.require(g.abs(x), atLeast, 0x1p-26)
		y := g.log1p(x)
		g.notMiddle(y)
		return y
	}},
	{"asinhAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(z, atLeast, 0x1p-13)
		g.require(z, atMost, math.MaxFloat32)
		u := g.mul(z, z)
		y := g.log1p(g.add(z, g.div(u, g.add(g.sqrt(g.add(u, g.c(1))), g.c(1)))))
		g.notMiddle(y)
		return g.withSign(y, x)
	}},
	{"acoshAVX2", func(g *generator, x value) value {
		g.require(x, atLeast, 1)
		g.require(x, atMost, math.MaxFloat32)
		t := g.sub(x, g.c(1))
		y := g.log1p(g.add(t, g.sqrt(g.mul(t, g.add(t, g.c(2))))))
		g.notMiddle(y)
		return y
	}},
	{"atanhAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(z, atLeast, 0x1p-13)
		g.require(z, less, 1)
		y := g.log1p(g.div(g.add(z, z), g.sub(g.load(g.c(1)), z)))
		return g.withSign(g.mul(y, g.c(0.5)), x)
	}},
	{"sinPiAVX2", func(g *generator, x value) value {
		k, r, v := g.reduceTurn(g.abs(x))
		return g.xor(g.quadrant(k, r, v), g.and(x, g.bits(sign)))
	}},
	{"cosPiAVX2", func(g *generator, x value) value {
		k, r, v := g.reduceTurn(g.abs(x))
		return g.quadrant(g.addInt(k, g.bits(1)), r, v)
	}},
	{"asinAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(z, atLeast, 0x1p-13)
		g.require(z, atMost, 1)
		small, r, rest := g.asinRest(z, z)
		y := g.add(z, rest)
		far := g.sub(g.add(r, r), g.sub(g.load(g.c("arcHalfPi_1")), g.add(rest, rest)))
		return g.withSign(g.choose(small, g.sub(g.load(g.c("arcHalfPi_0")), far), y), x)
	}},
	{"acosAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(z, atMost, 1)
		small, r, rest := g.asinRest(z, x)
		near := g.sub(x, g.sub(g.load(g.c("arcHalfPi_1")), rest))
		near = g.sub(g.load(g.c("arcHalfPi_0")), near)
		y := g.add(r, rest)
		y = g.choose(x, y, g.sub(g.load(g.c("arcHalfPi_0")), g.sub(y, g.c("arcHalfPi_1"))))
		y = g.choose(small, g.add(y, y), near)
		g.notMiddle(y)
		return y
	}},
	{"atanAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(z, atLeast, 0x1p-13)
		b := g.right(z, 49)
		i := g.and(g.subInt(b, g.bits(0x3fb0000000000000>>49)), g.bits(63))
		inBin := g.opImm("VCMPPD", atLeast, z, g.c(0x1p-4))
		c := g.and(g.or(g.left(b, 49), g.bits(1<<48)), inBin)
		far := g.opImm("VCMPPD", atLeast, z, g.c(16))
		n := g.choose(far, g.sub(z, c), g.load(g.c(-1)))
		r := g.div(n, g.choose(far, g.mad(c, z, g.c(1)), z))
		large := g.choose(far, g.and(g.gather("atanTable", i, 2, 0), inBin), g.load(g.c("arcHalfPi_0")))
		small := g.choose(far, g.and(g.gather("atanTable", i, 2, 1), inBin), g.load(g.c("arcHalfPi_1")))
		u := g.mul(r, r)
		w := g.mul(u, u)
		p := g.mad(g.horner(w, "atanPoly", 1, 2, 3), u, g.horner(w, "atanPoly", 0, 2, 4))
		y := g.add(large, g.add(r, g.mad(g.mul(r, u), p, small)))
		g.notMiddle(y)
		return g.withSign(y, x)
	}},
	{"erfAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(z, atMost, 4)
		y := g.sub(g.load(g.c(1)), g.erfc(z))
		y = g.choose(g.opImm("VCMPPD", less, z, g.c(0.5)), y, g.erfSmall(z))
		return g.withSign(y, x)
	}},
	{"erfcAVX2", func(g *generator, x value) value {
		z := g.abs(x)
		g.require(x, atLeast, -4)
		g.require(x, atMost, 10.125)
		g.require(z, atLeast, 0x1p-26)
		y := g.erfc(z)
		y = g.choose(x, y, g.sub(g.load(g.c(2)), y))
		y = g.choose(g.opImm("VCMPPD", less, z, g.c(0.5)), y, g.sub(g.load(g.c(1)), g.erfSmall(x)))
		g.notMiddle(y)
		return y
	}},
}

const (
	sign  = 1 << 63
	toInt = 0x1.8p52
)

func (g *generator) abs(x value) value { return g.and(x, g.bits(sign-1)) }

// withSign is x, which is positive, with the sign of s.
func (g *generator) withSign(x, s value) value { return g.or(x, g.and(s, g.bits(sign))) }

func (g *generator) reduceExp(z value) (t, u, s value) {
	k := g.mad(z, g.c("expInv0"), g.c(toInt))
	n := g.sub(k, g.c(toInt))
	r := g.sub(g.sub(z, g.mul(n, g.c("expLn2_0"))), g.mul(n, g.c("expLn2_1")))
	t, u = g.powerOf2(k)
	return t, u, g.expm1Poly(r)
}

// powerOf2 is 2^(n/64) in two parts, where n is in the low bits of k.
func (g *generator) powerOf2(k value) (t, u value) {
	i := g.and(k, g.bits(63))
	e := g.left(g.right(k, 6), 52)
	t = g.addInt(e, g.gather("expTable", i, 2, 0))
	return t, g.mul(g.addInt(e, g.c(1)), g.gather("expTable", i, 2, 1))
}

func (g *generator) expm1Poly(r value) value {
	return g.mad(g.mul(r, r), g.horner(r, "expPoly", 0, 1, 4), r)
}

func (g *generator) exp(z value) value {
	t, u, s := g.reduceExp(z)
	return g.add(t, g.mad(t, s, u))
}

func (g *generator) expm1(z value) value {
	t, u, s := g.reduceExp(z)
	return g.add(g.sub(t, g.c(1)), g.mad(t, s, u))
}

// reduceLog is as in package f32, with r instead of m, for positive finite x.
func (g *generator) reduceLog(x value) (e, i, r value) {
	g.require(x, greater, 0)
	g.require(x, atMost, math.MaxFloat32)
	e, m, i := g.logParts(x)
	return e, i, g.sub(g.mul(m, g.gather("logInv", i, 1, 0)), g.c(1))
}

// logParts is reduceLog of package f32.
func (g *generator) logParts(x value) (e, m, i value) {
	offset := g.bits(g.integers["logOffset"])
	b := g.subInt(x, offset)
	// the exponent plus 1024 in the low bits of 2^52
	n := g.or(g.right(g.addInt(b, g.bits(1024<<52)), 52), g.c(0x1p52))
	m = g.addInt(g.and(b, g.bits(1<<52-1)), offset)
	return g.sub(n, g.c(0x1p52+1024)), m, g.and(g.right(b, 46), g.bits(63))
}

func (g *generator) logSum(e, i, r value) value {
	large := g.mad(e, g.c("logLn2_0"), g.gather("logTable", i, 2, 0))
	small := g.mad(e, g.c("logLn2_1"), g.gather("logTable", i, 2, 1))
	s := g.add(large, r)
	return g.add(s, g.add(g.add(g.sub(large, s), r), g.add(g.logPoly(r), small)))
}

func (g *generator) log1p(u value) value {
	z := g.add(u, g.c(1))
	e, m, i := g.logParts(z)
	lost := g.sub(u, g.sub(z, g.c(1)))
	scale := g.addInt(g.subInt(m, z), g.c(1))
	h := g.and(m, g.bits(^uint64(1<<20-1)))
	inv := g.gather("logInv", i, 1, 0)
	r := g.mad(g.add(g.sub(m, h), g.mul(lost, scale)), inv, g.sub(g.mul(h, inv), g.c(1)))
	near := g.opImm("VCMPPD", less, g.abs(u), g.c(0x1p-7))
	return g.logSum(g.choose(near, e, g.load(g.bits(0))),
		g.choose(near, i, g.load(g.bits(g.integers["logOne"]))), g.choose(near, r, u))
}

func (g *generator) logPoly(r value) value {
	return g.mul(g.mul(r, r), g.horner(r, "logPoly", 0, 1, 6))
}

func (g *generator) logBase(large, small, r value, base string) value {
	c0, c1 := g.named[base+"0"], g.named[base+"1"]
	t := g.mul(r, g.c(c0))
	s := g.add(large, t)
	return g.add(s, g.add(g.add(g.sub(large, s), t),
		g.add(g.mad(r, g.c(c1), small), g.mul(g.logPoly(r), g.c(c0+c1)))))
}

// reduceHalfPi is as in package f32, where it needs no 160 bits.
func (g *generator) reduceHalfPi(z value) (k, r, v value) {
	g.require(z, atLeast, 0x1p-13)
	g.require(z, less, 0x1p19)
	k = g.mad(z, g.c("twoOverPi0"), g.c(toInt))
	n := g.sub(k, g.c(toInt))
	a := g.sub(z, g.mul(n, g.c("halfPi_0")))
	b := g.mul(n, g.c("halfPi_1"))
	r = g.sub(a, b)
	return k, r, g.sub(g.sub(g.sub(a, r), b), g.mul(n, g.c("halfPi_2")))
}

func (g *generator) sinPoly(r, v value) value {
	u := g.mul(r, r)
	w := g.mul(u, u)
	p := g.horner(w, "sinPoly", 0, 2, 6)
	p = g.mad(g.horner(w, "sinPoly", 1, 2, 5), u, p)
	return g.add(r, g.mad(g.mul(r, u), p, g.sub(v, g.mul(g.mul(u, g.c(0.5)), v))))
}

func (g *generator) cosPoly(r, v value) value {
	u := g.mul(r, r)
	w := g.mul(u, u)
	p := g.horner(w, "cosPoly", 0, 2, 4)
	p = g.mad(g.horner(w, "cosPoly", 1, 2, 5), u, p)
	h := g.mul(u, g.c(0.5))
	c := g.sub(g.load(g.c(1)), h)
	d := g.sub(g.sub(g.load(g.c(1)), c), h)
	return g.add(c, g.add(d, g.sub(g.mul(w, p), g.mul(r, v))))
}

// quadrant is sin(k pi/2 + r + v).
func (g *generator) quadrant(k, r, v value) value {
	y := g.choose(g.left(k, 63), g.sinPoly(r, v), g.cosPoly(r, v))
	return g.xor(y, g.and(g.left(k, 62), g.bits(sign)))
}

// reduceTurn is as in package f32, but for integers.
func (g *generator) reduceTurn(z value) (k, r, v value) {
	g.require(z, less, 0x1p24)
	d := g.add(z, z)
	k = g.add(d, g.c(toInt))
	f := g.sub(d, g.sub(k, g.c(toInt)))
	g.require(g.abs(f), greater, 0)
	large, small := g.mul(f, g.c("turnPi_0")), g.mul(f, g.c("turnPi_1"))
	r = g.add(large, small)
	return k, r, g.add(g.sub(large, r), small)
}

// asinRest is asin(r) - r, where r is v up to 1/2, where small is set, and sqrt((1-z)/2) beyond.
func (g *generator) asinRest(z, v value) (small, r, rest value) {
	small = g.opImm("VCMPPD", atMost, z, g.c(0.5))
	u := g.mul(g.sub(g.load(g.c(1)), z), g.c(0.5))
	r = g.choose(small, g.sqrt(u), v)
	u = g.choose(small, u, g.mul(v, v))
	w := g.mul(u, u)
	p, q := g.horner(w, "asinPoly", 0, 2, 12), g.horner(w, "asinPoly", 1, 2, 11)
	return small, r, g.mul(g.mul(r, u), g.mad(q, u, p))
}

func (g *generator) erfSmall(z value) value {
	u := g.mul(z, z)
	w := g.mul(u, u)
	p, q := g.horner(w, "erfPoly", 0, 2, 8), g.horner(w, "erfPoly", 1, 2, 7)
	return g.mul(z, g.mad(q, u, p))
}

// erfc is as in package f32, whatever it is for z below 1/2.
func (g *generator) erfc(z value) value {
	const columns = 11
	z = g.op("VMAXPD", z, g.c(0.5))
	i := g.sub(g.opImm("VROUNDPD", 3, g.mul(z, g.c(4))), g.c(2)) // towards 0
	d := g.sub(z, g.mad(i, g.c(0.25), g.c(0.625)))
	row := g.and(g.mad(i, g.c(columns), g.c(0x1p52)), g.bits(1<<16-1))
	w := g.mul(d, d)
	p, q := g.gather("erfcTable", row, 1, 10), g.gather("erfcTable", row, 1, 9)
	for k := 8; k > 0; k -= 2 {
		p = g.mad(p, w, g.gather("erfcTable", row, 1, k))
		q = g.mad(q, w, g.gather("erfcTable", row, 1, k-1))
	}
	p = g.mad(p, w, g.gather("erfcTable", row, 1, 0))
	return g.mul(g.exp(g.xor(g.mul(z, z), g.bits(sign))), g.mad(q, d, p))
}
