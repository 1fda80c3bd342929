package sorting

import "github.com/tandem-gpu/tandem/gpu"

// Select makes pairs of the k elements of each part of a row that are first in the order, as Pack
// does, in the order of their columns. There are as many parts of a row, which one work-item takes
// each. It looks for the k-th key digit by digit, from the highest: among the elements whose keys
// begin like that it counts the next digits.
//
//tandem:kernel uint32 uint64
//tandem:group 1
func Select[P Pair](it gpu.Item, pairs []uint64, keys []P, n, k, parts int, bits uint) {
	row, part := it.Group(0)/parts, it.Group(0)%parts
	from := part * n / parts
	x := keys[row*n+from : row*n+(part+1)*n/parts]
	left, first, shift := int32(k), uint64(0), bits // the elements that are wanted of those whose keys begin so
	for more := true; more && shift > 0; {
		shift -= digitBits
		var c [digits]int32
		for _, v := range x {
			if key := uint64(v) >> (shift & 63); key>>digitBits == first {
				c[key&(digits-1)]++
			}
		}
		d := 0
		for left > c[d] {
			left -= c[d]
			d++
		}
		first, more = first<<digitBits|uint64(d), left < c[d]
	}
	at := it.Group(0) * k
	for j, v := range x {
		key := uint64(v)
		if key>>(shift&63) > first || key>>(shift&63) == first && left == 0 {
			continue
		}
		if key>>(shift&63) == first {
			left--
		}
		pairs[at] = key<<32 | uint64(from+j)
		at++
	}
}
