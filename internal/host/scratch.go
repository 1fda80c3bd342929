package host

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// Scratch is working memory that is used again: a product allocates nothing once the pools are
// warm.
type Scratch struct {
	class int
	bytes []byte
}

// pools holds scratch by size: pools[i] has 2^i bytes.
var pools [bits.UintSize]sync.Pool

const cacheLine = 64

// touched is the bytes of new scratch whose pages are there from the start. What loads the end of a
// matrix with a mask reaches into the page behind, and takes ten times as long where none is yet.
const touched = 1 << 20

// Take is memory of n elements of any values, aligned to a cache line, until Give.
func Take[T element.Element](n int) (*Scratch, []T) {
	size := n*int(unsafe.Sizeof(T(0))) + cacheLine
	class := bits.Len(uint(size - 1))
	s, _ := pools[class].Get().(*Scratch)
	if s == nil {
		s = &Scratch{class, make([]byte, 1<<class)}
		clear(s.bytes[:min(len(s.bytes), touched)])
	}
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(s.bytes))) % cacheLine
	return s, unsafe.Slice((*T)(unsafe.Pointer(&s.bytes[skip])), n)
}

// Give gives the memory back. It does nothing for nil.
func (s *Scratch) Give() {
	if s != nil {
		pools[s.class].Put(s)
	}
}
