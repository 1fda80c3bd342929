package linalg

import (
	"errors"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

// A plan is how an operation runs on the session's device: the compiled kernel, and the grid that covers the shape.
type plan struct {
	kernel backend.Kernel
	grid   backend.Grid
}

// A planKey is all that a plan depends on, beside the device: the operation, the element type and the shape.
type planKey struct {
	op             operation
	typ            kernels.Type
	m, n, k, count int // count products of a batch, 0 for one
}

type operation uint8

const (
	matmul operation = iota
	transpose
	add
	scale
)

// maxPlans is how many plans a session remembers. One that uses more shapes makes them again, which takes about a microsecond.
const maxPlans = 1024

// plan is the plan of key, which choose makes the first time.
func (s *core) plan(key planKey, choose func(info *backend.Info) (*backend.Source, backend.Grid)) (plan, error) {
	s.mu.RLock()
	p, ok := s.plans[key]
	s.mu.RUnlock()
	if ok {
		return p, nil
	}
	src, g := choose(&s.info)
	k, err := s.kernel(src)
	if errors.Is(err, backend.ErrUnsupported) || errors.Is(err, backend.ErrBuild) { // what the user tuned may need a compiler that is no longer there
		kernels.ForgetTuning(&s.info)
		if other, grid := choose(&s.info); other != src {
			g = grid
			k, err = s.kernel(other)
		}
	}
	if err != nil {
		return plan{}, err
	}
	p = plan{k, g}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return plan{}, errClosed("the session is closed")
	}
	if len(s.plans) >= maxPlans {
		clear(s.plans)
	}
	s.plans[key] = p
	return p, nil
}

// kernel compiles a built-in kernel, once.
func (s *core) kernel(src *backend.Source) (backend.Kernel, error) {
	s.mu.RLock()
	k, ok := s.kernels[src]
	closed := s.closed
	s.mu.RUnlock()
	if closed {
		return nil, errClosed("the session is closed")
	}
	if ok {
		return k, nil
	}
	k, err := s.device.Compile(src)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed("the session is closed")
	}
	if first, ok := s.kernels[src]; ok {
		return first, k.Release() // another goroutine was faster
	}
	s.kernels[src] = k
	return k, nil
}

// argLists are lists for the arguments of launches, which no queue keeps.
var argLists = sync.Pool{New: func() any { return new([]backend.Arg) }}

// enqueue launches a plan with the arguments that fill appends.
func (s *Session) enqueue(p plan, fill func(args []backend.Arg) []backend.Arg) error {
	list := argLists.Get().(*[]backend.Arg)
	*list = fill((*list)[:0])
	err := s.queue.Launch(p.kernel, p.grid, *list...)
	clear(*list) // a buffer that its owner has forgotten is collected
	argLists.Put(list)
	return err
}
