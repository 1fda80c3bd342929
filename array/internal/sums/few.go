package sums

import (
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Few makes the elements of c of a few terms each, a work-item each, as Along and Round do, or
// Across and Round: of height rows of width elements of x and y, or, with down, of columns. Where
// it is not down, height is 1, or there is one element. They are 2^14 at most.
//
//tandem:kernel float32,float32,int32,single,one,single float64,float64,int64,double,one,double
//tandem:kernel float32,float64,int64,double,pair,single float64,float64,int64,double,two,double
func Few[S, T float32 | float64, I int32 | int64, F format[T, I], P terms, R rounder[S]](it gpu.Item, f F, p P, r R,
	c, x, y gpu.Matrix[S], shift []S, height, width int, down bool, over uint64, root bool, mask I,
) {
	outputs := c.Rows * c.Cols
	t := table[S, I]{x: x, y: y, height: height, width: width, down: down, mask: mask}
	for o := it.Global(0); o < outputs; o += it.GlobalSize(0) {
		less := S(0)
		if len(shift) != 0 {
			less = shift[o]
		}
		z, ok := S(0), false
		if p.exact() || height*width <= mostGuessed {
			z, ok = sure[S](f, p, guessOf(f, p, t, o, less), over, root, height*width)
		}
		if !ok {
			v, special := exactOf(f, p, t, o, less)
			z = rounded(r, v, special, over, root)
		}
		put(c, o, z)
	}
}

// guessOf is the guess of output o.
func guessOf[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int,
	less S,
) (g guess[T]) {
	if t.down {
		at := o
		for range t.height {
			e := t.x.Data[at]
			u, v := factorsOf(f, p, e, e, less, t.mask)
			g = with(f, p, g, u, v)
			at += t.x.Stride
		}
		return g
	}
	for i := range t.height {
		for j := range t.width {
			u, v := factorsIn(f, p, t, o, less, i, j)
			g = with(f, p, g, u, v)
		}
	}
	return g
}

// exactOf is the sum of output o, and the set of what is no number among its terms.
func exactOf[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int,
	less S,
) (v superacc.Value, special int64) {
	first := t
	first.height, first.width = min(t.height, sample), min(t.width, sample)
	w, _ := addOf(f, p, first, o, less, magic[T]{}, false)
	top := topOf(f, p, w) + room
	w, v = sumOf(f, p, t, o, less, top, false)
	if fits(f, p, w, top, false) {
		return v, 0
	}
	top = topOf(f, p, w)
	deep := isDeep(f, p, w, top)
	if !fits(f, p, w, top, deep) {
		return sumOfWide(f, p, t, o, less, w)
	}
	_, v = sumOf(f, p, t, o, less, top, deep)
	return v, 0
}

// What the first terms of an output need, some rows or columns of them, and room for larger ones
// fit most outputs.
const (
	sample = 4
	room   = 4 // bits
)

// addOf adds up the terms of output o, MaxTurns at most, and finds where they lie.
func addOf[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int, less S,
	m magic[T], deep bool,
) (w window, d digits[I]) {
	w, d = nowhere(), none[T, I](f, p, m)
	if t.down {
		at := t.first*t.x.Stride + o
		for range t.height {
			e := t.x.Data[at]
			u, v := factorsOf(f, p, e, e, less, t.mask)
			w, d = w.with(magnitude(f, p, u, v)), plus(f, p, d, u, v, m, deep)
			at += t.x.Stride
		}
	} else {
		for i := range t.height {
			for j := range t.width {
				u, v := factorsIn(f, p, t, o, less, i, j)
				w, d = w.with(magnitude(f, p, u, v)), plus(f, p, d, u, v, m, deep)
			}
		}
	}
	return w, without(f, p, d, I(t.height*t.width), m, deep)
}

// sumOf is the window of the terms of output o, and their sum where the exponent top fits to them.
func sumOf[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int, less S,
	top int, deep bool,
) (window, superacc.Value) {
	wide := max(1, min(t.width, MaxTurns)) // of a block
	high := MaxTurns / wide
	w, s, b := nowhere(), halves{}, t
	for i := 0; i < t.height; i += high {
		for j := 0; j < t.width; j += wide {
			b.first, b.left = t.first+i, t.left+j
			b.height, b.width = min(high, t.height-i), min(wide, t.width-j)
			v, d := addOf(f, p, b, o, less, magicFor(f, p, top), deep)
			w = w.and(v)
			s = s.with(int64(d.a), int64(d.b), int64(d.c))
		}
	}
	return w, valueOf(step(f, p), s, unit(f, p, top), deep || p.product())
}

// sumOfWide is the sum of any terms of output o, of window w, and the set of what is no number
// among them. It adds up digits from the upper ones down, until it has 125 bits that no
// cancellation takes away, and then finds what the digits below come to.
func sumOfWide[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int,
	less S, w window,
) (v superacc.Value, special int64) {
	all := reachOf(f, p, t, o, less, w)
	s, base := short{}, all.top
	for n := s.room(base - all.least); n > 0; n = s.room(base - all.least) {
		base -= n
		s = s.shifted(n, sumOfDigits(f, p, t, o, less, base, n))
	}
	carry, rest := int64(0), int64(0)
	for at := all.least; at < base; {
		n := min(digitBits, base-at)
		carry += sumOfDigits(f, p, t, o, less, at, n)
		rest |= carry & (1<<uint(n) - 1)
		carry >>= uint(n)
		at += n
	}
	return s.shifted(0, carry).valueAbove(base, rest != 0), all.special
}

// A table is where the terms of outputs lie, a lane of a strip each. All lanes have the same: what
// differs is apart, since lanes that differ in a part differ in all of it to the compiler.
type table[S float32 | float64, I int32 | int64] struct {
	x, y          gpu.Matrix[S]
	first, left   int
	height, width int
	down          bool
	mask          I
}

// factorsIn is the factors of output o in row i and column j.
func factorsIn[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int,
	less S, i, j int,
) (u, v T) {
	x, y := element(t.x, t.first+i, t.left+j, o, t.down), S(0)
	if p.product() || p.exact() {
		y = element(t.y, t.first+i, t.left+j, o, t.down)
	}
	return factorsOf(f, p, x, y, less, t.mask)
}

func element[S float32 | float64](x gpu.Matrix[S], i, j, o int, down bool) S {
	if down {
		return x.Data[i*x.Stride+o]
	}
	return x.Data[(o+i)*x.Stride+j]
}

// reachOf is the reach of the terms of output o, of window w, less what is subtracted of the
// factors.
func reachOf[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int, less S,
	w window,
) reach {
	if !p.product() && f.field(w.hi) <= 2*f.bias() { // the extremes of the bits tell
		return reachIn(f, w)
	}
	r := noReach()
	for i := range t.height {
		for j := range t.width {
			u, v := factorsIn(f, p, t, o, less, i, j)
			r = r.with(exactly(f, p, u, v), size(f, p))
		}
	}
	return r
}

// reachIn is the reach of terms of window w, all of them numbers.
func reachIn[T float32 | float64, I int32 | int64, F format[T, I]](f F, w window) reach {
	if w.hi == 0 {
		return noReach()
	}
	lo, hi := f.least(w.lo), f.field(w.hi)
	return reach{least: max(lo, 1) - f.bias() - f.precision() + 1, top: max(hi, 1) - f.bias() + 1}
}

// sumOfDigits is the sum of the terms' digits of so many bits that count 2^base.
func sumOfDigits[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, t table[S, I], o int,
	less S, base, bits int,
) int64 {
	s := int64(0)
	for i := range t.height {
		for j := range t.width {
			u, v := factorsIn(f, p, t, o, less, i, j)
			s += exactly(f, p, u, v).digit(base, uint(bits))
		}
	}
	return s
}

// room is how many bits s can be shifted up so that it stays below 2^126, or what is left, or a
// digit.
func (s short) room(left int) int {
	hi := s.hi ^ uint64(int64(s.hi)>>63)
	if hi == 0 {
		return min(digitBits, left)
	}
	return min(digitBits, left, bits.LeadingZeros64(hi)-2)
}

// shifted is s * 2^width + d.
func (s short) shifted(width int, d int64) short {
	hi, lo := s.hi<<uint(width)|s.lo>>uint(64-width), s.lo<<uint(width)
	lo, carry := bits.Add64(lo, uint64(d), 0)
	hi, _ = bits.Add64(hi, uint64(d>>63), carry)
	return short{hi, lo}
}

// valueAbove is s, and less than 1 more where there is a rest, as a number that waits to be
// rounded.
func (s short) valueAbove(base int, rest bool) superacc.Value {
	var v superacc.Value
	if rest && int64(s.hi) < 0 {
		v = superacc.NewValue(^s.hi, ^s.lo, base, true)
	} else {
		v = s.value(base)
	}
	v.Rest = rest
	return v
}
