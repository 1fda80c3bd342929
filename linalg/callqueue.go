package linalg

import (
	"cmp"
	"errors"
	"math/bits"

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

// leave releases the buffers that a call has used, and keeps its queue for a later call or releases
// it. It returns err, or else what goes wrong here.
func (s *Session) leave(cq *callQueue, buffers []*backend.Buffer, waited bool, err error) error {
	// the call may have failed, or panicked, with work in the queue on memory of the caller's
	idle := waited || cq.s.queue.Wait() == nil
	// spare memory is not kept, as the queue may be: there may be many
	err = cmp.Or(err, freeAll(buffers), cq.s.spares.close())
	s.mu.Lock()
	keep := idle && !s.closed.Load() && len(s.callQueues) < maxCallQueues
	if keep {
		s.callQueues = append(s.callQueues, cq)
	}
	s.mu.Unlock()
	if !keep {
		cq.close()
	}
	return err
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
