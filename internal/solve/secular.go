package solve

import "math"

// secularSteps bounds the steps to a root: half of them would do for halving alone.
const secularSteps = 120

// poles are ascending d, or with squares their squares, and z, which make f(x) = 1 + rho*sum
// z[i]²/(pole[i]-x). It has a root behind each pole.
type poles struct {
	d, z    []float64
	rho     float64
	squares bool
}

// gap is pole i less pole o.
func (p *poles) gap(i, o int) float64 {
	if p.squares {
		return float64((p.d[i] - p.d[o]) * (p.d[i] + p.d[o]))
	}
	return p.d[i] - p.d[o]
}

// root finds root j, and the differences of the poles and it; with squares it is the root's root.
// It is NaN where the iteration does not end.
func (p *poles) root(j int, delta []float64) float64 {
	e := secularEquation{poles: p, j: j, gaps: delta}
	x := e.root()
	for i, gap := range delta {
		delta[i] = gap - x
	}
	o := p.d[e.o]
	if p.squares {
		return math.Sqrt(math.FMA(o, o, x))
	}
	return o + x
}

// anew is element i of the z of which the roots that were found are exact (Gu and Eisenstat).
func (p *poles) anew(i int, delta []float64) float64 {
	k := len(p.d)
	product := -delta[i*k+i]
	for j := range k {
		if j != i {
			product *= delta[j*k+i] / p.gap(i, j)
		}
	}
	return math.Copysign(math.Sqrt(math.Abs(product)), p.z[i])
}

// A secularEquation is poles, and root j of f, which is sought as the distance from pole o. What is
// left of the root and what is right of it are summed apart, by ascending i.
type secularEquation struct {
	*poles
	j, o int
	gaps []float64 // of the poles from pole o
}

// from makes o the pole that the root is sought from.
func (e *secularEquation) from(o int) {
	e.o = o
	for i := range e.gaps {
		e.gaps[i] = e.gap(i, o)
	}
}

// at is both sums and their slopes at x behind pole o.
func (e *secularEquation) at(x float64) (psi, dpsi, phi, dphi float64) {
	sum := func(lo, hi int) (f, df float64) {
		z := e.z[lo:hi]
		for i, gap := range e.gaps[lo:hi] {
			t := z[i] / (gap - x)
			f, df = math.FMA(z[i], t, f), math.FMA(t, t, df)
		}
		return float64(e.rho * f), float64(e.rho * df)
	}
	psi, dpsi = sum(0, e.j+1)
	phi, dphi = sum(e.j+1, len(e.d))
	return psi, dpsi, phi, dphi
}

// root is the root's distance from the pole that it chooses, the nearer one: by rational steps,
// with the poles beside it and a constant, inside a bracket that is halved where a step leaves it.
func (e *secularEquation) root() float64 {
	k, last := len(e.d), e.j == len(e.d)-1
	e.from(e.j)
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
		width = e.gaps[e.j+1]
	}
	lo, hi, left, right := 0.0, width/2, 0.0, width // the bracket, and the poles beside the root
	if psi, _, phi, _ := e.at(width / 2); 1+psi+phi <= 0 {
		if last {
			lo, hi = width/2, width
		} else {
			e.from(e.j + 1)
			lo, hi, left, right = -width/2, 0, -width, 0
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
