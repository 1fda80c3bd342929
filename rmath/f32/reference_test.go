package f32

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

// A definition says what a function is, and what the proof needs to know of it.
type definition struct {
	name   string
	f      func(float32) float32
	series func(x mp.Series) mp.Series

	// The results for +0, -0, +Inf and -Inf.
	zero, minusZero, plusInf, minusInf float32

	// symmetry is 1 for an even function, -1 for an odd one, 0 for others. With a symmetry the
	// negative arguments follow from the positive ones.
	symmetry int

	// In the complex disc of radius r around c the function is at most m in magnitude: by Cauchy's
	// estimate the Taylor polynomial of n terms is wrong by at most m (h/r)^n / (1-h/r) within h.
	disc func(c float64) (r, m float64)

	// The arguments that are not 0, infinite or NaN, by sign, in the order of their magnitudes.
	positive, negative []region

	// For periodic functions: the arguments from bits on in quarters of the period, and the
	// function of an angle in each of four quarters.
	quarters func(bits uint32, angles []angle)
	turn     [4]*turns
}

// A region is the magnitudes up to upTo, from where the one before ends.
type region struct {
	upTo float32
	kind regionKind
	at   float64 // the point of a series; the value of a constant
}

type regionKind int

const (
	blocks   regionKind = iota // Taylor polynomials of blocks of arguments
	around                     // one Taylor polynomial around at
	constant                   // the function is monotone from here to infinity, where it is at
	flat                       // the function is monotone from the start to the end, and rounds to at at both
	itself                     // the function is x (1+e) with e below 2^-26: the result is x
	given                      // at, by the definition
	periodic                   // reduced to quarters of the period
)

const (
	terms     = 9       // of Taylor polynomials
	tolerance = 0x1p-49 // the relative error of a reference: 2^-50 for what it leaves out, as much for rounding
	precision = 160     // bits for their coefficients
)

// A polynomial is the function near c: lead + d (a[0] + d (a[1] + ...)), d being (x-c) scale; where
// lead is 0 the sum has a small relative error even so.
type polynomial struct {
	c, scale, lead float64
	a              [terms - 1]float64
}

// taylor makes the polynomial around c, if its relative error stays below tolerance within h: the
// remainder is at most 2^-50 of the result, and the other terms at most a quarter of the first, so
// that their rounding adds up to less than 8 of 2^-53.
func (d *definition) taylor(c, h float64) (*polynomial, bool) {
	r, m := d.disc(c)
	if h > r/16 {
		return nil, false
	}
	s := d.series(mp.Variable(mp.New(precision, c), terms))
	_, e := math.Frexp(r) // a power of 2 that keeps coefficients from overflow
	p := &polynomial{c: c, scale: math.Ldexp(1, -e), lead: float(s[0])}
	for i := range p.a {
		p.a[i] = float(mp.Scale(s[i+1], e*(i+1)))
	}
	first, rest, power := math.Abs(p.lead), 0.0, 1.0
	left := m * math.Pow(h/r, terms) * 1.1
	for i, a := range p.a {
		if first == 0 && i == 0 {
			first, left = math.Abs(a), math.Ldexp(m/r, e)*math.Pow(h/r, terms-1)*1.1
			continue
		}
		power *= h * p.scale
		rest += math.Abs(a) * power
	}
	return p, rest <= first/4 && left <= first*0x1p-51
}

func float(x mp.Num) float64 {
	f, _ := x.Float64()
	return f
}

// at is the polynomial's value at x.
func (p *polynomial) at(x float64) float64 {
	d, a := (x-p.c)*p.scale, &p.a
	return p.lead + d*(a[0]+d*(a[1]+d*(a[2]+d*(a[3]+d*(a[4]+d*(a[5]+d*(a[6]+d*a[7])))))))
}

// exactly is the correctly rounded result for x, by multiple precision; false if the value is too
// close to the middle of two float32 for 600 bits.
func (d *definition) exactly(x float32) (float32, bool) {
	for _, prec := range []uint{200, 400, 600} {
		more := uint(0)
		if math.Abs(float64(x)) < tiny {
			more = 320 // for differences that are as small as x
		}
		v := d.series(mp.Series{mp.New(prec+more, float64(x))})[0]
		e := mp.Scale(v, 60-int(prec))
		lo, _ := mp.Sub(v, e).Float32()
		hi, _ := mp.Add(v, e).Float32()
		if lo == hi {
			return lo, true
		}
	}
	return 0, false
}

// An angle is k + f quarters of a turn, |f| <= 1/2.
type angle struct {
	k uint64
	f float64
}

// turns is a function of the angles of one quarter, as polynomials by f; where inverse is set, of
// its reciprocal.
type turns struct {
	bins    [2*turnBins + 1]polynomial
	inverse bool
}

const turnBins = 1024 // for each sign of f

// newTurns makes the polynomials of a function of f pi/2. Within 1/4 of any f sin and cos are at
// most cosh(pi/8) < 1.1, and tan is at most tan(3 pi/8) < 2.5. The bins around 0 have the
// polynomial of 0, where sin and tan are small.
func newTurns(f func(sin, cos mp.Series) mp.Series) *turns {
	const h = 0.25 / turnBins // half a bin
	d := definition{
		series: func(x mp.Series) mp.Series { return f(x.Times(mp.New(precision, 0.5)).SinCosPi()) },
		disc:   func(float64) (float64, float64) { return 0.25, 2.5 },
	}
	var t turns
	for i := range t.bins {
		i := i - turnBins
		c, h := float64(i)/2/turnBins, h
		if max(i, -i) < 3 {
			c, h = 0, 5*h
		}
		p, ok := d.taylor(c, h)
		if !ok {
			panic("the polynomials of a function of angles are too short")
		}
		t.bins[i+turnBins] = *p
	}
	return &t
}

func (t *turns) at(f float64) float64 {
	y := t.bins[int((f+0.5)*(2*turnBins)+0.5)].at(f)
	if t.inverse {
		return 1 / y
	}
	return y
}

// negative is -t.
func (t *turns) negative() *turns {
	r := *t
	for i := range r.bins {
		b := &r.bins[i]
		b.lead = 0 - b.lead // never -0
		for j := range b.a {
			b.a[j] = -b.a[j]
		}
	}
	return &r
}

var (
	sineTurns   = newTurns(func(sin, _ mp.Series) mp.Series { return sin })
	cosineTurns = newTurns(func(_, cos mp.Series) mp.Series { return cos })

	sine    = [4]*turns{sineTurns, cosineTurns, sineTurns.negative(), cosineTurns.negative()}
	cosine  = [4]*turns{sine[1], sine[2], sine[3], sine[0]}
	tangent = newTangent()
)

// newTangent is tan in even quarters, -1/tan in odd ones.
func newTangent() [4]*turns {
	tan := newTurns(func(sin, cos mp.Series) mp.Series { return sin.Div(cos) })
	cot := tan.negative()
	cot.inverse = true
	return [4]*turns{tan, cot, tan, cot}
}

// turnQuarters is for functions of pi x: 2x is exact.
func turnQuarters(bits uint32, angles []angle) {
	for i := range angles {
		x := 2 * value(bits+uint32(i))
		k := math.RoundToEven(x)
		angles[i] = angle{uint64(k), x - k}
	}
}

// twoOverPiBits is 2/pi with more bits than the largest argument takes.
var twoOverPiBits = mp.Div(mp.New(400, 2), mp.Pi(400))

// angleQuarters is for arguments of one binade: x (2/pi) modulo 4 is a number of 192 bits, 190 of
// them after the point, and goes up by the same step each time.
func angleQuarters(bits uint32, angles []angle) {
	x := value(bits)
	step := 0.0
	if len(angles) > 1 {
		step = value(bits+1) - x
	}
	w, d := modulo4(x), modulo4(step)
	for i := range angles {
		high, low := w[0]<<2|w[1]>>62, w[1]<<2|w[2]>>62
		angles[i] = angle{w[0]>>62 + w[0]>>61&1, float64(int64(high))*0x1p-64 + float64(low>>1)*0x1p-127}
		if uint64(int64(high)>>40+1) < 2 {
			angles[i].f = 0 // too few bits
		}
		w = add192(w, d)
	}
}

// modulo4 is x (2/pi) modulo 4, x >= 0, in units of 2^-190.
func modulo4(x float64) (w [3]uint64) {
	i, _ := mp.Scale(mp.Mul(twoOverPiBits, mp.New(53, x)), 190).Int(nil)
	for j := range w {
		w[2-j] = new(big.Int).And(i, allBits).Uint64()
		i.Rsh(i, 64)
	}
	return w
}

var allBits = new(big.Int).SetUint64(math.MaxUint64)

func add192(x, y [3]uint64) (s [3]uint64) {
	var carry uint64
	s[2], carry = bits.Add64(x[2], y[2], 0)
	s[1], carry = bits.Add64(x[1], y[1], carry)
	s[0], _ = bits.Add64(x[0], y[0], carry)
	return s
}
