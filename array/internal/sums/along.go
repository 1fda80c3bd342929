package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/superacc"
)

// maxLanes is the most work-items that a group of Along has.
const maxLanes = 256

// maxWords is the words of a sum, and the set of what is none.
const maxWords = 137

// A rows says what terms outputs have: each those of so many rows of x, and of y, with so many
// columns. They are added up in blocks: of a row with so many turns of the group, or of several
// short rows. With spread a part is all words; with fours, which is for GPUs, four loads are under
// way at a time.
type rows struct {
	outputs, height, cols, turns int
	spread, fours                bool
}

// Along adds up along rows, a group an output. Where words has elements, the groups in x leave
// parts of the sum there: word k of part p of output o, each with all its words and the set of what
// is none, is element (p*outputs+o)*(all+1)+k, or as leave has it. Else one group in x makes the
// elements of c. Where shift has elements, one for each output, it is subtracted from the factors
// of products; of numbers the bits in mask are taken.
//
//tandem:kernel float32,single,plain float64,double,plain float32,single,product float64,double,product
func Along[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, c, x, y gpu.Matrix[S], words []int64,
	shift []S, r rows, q quotient, mask int64,
) {
	stage, sum := gpu.Local[[4 * maxLanes]int64](it), gpu.Local[[maxWords]int64](it)
	l, n := it.Local(0), it.LocalSize(0)
	width := min(r.cols, n*r.turns) // of a block
	b := block[S]{x: x, y: y, mask: mask, lanes: n, fours: r.fours}
	for b.lanes/2 >= max(1, width) { // rows are beside each other
		b.lanes /= 2
	}
	height := max(1, r.turns/max(1, (width+n-1)/n)) * (n / b.lanes)
	across := (r.cols + width - 1) / max(1, width) // blocks beside each other
	blocks := across * ((r.height + height - 1) / height)
	from, end := it.Group(0)*blocks/it.Groups(0), (it.Group(0)+1)*blocks/it.Groups(0)
	top, alone := firstTop, isShort(f, p) // what fits the block before is the guess for the next
	for o := it.Group(1); o < r.outputs; o += it.Groups(1) {
		if len(shift) != 0 {
			b.shift = shift[o]
		}
		if f.precision() == 24 && len(words) == 0 {
			b.i0, b.i1, b.j0, b.j1 = o*r.height, (o+1)*r.height, 0, r.cols
			z, ok := guessed(it, f, p, b, stage[:], q)
			if ok {
				if l == 0 {
					c.Set(o, 0, z)
				}
				continue
			}
		}
		e, held, dirty := extracted{}, 0, false // the sum of so many blocks is not in the words, which are in use
		for k := from; ; {
			done, wide, next, w := k >= end, false, top, window{}
			if !done {
				b.i0, b.j0 = o*r.height+k/across*height, k%across*width
				b.i1, b.j1 = min(b.i0+height, (o+1)*r.height), min(b.j0+width, r.cols)
				g := extractFrom(f, p, b, l, n, top, alone)
				if !it.Any(!fits(f, p, g.w, top, alone)) {
					e, alone = e.plus(g.counted(top)), isShort(f, p)
					k++
					held++
					if held*n < maxBlocks {
						continue
					}
				} else {
					w = ofGroup(it, stage[:], g.w)
					next = gpu.Uniform(it, nextTop(f, p, w, top))
					alone, wide = false, next == 0
				}
			}
			if done && !dirty && !r.spread {
				break
			}
			if done || wide || held > 0 && next != top || held*n >= maxBlocks {
				intoWords(it, f, p, stage[:], sum[:], e, top, dirty)
				e, held, dirty = extracted{}, 0, true
			}
			if done {
				break
			}
			if !wide {
				top = next
				continue
			}
			most := gpu.Uniform(it, topOf(f, p, window{w.hi, w.hi - 1})) // what the largest term fits
			g, rest := extractFitting(f, p, b, l, n, most)
			intoWords(it, f, p, stage[:], sum[:], g.counted(used(most)), used(most), true)
			it.Barrier()
			stage[l] = rest
			it.Barrier()
			if l == 0 {
				for k := range n {
					if stage[k] != 0 {
						addRest(f, p, b, k, n, most, sum[:])
					}
				}
			}
			k++
			it.Barrier()
			if gpu.Uniform(it, sum[f.words()]&superacc.NaN) != 0 { // whatever else is added
				k = end
			}
		}
		if !dirty {
			all := sumOfGroup(it, f, p, stage[:], e)
			if len(words) != 0 {
				if l == 0 {
					leave(f, p, words, (it.Group(0)*r.outputs+o)*(f.words()+1), all, top)
				}
				continue
			}
			z := gpu.Uniform(it, rounded(f, valueOf(f, p, all, top), 0, q))
			if l == 0 {
				c.Set(o, 0, z)
			}
			continue
		}
		it.Barrier()
		if l == 0 {
			if len(words) == 0 {
				c.Set(o, 0, ofWords(f, sum[:], q))
			} else {
				superacc.Carry(sum[:], wordsOf(f))
			}
		}
		it.Barrier()
		if len(words) != 0 {
			at := (it.Group(0)*r.outputs + o) * (f.words() + 1)
			for i := l; i <= f.words(); i += n {
				words[at+i] = sum[i]
			}
			it.Barrier()
		}
	}
}

// intoWords adds what all work-items have extracted to the words of a sum, which are cleared before
// unless they are dirty.
func intoWords[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, stage, sum []int64, e extracted,
	top int, dirty bool,
) {
	if !dirty {
		for i := it.Local(0); i <= f.words(); i += it.LocalSize(0) {
			sum[i] = 0
		}
	}
	all := sumOfGroup(it, f, p, stage, e)
	if it.Local(0) == 0 {
		addTo(f, p, sum, all, top)
	}
}

// A block is what a group adds up at a time: rows i0 to i1-1, columns j0 to j1-1.
type block[S float32 | float64] struct {
	x, y           gpu.Matrix[S]
	shift          S
	mask           int64
	i0, i1, j0, j1 int
	lanes          int // work-items beside each other in a row
	fours          bool
}

// elementsAt is the elements in row i and column j.
func elementsAt[S float32 | float64, P terms](p P, b block[S], i, j int) (x, y S) {
	x, y = b.x.Data[i*b.x.Stride+j], 0
	if p.multiplied() {
		y = b.y.Data[i*b.y.Stride+j]
	}
	return x, y
}

// extractFrom extracts what work-item l of n has of a block.
func extractFrom[S float32 | float64, F format[S], P terms](f F, p P, b block[S], l, n, top int, alone bool,
) extraction {
	e := extract(top)
	switch {
	case b.lanes < n:
		e = extractLanes(f, p, b, e, b.i0+l/b.lanes, b.j0+l%b.lanes, n/b.lanes, 0)
	case b.fours:
		for i := b.i0; i < b.i1; i++ {
			e = extractLanes(f, p, b, e, i, b.j0+l, 0, n)
		}
	case isShort(f, p) && alone: // loops of their own
		for i := b.i0; i < b.i1; i++ {
			for j := b.j0 + l; j < b.j1; j += n {
				x, y := elementsAt(p, b, i, j)
				e = with(f, p, e, x, y, b.shift, b.mask, true)
			}
		}
	default:
		for i := b.i0; i < b.i1; i++ {
			for j := b.j0 + l; j < b.j1; j += n {
				x, y := elementsAt(p, b, i, j)
				e = with(f, p, e, x, y, b.shift, b.mask, false)
			}
		}
	}
	e.w = windowOf(f, p, e)
	return e
}

// extractLanes adds to e the terms from row i and column j on, that lie di rows and dj columns
// apart, four loads at a time, for which a GPU waits together.
func extractLanes[S float32 | float64, F format[S], P terms](f F, p P, b block[S], e extraction, i, j, di, dj int,
) extraction {
	for ; i+3*di < b.i1 && j+3*dj < b.j1; i, j = i+4*di, j+4*dj {
		x0, y0 := elementsAt(p, b, i, j)
		x1, y1 := elementsAt(p, b, i+di, j+dj)
		x2, y2 := elementsAt(p, b, i+2*di, j+2*dj)
		x3, y3 := elementsAt(p, b, i+3*di, j+3*dj)
		e = with(f, p, e, x0, y0, b.shift, b.mask, false)
		e = with(f, p, e, x1, y1, b.shift, b.mask, false)
		e = with(f, p, e, x2, y2, b.shift, b.mask, false)
		e = with(f, p, e, x3, y3, b.shift, b.mask, false)
	}
	for ; i < b.i1 && j < b.j1; i, j = i+di, j+dj {
		x, y := elementsAt(p, b, i, j)
		e = with(f, p, e, x, y, b.shift, b.mask, false)
	}
	return e
}

// fitting tells whether the term of x and y is extracted with the exponent field top, which 0 is
// for none.
func fitting[S float32 | float64, F format[S], P terms](f F, p P, b block[S], x, y S, top int) bool {
	return top != 0 &&
		fits(f, p, windowOf(f, p, with(f, p, extract(firstTop), x, y, b.shift, b.mask, false)), top, false)
}

// used is top, or one that is no worse than others where nothing is extracted.
func used(top int) int {
	if top == 0 {
		return firstTop
	}
	return top
}

// extractFitting is extractFrom of the terms that fit, and 1 where there are others, else 0.
func extractFitting[S float32 | float64, F format[S], P terms](f F, p P, b block[S], l, n, top int,
) (e extraction, rest int64) {
	e = extract(used(top))
	for i := b.i0 + l/b.lanes; i < b.i1; i += n / b.lanes {
		for j := b.j0 + l%b.lanes; j < b.j1; j += b.lanes {
			x, y := elementsAt(p, b, i, j)
			if fitting(f, p, b, x, y, top) {
				e = with(f, p, e, x, y, b.shift, b.mask, false)
			} else {
				rest = 1
			}
		}
	}
	return e, rest
}

// addRest adds those terms of work-item l of n that do not fit to the words of a sum.
func addRest[S float32 | float64, F format[S], P terms](f F, p P, b block[S], l, n, top int, words []int64) {
	for i := b.i0 + l/b.lanes; i < b.i1; i += n / b.lanes {
		for j := b.j0 + l%b.lanes; j < b.j1; j += b.lanes {
			x, y := elementsAt(p, b, i, j)
			if !fitting(f, p, b, x, y, top) {
				addTerm(f, p, words, x, y, b.shift, b.mask)
			}
		}
	}
}

// guessed is what q makes of the sum of a block by a quick guess, and whether it is sure, of all
// work-items together.
func guessed[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, b block[S], stage []int64, q quotient,
) (S, bool) {
	l, n := it.Local(0), it.LocalSize(0)
	g := guess{}
	switch {
	case b.lanes < n:
		g = guessLanes(f, p, b, g, b.i0+l/b.lanes, b.j0+l%b.lanes, n/b.lanes, 0)
	case b.fours:
		for i := b.i0; i < b.i1; i++ {
			g = guessLanes(f, p, b, g, i, b.j0+l, 0, n)
		}
	default:
		for i := b.i0; i < b.i1; i++ {
			for j := b.j0 + l; j < b.j1; j += n {
				x, y := elementsAt(p, b, i, j)
				g = plus(f, p, g, x, y, b.shift, b.mask, true)
			}
		}
	}
	it.Barrier()
	stage[l], stage[n+l] = int64(math.Float64bits(g.sum)), int64(math.Float64bits(g.off))
	it.Barrier()
	all := guess{} // which the work-items have alike
	for k := range n {
		all.sum += math.Float64frombits(uint64(stage[k]))
		all.off += math.Float64frombits(uint64(stage[n+k]))
	}
	z, ok := sure(f, all, q, true, (b.i1-b.i0)*(b.j1-b.j0)+n)
	return gpu.Uniform(it, z), gpu.Uniform(it, ok)
}

// guessLanes adds terms to a quick guess as extractLanes does.
func guessLanes[S float32 | float64, F format[S], P terms](f F, p P, b block[S], g guess, i, j, di, dj int) guess {
	for ; i+3*di < b.i1 && j+3*dj < b.j1; i, j = i+4*di, j+4*dj {
		x0, y0 := elementsAt(p, b, i, j)
		x1, y1 := elementsAt(p, b, i+di, j+dj)
		x2, y2 := elementsAt(p, b, i+2*di, j+2*dj)
		x3, y3 := elementsAt(p, b, i+3*di, j+3*dj)
		g = plus(f, p, g, x0, y0, b.shift, b.mask, true)
		g = plus(f, p, g, x1, y1, b.shift, b.mask, true)
		g = plus(f, p, g, x2, y2, b.shift, b.mask, true)
		g = plus(f, p, g, x3, y3, b.shift, b.mask, true)
	}
	for ; i < b.i1 && j < b.j1; i, j = i+di, j+dj {
		x, y := elementsAt(p, b, i, j)
		g = plus(f, p, g, x, y, b.shift, b.mask, true)
	}
	return g
}

// ofGroup is where the terms of all work-items of the group lie.
func ofGroup(it gpu.Item, stage []int64, w window) window {
	l, n := it.Local(0), it.LocalSize(0)
	it.Barrier()
	stage[l], stage[n+l] = int64(w.hi), int64(w.lo)
	it.Barrier()
	all := nowhere()
	for k := range n {
		all = all.and(window{uint32(stage[k]), uint32(stage[n+k])})
	}
	return all
}

// sumOfGroup is the sum of what all work-items of the group have extracted.
func sumOfGroup[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, stage []int64, e extracted,
) extracted {
	l, n := it.Local(0), it.LocalSize(0)
	it.Barrier()
	stage[l], stage[n+l] = e.a, e.b
	if isHalved(f, p) {
		stage[2*n+l], stage[3*n+l] = e.c, e.d
	}
	it.Barrier()
	const most = 16
	if n > most {
		for k := l + most; k < n && l < most; k += most {
			e.a += stage[k]
			e.b += stage[n+k]
			if isHalved(f, p) {
				e.c += stage[2*n+k]
				e.d += stage[3*n+k]
			}
		}
		if l < most {
			stage[l], stage[n+l] = e.a, e.b
			if isHalved(f, p) {
				stage[2*n+l], stage[3*n+l] = e.c, e.d
			}
		}
		it.Barrier()
	}
	all := extracted{} // which the work-items have alike
	for k := range min(n, most) {
		all.a += stage[k]
		all.b += stage[n+k]
		if isHalved(f, p) {
			all.c += stage[2*n+k]
			all.d += stage[3*n+k]
		}
	}
	return all
}
