package cl

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// api is the table to call through. Objects exist only after it was loaded.
func api() *capi.Table { return capi.Current() }

// A handle owns one reference to an OpenCL object. Release may come at any time, from any
// goroutine, while calls that use the object are in progress: the C release then happens at the end
// of the last of them, and only once.
type handle struct {
	id    uintptr
	state atomic.Int64 // twice the number of calls in progress, plus 1 once released
	free  func()       // gives the object back to C
}

// own attaches a new handle to object, whose Release is release. The garbage collector calls it for
// an object that is forgotten.
func own[T any](object *T, id uintptr, free func()) *handle {
	h := &handle{id: id, free: free}
	runtime.AddCleanup(object, (*handle).release, h)
	return h
}

// acquire keeps the object alive until drop. It is false for an object that was released or never
// created.
func (h *handle) acquire() bool {
	if h == nil {
		return false
	}
	for {
		s := h.state.Load()
		if s&1 != 0 {
			return false
		}
		if h.state.CompareAndSwap(s, s+2) {
			return true
		}
	}
}

func (h *handle) drop() {
	if h.state.Add(-2) == 1 {
		h.free()
	}
}

func (h *handle) release() {
	if h != nil && h.state.Or(1) == 0 { // else the last call frees it, or it is free
		h.free()
	}
}

// use runs call with the object of h, which is invalid where it was released or never created.
func use[ID ~uintptr](h *handle, invalid error, call func(id ID) error) error {
	if !h.acquire() {
		return invalid
	}
	defer h.drop()
	return call(ID(h.id))
}

// A hold is a list of acquired handles: the objects that one C call uses.
type hold []*handle

func (l *hold) add(h *handle) bool {
	if !h.acquire() {
		return false
	}
	*l = append(*l, h)
	return true
}

func (l hold) drop() {
	for _, h := range l {
		h.drop()
	}
}

// A pin keeps Go memory in place for C. Buffers made from one another share one.
type pin struct {
	users  atomic.Int32
	pinner runtime.Pinner
}

// newPin pins the Go object that p points into. Memory that is not Go's needs no pin and is left
// alone.
func newPin(p unsafe.Pointer) *pin {
	n := new(pin)
	n.users.Store(1)
	n.pinner.Pin(p)
	return n
}

func (p *pin) share() *pin {
	if p != nil {
		p.users.Add(1)
	}
	return p
}

func (p *pin) drop() {
	if p.users.Add(-1) == 0 {
		p.pinner.Unpin()
	}
}

// A transferList keeps the host memory of a queue's non-blocking transfers pinned until each is
// done. One goroutine waits for them in turn, so that a program with thousands of transfers under
// way occupies one thread and not thousands.
type transferList struct {
	mu      sync.Mutex
	pending []transfer
	running bool
}

type transfer struct {
	event *handle // acquired
	pin   *pin
}

func (l *transferList) add(t transfer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, t)
	if !l.running {
		l.running = true
		go l.drain()
	}
}

func (l *transferList) next() (transfer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		l.pending, l.running = nil, false
		return transfer{}, false
	}
	t := l.pending[0]
	l.pending = l.pending[1:]
	return t, true
}

func (l *transferList) drain() {
	for {
		t, ok := l.next()
		if !ok {
			return
		}
		id := capi.Event(t.event.id)
		status := api().WaitForEvents(1, &id)
		t.event.drop()
		if status == capi.Success || status == capi.ExecStatusErrorForEventsInWaitList {
			t.pin.drop()
		} else {
			strand(t.pin)
		}
	}
}

// stranded holds the pins of transfers whose end could not be learnt. The device may still write
// there, so that memory is never given back.
var stranded struct {
	mu   sync.Mutex
	pins []*pin
}

func strand(p *pin) {
	stranded.mu.Lock()
	defer stranded.mu.Unlock()
	stranded.pins = append(stranded.pins, p)
}

// A queueSet knows the queues of a context whose commands may not be done, and how many of its
// memory objects lie in pinned Go memory. C goes on using such memory after the release of the
// object, until the queued commands are done: only then is it unpinned.
type queueSet struct {
	mu     sync.Mutex
	queues map[*handle]chan struct{} // closed when a queue's last commands are done, if it was waited for
	pinned int
}

func (s *queueSet) add(q *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[q] = make(chan struct{})
}

// releaseQueue gives a queue back to C. Where its commands may use pinned memory, they are waited
// for first, in the background.
func (s *queueSet) releaseQueue(q *handle) {
	s.mu.Lock()
	wait := s.pinned > 0
	if !wait {
		delete(s.queues, q)
	}
	s.mu.Unlock()
	if !wait {
		api().ReleaseCommandQueue(capi.Queue(q.id))
		return
	}
	go func() {
		api().Finish(capi.Queue(q.id))
		api().ReleaseCommandQueue(capi.Queue(q.id))
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.queues[q])
		delete(s.queues, q)
	}()
}

func (s *queueSet) pin(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned += n
}

// unpin drops p once the commands that are queued now are done, those of released queues included.
func (s *queueSet) unpin(p *pin) {
	s.mu.Lock()
	var busy hold
	var released []chan struct{}
	for q, done := range s.queues {
		if !busy.add(q) {
			released = append(released, done)
		}
	}
	s.mu.Unlock()
	if len(busy) == 0 && len(released) == 0 {
		p.drop()
		s.pin(-1)
		return
	}
	go func() {
		for _, q := range busy {
			api().Finish(capi.Queue(q.id))
			q.drop()
		}
		for _, done := range released {
			<-done
		}
		p.drop()
		s.pin(-1)
	}()
}
