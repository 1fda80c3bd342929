package main

// The sum of many numbers, a reduction. Each work-item adds up elements a whole grid apart, so that
// neighbours read neighbours; each group then adds its work-items' sums as a tree in local memory,
// and one group more adds those of the groups. The grid fixes the order of the additions, and so
// the bits, also of floats.

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// lanes is the work-items of a group, sumGroups the groups.
const (
	lanes     = 128
	sumGroups = 16
)

// sum makes sums[g] what group g has added up of x.
//
//tandem:kernel float32 int32
//tandem:group 128
func sum[T gpu.Number](it gpu.Item, sums, x []T) {
	t := gpu.Local[[lanes]T](it)
	l := it.Local(0)
	var s T
	for i := it.Global(0); i < len(x); i += it.GlobalSize(0) {
		s += x[i]
	}
	t[l] = s
	for half := lanes / 2; half > 0; half /= 2 {
		it.Barrier()
		if l < half {
			t[l] += t[l+half]
		}
	}
	if l == 0 {
		sums[it.Group(0)] = t[0]
	}
}

// sumOf is the sum of x.
func sumOf[T float32 | int32](s *linalg.Session, x *linalg.Array[T]) (T, error) {
	sums, err := linalg.NewArray[T](s, 1, sumGroups+1)
	if err != nil {
		return 0, err
	}
	defer sums.Free()
	groups, all := sums.Slice(0, 1, 0, sumGroups), sums.Slice(0, 1, sumGroups, sumGroups+1)
	if err := launchSum[T](s, backend.Grid1(sumGroups, lanes), groups, x); err != nil {
		return 0, err
	}
	if err := launchSum[T](s, backend.Grid1(1, lanes), all, groups); err != nil {
		return 0, err
	}
	m, err := all.Download()
	if err != nil {
		return 0, err
	}
	return m.Data[0], nil
}
