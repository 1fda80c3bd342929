package gonumblas

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
	"gonum.org/v1/gonum/blas/gonum"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// An Option changes what [Use] installs.
type Option func(*engine)

// Crossover fixes the size from which on products run on the device, instead of measuring it: a
// product of an m×k and a k×n matrix does where the harmonic mean of m, n and k, which is n for
// square matrices, is at least size. 0 is always, math.MaxInt never. Results do not depend on it.
func Crossover(size int) Option {
	return func(e *engine) { e.fixed = &size }
}

// OnError makes f learn of every failure of the device. The product that failed was, by then,
// redone on the host. f is called in the goroutine that called BLAS, and so by several goroutines
// at a time where several do.
func OnError(f func(error)) Option {
	return func(e *engine) { e.onError = f }
}

// installed is what Use has put into gonum, and what was there before.
var installed struct {
	sync.Mutex
	active  bool
	engine  *engine // of the last Use
	float64 blas.Float64
	float32 blas.Float32

	complex128 blas.Complex128
	complex64  blas.Complex64
}

// Use makes gonum's blas64, blas32, cblas128, cblas64 and lapack64 run what the package lists on s,
// until [Restore]. Used again, it replaces the session and the options. It panics
// where s is nil.
//
// The session must stay open until Restore; a closed one is a failure of the device like any other.
// It may have other uses at the same time.
//
// Use and Restore may race each other, but not other users of gonum's BLAS: gonum keeps its
// implementation in variables that it reads without a lock. Call them while nothing else computes.
func Use(s *linalg.Session, options ...Option) {
	if s == nil {
		panic("gonumblas: Use of a nil session: linalg.Open or linalg.Default gives one")
	}
	e := &engine{s: s, info: s.Info()}
	for _, o := range options {
		o(e)
	}
	installed.Lock()
	defer installed.Unlock()
	if !installed.active {
		installed.float64, installed.float32 = blas64.Implementation(), blas32.Implementation()
		installed.complex128, installed.complex64 = cblas128.Implementation(), cblas64.Implementation()
	}
	installed.active, installed.engine = true, e
	i := &implementation{e: e}
	blas64.Use(i)
	blas32.Use(i)
	cblas128.Use(i)
	cblas64.Use(i)
	lapack64.Use(factorizer{e: e})
}

// Restore puts back what blas64, blas32, cblas128 and cblas64 used before the first [Use]: gonum's
// own implementation, unless the program had installed another. lapack64 tells nobody what it uses:
// it gets gonum's own. Restore does nothing where Use has nothing installed.
func Restore() {
	installed.Lock()
	defer installed.Unlock()
	if !installed.active {
		return
	}
	blas64.Use(installed.float64)
	blas32.Use(installed.float32)
	cblas128.Use(installed.complex128)
	cblas64.Use(installed.complex64)
	lapack64.Use(lapackgonum.Implementation{})
	installed.active, installed.float64, installed.float32 = false, nil, nil
	installed.complex128, installed.complex64 = nil, nil
}

// Err is the first failure of the device since the last [Use], also after [Restore]; nil without
// one. It matches a sentinel of package backend, such as backend.ErrDeviceLost. No result is wrong
// for it.
func Err() error {
	installed.Lock()
	e := installed.engine
	installed.Unlock()
	if e == nil {
		return nil
	}
	return e.firstError()
}

// implementation is gonum's, of all types and levels, but for what the package lists.
type implementation struct {
	gonum.Implementation
	e *engine
}

var (
	_ blas.Float64 = (*implementation)(nil)
	_ blas.Float32 = (*implementation)(nil)

	_ blas.Complex128 = (*implementation)(nil)
	_ blas.Complex64  = (*implementation)(nil)
)

// An engine runs products on the session's device or on the host.
type engine struct {
	s       *linalg.Session
	info    backend.Info
	fixed   *int // the crossover, where the user gave it
	onError func(error)

	crossover32, crossover64 crossing

	mu  sync.Mutex
	err error // the first
}

// smallMean is a harmonic mean of a product's dimensions that is too small for every device.
const smallMean = 8

// keepsOnHost tells whether a product is so small that it stays on the host whatever the device,
// unless the user says otherwise. The harmonic mean is at most the geometric one.
func (e *engine) keepsOnHost(m, n, k int) bool {
	return float64(m)*float64(n)*float64(k) <= smallMean*smallMean*smallMean && (e.fixed == nil || *e.fixed > smallMean)
}

// report keeps the first error and tells the user.
func (e *engine) report(what string, err error) {
	err = fmt.Errorf("gonumblas: %s done on the host, as the device failed: %w", what, err)
	e.mu.Lock()
	if e.err == nil {
		e.err = err
	}
	e.mu.Unlock()
	if e.onError != nil {
		e.onError(err)
	}
}

func (e *engine) firstError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}
