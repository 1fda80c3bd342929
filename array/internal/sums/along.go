// Package sums has the kernels of package array's reductions. Sums are exact, and rounded once, so
// that no grid shows.
//
// A block of numbers whose exponents do not differ much, as nearly all have it, is added up in two
// integers, or three where they are products, or float32 whose exponents differ by up to 44:
// additions in floating point that are exact by construction, after the extractions of Rump, Ogita
// and Oishi ("Accurate floating-point summation", 2008), by a group, or a column by a work-item.
// Any other block is cut into digits of 48 bits, and added up digit by digit. All go into integers
// of 128 bits or words of superacc.
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
// has elements, the words of the groups in x are parts of the sum: word k of part p of output o is
// element (p*Words+k)*outputs+o. Else there is one group in x, which makes the elements of c as
// Round does, in the same launch; nearly all come from integers of 128 bits. Where shift has
// elements, one for each output, it is subtracted from the factors of products; of numbers the bits
// in mask are taken, all of them, or all but the sign.
//
//tandem:kernel float32,float32,int32,single,one,single float64,float64,int64,double,one,double
//tandem:kernel float32,float64,int64,double,pair,single float64,float64,int64,double,two,double
func Along[S, T float32 | float64, I int32 | int64, F format[T, I], P terms, R rounder[S]](it gpu.Item, f F, p P, r R,
	c, x, y gpu.Matrix[S], parts []int64, shift []S, outputs, height, cols, turns int, over uint64, root bool, mask I,
) {
	his, los := gpu.Local[[Lanes]I](it), gpu.Local[[Lanes]I](it)
	sums, words := gpu.Local[[Lanes]int64](it), gpu.Local[[Words]int64](it)
	all := gpu.Local[[6 * Lanes]int64](it)
	l, n, top, deep := it.Local(0), it.LocalSize(0), firstTop(f), false
	for o := it.Group(1); o < outputs; o += it.Groups(1) {
		b := block[S, I]{x: x, y: y, step: n, mask: mask}
		if len(shift) != 0 {
			b.shift = shift[o]
		}
		t := addAll(it, f, p, b, o*height, height, cols, turns, top, deep, his[:], los[:], sums[:], words[:])
		top, deep = t.top, t.deep
		if gpu.Uniform(it, len(parts) == 0 && !t.dirty && !p.product() && height*cols <= maxShort) {
			for k := range 6 {
				all[k*n+l] = t.sums.part(k)
			}
			it.Barrier()
			z := gpu.Uniform(it, rounded(r, valueOf(f, joined(all[:], n, deep), top, deep), 0, over, root))
			if l == 0 {
				c.Set(o, 0, z)
			}
			continue
		}
		collectDigits(it, f, p, t, sums[:], words[:])
		it.Barrier()
		if len(parts) == 0 && l == 0 {
			v := superacc.Top(words[:], superacc.Place{Step: 1, N: f.words()}, f.bottom())
			c.Set(o, 0, rounded(r, v, words[Words-1], over, root))
		}
		for k := l; k < Words && len(parts) != 0; k += n {
			parts[(it.Group(0)*Words+k)*outputs+o] = words[k]
		}
		it.Barrier()
	}
}

// maxShort is how many terms a short has room for.
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

// valueOf is t, of terms to which the exponent top fits, as a number that waits to be rounded.
func valueOf[T float32 | float64, I int32 | int64, F format[T, I]](f F, t halves, top int, deep bool) superacc.Value {
	a := short{}.shifted(0, t.upper.a).shifted(32, t.lower.a).shifted(f.precision()-1, 0)
	b := short{}.shifted(0, t.upper.b).shifted(32, t.lower.b)
	s, base := a.and(b), unit(f, top)+1-f.precision()
	if deep {
		c := short{}.shifted(0, t.upper.c).shifted(32, t.lower.c)
		s, base = s.shifted(f.precision()-1, 0).and(c), base+1-f.precision()
	}
	return s.value(base)
}

// addAll adds up what a group has of one output: of the blocks of height rows from row first on.
// top and deep are the guess for a block: what fits the one before.
func addAll[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](it gpu.Item, f F, p P, b block[S, I],
	first, height, cols, turns, top int, deep bool, his, los []I, sums, words []int64,
) tally {
	l, n := it.Local(0), it.LocalSize(0)
	width := min(cols, n*turns)                  // of a block
	rows := max(1, turns/max(1, (width+n-1)/n))  // of a block
	across := (cols + width - 1) / max(1, width) // blocks beside each other
	blocks := across * ((height + rows - 1) / rows)
	t := tally{top: top, deep: deep}
	for k := it.Group(0); k < blocks; k += it.Groups(0) {
		b.i0, b.j0 = first+k/across*rows, k%across*width
		b.i1, b.j1 = min(b.i0+rows, first+height), min(b.j0+width, cols)
		for again := true; again; {
			w, d := add(f, p, b, l, t.top, t.deep)
			his[l], los[l] = w.hi, w.lo
			it.Barrier()
			for k := range n {
				w = window[I]{max(w.hi, his[k]), min(w.lo, los[k])}
			}
			again = false
			if gpu.Uniform(it, fits(f, p, w, t.top, t.deep)) {
				t.blocks, t.sums = t.blocks+1, t.sums.with(int64(d.a), int64(d.b), int64(d.c))
				it.Barrier()
			} else {
				next := gpu.Uniform(it, topOf(f, w))
				deep := gpu.Uniform(it, isDeep(f, p, w, next))
				again = gpu.Uniform(it, fits(f, p, w, next, deep))
				if gpu.Uniform(it, t.blocks > 0 || !again) {
					collectDigits(it, f, p, t, sums, words)
					t = tally{dirty: true}
				}
				t.top, t.deep = next, deep && again
				if !again {
					addWide(it, f, p, b, his, los, sums, words)
				}
			}
		}
	}
	return t
}

// A tally is what has been added up for an output: what all work-items have of some blocks, to
// which the exponent top fits, and the words, which have been written to where it is dirty.
type tally struct {
	sums        halves
	blocks      int
	top         int
	deep, dirty bool
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
) (window[I], digits[I]) {
	s := scale(f, top)
	var d digits[I]
	w := nowhere[T, I](f)
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0 + l; j < b.j1; j += b.step {
			u, v := factors(f, p, b, i, j)
			w = w.with(f.most(), magnitude(f, p, u, v))
			d = plus(f, p, d, u, v, s, deep)
		}
	}
	count := I(0)
	if b.j0+l < b.j1 {
		count = I((b.i1 - b.i0) * ((b.j1 - b.j0 - l + b.step - 1) / b.step))
	}
	return w, d.without(count*f.bits(f.magic()), p.product(), deep)
}

// addWide adds a block to the words digit by digit.
func addWide[S, T float32 | float64, I int32 | int64, F format[T, I], P terms](it gpu.Item, f F, p P, b block[S, I],
	his, los []I, sums, words []int64,
) {
	l := it.Local(0)
	least, most, special := 1<<20, -1<<20, int64(0)
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0 + l; j < b.j1; j += b.step {
			u, v := factors(f, p, b, i, j)
			t := exactly(f, p, u, v)
			special |= t.special
			if t.special == 0 && t.hi|t.lo != 0 {
				least, most = min(least, t.exp), max(most, t.exp+size(f, p))
			}
		}
	}
	it.Barrier() // sums may still be read
	his[l], los[l], sums[l] = I(most), I(least), special
	it.Barrier()
	for k := range b.step {
		least, most, special = min(least, int(los[k])), max(most, int(his[k])), special|sums[k]
	}
	if l == 0 {
		words[Words-1] |= special
	}
	end := gpu.Uniform(it, most)
	for base := gpu.Uniform(it, least); base < end; base += digitBits {
		s := int64(0)
		for i := b.i0; i < b.i1; i++ {
			for j := b.j0 + l; j < b.j1; j += b.step {
				u, v := factors(f, p, b, i, j)
				s += exactly(f, p, u, v).digit(base, digitBits)
			}
		}
		collect(it, sums, words, s, base-f.bottom())
	}
}

// collectDigits adds the sums of blocks that all work-items of the group have to the words, which
// nobody may have written to.
func collectDigits[T float32 | float64, I int32 | int64, F format[T, I], P terms](it gpu.Item, f F, p P, t tally,
	sums, words []int64,
) {
	if !t.dirty {
		for k := it.Local(0); k < Words; k += it.LocalSize(0) {
			words[k] = 0
		}
	}
	at := unit(f, t.top) - f.bottom()
	for k := range integers(f, p) {
		collect(it, sums, words, t.sums.part(k), at+t.sums.up(f.precision(), k))
	}
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
