package linalg

import (
	"errors"
	"math/bits"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// A callQueue is what a call from host memory to host memory has to itself: a queue, so that it
// neither waits for the calls of other goroutines nor returns their errors, and staging memory for
// small operands, which take longer to allocate or to register than to copy.
type callQueue struct {
	s      *Session // with the queue
	host   *backend.Buffer
	device *backend.Buffer // host itself, or a buffer of the same size on a device with memory of its own
}

// maxCallQueues is how many call queues a session keeps for later calls.
const maxCallQueues = 8

// takeCallQueue is a call queue that no other call uses, a new one where there is none.
func (s *Session) takeCallQueue() (*callQueue, error) {
	s.mu.Lock()
	if n := len(s.callQueues); n > 0 {
		cq := s.callQueues[n-1]
		s.callQueues = s.callQueues[:n-1]
		s.mu.Unlock()
		return cq, nil
	}
	s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	queue, err := s.device.NewQueue()
	if err != nil {
		return nil, err
	}
	return &callQueue{s: &Session{core: s.core, queue: queue, spares: newSpares(&s.info)}}, nil
}

// keepCallQueue keeps a call queue for a later call.
func (s *Session) keepCallQueue(cq *callQueue) {
	s.mu.Lock()
	keep := !s.closed.Load() && len(s.callQueues) < maxCallQueues
	if keep {
		s.callQueues = append(s.callQueues, cq)
	}
	s.mu.Unlock()
	if !keep {
		cq.close()
	}
}

// close releases the call queue. Its errors have been returned before, or belong to a call that has
// failed.
func (cq *callQueue) close() {
	cq.s.queue.Close()
	cq.freeMemory()
}

func (cq *callQueue) freeMemory() (err error) {
	if cq.device != nil && cq.apart() {
		err = cq.device.Free()
	}
	if cq.host != nil {
		err = errors.Join(err, cq.host.Free())
	}
	cq.host, cq.device = nil, nil
	return err
}

// smallBytes is the most that the operands of a call may have in all to go through staging memory
// of a device with memory of its own, and smallShared where it shares the host's, as PoCL does:
// about where copying begins to take longer than registering. Tests make them small.
var smallBytes, smallShared = 1 << 20, 1 << 16

// lineElements of every type are a multiple of a cache line, so that operands do not share one.
const lineElements = 16

// hasAtMost tells whether the matrices have at most so many bytes in all.
func (x *call[T]) hasAtMost(bytes int) bool {
	var t T
	left := bytes / int(unsafe.Sizeof(t))
	for _, m := range x.matrices[:x.n] {
		left -= min(m.Rows*m.Cols+lineElements, left+1)
	}
	return left >= 0
}

// reserve makes the staging memory at least n bytes large. Its size is a power of 2, smallBytes at
// most.
func (cq *callQueue) reserve(n int64) (err error) {
	if cq.host != nil && n <= cq.host.Len() {
		return nil
	}
	if err := cq.freeMemory(); err != nil {
		return err
	}
	size := max(int64(1)<<bits.Len64(uint64(n-1)), int64(smallBytes)/16)
	if cq.host, err = cq.s.device.AllocHost(size); err != nil {
		return err
	}
	cq.device = cq.host
	if !cq.s.sharesMemory() {
		cq.device, err = cq.s.device.Alloc(size)
	}
	if err != nil {
		cq.freeMemory() // whose error belongs to a call that has failed
	}
	return err
}

// apart tells whether the device has memory of its own.
func (cq *callQueue) apart() bool { return cq.device != cq.host }

// sendSmall copies small matrices to staging memory, C first, and sends them all at once. C only
// has its place there where it is not read.
func (x *call[T]) sendSmall(cq *callQueue) error {
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
	if err := cq.reserve(c.bytes(n)); err != nil {
		return err
	}
	mem := backend.Elems[T](cq.host.Bytes())
	for i, m := range x.matrices[:x.n] {
		a := &x.arrays[i]
		a.buf = cq.device
		if i > 0 || x.beta != 0 {
			copyElements(packedIn(a, mem), m)
		}
	}
	if !cq.apart() {
		return nil
	}
	return cq.s.queue.WriteAsync(cq.device, c.bytes(first), cq.host, c.bytes(first), c.bytes(n-first))
}

// receiveSmall copies C from staging memory.
func (x *call[T]) receiveSmall(cq *callQueue) error {
	c, q := &x.arrays[0], cq.s.queue
	if cq.apart() {
		if err := q.ReadAsync(cq.host, 0, cq.device, 0, c.bytes(c.rows*c.cols)); err != nil {
			return err
		}
	}
	if err := q.Wait(); err != nil {
		return err
	}
	copyElements(x.matrices[0], packedIn(c, backend.Elems[T](cq.host.Bytes())))
	return nil
}

// packedIn is an array as a matrix, where mem is the memory of its buffer.
func packedIn[T Element](a *array, mem []T) Matrix[T] {
	return NewMatrix(a.rows, a.cols, mem[a.off:][:a.rows*a.cols:a.rows*a.cols])
}
