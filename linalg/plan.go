package linalg

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/arglist"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

// A plan is how an operation runs on the session's device: the compiled kernel, and the grid that
// covers the shape.
type plan struct {
	kernel *backend.Kernel
	grid   backend.Grid
}

// A planKey is all that a plan depends on, beside the device: the operation, the element type and
// the shape.
type planKey struct {
	op      operationKernel
	typ     element.Type
	m, n, k int
	count   int // of products
}

// An operationKernel gives the kernel of an operation and its grid, for the shape of key on a
// device.
type operationKernel interface {
	choose(key planKey, info *backend.Info) (*backend.Source, backend.Grid)
}

// maxPlans is how many plans a session remembers. One that uses more shapes makes them again, which
// takes about a microsecond.
const maxPlans = 1024

// plan is the plan of key, which is chosen the first time.
func (s *core) plan(key planKey) (plan, error) {
	s.mu.RLock()
	p, ok := s.plans[key]
	s.mu.RUnlock()
	if ok {
		return p, nil
	}
	src, g := key.op.choose(key, &s.info)
	k, err := s.kernel(kernelKey{src: src})
	// what the user tuned may need a compiler that is no longer there
	if errors.Is(err, backend.ErrUnsupported) || errors.Is(err, backend.ErrBuild) {
		tuning.Forget(&s.info)
		if other, grid := key.op.choose(key, &s.info); other != src {
			g = grid
			k, err = s.kernel(kernelKey{src: other})
		}
	}
	if err != nil {
		return plan{}, err
	}
	p = plan{k, g}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return plan{}, err
	}
	if len(s.plans) >= maxPlans {
		clear(s.plans)
	}
	s.plans[key] = p
	return p, nil
}

// compile compiles src, unless its text is older than the Go that it was generated from:
// with its checks if checked, where it has some.
func (s *core) compile(src *backend.Source, checked bool) (*backend.Kernel, error) {
	if err := fresh(src); err != nil {
		return nil, err
	}
	if src == nil || src.Checks == nil || !checked {
		return s.device.Compile(src)
	}
	return s.compileChecked(src)
}

// fresh is an error where src is older than the Go that it was generated from.
func fresh(src *backend.Source) error {
	if src != nil && src.Fresh != nil {
		if err := src.Fresh(); err != nil {
			return fmt.Errorf("linalg: kernel %s: %w: %w", src.Name, backend.ErrBuild, err)
		}
	}
	return nil
}

// A kernelKey is a kernel, with its checks or without.
type kernelKey struct {
	src     *backend.Source
	checked bool
}

// kernel compiles a built-in kernel, or one written in Go, once.
func (s *core) kernel(key kernelKey) (*backend.Kernel, error) {
	s.mu.RLock()
	k, ok := s.kernels[key]
	s.mu.RUnlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	if ok {
		return k, nil
	}
	k, err := s.compile(key.src, key.checked)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	if first, ok := s.kernels[key]; ok {
		return first, k.Release() // another goroutine was faster
	}
	s.kernels[key] = k
	return k, nil
}

// launch enqueues a plan of a built-in kernel, and gives the list back.
func (s *Session) launch(p plan, l *arglist.List) error {
	err := s.queue.Launch(p.kernel, p.grid, l.Args...)
	l.Give()
	return err
}
