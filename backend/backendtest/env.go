package backendtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// env is what a case works with: a device of its own, a queue, and places for its failures.
type env struct {
	*report
	dev *backend.Device // open for this case alone
	q   *backend.Queue  // a queue of dev
}

// A report is what the envs of a case have in common.
type report struct {
	driver backend.Driver
	index  int

	mu       sync.Mutex
	failures []error
	opened   []*backend.Device
}

// errorf notes a failure; the case goes on.
func (e *env) errorf(format string, v ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures = append(e.failures, fmt.Errorf(format, v...))
}

// fatalf notes a failure and ends the case. Like all that calls it, it is for the goroutine of the
// case, and for those of parallel.
func (e *env) fatalf(format string, v ...any) {
	e.errorf(format, v...)
	panic(stop{})
}

// skipf ends a case that does not apply to the device.
func (e *env) skipf(format string, v ...any) {
	if len(e.failures) == 0 {
		e.failures = append(e.failures, skipped{fmt.Sprintf(format, v...)})
	}
	panic(stop{})
}

// must ends the case when err is not nil.
func (e *env) must(what string, err error) {
	if err != nil {
		e.fatalf("%s: %v", what, err)
	}
}

// refused checks that err is an error as the contract wants them: a *backend.Error that names the
// driver and the call, and matches one of the sentinels.
func (e *env) refused(what string, err error, sentinels ...error) {
	if err == nil {
		e.errorf("%s: no error, want %v", what, sentinels)
		return
	}
	matches := false
	for _, s := range sentinels {
		matches = matches || errors.Is(err, s)
	}
	if !matches {
		e.errorf("%s: %v, want an error that matches %v", what, err, sentinels)
	}
	var be *backend.Error
	if !errors.As(err, &be) {
		e.errorf("%s: %v is a %T, not a *backend.Error", what, err, err)
	} else if be.Driver != e.driver.Name() || be.Op == "" {
		e.errorf("%s: %v has driver %q and op %q; both must be named", what, err, be.Driver, be.Op)
	}
}

// open opens the device once more, with a queue. The end of the case closes it.
func (e *env) open() *env {
	d, err := e.driver.Open(e.index)
	e.must("Open", err)
	e.opened = append(e.opened, d)
	another := &env{report: e.report, dev: d}
	another.q = another.newQueue()
	return another
}

func (e *env) close() {
	for _, d := range e.opened {
		if err := d.Close(); err != nil {
			e.errorf("Device.Close at the end of the case: %v", err)
		}
	}
}

func (e *env) newQueue() *backend.Queue {
	q, err := e.dev.NewQueue()
	e.must("NewQueue", err)
	return q
}

func (e *env) alloc(n int) *backend.Buffer {
	b, err := e.dev.Alloc(int64(n))
	e.must(fmt.Sprintf("Alloc(%d)", n), err)
	return b
}

func (e *env) allocHost(n int) *backend.Buffer {
	b, err := e.dev.AllocHost(int64(n))
	e.must(fmt.Sprintf("AllocHost(%d)", n), err)
	if b.Len() != int64(n) || len(b.Bytes()) != n {
		e.fatalf("AllocHost(%d): Len is %d, and Bytes has %d", n, b.Len(), len(b.Bytes()))
	}
	return b
}

// upload makes a buffer with a copy of s.
func upload[T any](e *env, s []T) *backend.Buffer {
	p := backend.Bytes(s)
	b := e.alloc(len(p))
	e.must("Write", e.q.Write(b, 0, p))
	return b
}

// download copies all of b back, into memory that is full of garbage before.
func download[T any](e *env, b *backend.Buffer) []T {
	var t [1]T
	s := make([]T, int(b.Len())/len(backend.Bytes(t[:])))
	p := backend.Bytes(s)
	copy(p, garbage(len(p)))
	e.must("Read", e.q.Read(p, b, 0))
	return s
}

func (e *env) compile(s *backend.Source) *backend.Kernel {
	k, err := e.dev.Compile(s)
	e.must("Compile "+s.Name, err)
	return k
}

func (e *env) launch(k *backend.Kernel, g backend.Grid, args ...backend.Arg) {
	e.must("Launch "+k.Name(), e.q.Launch(k, g, args...))
}

func (e *env) record(q *backend.Queue) *backend.Event {
	ev, err := q.Record()
	e.must("Record", err)
	return ev
}

func (e *env) wait() { e.must("Queue.Wait", e.q.Wait()) }

// sameBytes notes the first difference between got and want.
func (e *env) sameBytes(what string, got, want []byte) {
	same(e, what, got, want)
}

// holds checks that buffer b holds want.
func (e *env) holds(what string, b *backend.Buffer, want []byte) {
	e.sameBytes(what, download[byte](e, b), want)
}

// same notes the first difference between got and want.
func same[T comparable](e *env, what string, got, want []T) {
	if len(got) != len(want) {
		e.errorf("%s: %d elements, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if got[i] != want[i] {
			e.errorf("%s: element %d of %d is %#v, want %#v", what, i, len(got), got[i], want[i])
			return
		}
	}
}

// parallel runs f in n goroutines at once. A failure ends the one that it is in.
func (e *env) parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			defer e.caught()
			f(i)
		})
	}
	wg.Wait()
}

// caught is deferred: it notes a panic that no failure has made.
func (e *env) caught() {
	if v := recover(); v != nil && v != (stop{}) {
		e.errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// needGroup skips the case on devices with smaller groups than its kernel uses.
func (e *env) needGroup(n int) {
	if most := e.dev.Info().MaxGroup; most < n {
		e.skipf("the device takes at most %d work-items a group, the kernel uses %d", most, n)
	}
}

// garbage is n bytes that no case expects anywhere: never zero, and the same for each n.
func garbage(n int) []byte {
	return bytes.Repeat([]byte{0xa5, 0x5a, 0xc3, 0x3d, 0x97}, n/5+1)[:n]
}

// random is a source of random numbers with a fixed seed.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7a9d3)) }

// randomBytes is n random bytes.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}
