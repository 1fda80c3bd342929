package rmath

import (
	"math"
	"slices"
	"testing"
)

// structured is arguments of a function that are hard for some reason: around powers of 2 from the
// smallest to the largest number, around 1, where results begin to overflow or underflow, and where
// the function's own cases meet. With all there are more of them.
func (d *definition) structured(all bool) (list []float64) {
	step := 149
	if all {
		step = 7
	}
	for e := -1074; e < 1024; e += step {
		list = append(list, math.Ldexp(1, e), math.Ldexp(1.75, e))
	}
	for i := range 64 {
		list = append(list, math.Ldexp(1.375, -i), 1+math.Ldexp(1, -i), 1-math.Ldexp(1, -i))
	}
	list = slices.Concat(list, d.edges, hard[d.name])
	for _, s := range d.ranges {
		list = append(list, s.at+s.lo, s.at+s.hi)
	}
	for _, x := range list {
		list = append(list, -x)
	}
	for _, x := range list {
		list = append(list, math.Nextafter(x, -largest), math.Nextafter(x, largest))
	}
	return slices.DeleteFunc(list, func(x float64) bool { return x == 0 || !d.has(x) })
}

// has tells whether x is in one of the function's ranges.
func (d *definition) has(x float64) bool {
	return slices.ContainsFunc(d.ranges, func(s span) bool {
		return min(s.lo, s.hi) <= x-s.at && x-s.at <= max(s.lo, s.hi)
	})
}

// Arguments that are hard have results within the bound.
func TestStructured(t *testing.T) {
	for _, d := range definitions {
		if d.family != nil {
			continue
		}
		m := member{f: d.f, series: d.series}
		for _, x := range d.structured(*measure != "") {
			if err := m.error(x, m.f(x)); !(math.Abs(err) <= d.bound) {
				t.Errorf("%s(%v): %v, an error of %v ulp", d.name, x, m.f(x), err)
			}
		}
	}
}

// Pairs of arguments that are hard have results within the bound: of all magnitudes, and around 1.
func TestStructuredPairs(t *testing.T) {
	var list []float64
	for e := -1074; e < 1024; e += 139 {
		list = append(list, math.Ldexp(1, e), math.Ldexp(1.75, e))
	}
	for _, x := range []float64{0x1p-1022, 0.25, 1, 1.75, 3, largest} {
		list = append(list, math.Nextafter(x, 0), x, min(math.Nextafter(x, 4), largest))
	}
	pairs := hardPow
	for _, x := range list {
		for _, y := range list {
			pairs = append(pairs, [2]float64{x, y})
		}
		for _, z := range []float64{-745.1, -744, -708.5, -1e-9, 1e-17, 1, 709.7} { // of x^y = e^z
			if x != 1 {
				pairs = append(pairs, [2]float64{x, z / Log(x)})
			}
		}
	}
	check := func(d *definition, m member) {
		t.Helper()
		if err := m.error(m.x, m.f(m.x)); !(math.Abs(err) <= d.bound) {
			t.Errorf("%s(%v), other argument %v: %v, an error of %v ulp", d.name, m.x, m.other, m.f(m.x), err)
		}
	}
	for _, p := range pairs {
		x, y := p[0], p[1]
		if math.Abs(y*Log(x)) < 2000 {
			check(definitionOf("Pow"), powMember(x, y))
		}
		if y = math.Abs(y); y > 0 && y <= largest {
			check(definitionOf("Hypot"), hypotMember(x, y))
			check(definitionOf("Atan2"), atan2Member(x, y))
			check(definitionOf("Atan2"), atan2Member(-x, y))
		}
	}
}

func definitionOf(name string) *definition {
	return definitions[slices.IndexFunc(definitions, func(d *definition) bool { return d.name == name })]
}

// The results for zeros, infinities and NaN, and beyond the range, are those of package math.
func TestSpecial(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	list := []float64{
		nan, inf, -inf, 0, zero, 1, -1, largest, -largest, 1e300, -1e300, 2000, -2000, -1.5, -1e-300,
		least, -least, 0x1p-1022, -0x1p-1022,
	}
	for _, c := range []struct {
		name    string
		f, want func(float64) float64
	}{
		{"Exp", Exp, math.Exp},
		{"Exp2", Exp2, math.Exp2},
		{"Expm1", Expm1, math.Expm1},
		{"Log", Log, math.Log},
		{"Log2", Log2, math.Log2},
		{"Log10", Log10, math.Log10},
		{"Log1p", Log1p, math.Log1p},
		{"Sinh", Sinh, math.Sinh},
		{"Cosh", Cosh, math.Cosh},
		{"Tanh", Tanh, math.Tanh},
		{"Asinh", Asinh, math.Asinh},
		{"Acosh", Acosh, math.Acosh},
		{"Atanh", Atanh, math.Atanh},
		{"Sin", Sin, math.Sin},
		{"Cos", Cos, math.Cos},
		{"Tan", Tan, math.Tan},
		{"Asin", Asin, math.Asin},
		{"Acos", Acos, math.Acos},
		{"Atan", Atan, math.Atan},
		{"Cbrt", Cbrt, math.Cbrt},
		{"Erf", Erf, math.Erf},
		{"Erfc", Erfc, math.Erfc},
		{"Floor", Floor, math.Floor},
		{"Ceil", Ceil, math.Ceil},
		{"Trunc", Trunc, math.Trunc},
		{"Round", Round, math.Round},
		{"RoundToEven", RoundToEven, math.RoundToEven},
	} {
		for _, x := range list {
			got, want := c.f(x), c.want(x)
			if exact(want, x) && differ(got, want) {
				t.Errorf("%s(%v) = %v, want %v", c.name, x, got, want)
			}
		}
	}
	for _, c := range []struct {
		name    string
		f, want func(x, y float64) float64
	}{
		{"Pow", Pow, math.Pow},
		{"Atan2", Atan2, math.Atan2},
		{"Hypot", Hypot, math.Hypot},
		{"Mod", Mod, math.Mod},
	} {
		for _, x := range append(list, 2, -2, 3, -3, 0.5, -0.5) {
			for _, y := range append(list, 2, -2, 3, -3, 0.5, -0.5) {
				got, want := c.f(x, y), c.want(x, y)
				if exact(want, x) && differ(got, want) {
					t.Errorf("%s(%v, %v) = %v, want %v", c.name, x, y, got, want)
				}
			}
		}
	}
}

// exact tells whether package math's result for x is right to the last bit, most likely.
func exact(y, x float64) bool {
	return y-y != 0 || y == math.Trunc(y) && math.Abs(y) < 3 || y == x
}

func differ(x, y float64) bool {
	return math.Float64bits(x) != math.Float64bits(y) && (x == x || y == y)
}
