package linalg

import (
	"errors"
	"math/bits"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
)

// A lane is what a call from host memory to host memory has to itself: a queue, so that it neither
// waits for the calls of other goroutines nor returns their errors, and memory for small operands,
// which takes longer to allocate or to register than to copy.
type lane struct {
	s      *Session // with the lane's queue
	host   backend.HostBuffer
	device backend.Buffer // host itself, or a buffer of the same size on a device with memory of its own
}

// maxLanes is how many lanes a session keeps for later calls.
const maxLanes = 8

// takeLane is a lane that no other call uses, a new one where there is none.
func (s *Session) takeLane() (*lane, error) {
	s.mu.Lock()
	if n := len(s.lanes); n > 0 {
		l := s.lanes[n-1]
		s.lanes = s.lanes[:n-1]
		s.mu.Unlock()
		return l, nil
	}
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, errClosed("the session is closed")
	}
	queue, err := s.device.NewQueue()
	if err != nil {
		return nil, err
	}
	return &lane{s: &Session{core: s.core, queue: queue}}, nil
}

// keepLane keeps a lane for a later call.
func (s *Session) keepLane(l *lane) {
	s.mu.Lock()
	keep := !s.closed && len(s.lanes) < maxLanes
	if keep {
		s.lanes = append(s.lanes, l)
	}
	s.mu.Unlock()
	if !keep {
		l.close()
	}
}

// close releases the lane. Its errors have been returned before, or belong to a call that has
// failed.
func (l *lane) close() {
	l.s.queue.Close()
	l.freeMemory()
}

func (l *lane) freeMemory() (err error) {
	if l.device != nil && l.apart() {
		err = l.device.Free()
	}
	if l.host != nil {
		err = errors.Join(err, l.host.Free())
	}
	l.host, l.device = nil, nil
	return err
}

// smallBytes is the most that the operands of a call may have in all to go through the memory of a
// lane. Where PoCL computes on the host's memory, that is about where copying begins to take longer
// than registering. Tests make it small.
var smallBytes = 1 << 20

// lineElements of every type are a multiple of a cache line, so that operands do not share one.
const lineElements = 16

// isSmall tells whether the matrices have at most smallBytes in all.
func (x *call[T]) isSmall() bool {
	var t T
	left := smallBytes / int(unsafe.Sizeof(t))
	for _, m := range x.matrices[:x.n] {
		left -= min(m.Rows*m.Cols+lineElements, left+1)
	}
	return left >= 0
}

// reserve makes the lane's memory at least n bytes large. Its size is a power of 2, smallBytes at
// most.
func (l *lane) reserve(n int64) (err error) {
	if l.host != nil && n <= l.host.Len() {
		return nil
	}
	if err := l.freeMemory(); err != nil {
		return err
	}
	size := max(int64(1)<<bits.Len64(uint64(n-1)), int64(smallBytes)/16)
	if l.host, err = l.s.device.AllocHost(size); err != nil {
		return err
	}
	l.device = l.host
	if !l.s.sharesMemory() {
		l.device, err = l.s.device.Alloc(size)
	}
	if err != nil {
		l.freeMemory() // whose error belongs to a call that has failed
	}
	return err
}

// apart tells whether the device has memory of its own.
func (l *lane) apart() bool { return l.device != backend.Buffer(l.host) }

// sendToLane copies small matrices to the memory of a lane, C first, and sends them all at once. C
// only has its place there where it is not read.
func (x *call[T]) sendToLane(l *lane) error {
	first, n := 0, 0 // elements
	for i := range x.arrays[:x.n] {
		a := &x.arrays[i]
		a.off = n
		n += (a.rows*a.cols + lineElements - 1) / lineElements * lineElements
		if i == 0 && x.beta == 0 {
			first = n
		}
	}
	c := &x.arrays[0]
	if err := l.reserve(c.bytes(n)); err != nil {
		return err
	}
	mem := backend.Elems[T](l.host.Bytes())
	for i, m := range x.matrices[:x.n] {
		a := &x.arrays[i]
		a.buf = l.device
		if i > 0 || x.beta != 0 {
			copyElements(a.packedIn(mem), m)
		}
	}
	if !l.apart() {
		return nil
	}
	return l.s.queue.WriteAsync(l.device, c.bytes(first), l.host, c.bytes(first), c.bytes(n-first))
}

// receiveFromLane copies C from the memory of a lane.
func (x *call[T]) receiveFromLane(l *lane) error {
	c, q := &x.arrays[0], l.s.queue
	if l.apart() {
		if err := q.ReadAsync(l.host, 0, l.device, 0, c.bytes(c.rows*c.cols)); err != nil {
			return err
		}
	}
	if err := q.Wait(); err != nil {
		return err
	}
	copyElements(x.matrices[0], c.packedIn(backend.Elems[T](l.host.Bytes())))
	return nil
}

// packedIn is the array as a matrix, where mem is the memory of its buffer.
func (a *Array[T]) packedIn(mem []T) Matrix[T] {
	return NewMatrix(a.rows, a.cols, mem[a.off:][:a.rows*a.cols:a.rows*a.cols])
}

// copyElements copies src to dst, which has its shape.
func copyElements[T Element](dst, src Matrix[T]) {
	host.CopyMatrix(src.Rows, src.Cols, src.Data, src.Stride, dst.Data, dst.Stride)
}
