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
// short rows.
type rows struct{ outputs, height, cols, turns int }

// Along adds up along rows, a group an output. Where words has elements, the groups in x leave
// parts of the sum there: word k of part p of output o, each with all its words and the set of what
// is none, is element (p*outputs+o)*(all+1)+k. Else there is one group in x, which makes the
// elements of c. Where shift has elements, one for each output, it is subtracted from the factors
// of products; of numbers the bits in mask are taken.
//
//tandem:kernel float32,single,plain float64,double,plain float32,single,product float64,double,product
func Along[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, c, x, y gpu.Matrix[S], words []int64,
	shift []S, r rows, q quotient, mask int64,
) {
	stage, sum := gpu.Local[[4 * maxLanes]int64](it), gpu.Local[[maxWords]int64](it)
	l, n := it.Local(0), it.LocalSize(0)
	b := block[S]{x: x, y: y, mask: mask}
	width := min(r.cols, n*r.turns)                 // of a block
	height := max(1, r.turns/max(1, (width+n-1)/n)) // of a block
	across := (r.cols + width - 1) / max(1, width)  // blocks beside each other
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
			done, wide, next := k >= end, false, top
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
					next = gpu.Uniform(it, nextTop(f, p, ofGroup(it, stage[:], g.w), top))
					alone, wide = false, next == 0
				}
			}
			if done && !dirty && len(words) == 0 {
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
			it.Barrier()
			if l == 0 {
				addBlock(f, p, b, sum[:])
			}
			k++
		}
		if !dirty {
			all := sumOfGroup(it, f, p, stage[:], e)
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
	for i := b.i0; i < b.i1; i++ {
		if isShort(f, p) && alone { // loops of their own
			for j := b.j0 + l; j < b.j1; j += n {
				x, y := elementsAt(p, b, i, j)
				e = with(f, p, e, x, y, b.shift, b.mask, true)
			}
			continue
		}
		for j := b.j0 + l; j < b.j1; j += n {
			x, y := elementsAt(p, b, i, j)
			e = with(f, p, e, x, y, b.shift, b.mask, false)
		}
	}
	e.w = windowOf(f, p, e)
	return e
}

// addBlock adds all terms of a block to the words of a sum.
func addBlock[S float32 | float64, F format[S], P terms](f F, p P, b block[S], words []int64) {
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0; j < b.j1; j++ {
			x, y := elementsAt(p, b, i, j)
			addTerm(f, p, words, x, y, b.shift, b.mask)
		}
	}
}

// guessed is what q makes of the sum of a block by a quick guess, and whether it is sure, of all
// work-items together.
func guessed[S float32 | float64, F format[S], P terms](it gpu.Item, f F, p P, b block[S], stage []int64, q quotient,
) (S, bool) {
	l, n := it.Local(0), it.LocalSize(0)
	g := guess{}
	for i := b.i0; i < b.i1; i++ {
		for j := b.j0 + l; j < b.j1; j += n {
			x, y := elementsAt(p, b, i, j)
			g = plus(f, p, g, x, y, b.shift, b.mask, true)
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
			stage[l] += stage[k]
			stage[n+l] += stage[n+k]
			if isHalved(f, p) {
				stage[2*n+l] += stage[2*n+k]
				stage[3*n+l] += stage[3*n+k]
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
