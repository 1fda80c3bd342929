package driverkit

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

// A Usage is how many bytes of memory the buffers of a device have that Go's garbage collector does
// not see. The zero Usage is ready for use.
type Usage struct {
	bytes atomic.Int64
	low   atomic.Int64 // the fewest bytes since the last collection that Add asked for
}

// collectFrom is the memory from which Add asks for collections.
const collectFrom = 256 << 20

// Add counts n more bytes, or fewer where n is negative. When the memory has doubled since the last
// time, it collects garbage: to the collector a buffer is a few words, and it would not hurry to
// find those that the program has forgotten.
func (u *Usage) Add(n int64) {
	now := u.bytes.Add(n)
	if now < u.low.Load() {
		u.low.Store(now)
	}
	if n > 0 && now > max(collectFrom, 2*u.low.Load()) {
		u.low.Store(now)
		runtime.GC()
	}
}

// Bytes is the memory in use.
func (u *Usage) Bytes() int64 { return u.bytes.Load() }

// Allocate calls alloc, and where there is no room for what it makes, once more after a collection
// of garbage: the memory of buffers that the program has forgotten is free then. used is how much
// memory buffers have.
func Allocate[M any](used func() int64, alloc func() (M, error)) (M, error) {
	m, err := alloc()
	if !errors.Is(err, backend.ErrOutOfMemory) {
		return m, err
	}
	runtime.GC()
	for before := int64(-1); before != used(); { // buffers are freed in the background
		before = used()
		time.Sleep(5 * time.Millisecond)
	}
	return alloc()
}
