// Package sums has the kernels of package array's reductions. Sums are exact, and rounded once, so
// that no grid shows.
//
// A block of numbers whose exponents do not differ much, as nearly all have it, is added up in two
// integers, or three where they are products, or float32 whose exponents differ by up to 44:
// additions in floating point that are exact by construction, after the extractions of Rump, Ogita
// and Oishi ("Accurate floating-point summation", 2008), by a group, or a column by a work-item.
// Any other block is cut into digits of 48 bits, and added up digit by digit. All go into integers
// of 128 bits or words of superacc. Of few terms, or products of float32, a sum in floating point
// nearly always tells the result, see guess.
package sums

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// Lanes is the most work-items that a group of Along has, and MaxTurns how many numbers of a block
// each takes at most.
const (
	Lanes    = 128
	MaxTurns = 256
)

// Words is the words of a partial sum in memory: those of its number, and the set of what is none.
const Words = 137

// Along adds up along rows of x: each output the terms of height rows of cols elements. Where parts
// has elements, the groups in x leave parts of the sum there: number k of part p of output o is
// element (p*Words+k)*outputs+o. They are words or, where short allows it, integers, as [Round]
// takes them. Else there is one group in x, which makes the elements of c as Round does, in the
// same launch. Where shift has elements, one for each output, it is subtracted from the factors of
// products; of numbers the bits in mask are taken, all of them, or all but the sign.
//
//tandem:kernel float32,float32,int32,single,one,single float64,float64,int64,double,one,double
//tandem:kernel float32,float64,int64,double,pair,single float64,float64,int64,double,two,double
func Along[S, T float32 | float64, I int32 | int64, F format[T, I], P terms, R rounder[S]](it gpu.Item, f F, p P, r R,
	c, x, y gpu.Matrix[S], parts []int64, shift []S, outputs, height, cols, turns int, over uint64, root, short bool,
	mask I,
) {
	his, los := gpu.Local[[Lanes]uint32](it), gpu.Local[[Lanes]uint32](it)
	sums, words := gpu.Local[[Lanes]int64](it), gpu.Local[[Words]int64](it)
	all := gpu.Local[[6 * Lanes]int64](it)
	l, n := it.Local(0), it.LocalSize(0)
	width := min(cols, n*turns)                  // of a block
	high := max(1, turns/max(1, (width+n-1)/n))  // of a block
	across := (cols + width - 1) / max(1, width) // blocks beside each other
	blocks := across * ((height + high - 1) / high)
	from, end := it.Group(0)*blocks/it.Groups(0), (it.Group(0)+1)*blocks/it.Groups(0)
	top, deep := firstTop(f), false // what fits the block before is the guess for the next
	for o := it.Group(1); o < outputs; o += it.Groups(1) {
		b := block[S, I]{x: x, y: y, step: n, mask: mask}
		if len(shift) != 0 {
			b.shift = shift[o]
		}
		if p.exact() && len(parts) == 0 {
			b.i0, b.i1, b.j0, b.j1 = o*height, o*height+height, 0, cols
			z, ok := guessed[S](it, f, p, b, all[:], over, root)
			if ok {
				if l == 0 {
					c.Set(o, 0, z)
				}
				continue
			}
		}
		sum, held, dirty := halves{}, 0, false // the sum of so many blocks is not in the words, which are in use
		k := from
		for more := true; more; {
			next := 0
			if k < end {
				b.i0, b.j0 = o*height+k/across*high, k%across*width
				b.i1, b.j1 = min(b.i0+high, o*height+height), min(b.j0+width, cols)
				w, d := add(f, p, b, l, top, deep)
				if !it.Any(!fits(f, p, w, top, deep)) {
					sum, held = sum.with(int64(d.a), int64(d.b), int64(d.c)), held+1
					k++
					continue
				}
				his[l], los[l] = w.hi, w.lo
				it.Barrier()
				for i := range n {
					w = w.and(window{his[i], los[i]})
				}
				next = gpu.Uniform(it, choose(f, p, w))
			}
			wide := next&isWide != 0
			more = k < end
			if !more && short && !dirty {
				continue
			}
			count, digits, least := 0, 0, 0
			if held > 0 || !more {
				count = 6
			}
			if (count > 0 || wide) && !dirty {
				for i := l; i < Words; i += n {
					words[i] = 0
				}
				dirty = true
			}
			if wide {
				a := reachOfBlock(f, p, b, l)
				his[l], los[l], sums[l] = uint32(a.top), uint32(a.least), a.special
				it.Barrier()
				for i := range n {
					a = reach{min(a.least, int(int32(los[i]))), max(a.top, int(int32(his[i]))), a.special | sums[i]}
				}
				if l == 0 {
					words[Words-1] |= a.special
				}
				least = gpu.Uniform(it, a.least)
				digits = max(0, gpu.Uniform(it, a.top)-least+digitBits-1) / digitBits
				k++
			}
			for q := range count + digits {
				v, at := sum.part(q), unit(f, p, top)-f.bottom()+sum.up(step(f, p), q)
				if q >= count {
					at = least + (q-count)*digitBits
					v = digitsIn(f, p, b, l, at)
					at -= f.bottom()
				}
				collect(it, sums[:], words[:], v, at)
			}
			sum, held = halves{}, 0
			if more {
				top, deep = next>>topShift, next&isDeeper != 0
			}
		}
		if dirty {
			it.Barrier()
			if len(parts) == 0 && l == 0 {
				v := superacc.Top(words[:], superacc.Place{Step: 1, N: f.words()}, f.bottom())
				c.Set(o, 0, rounded(r, v, words[Words-1], over, root))
			}
			for i := l; i < Words && len(parts) != 0; i += n {
				parts[(it.Group(0)*Words+i)*outputs+o] = words[i]
			}
		} else {
			for i := range 6 {
				all[i*n+l] = sum.part(i)
			}
			it.Barrier()
			if len(parts) == 0 {
				v := valueOf(step(f, p), joined(all[:], n, deep || p.product()), unit(f, p, top), deep || p.product())
				z := gpu.Uniform(it, rounded(r, v, 0, over, root))
				if l == 0 {
					c.Set(o, 0, z)
				}
			}
			for i := l; i < 8 && len(parts) != 0; i += n {
				j, v := i, int64(clean)
				switch {
				case i < 6:
					v = sumOfParts(all[i*n : i*n+n])
				case i == 6:
					v = stateOf(unit(f, p, top), step(f, p), deep || p.product())
				default:
					j = Words - 1
				}
				parts[(it.Group(0)*Words+j)*outputs+o] = v
			}
		}
		it.Barrier()
	}
}

// clean is in the place of the set of what is no number where the part of a sum is integers.
const clean = 1 << 8

// stateOf is an integer for what the integers of a part count.
func stateOf(base, step int, deep bool) int64 {
	s := int64(base)<<7 | int64(step)<<1
	if deep {
		s |= 1
	}
	return s
}

// countOf is what stateOf was given.
func countOf(state int64) (base, step int, deep bool) {
	return int(state >> 7), int(state >> 1 & 63), state&1 != 0
}

// maxShort is how many terms the integers of a part have room for, as valueOf adds them up.
const maxShort = 1 << 20

// joined is the halves of n work-items, which have their parts side by side.
func joined(all []int64, n int, deep bool) halves {
	t := halves{}
	t.lower.a, t.upper.a = sumOfParts(all[:n]), sumOfParts(all[n:2*n])
	t.lower.b, t.upper.b = sumOfParts(all[2*n:3*n]), sumOfParts(all[3*n:4*n])
	if deep {
		t.lower.c, t.upper.c = sumOfParts(all[4*n:5*n]), sumOfParts(all[5*n:6*n])
	}
	return t
}

func sumOfParts(x []int64) (sum int64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// valueOf is t, whose lower.a counts 2^base, as a number that waits to be rounded.
func valueOf(step int, t halves, base int, deep bool) superacc.Value {
	a := short{}.shifted(0, t.upper.a).shifted(32, t.lower.a).shifted(step, 0)
	b := short{}.shifted(0, t.upper.b).shifted(32, t.lower.b)
	s := a.and(b)
	base -= step
	if !deep {
		return s.value(base)
	}
	c := short{}.shifted(0, t.upper.c).shifted(32, t.lower.c)
	return s.valueWith(step, c, base-step)
}

// A block is what a group adds up at a time: rows i0 to i1-1, columns j0 to j1-1.
type block[S float32 | float64, I int32 | int64] struct {
	x, y           gpu.Matrix[S]
	shift          S
	i0, i1, j0, j1 int
	step           int // from one number of a work-item to its next
	mask           I
}

// factors is the elements at one place, less the shift where they are factors.
func factors[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, b block[S, I], i, j int) (
	u, v T,
) {
	x, y := b.x.Data[i*b.x.Stride+j], S(0)
	if p.product() || p.exact() {
		y = b.y.Data[i*b.y.Stride+j]
	}
	return factorsOf(f, p, x, y, b.shift, b.mask)
}

// factorsOf is x and y as factors, or x alone.
func factorsOf[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, x, y, shift S, mask I) (
	u, v T,
) {
	if p.exact() {
		return T(x-shift) * T(y-shift), 1
	}
	if p.product() {
		return T(x - shift), T(y - shift)
	}
	return f.from(f.bits(T(x)) & mask), 1
}

// add adds up what work-item l has of a block, and finds whether that was right.
func add[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, b block[S, I], l, top int,
	deep bool,
) (window, digits[I]) {
	if deep && !p.product() { // loops of their own: what they hold fills a processor's registers
		return addIn(f, p, b, l, top, true)
	}
	return addIn(f, p, b, l, top, false)
}

func addIn[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, b block[S, I], l, top int,
	deep bool,
) (window, digits[I]) {
	m := magicFor(f, p, top)
	d := none[T, I](f, p, m)
	w := nowhere()
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0 + l; j < b.j1; j += b.step {
			u, v := factors(f, p, b, i, j)
			w = w.with(magnitude(f, p, u, v))
			d = plus(f, p, d, u, v, m, deep)
		}
	}
	width := b.j1 - b.j0
	turns := width / b.step
	if l < width%b.step {
		turns++
	}
	return w, without(f, p, d, I((b.i1-b.i0)*turns), m, deep)
}

// guessed is the sum of a block by a guess, and whether it is sure, of all work-items together. The
// first 2n elements of all are for it.
func guessed[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](it gpu.Item, f F, p P,
	b block[S, I], all []int64, over uint64, root bool,
) (S, bool) {
	l, n := it.Local(0), it.LocalSize(0)
	g := guess[T]{}
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0 + l; j < b.j1; j += b.step {
			u, v := factors(f, p, b, i, j)
			g = with(f, p, g, u, v)
		}
	}
	all[l], all[n+l] = int64(f.bits(g.sum)), int64(f.bits(g.off))
	it.Barrier()
	g = guess[T]{}
	for k := range n {
		g.sum += f.from(I(all[k]))
		g.off += f.from(I(all[n+k]))
	}
	z, ok := sure[S](f, p, g, over, root, (b.i1-b.i0)*(b.j1-b.j0)+n)
	return gpu.Uniform(it, z), gpu.Uniform(it, ok)
}

// reachOfBlock is the reach of what work-item l has of a block.
func reachOfBlock[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, b block[S, I], l int,
) reach {
	r := noReach()
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0 + l; j < b.j1; j += b.step {
			u, v := factors(f, p, b, i, j)
			r = r.with(exactly(f, p, u, v), size(f, p))
		}
	}
	return r
}

// digitsIn is the sum of the digits that count 2^base of what work-item l has of a block.
func digitsIn[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](f F, p P, b block[S, I],
	l, base int,
) int64 {
	s := int64(0)
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0 + l; j < b.j1; j += b.step {
			u, v := factors(f, p, b, i, j)
			s += exactly(f, p, u, v).digit(base, digitBits)
		}
	}
	return s
}

// collect adds the integers v of all work-items of the group, which count 2^at of the lowest word,
// to the words.
func collect(it gpu.Item, sums, words []int64, v int64, at int) {
	l := it.Local(0)
	it.Barrier()
	sums[l] = v
	it.Barrier()
	lower, upper := int64(0), int64(0) // the whole sum may need more than 64 bits
	for k := range it.LocalSize(0) {
		lower += sums[k] & (1<<32 - 1)
		upper += sums[k] >> 32
	}
	local := superacc.Place{Step: 1}
	if l < 4 { // a word each, to which the upper half adds what is part l-1 of it
		superacc.AddPart(words, local, at, lower, l)
		superacc.AddPart(words, local, at+32, upper, l-1)
	}
}
