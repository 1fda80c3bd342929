package solve

import "math"

// secularSteps bounds the steps to a root: half of them would do for halving alone.
const secularSteps = 120

// A secularEquation is f(x) = 1 + rho*sum z[i]²/(d[i]-x), with ascending d, which has a root behind
// each d[i]. What is left of root j and what is right of it are summed apart, by ascending i. The
// root is sought as the distance from pole o.
type secularEquation struct {
	j, o int
	d, z []float64
	rho  float64
}

// at is both sums and their slopes at d[o]+x.
func (e *secularEquation) at(x float64) (psi, dpsi, phi, dphi float64) {
	pole := e.d[e.o]
	sum := func(lo, hi int) (f, df float64) {
		z := e.z[lo:hi]
		for i, d := range e.d[lo:hi] {
			t := z[i] / ((d - pole) - x)
			f, df = math.FMA(z[i], t, f), math.FMA(t, t, df)
		}
		return float64(e.rho * f), float64(e.rho * df)
	}
	psi, dpsi = sum(0, e.j+1)
	phi, dphi = sum(e.j+1, len(e.d))
	return psi, dpsi, phi, dphi
}

// secular finds root j, and the differences d[i] less the root: by rational steps, with the poles
// beside it and a constant, inside a bracket that is halved where a step leaves it. It is NaN where
// that does not end.
func secular(j int, d, z []float64, rho float64, delta []float64) float64 {
	e := secularEquation{j: j, o: j, d: d, z: z, rho: rho}
	x := e.root()
	for i, v := range d {
		delta[i] = (v - d[e.o]) - x
	}
	return d[e.o] + x
}

// root is the root's distance from the pole that it chooses: the nearer one.
func (e *secularEquation) root() float64 {
	k, last := len(e.d), e.j == len(e.d)-1
	if k == 1 {
		return float64(e.rho * e.z[0] * e.z[0])
	}
	var width float64
	if last {
		sum := 0.0
		for _, v := range e.z {
			sum = math.FMA(v, v, sum)
		}
		width = float64(e.rho * sum * (1 + 8*ulp))
	} else {
		width = e.d[e.j+1] - e.d[e.j]
	}
	lo, hi, left, right := 0.0, width/2, 0.0, width // the bracket, and the poles beside the root
	if psi, _, phi, _ := e.at(width / 2); 1+psi+phi <= 0 {
		if last {
			lo, hi = width/2, width
		} else {
			e.o, lo, hi, left, right = e.j+1, -width/2, 0, -width, 0
		}
	}
	x := lo + (hi-lo)/2
	for range secularSteps {
		psi, dpsi, phi, dphi := e.at(x)
		f := 1 + psi + phi
		if math.Abs(f) <= ulp/2*float64(k)*(1+math.Abs(psi)+math.Abs(phi)) {
			return x
		}
		if f < 0 {
			lo = x
		} else {
			hi = x
		}
		if hi-lo <= 2*ulp*max(math.Abs(lo), math.Abs(hi)) {
			return x
		}
		if x = step(last, x, f, dpsi, dphi, left-x, right-x); !(x > lo && x < hi) {
			x = lo + (hi-lo)/2
		}
	}
	return math.NaN()
}

// step is the root of r + s/(left-g) + t/(right-g), which has psi's and phi's values and slopes at
// g = 0, seen from x: for the last root without t, and NaN where there is none.
func step(last bool, x, f, dpsi, dphi, left, right float64) float64 {
	s := float64(dpsi * left * left)
	if last {
		r := f - s/left
		if r <= 0 {
			return math.NaN()
		}
		return x + left + s/r
	}
	t := float64(dphi * right * right)
	r := f - s/left - t/right
	// r*g² - (r*(left+right) + s + t)*g + f*left*right = 0
	b, c := -(float64(r*(left+right)) + s + t), float64(f*left*right)
	root := math.Sqrt(max(float64(b*b)-float64(4*r*c), 0))
	w := -(b + math.Copysign(root, b)) / 2
	if g := c / w; g > left && g < right {
		return x + g
	}
	return x + w/r
}
