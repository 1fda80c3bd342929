package f32

import "math"

// A two is the sum of two numbers, the second at most half a unit in the last place of the first:
// a number of 106 bits. The functions of two arguments fall back on it near the middle of two
// float32. T. Dekker's arithmetic, 1971.
type two struct{ hi, lo float64 }

// fastSum is a + b where |a| >= |b|, exact.
func fastSum(a, b float64) two {
	s := a + b
	return two{s, b - (s - a)}
}

// sum is a + b, exact.
func sum(a, b float64) two {
	s := a + b
	t := s - a
	return two{s, (a - (s - t)) + (b - t)}
}

// product is a b, wrong by 2^-106 of it at most.
func product(a, b float64) two {
	const low = 1<<27 - 1
	a1, b1 := math.Float64frombits(math.Float64bits(a)&^low), math.Float64frombits(math.Float64bits(b)&^low)
	a2, b2 := a-a1, b-b1
	p := float64(a * b)
	return two{p, float64(a2*b2) - (((p - float64(a1*b1)) - float64(a1*b2)) - float64(a2*b1))}
}

func (x two) plus(y two) two {
	s := sum(x.hi, y.hi)
	return fastSum(s.hi, s.lo+(x.lo+y.lo))
}

func (x two) minus(y two) two { return x.plus(two{-y.hi, -y.lo}) }

func (x two) times(y two) two {
	p := product(x.hi, y.hi)
	return fastSum(p.hi, p.lo+(float64(x.hi*y.lo)+float64(x.lo*y.hi)))
}

func (x two) over(y float64) two {
	q := x.hi / y
	r := x.minus(product(q, y))
	return fastSum(q, (r.hi+r.lo)/y)
}

// logTwo is ln(x) for a positive x of 25 bits, by the series of 2 atanh((m-1)/(m+1)).
func logTwo(x float64) two {
	e, m := split(x, logOffset)
	s := two{m - 1, 0}.over(m + 1) // both are exact
	u := s.times(s)
	y := two{}
	for k := 45; k > 0; k -= 2 {
		y = u.times(y).plus(two{1, 0}.over(float64(k)))
	}
	y = s.times(y)
	return two{ln2Two_0, ln2Two_1}.times(two{e, 0}).plus(two{2 * y.hi, 2 * y.lo})
}

// sinCosTwo is the sine and the cosine of x, of 25 bits, between 0 and pi, by their series.
func sinCosTwo(x float64) (sin, cos two) {
	cos = two{1, 0}
	t := cos
	for k := 1; k < 44; k++ {
		t = t.times(two{x, 0}).over(float64(k))
		switch k & 3 {
		case 0:
			cos = cos.plus(t)
		case 1:
			sin = sin.plus(t)
		case 2:
			cos = cos.minus(t)
		case 3:
			sin = sin.minus(t)
		}
	}
	return sin, cos
}

// nearMiddle is the middle of two float32 that y is so close to that middle has it.
func nearMiddle(y float64) float64 { return math.Float64frombits((math.Float64bits(y) + 8) &^ 15) }

// beside rounds a number that differs from m, the middle of two float32, by d.
func beside(m, d float64) float32 {
	b := math.Float64bits(m)
	if d > 0 {
		b++
	} else if d < 0 {
		b--
	}
	return float32(math.Float64frombits(b))
}
