package conformance

import (
	"hash/fnv"
	"math"
)

// A generator is splitmix64.
type generator struct{ state uint64 }

func newGenerator(name string) *generator {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &generator{h.Sum64()}
}

func (g *generator) next() uint64 {
	g.state += 0x9e3779b97f4a7c15
	z := g.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// values is the kind of an operand's elements.
type values string

const (
	uniform   values = "uniform"
	subnormal values = "subnormal"
	underflow values = "underflow"
	wide      values = "wide"
	special   values = "special"
)

// exponent is the exponent field: low is where products underflow, and finite the number of fields
// that are not infinity or NaN.
func exponent(kind values, operand string, u, bias, low, finite uint64) uint64 {
	e := u >> 60 & 7
	switch {
	case kind == subnormal && operand == "a":
		return 0
	case kind == underflow:
		return low + e
	case kind == wide:
		return (u >> 52 & 0x7ff) % finite
	}
	return bias - 4 + e
}

// exception is one of the special numbers, if u asks for one.
func exception(kind values, u uint64, smallest, largest float64) (v float64, ok bool) {
	if kind != special || u>>53&7 != 0 {
		return 0, false
	}
	table := [...]float64{
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), smallest, largest, -largest, 1, -1,
	}
	return table[(u>>56&15)%uint64(len(table))], true
}
