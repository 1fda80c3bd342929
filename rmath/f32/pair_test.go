package f32

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

var pairs = flag.Int("pairs", 1e6, "random pairs for each function of two arguments")

// A pairFunction is a function of two arguments: native is near it, and says how near.
type pairFunction struct {
	name    string
	f       func(x, y float32) float32
	native  func(x, y float64) (value, tolerance float64)
	precise func(x, y mp.Num) mp.Num
	random  func(r *rand.Rand) (x, y float32)
}

var pairFunctions = []*pairFunction{
	{
		name: "Pow", f: Pow,
		native: func(x, y float64) (float64, float64) {
			l := y * math.Log(x)
			return math.Exp(l), (math.Abs(l) + 2) * 0x1p-51
		},
		precise: func(x, y mp.Num) mp.Num { return mp.Exp(mp.Mul(y, mp.Log(x))) },
		random: func(r *rand.Rand) (x, y float32) {
			x = anyFloat(r)
			switch r.IntN(4) {
			case 0:
				x = float32(math.Exp2(4 * (r.Float64() - 0.5)))
			case 1:
				x = float32(1 + (r.Float64()-0.5)*math.Exp2(-20*r.Float64()))
			case 2:
				x = float32(1 + r.IntN(1000))
				if r.IntN(2) == 0 {
					return x, float32(1+r.IntN(40)) / 4
				}
			}
			y = float32(300 * (r.Float64() - 0.5) / math.Log2(float64(x)))
			return x, max(-math.MaxFloat32, min(y, math.MaxFloat32))
		},
	},
	{
		name: "Atan2", f: Atan2,
		native:  func(y, x float64) (float64, float64) { return math.Atan2(y, x), 0x1p-49 },
		precise: preciseAtan2,
		random: func(r *rand.Rand) (y, x float32) {
			x, y = anyFloat(r), anyFloat(r)
			if r.IntN(4) > 0 {
				x = float32(float64(y) * math.Exp2(60*(r.Float64()-0.5)))
				x = max(-math.MaxFloat32, min(x, math.MaxFloat32))
			}
			if r.IntN(2) == 0 {
				x = -x
			}
			return y, x
		},
	},
	{
		name: "Hypot", f: Hypot,
		native: func(x, y float64) (float64, float64) { return math.Sqrt(x*x + y*y), 0x1p-51 },
		precise: func(x, y mp.Num) mp.Num {
			return mp.Sqrt(mp.Add(mp.Mul(x, x), mp.Mul(y, y)))
		},
		random: func(r *rand.Rand) (x, y float32) {
			x = anyFloat(r)
			y = float32(float64(x) * math.Exp2(-14*r.Float64()))
			if r.IntN(8) == 0 {
				y = anyFloat(r)
			}
			return x, y
		},
	},
}

// anyFloat is a positive finite number of any size.
func anyFloat(r *rand.Rand) float32 { return math.Float32frombits(1 + r.Uint32N(0x7f7fffff)) }

// halfway is the middle of x and the float32 above it.
func halfway(x float32) float64 { return math.Float64frombits(math.Float64bits(float64(x)) | 1<<28) }

func preciseAtan2(y, x mp.Num) mp.Num {
	pi := mp.Pi(x.Prec())
	switch {
	case x.Sign() == 0:
		return mp.Scale(pi, -1)
	case x.Sign() > 0:
		return mp.Atan(mp.Div(y, x))
	}
	return mp.Sub(pi, mp.Atan(mp.Neg(mp.Div(y, x))))
}

// want is the correctly rounded result. A value that 340 bits do not tell from the middle of two
// float32 is the middle.
func (p *pairFunction) want(x, y float32) (want float32, decided bool) {
	v, e := p.native(float64(x), float64(y))
	if lo, hi := float32(v*(1-e)), float32(v*(1+e)); lo == hi && v > 0x1p-1000 {
		return lo, false
	}
	w := p.precise(mp.New(400, float64(x)), mp.New(400, float64(y)))
	r, _ := new(big.Float).SetPrec(340).Set(w).Float32() // ties to even
	return r, true
}

// The functions of two arguments are correctly rounded for random pairs: a million each, or as many
// as the flag says.
func TestPairs(t *testing.T) {
	for _, p := range pairFunctions {
		var wg sync.WaitGroup
		var mu sync.Mutex
		decided := 0
		workers := runtime.GOMAXPROCS(0)
		for w := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 7))
				n := 0
				for range *pairs / workers {
					x, y := p.random(r)
					want, precise := p.want(x, y)
					if precise {
						n++
					}
					if got := p.f(x, y); !sameBits(got, want) {
						t.Errorf("%s(%x, %x) = %x, want %x", p.name, x, y, got, want)
						return
					}
				}
				mu.Lock()
				defer mu.Unlock()
				decided += n
			})
		}
		wg.Wait()
		t.Logf("%s: %d pairs, %d of them by multiple precision", p.name, *pairs, decided)
	}
}

// Where arguments are special the results are those of package math.
func TestSpecialPairs(t *testing.T) {
	values := []float32{0, 0x1p-149, 0.5, 1, 1.5, 2, 3, 1 << 23, 1<<24 - 1, 1 << 24, math.MaxFloat32, infinity, nan()}
	for _, v := range values {
		values = append(values, -v)
	}
	check := func(name string, x, y, got float32, want float64) {
		if !sameBits(got, float32(want)) {
			t.Errorf("%s(%v, %v) = %v, want %v", name, x, y, got, float32(want))
		}
	}
	for _, x := range values {
		for _, y := range values {
			check("Atan2", x, y, Atan2(x, y), math.Atan2(float64(x), float64(y)))
			check("Hypot", x, y, Hypot(x, y), math.Hypot(float64(x), float64(y)))
			check("Pow", x, y, Pow(x, y), math.Pow(float64(x), float64(y)))
		}
	}
}

// hardest is pairs whose values lie closest to the middle of two float32, or at the edges: some of
// those that the CORE-MATH project found and collects, for each of pairFunctions.
var hardest = [][][2]float32{
	{
		{0x1.2e9178p-119, 0x1.023178p+0},
		{0x1.aa25fp-122, 0x1.04d8e4p+0},
		{0x1.d6a9eap-89, 0x1.1249fcp+0},
		{0x1.49b684p-69, 0x1.1509f6p+0},
		{0x1.cc53e8p-96, 0x1.1bb752p+0},
		{0x1.95c6c2p+113, 0x1.1f771cp+0},
		{0x1.4ec09p-72, 0x1.27766ep+0},
		{0x1.f4ff26p-81, 0x1.2a584p+0},
		{0x1.1058p+0, 0x1.ap+64},
		{0x1.9a1p-20, 0x1.ep+0},
		{0x1.9a1p-76, 0x1.ep+0},
		{0x1.7632cp-45, -0x1.5f9314p-23},
		{0x1.8fdb0ep-21, 0x1.a31bp-102},
	},
	{
		{0x1.b8748cp-2, -0x1.9cf606p23},
		{0x1.b874ecp5, -0x1.f2a172p23},
		{0x1.5f325p3, -0x1.09e3e8p21},
		{0x1.da330cp+8, -0x1.069bb8p23},
		{0x1.3fe47ap10, -0x1.4cce5ap23},
		{0x1.0d70ap11, -0x1.618a88p21},
		{0x1.507ebp15, -0x1.f62514p22},
		{0x1.c84ca8p21, -0x1.00b24ap23},
		{0x1.9cf606p49, 0x1.b8748cp23},
		{0x1.24c4e8p45, 0x1.caab8ap23},
		{0x1.824c46p37, 0x1.96c50cp23},
		{0x1.3ee9f4p37, 0x1.7e87d2p23},
	},
	{
		{0x1.0000ap+26, 0x1.db0a7ap+23},
		{0x1.0001p+26, 0x1.664caap+23},
		{0x1.00010ap+28, 0x1.bd6d6ap+23},
		{0x1.9c4478p+32, 0x1.85816ap+23},
		{0x1.c279e4p+35, 0x1.e040fep+23},
		{0x1.87fffcp+35, 0x1.bffffep+23},
		{0x1.900004p+34, 0x1.400002p+23},
		{0x1.34003p+32, 0x1.cefffep+23},
		{0x1.6b05c4p-127, 0x1.6b3146p-126},
		{0x1.26b188p-127, 0x1.a4f2fp-128},
		{0x1.fffffep127, 0x1.fffffep115},
		{0x1.fffffep127, 0x1p-149},
	},
}

// Pairs whose values lie close to the middle of two float32, or there.
func TestHardPairs(t *testing.T) {
	check := func(p *pairFunction, x, y float32) {
		want, _ := p.want(x, y)
		if got := p.f(x, y); !sameBits(got, want) {
			t.Errorf("%s(%x, %x) = %x, want %x", p.name, x, y, got, want)
		}
	}
	for i, p := range pairFunctions {
		for _, h := range hardest[i] {
			check(p, h[0], h[1])
		}
	}
	power, atan2, hypot := pairFunctions[0], pairFunctions[1], pairFunctions[2]
	for n := 3; n <= 15; n++ { // powers of 25 bits, and their roots
		for b := 3; math.Pow(float64(b), float64(n)) < 1<<25; b += 2 {
			check(power, float32(b), float32(n))
			check(power, 1/float32(b), float32(-n))
			if c := float32(b * b); float64(c) == float64(b)*float64(b) {
				check(power, c, float32(n)/2)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		b := float32(1 + 2*r.IntN(1<<12))
		check(power, b+4096, 2)
		check(power, 2, -126-25*r.Float32())
		check(power, float32(math.Exp2(0.5+r.Float64())), 128)
		check(power, anyFloat(r), []float32{3, 1.5, -1, -2, 0.5, -0.5}[r.IntN(6)])
	}
	for range 1000 { // Pythagorean triples, and their neighbours
		m, n := 1+r.IntN(1<<12), 1+r.IntN(1<<12)
		x, y := float32(m*m-n*n), float32(2*m*n)
		check(hypot, x, y)
		check(hypot, x*0x1p-149, y*0x1p-149)
		check(hypot, x+1, y)
	}
	check(atan2, 0x3p-149, 2)
	near := 0
	for range 1000 { // convergents of the tangent of a middle
		m := halfway(math.Float32frombits(0x3a000000 + r.Uint32N(0x06480000)))
		p0, q0, p1, q1 := 0.0, 1.0, 1.0, 0.0
		for v := math.Abs(math.Tan(m)); ; {
			a := math.Floor(v)
			p0, q0, p1, q1 = p1, q1, a*p1+p0, a*q1+q0
			if max(p1, q1) >= 1<<24 {
				break
			}
			x := math.Copysign(q1, math.Cos(m))
			check(atan2, float32(p1), float32(x))
			if middle(math.Atan2(p1, x)) {
				near++
			}
			v = 1 / (v - a)
		}
	}
	if near < 20 {
		t.Errorf("only %d angles are near a middle", near)
	}
}

// The arithmetic of two float64 has 95 bits and more.
func TestTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	near := func(name string, x float64, y two, want mp.Num, bits int) {
		t.Helper()
		d := mp.Sub(mp.Sub(want, mp.New(53, y.hi)), mp.New(53, y.lo))
		if d.Sign() != 0 && d.MantExp(nil) > want.MantExp(nil)-bits {
			t.Errorf("%s(%x) is wrong by 2^%d", name, x, d.MantExp(nil)-want.MantExp(nil))
		}
	}
	for range 300 {
		x := halfway(anyFloat(r))
		near("log", x, logTwo(x), mp.Log(mp.New(200, x)), 100)
		x = halfway(1 + float32(r.IntN(1<<12))*0x1p-23)
		near("log", x, logTwo(x), mp.Log(mp.New(200, x)), 100)
		x = halfway(3 * r.Float32())
		s, c := sinCosTwo(x)
		sin, cos := mp.SinCos(mp.New(200, x))
		one := mp.New(200, 1)
		near("sin", x, s.plus(two{1, 0}), mp.Add(sin, one), 98)
		near("cos", x, c.plus(two{2, 0}), mp.Add(cos, mp.Add(one, one)), 98)
	}
}
