package sums

import "github.com/tandem-gpu/tandem/gpu"

// Gather adds to so many of all sums, from the first on, what Along or Across left of each in count
// parts. Word k of sum o is element k*all+o.
//
//tandem:kernel
func Gather(it gpu.Item, sums, parts []int64, all, first, outputs, count int) {
	for o := it.Global(0); o < Words*outputs; o += it.GlobalSize(0) {
		k := o / outputs
		s := sums[k*all+first+o%outputs]
		for p := range count {
			v := parts[p*Words*outputs+o]
			if k == Words-1 { // the set of what is no number
				s |= v
			} else {
				s += v
			}
		}
		sums[k*all+first+o%outputs] = s
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
