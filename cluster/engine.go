package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/cluster/internal/mpi"
)

// An engine is the one goroutine that calls MPI, locked to its thread: MPI is asked for no more
// than MPI_THREAD_FUNNELED. It starts operations that do not block and asks for their end again and
// again, which is also what lets MPI move them on. So whoever waits for an operation can stop to
// wait: when a context is done, or when another rank says that it has failed.
type engine struct {
	lib     *mpi.Library
	calls   chan func()
	ended   chan struct{}
	pending []*request
	left    bool
}

// A request is an operation in progress.
type request struct {
	op      string
	handle  *mpi.Request // in memory that does not move
	quiet   bool         // nobody waits for it
	done    chan struct{}
	err     error  // once done is closed
	finally func() // called by the engine once done is closed; nil for nothing
}

func startEngine(lib *mpi.Library) *engine {
	e := &engine{lib: lib, calls: make(chan func()), ended: make(chan struct{})}
	go e.run()
	return e
}

// run is the engine's goroutine.
func (e *engine) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(e.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for rounds := 0; !e.left; {
		pause := e.pause(rounds)
		if pause == 0 {
			select {
			case f := <-e.calls:
				f()
				rounds = 0
			default:
				runtime.Gosched()
			}
		} else {
			timer.Reset(pause)
			select {
			case f := <-e.calls:
				f()
				rounds = 0
			case <-timer.C:
			}
		}
		if e.poll() {
			rounds = 0
		} else {
			rounds++
		}
	}
}

// The pauses between two rounds of questions: none at first, when an operation may end soon, then
// longer and longer ones, as the processor has other work.
const (
	eagerRounds = 50
	shortPause  = 20 * time.Microsecond
	longPause   = 500 * time.Microsecond
	idlePause   = 20 * time.Millisecond // only another rank's failure could come
)

func (e *engine) pause(rounds int) time.Duration {
	switch {
	case !slices.ContainsFunc(e.pending, func(r *request) bool { return !r.quiet }):
		return idlePause
	case rounds < eagerRounds:
		return 0
	}
	return min(shortPause*time.Duration(1+(rounds-eagerRounds)/8), longPause)
}

// poll asks for the end of every operation, and tells whether one has ended.
func (e *engine) poll() (some bool) {
	flag := new(int32)
	for _, r := range slices.Clone(e.pending) { // what follows the end of one may start or drop others
		if !slices.Contains(e.pending, r) {
			continue
		}
		*flag = 0
		err := e.check("MPI_Test for "+r.op, e.lib.Test(r.handle, flag, e.lib.StatusIgnore))
		if err == nil && *flag == 0 {
			continue
		}
		some = true
		e.end(r, err)
	}
	return some
}

// end takes r from the pending operations.
func (e *engine) end(r *request, err error) {
	e.pending = slices.DeleteFunc(e.pending, func(p *request) bool { return p == r })
	r.err = err
	close(r.done)
	if r.finally != nil {
		r.finally()
	}
}

// abandon ends all operations but the sends that nobody waits for. MPI goes on to work with their
// memory, which is never freed then.
func (e *engine) abandon(err error) {
	for _, r := range slices.Clone(e.pending) {
		if !r.quiet {
			e.end(r, err)
		}
	}
}

// do calls f on the engine's goroutine.
func (e *engine) do(f func()) error {
	done := make(chan struct{})
	select {
	case e.calls <- func() { f(); close(done) }:
		<-done
		return nil
	case <-e.ended:
		return errEnded
	}
}

var errEnded = errors.New("cluster: MPI is no longer in use")

// start begins an operation; begin is the call of MPI.
func (e *engine) start(op string, begin func(r *mpi.Request) int32) *request {
	r := newRequest(op)
	if err := e.do(func() { e.add(r, begin) }); err != nil {
		r.err = err
		close(r.done)
	}
	return r
}

func newRequest(op string) *request {
	return &request{op: op, handle: new(mpi.Request), done: make(chan struct{})}
}

// add is start on the engine's goroutine.
func (e *engine) add(r *request, begin func(*mpi.Request) int32) {
	if err := e.check(r.op, begin(r.handle)); err != nil {
		r.err = err
		close(r.done)
		return
	}
	e.pending = append(e.pending, r)
}

// check makes an error of a status code. Only the engine's goroutine may call it.
func (e *engine) check(op string, code int32) error {
	if code == 0 {
		return nil
	}
	text, n := make([]byte, 8192), new(int32) // more than any library's MPI_MAX_ERROR_STRING
	what := fmt.Sprintf("code %d", code)
	if e.lib.ErrorString(code, &text[0], n) == 0 && *n > 0 && int(*n) <= len(text) {
		what = string(text[:*n])
	}
	return fmt.Errorf("%s: %s: %s", e.lib, op, what)
}

// blocking calls a function of MPI that returns when it is done.
func (e *engine) blocking(op string, call func() int32) (err error) {
	if e := e.do(func() { err = e.check(op, call()) }); e != nil {
		return e
	}
	return err
}

// leave ends the engine's goroutine.
func (e *engine) leave() {
	e.do(func() { e.left = true })
	<-e.ended
}

// memory is n bytes that MPI may work with while the program goes on: its own, and not of Go's
// heap, which would give pages back to the system that a network card still writes to. They are
// zero.
func (e *engine) memory(n int) (m []byte, err error) {
	p := new(unsafe.Pointer)
	err = e.blocking(fmt.Sprintf("MPI_Alloc_mem of %d bytes", n), func() int32 {
		return e.lib.AllocMem(uintptr(max(n, 1)), e.lib.InfoNull, p)
	})
	if err != nil {
		return nil, err
	}
	m = unsafe.Slice((*byte)(*p), n)
	clear(m)
	return m, nil
}

// free gives memory back, whose operations have ended.
func (e *engine) free(m []byte) {
	e.do(func() { e.lib.FreeMem(unsafe.Pointer(unsafe.SliceData(m))) })
}

// wait waits for the end of operations. Nil ones are left out.
func (c *Comm) wait(ctx context.Context, requests ...*request) error {
	for _, r := range requests {
		if r == nil {
			continue
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return c.fail(context.Cause(ctx))
		}
		if r.err != nil {
			return c.fail(r.err)
		}
	}
	return nil
}
