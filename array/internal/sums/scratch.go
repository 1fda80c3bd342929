package sums

import (
	"cmp"
	"sync"

	"github.com/tandem-gpu/tandem/linalg"
)

// kept is memory for what groups leave, which later calls on its session use again: a session's
// commands run in their order, so that it is free for whoever takes it from here. Where it is
// forgotten, it is released.
var kept sync.Pool

// keep is how many integers are kept at most.
const keep = 1 << 18

// withScratch calls f, which enqueues commands, with memory for n integers.
func withScratch(s *linalg.Session, n int, f func(parts *linalg.Array[int64]) error) (err error) {
	a, _ := kept.Get().(*linalg.Array[int64])
	have := 0
	if a != nil && a.Session() == s {
		_, have = a.Dims()
	}
	if have < n {
		if a, err = linalg.NewArray[int64](s, 1, n); err != nil {
			return err
		}
	}
	err = f(a.Slice(0, 1, 0, n))
	if n > keep {
		return cmp.Or(err, a.Free())
	}
	kept.Put(a)
	return err
}
