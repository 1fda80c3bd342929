package host

import (
	"math/bits"
	"sync"
	"unsafe"
)

// scratch is working memory that is used again: a product allocates nothing once the pools are warm.
type scratch struct {
	class int
	bytes []byte
}

// pools holds scratch by size: pools[i] has 2^i bytes.
var pools [bits.UintSize]sync.Pool

const cacheLine = 64

// take is memory of n elements of any values, aligned to a cache line, to be given back by scratch.give.
func take[T Element](n int) (*scratch, []T) {
	size := n*int(unsafe.Sizeof(T(0))) + cacheLine
	class := bits.Len(uint(size - 1))
	s, _ := pools[class].Get().(*scratch)
	if s == nil {
		s = &scratch{class, make([]byte, 1<<class)}
	}
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(s.bytes))) % cacheLine
	return s, unsafe.Slice((*T)(unsafe.Pointer(&s.bytes[skip])), n)
}

func (s *scratch) give() { pools[s.class].Put(s) }
