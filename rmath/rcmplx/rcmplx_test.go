package rcmplx

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

var points = flag.Int("points", 300, "arguments of each kind that TestErrors measures")

// A kind makes arguments.
type kind func(r *rand.Rand) (x, y complex128)

// ordinary parts are within some binades of 1.
func ordinary(r *rand.Rand) (x, y complex128) { return within(r, 5), within(r, 5) }

// wide parts are within 2^200 of 1, each by itself.
func wide(r *rand.Rand) (x, y complex128) { return within(r, 200), within(r, 200) }

// anywhere parts have any bits but those of what is not finite.
func anywhere(r *rand.Rand) (x, y complex128) { return within(r, 1074), within(r, 1074) }

// cancelling arguments have products whose sum, or a square less 1, nearly cancels.
func cancelling(r *rand.Rand) (x, y complex128) {
	x = within(r, 3)
	x = complex(real(x)/Abs(x)*(1+float64(r.IntN(5)-2)*0x1p-52), imag(x)/Abs(x))
	c := 4 * (r.Float64() - 0.5)
	return x, complex(c, real(x)*c/imag(x))
}

func within(r *rand.Rand, n int) complex128 {
	part := func() float64 {
		return math.Ldexp(float64(1-2*r.IntN(2))*(0.5+r.Float64()/2), min(r.IntN(2*n)-n, 1024))
	}
	return complex(part(), part())
}

// A number is a complex number to many digits.
type number struct{ a, b mp.Num }

func exactly(prec uint, x complex128) number {
	return number{mp.New(prec, real(x)), mp.New(prec, imag(x))}
}

func (x number) times(y number) number {
	return number{mp.Sub(mp.Mul(x.a, y.a), mp.Mul(x.b, y.b)), mp.Add(mp.Mul(x.a, y.b), mp.Mul(x.b, y.a))}
}

func (x number) square() mp.Num { return mp.Add(mp.Mul(x.a, x.a), mp.Mul(x.b, x.b)) }

func (x number) over(y number) number {
	z, s := x.times(number{y.a, mp.Neg(y.b)}), y.square()
	return number{mp.Div(z.a, s), mp.Div(z.b, s)}
}

func (x number) root() number {
	abs := func(a mp.Num) mp.Num {
		if a.Sign() < 0 {
			return mp.Neg(a)
		}
		return a
	}
	t := mp.Sqrt(mp.Scale(mp.Add(abs(x.a), mp.Sqrt(x.square())), -1))
	u := mp.Div(abs(x.b), mp.Scale(t, 1))
	if x.a.Sign() < 0 {
		t, u = u, t
	}
	if x.b.Sign() < 0 {
		u = mp.Neg(u)
	}
	return number{t, u}
}

func (x number) exp() number {
	r := mp.Exp(x.a)
	s, c := mp.SinCos(x.b)
	return number{mp.Mul(r, c), mp.Mul(r, s)}
}

func (x number) log() number {
	angle := mp.Atan(mp.Div(x.b, x.a))
	switch pi := mp.Pi(x.a.Prec()); {
	case x.a.Sign() < 0 && x.b.Sign() < 0:
		angle = mp.Sub(angle, pi)
	case x.a.Sign() < 0:
		angle = mp.Add(angle, pi)
	}
	return number{mp.Scale(mp.Log(x.square()), -1), angle}
}

// errorOf is how far got is from want, in units in the last place of ulp, a number like it.
func errorOf(got float64, want, ulp mp.Num) float64 {
	if f, _ := want.Float64(); f == got {
		return math.Abs(distance(got, want, ulp))
	} else if math.IsInf(f, 0) || math.IsNaN(got) || math.IsInf(got, 0) {
		return math.Inf(1)
	}
	return math.Abs(distance(got, want, ulp))
}

func distance(got float64, want, ulp mp.Num) float64 {
	if math.IsInf(got, 0) { // where want rounds to that, too
		return 0
	}
	d, _ := mp.Scale(mp.Sub(want, mp.New(want.Prec(), got)), 53-max(ulp.MantExp(nil), -1021)).Float64()
	return d
}

// hardest is arguments with large errors, by the case of TestErrors that has them.
var hardest = map[string][][2]complex128{
	"Mul, anywhere": {{5e-324 + 5e-324i, 1.5 - 1.5i}},
	"Div": {
		{514.7915677972179 + 0.6262323496807798i, -0.008944847706121816 - 516.1624162615408i},
		{-2.97429932007816e-11 + 0.06250004203459944i, -4.027186753062094e-09 - 4.0000159324559466i},
	},
	"Div, anywhere": {{1.1924668507421084e-07 + 2.0000057473819i, -0.0019535930857000013 - 1.0000000022672415i}},
	"Sqrt": {
		{0.04108396949554688 - 0.52065430147029i}, {-0.22720610064506358 + 8.160883205463309i},
		{0.0004864653030358101 + 0.49999999293179115i},
	},
	"Exp":        {{80.40634513820045 - 0.15157054378380044i}},
	"Exp, large": {{709.7668937388579 - 0.06347357495974322i}},
	"Log":        {{-0.6076372048812866 - 0.009585440703988063i}},
	"Pow": {
		{-2.6358444021383534 - 4578.0792888810865i, -23.17068133202878 + 15.896257381016198i},
		{2.0473144441852202 - 1.0149432357679212e-06i, 14.887737939568579 + 18.65625060618264i},
	},
}

// The errors against multiple precision are below those that docs/rmath.md states: of each part or,
// where they may differ by any factor, in units of the larger. Those of random arguments are below
// what 20,000 of them had.
func TestErrors(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	mulOf := func(x, y complex128) number { return exactly(4500, x).times(exactly(4500, y)) }
	divOf := func(x, y complex128) number { return exactly(4500, x).over(exactly(4500, y)) }
	rootOf := func(x, _ complex128) number { return exactly(300, x).root() }
	expOf := func(x, _ complex128) number { return exactly(300, x).exp() }
	logOf := func(x, _ complex128) number { return exactly(500, x).log() }
	powOf := func(x, y complex128) number { return exactly(500, y).times(exactly(500, x).log()).exp() }
	for _, c := range []struct {
		name string
		f    func(x, y complex128) complex128
		want func(x, y complex128) number
		draw kind
		norm bool

		random, bound float64
	}{
		{"Mul", Mul[complex128], mulOf, ordinary, false, 0.5001, 0.5001},
		{"Mul, wide", Mul[complex128], mulOf, wide, false, 0.5001, 0.5001},
		{"Mul, cancelling", Mul[complex128], mulOf, cancelling, false, 0.5001, 0.5001},
		{"Mul, anywhere", Mul[complex128], mulOf, anywhere, false, 1.0001, 1.0001},
		{"Mul, of the larger part", Mul[complex128], mulOf, anywhere, true, 0.68, 0.68},
		{"Div", Div[complex128], divOf, ordinary, false, 2.3, 2.63},
		{"Div, wide", Div[complex128], divOf, wide, false, 2.3, 2.63},
		{"Div, cancelling", Div[complex128], divOf, cancelling, false, 2.3, 2.63},
		{"Div, anywhere", Div[complex128], divOf, anywhere, true, 2.3, 2.63},
		{"Sqrt", one(Sqrt[complex128]), rootOf, ordinary, false, 1.8, 2.51},
		{"Sqrt, wide", one(Sqrt[complex128]), rootOf, wide, false, 1.8, 2.51},
		{"Sqrt, anywhere", one(Sqrt[complex128]), rootOf, anywhere, false, 1.8, 2.51},
		{"Exp", one(Exp[complex128]), expOf, ordinary, false, 1.9, 2.04},
		{"Exp, large", one(Exp[complex128]), expOf, large, false, 1.9, 3.4},
		{"Log", one(Log[complex128]), logOf, ordinary, false, 1.8, 1.89},
		{"Log, wide", one(Log[complex128]), logOf, wide, false, 1.8, 1.89},
		{"Log, near 1", one(Log[complex128]), logOf, cancelling, false, 1.8, 1.89},
		{"Log, anywhere", one(Log[complex128]), logOf, anywhere, false, 1.8, 1.89},
		{"Pow", Pow[complex128], powOf, ordinary, true, 1.8, 4.7},
		{"Pow, real", Pow[complex128], powOf, realPower, true, 1.8, 4.7},
	} {
		errorAt := func(x, y complex128) float64 {
			got, want := c.f(x, y), c.want(x, y)
			ulpA, ulpB := want.a, want.b
			if c.norm && want.a.MantExp(nil) > want.b.MantExp(nil) {
				ulpB = want.a
			} else if c.norm {
				ulpA = want.b
			}
			e := max(errorOf(real(got), want.a, ulpA), errorOf(imag(got), want.b, ulpB))
			if strings.HasPrefix(c.name, "Pow") {
				e /= 1 + cmplx.Abs(y*cmplx.Log(x))
			}
			return e
		}
		for _, at := range hardest[c.name] {
			if e := errorAt(at[0], at[1]); !(e < c.bound) {
				t.Errorf("%s: the error is %.4f at %v", c.name, e, at)
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		worst := 0.0
		var at [2]complex128
		for range *points {
			x, y := c.draw(r)
			if e := errorAt(x, y); e > worst {
				worst, at = e, [2]complex128{x, y}
			}
		}
		t.Logf("%-16s %.4f at %v", c.name, worst, at)
		if !(worst < c.random) {
			t.Errorf("%s: the error is %.4f at %v", c.name, worst, at)
		}
	}
}

func one(f func(x complex128) complex128) func(x, y complex128) complex128 {
	return func(x, _ complex128) complex128 { return f(x) }
}

// large arguments have exponentials at both ends of the range, and beyond it but for one part.
func large(r *rand.Rand) (x, y complex128) {
	b := math.Ldexp(4*(r.Float64()-0.5), -r.IntN(1000))
	return complex(float64(r.Float64()*1450)-740, b), 0
}

func realPower(r *rand.Rand) (x, y complex128) {
	return within(r, 20), complex(4*(r.Float64()-0.5)*math.Ldexp(1, r.IntN(6)), 0)
}

// special is parts that are zero, infinite or NaN, and others.
var special = []float64{
	0, math.Copysign(0, -1), 1, -1, 2.5, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, -0x1p-1074,
}

func eachSpecial(f func(x complex128)) {
	for _, a := range special {
		for _, b := range special {
			f(complex(a, b))
		}
	}
}

// classOf is what counts of x in Annex G: infinite, NaN, zero or else.
func classOf(x complex128) string {
	switch {
	case isInf(x):
		return "infinite"
	case cmplx.IsNaN(x):
		return "NaN"
	case x == 0:
		return "zero"
	}
	return "finite"
}

// Products and quotients with infinities, NaN and zeros are what Annex G of C99 says, and finite
// numbers never give NaN.
func TestSpecialProducts(t *testing.T) {
	eachSpecial(func(x complex128) {
		eachSpecial(func(y complex128) {
			product, quotient := classOf(Mul(x, y)), classOf(Div(x, y))
			cx, cy := classOf(x), classOf(y)
			switch {
			case cx == "infinite" && (cy == "infinite" || cy == "finite"), cx == "finite" && cy == "infinite":
				if product != "infinite" {
					t.Errorf("%v * %v = %v", x, y, Mul(x, y))
				}
			case isFinite(x) && isFinite(y) && product == "NaN":
				t.Errorf("%v * %v = %v", x, y, Mul(x, y))
			}
			want := ""
			switch {
			case cx == "infinite" && isFinite(y), cx == "finite" && cy == "zero":
				want = "infinite"
			case isFinite(x) && cy == "infinite":
				want = "zero"
			case cx == "zero" && cy == "zero", cx == "infinite" && cy == "infinite":
				want = "NaN"
			case isFinite(x) && isFinite(y) && quotient == "NaN":
				want = "a number"
			}
			if want != "" && quotient != want {
				t.Errorf("%v / %v = %v, want %s", x, y, Div(x, y), want)
			}
		})
	})
}

// sameParts compares parts with their signs, those of zeros too, to some units in the last place.
func sameParts(x, y complex128) bool {
	same := func(a, b float64) bool {
		return a != a && b != b || math.Signbit(a) == math.Signbit(b) && (a == b || math.Abs(a-b) < 1e-14*math.Abs(b))
	}
	return same(real(x), real(y)) && same(imag(x), imag(y))
}

// Functions of special numbers are those of package math/cmplx, which keeps to Annex G, but where
// it overflows on the way.
func TestSpecialFunctions(t *testing.T) {
	eachSpecial(func(x complex128) {
		if m := larger(x); m == math.MaxFloat64 || math.Abs(imag(x)) == 0x1p-1074 || math.Abs(real(x)) == 0x1p-1074 {
			return // of which math/cmplx finds Log infinite, Exp NaN, or a Sqrt of 0
		}
		want := cmplx.Sqrt(x)
		if math.IsNaN(real(x)) && imag(x) == 0 {
			want = cmplx.NaN() // Annex G; math/cmplx keeps the zero
		}
		ofZero := cmplx.NaN() // math/cmplx panics for some
		if real(x) == real(x) && imag(x) == imag(x) {
			ofZero = cmplx.Pow(0, x)
		}
		for _, c := range []struct {
			name      string
			got, want complex128
		}{
			{"Sqrt", Sqrt(x), want},
			{"Exp", Exp(x), cmplx.Exp(x)},
			{"Log", Log(x), cmplx.Log(x)},
			{"Pow 0", Pow(x, 0), 1},
			{"Pow of 0", Pow(0, x), ofZero},
			{"Abs", complex(Abs(x), Phase(x)), complex(cmplx.Abs(x), cmplx.Phase(x))},
		} {
			if !sameParts(c.got, c.want) {
				t.Errorf("%s of %v is %v, want %v", c.name, x, c.got, c.want)
			}
		}
	})
}

// What overflows or underflows on the way does no harm.
func TestScaling(t *testing.T) {
	const most, least = math.MaxFloat64, 0x1p-1074
	for _, c := range []struct {
		name      string
		got, want complex128
	}{
		{"Mul that cancels", Mul(complex(0x1p600, 0x1p600), complex(0x1p600, 0x1p600)), complex(0, math.Inf(1))},
		{"Mul that cancels to a number", Mul(complex(0x1p600+0x1p548, 0x1p600), complex(0x1p600, 0x1p600)),
			complex(math.Inf(1), math.Inf(1))},
		{"Mul within", Mul(complex(0x1.8p1023, 0x1p1023), complex(1, 1)), complex(0x1p1022, math.Inf(1))},
		{"Div of the largest", Div(complex(most, most), complex(most, most)), 1},
		{"Div of the smallest", Div(complex(least, least), complex(least, least)), 1},
		{"Div by the smallest", Div(complex(0x1p-100, 0x1p-100), complex(least, least)), 0x1p974},
		{"Div by the largest", Div(complex(0x1p1000, 0x1p1000), complex(0x1p1023, 0x1p1023)), 0x1p-23},
		{"Sqrt of the largest", Sqrt(complex(-0x1p1022, 0)), complex(0, 0x1p511)},
		{"Sqrt of the smallest", Sqrt(complex(0, 2*least)), complex(0x1p-537, 0x1p-537)},
		{"Log of the largest", Log(complex(0x1p1023, 0)), complex(1023*math.Ln2, 0)},
		{"Log of the smallest", Log(complex(-least, 0)), complex(-1074*math.Ln2, math.Pi)},
		{"Pow", Pow(-4+0i, 0.5), complex(2*cosOfHalfPi, 2)},
		{"Pow of a real number", Pow(2+0i, 10), 1024},
	} {
		if !sameParts(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// cosOfHalfPi is the cosine of the float64 that is nearest to pi/2.
const cosOfHalfPi = 0x1.1a62633145c07p-54

// A complex64 is what its complex128 gives, rounded; factors may change places.
func TestRelations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		x, y := wide(r)
		if Mul(x, y) != Mul(y, x) {
			t.Fatalf("%v * %v depends on their order", x, y)
		}
		if imag(Mul(x, conj(x))) != 0 {
			t.Fatalf("%v times its conjugate is not real", x)
		}
		x, y = ordinary(r)
		u, v := complex64(x), complex64(y)
		x, y = complex128(u), complex128(v)
		whole := []complex128{Mul(x, y), Div(x, y), Sqrt(x), Exp(x), Log(x), Pow(x, y)}
		for i, got := range []complex64{Mul(u, v), Div(u, v), Sqrt(u), Exp(u), Log(u), Pow(u, v)} {
			if want := complex64(whole[i]); got != want {
				t.Fatalf("function %d of complex64 %v and %v is %v, want %v", i, u, v, got, want)
			}
		}
		if Abs(u) != Abs(x) || Phase(u) != Phase(x) {
			t.Fatalf("Abs or Phase of %v", u)
		}
	}
}

// golden is the digest of the bits that these functions have on every machine.
const golden = "c1b692b0fdd1a1341582f38ddf46181f77eb7baa01f76cdecd7c8d9fe3a30c93"

func TestGolden(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	h := sha256.New()
	put := func(x complex128) {
		for _, a := range []float64{real(x), imag(x)} {
			b := math.Float64bits(a)
			if a != a {
				b = math.Float64bits(math.NaN())
			}
			h.Write(binary.LittleEndian.AppendUint64(nil, b))
		}
	}
	all := func(x, y complex128) {
		for _, z := range []complex128{Mul(x, y), Div(x, y), Sqrt(x), Exp(x), Log(x), Pow(x, y)} {
			put(z)
		}
		put(complex(Abs(x), Phase(x)))
	}
	for i := range 40000 {
		x, y := []kind{ordinary, wide, anywhere, cancelling, large, realPower}[i%6](r)
		all(x, y)
	}
	eachSpecial(func(x complex128) { eachSpecial(func(y complex128) { all(x, y) }) })
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != golden {
		t.Errorf("the digest of all results is %s, want %s", got, golden)
	}
}
