package sums

import "github.com/tandem-gpu/tandem/gpu"

// Round adds up the parts that Along or Each left of each element of c, a group an output, and
// makes of it what q says, rounded once.
//
//tandem:kernel float32,single float64,double
func Round[S float32 | float64, F format[S]](it gpu.Item, f F, c gpu.Matrix[S], words []int64, parts int, q quotient) {
	sum := gpu.Local[[maxWords]int64](it)
	outputs := c.Rows * c.Cols
	for o := it.Group(0); o < outputs; o += it.Groups(0) {
		for k := it.Local(0); k <= f.words(); k += it.LocalSize(0) {
			s := int64(0)
			for i := range parts {
				v := words[(i*outputs+o)*(f.words()+1)+k]
				if k == f.words() {
					s |= v
				} else {
					s += v
				}
			}
			sum[k] = s
		}
		it.Barrier()
		if it.Local(0) == 0 {
			put(c, o, ofWords(f, sum[:], q))
		}
		it.Barrier()
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
