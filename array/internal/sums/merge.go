package sums

import "github.com/tandem-gpu/tandem/gpu"

// Round adds up the parts that Along or Each left of each element of c, a group an output, and
// makes of it what q says, rounded once. A group has a power of two of work-items.
//
//tandem:kernel float32,single float64,double
func Round[S float32 | float64, F format[S]](it gpu.Item, f F, c gpu.Matrix[S], words []int64, parts int, q quotient) {
	sum, stage := gpu.Local[[maxWords]int64](it), gpu.Local[[5 * maxLanes]int64](it)
	outputs, l, n := c.Rows*c.Cols, it.Local(0), it.LocalSize(0)
	for o := it.Group(0); o < outputs; o += it.Groups(0) {
		spread := false
		for i := l; i < parts; i += n {
			spread = spread || words[(i*outputs+o)*(f.words()+1)+f.words()]>>setBits == 0
		}
		dirty := it.Any(spread)
		for k := l; k <= f.words(); k += n {
			sum[k] = 0
			for i := 0; i < parts && dirty; i++ {
				at := (i*outputs + o) * (f.words() + 1)
				set := words[at+f.words()]
				switch {
				case set>>setBits != 0:
				case k == f.words():
					sum[k] |= set
				default:
					sum[k] += words[at+k]
				}
			}
		}
		// Parts with one exponent field are added up together, from the largest down: nearly always
		// all of them.
		for top := maxTop; ; {
			m := leftOfGroup(it, stage[:], partsLeft(f, words, o, outputs, parts, top, l, n))
			next := gpu.Uniform(it, m.next)
			if next == 0 && !dirty && top < maxTop {
				z := rounded(f, m.s.valueWith(halves, m.t, unit(int(top))-halves), 0, q)
				if l == 0 {
					put(c, o, z)
				}
				break
			}
			if top < maxTop {
				dirty = true
				if l == 0 {
					at := unit(int(top)) - f.bottom()
					m.s.addTo(sum[:], at)
					if m.t.hi|m.t.lo != 0 { // of products of float64 alone; others may be too low for it
						m.t.addTo(sum[:], at-halves)
					}
				}
			}
			if next == 0 {
				if l == 0 {
					put(c, o, ofWords(f, sum[:], q))
				}
				break
			}
			top = next
		}
		it.Barrier()
	}
}

// maxTop is above all exponent fields.
const maxTop = int64(1 << 11)

// A left is the sum of parts that leave left with one exponent field, as in valueWith, and the next
// such field below, or 0.
type left struct {
	s, t int128
	next int64
}

func (m left) plus(o left) left { return left{m.s.added(o.s), m.t.added(o.t), max(m.next, o.next)} }

// partsLeft is those of work-item l of n with the exponent field top.
func partsLeft[S float32 | float64, F format[S]](f F, words []int64, o, outputs, parts int, top int64, l, n int,
) (m left) {
	for i := l; i < parts; i += n {
		at := (i*outputs + o) * (f.words() + 1)
		switch t := words[at+f.words()] >> setBits; {
		case t == top:
			m.s = m.s.added(joined(words[at], words[at+1]))
			m.t = m.t.added(joined(words[at+2], words[at+3]))
		case t < top:
			m.next = max(m.next, t)
		}
	}
	return m
}

// leftOfGroup is what those of all work-items come to.
func leftOfGroup(it gpu.Item, stage []int64, m left) left {
	l, n := it.Local(0), it.LocalSize(0)
	for k := n; k > 0; k /= 2 {
		it.Barrier()
		if l < k {
			if k < n {
				m = m.plus(leftAt(stage, n, l+k))
			}
			stage[l], stage[n+l] = int64(m.s.hi), int64(m.s.lo)
			stage[2*n+l], stage[3*n+l], stage[4*n+l] = int64(m.t.hi), int64(m.t.lo), m.next
		}
	}
	it.Barrier()
	return leftAt(stage, n, 0)
}

func leftAt(stage []int64, n, k int) left {
	return left{
		int128{uint64(stage[k]), uint64(stage[n+k])}, int128{uint64(stage[2*n+k]), uint64(stage[3*n+k])},
		stage[4*n+k],
	}
}

// Gather adds to so many sums, from the first on, what Along or Each left of each in so many
// parts. A sum has so many words, and the set of what is no number.
//
//tandem:kernel
func Gather(it gpu.Item, sums, words []int64, first, outputs, parts, height int) {
	for k := it.Global(0); k < height*outputs; k += it.GlobalSize(0) {
		s := sums[first*height+k]
		for i := range parts {
			v := words[i*outputs*height+k]
			if k%height == height-1 { // the set of what is no number
				s |= v
			} else {
				s += v
			}
		}
		sums[first*height+k] = s
	}
}

// GatherFolded merges into so many of all states, from the first on, what FoldAlong or FoldEach
// left of each in count parts. State o is elements o and all+o. Element k of what was folded, by
// rows of cols elements, has the index base + k/cols*pitch + k%cols.
//
//tandem:kernel
func GatherFolded(it gpu.Item, states, parts []int64, all, first, outputs, count, kind, base, cols, pitch int) {
	for o := it.Global(0); o < outputs; o += it.GlobalSize(0) {
		s := state{states[first+o], states[all+first+o]}
		for p := range count {
			t := state{parts[2*p*outputs+o], parts[(2*p+1)*outputs+o]}
			if k := int(t.b); kind == kindFirst && k < noIndex {
				t.b = int64(base + k/cols*pitch + k%cols)
			}
			s = s.merge(kind, t)
		}
		states[first+o], states[all+first+o] = s.a, s.b
	}
}
