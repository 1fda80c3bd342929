package backend

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A noted driver notes what is released, and fails as it is told to.
type noted struct {
	info    Info
	finish  func() error
	settled atomic.Int64
	failure error // of all that can fail
	tracks  bool  // Register makes something to release

	mu       sync.Mutex
	released []string
	waits    int // of queues
}

func newNoted() *noted {
	return &noted{info: Info{Driver: "fake", Name: "Fake GPU", Memory: 2000, MaxAlloc: 1000, MaxGroup: 64}}
}

func (n *noted) note(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.released = append(n.released, name)
}

func (n *noted) wantReleased(t *testing.T, names ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.released, names) {
		t.Errorf("released %q, want %q", n.released, names)
	}
}

// A part is what the driver has of a buffer, a kernel, a queue or an event.
type part struct {
	*noted
	name string
}

func (p part) Release() { p.note(p.name) }

func (n *noted) Info() *Info               { return &n.info }
func (n *noted) Start(finish func() error) { n.finish = finish }
func (n *noted) Settle() error             { n.settled.Add(1); return nil }
func (n *noted) Release()                  { n.note("device") }

func (n *noted) Alloc(size int64) (Memory, error) {
	return Memory{Size: size, Handle: part{n, "buffer"}}, n.failure
}

func (n *noted) AllocHost(size int64) (Memory, error) {
	return Memory{Size: size, Bytes: make([]byte, size), Handle: part{n, "host"}}, n.failure
}

// Register has nothing to release, unless the driver tracks it.
func (n *noted) Register(mem []byte) (Memory, error) {
	m := Memory{Size: int64(len(mem)), Bytes: mem}
	if n.tracks {
		m.Handle = part{n, "registered"}
	}
	return m, n.failure
}

type notedKernel struct{ part }

func (notedKernel) Signature() *Signature {
	return &Signature{Name: "add", Params: []Param{{Name: "a", Buffer: true}}, MaxGroup: 8}
}

func (n *noted) Compile(*Source) (DriverKernel, error) {
	return notedKernel{part{n, "kernel"}}, n.failure
}

type notedQueue struct{ part }

func (n *noted) NewQueue() (DriverQueue, error) { return notedQueue{part{n, "queue"}}, n.failure }

func (q notedQueue) Write(*Memory, int64, []byte) error                     { return q.failure }
func (q notedQueue) Read([]byte, *Memory, int64) error                      { return q.failure }
func (q notedQueue) WriteAsync(*Memory, int64, *Memory, int64, int64) error { return q.failure }
func (q notedQueue) ReadAsync(*Memory, int64, *Memory, int64, int64) error  { return q.failure }
func (q notedQueue) Copy(*Memory, int64, *Memory, int64, int64) error       { return q.failure }
func (q notedQueue) Record() (DriverEvent, error) {
	return notedEvent{part{q.noted, "event"}}, q.failure
}
func (q notedQueue) WaitEvent(DriverEvent) error { return q.failure }
func (q notedQueue) Launch(DriverKernel, Grid, []Arg, []*Memory) error {
	return q.failure
}

func (q notedQueue) Finish() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waits++
	return q.failure
}

type notedEvent struct{ part }

func (e notedEvent) Wait() error                      { return e.failure }
func (e notedEvent) Since(DriverEvent) (int64, error) { return 1, e.failure }

func wantError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var e *Error
	if !errors.Is(err, kind) || !errors.As(err, &e) || e.Driver != "fake" {
		t.Errorf("%v, want %v of the driver", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not contain %q", err, w)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// things is one of everything that a device makes.
type things struct {
	d    *Device
	b    *Buffer
	h, r *Buffer
	k    *Kernel
	q    *Queue
	e    *Event
}

func newThings(n *noted) things {
	d := NewDevice(n)
	q := must(d.NewQueue())
	return things{
		d, must(d.Alloc(8)), must(d.AllocHost(8)), must(d.Register(make([]byte, 8))),
		must(d.Compile(&Source{Name: "add"})), q, must(q.Record()),
	}
}

// calls is a call of every method, by name.
func (x *things) calls() map[string]func() error {
	return map[string]func() error{
		"Device.Alloc":     func() error { _, err := x.d.Alloc(1); return err },
		"Device.AllocHost": func() error { _, err := x.d.AllocHost(1); return err },
		"Device.Register":  func() error { _, err := x.d.Register(make([]byte, 1)); return err },
		"Device.Compile":   func() error { _, err := x.d.Compile(&Source{Name: "add"}); return err },
		"Device.NewQueue":  func() error { _, err := x.d.NewQueue(); return err },
		"Queue.Write":      func() error { return x.q.Write(x.b, 0, []byte{1}) },
		"Queue.Read":       func() error { return x.q.Read([]byte{1}, x.b, 0) },
		"Queue.WriteAsync": func() error { return x.q.WriteAsync(x.b, 0, x.h, 0, 1) },
		"Queue.ReadAsync":  func() error { return x.q.ReadAsync(x.h, 0, x.b, 0, 1) },
		"Queue.Copy":       func() error { return x.q.Copy(x.b, 0, x.b, 4, 4) },
		"Queue.Launch":     func() error { return x.q.Launch(x.k, Grid1(1, 1), Buf(x.b)) },
		"Queue.Record":     func() error { _, err := x.q.Record(); return err },
		"Queue.WaitEvent":  func() error { return x.q.WaitEvent(x.e) },
		"Queue.Wait":       x.q.Wait,
		"Event.Wait":       x.e.Wait,
		"Event.Since":      func() error { _, err := x.e.Since(x.e); return err },
	}
}

// Every call works, fails as the driver does, and says what is closed.
func TestEveryCall(t *testing.T) {
	n := newNoted()
	x := newThings(n)
	for name, call := range x.calls() {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	n.failure = &Error{Op: "fakeCall", Err: ErrUnsupported}
	for _, call := range x.calls() {
		wantError(t, call(), ErrUnsupported, "fake: fakeCall")
	}
	n.failure = nil
	check(t, x.d.Close())
	for name, call := range x.calls() {
		wantError(t, call(), ErrClosed, name, "was closed, or its device")
	}
	if x.h.Bytes() != nil || x.r.Bytes() != nil {
		t.Error("host memory of a closed device")
	}
}

// What is used stays until the last call returns; the device goes last; each is released once.
func TestLifetimes(t *testing.T) {
	n := newNoted()
	d := NewDevice(n)
	used, idle, q := must(d.Alloc(8)), must(d.Alloc(8)), must(d.NewQueue())
	check(t, used.enter("Queue.Read", used))
	check(t, used.enter("Queue.Read", used))
	check(t, idle.Free())
	check(t, idle.Free())
	n.wantReleased(t, "buffer")
	check(t, d.enter("Device.Call", d))
	check(t, d.Close())
	check(t, d.Close())
	n.wantReleased(t, "buffer", "queue")
	wantError(t, used.enter("Queue.Read", used), ErrClosed, "Queue.Read", "the buffer was closed, or its device")
	wantError(t, q.Wait(), ErrClosed, "Queue.Wait", "the queue was closed")
	wantError(t, d.enter("Device.Call", d), ErrClosed, "Device.Call", "the device was closed")
	used.drop()
	n.wantReleased(t, "buffer", "queue")
	used.drop()
	d.drop()
	n.wantReleased(t, "buffer", "queue", "buffer", "device")
	if d.Used() != 0 {
		t.Errorf("%d bytes are in use", d.Used())
	}
}

// Memory that is used is not released before that ends.
func TestUse(t *testing.T) {
	n := newNoted()
	d := NewDevice(n)
	h := must(d.AllocHost(8))
	check(t, h.Use(func(mem []byte) {
		check(t, d.Close())
		if n.wantReleased(t); len(mem) != 8 || h.Bytes() != nil {
			t.Errorf("%d bytes, then %d", len(mem), len(h.Bytes()))
		}
	}))
	n.wantReleased(t, "host", "device")
	wantError(t, h.Use(func([]byte) { t.Error("used") }), ErrClosed, "Buffer.Use", "was closed, or its device")
}

// What the driver makes while the device is being closed is released at once, and is an error.
func TestMadeAfterClose(t *testing.T) {
	n := newNoted()
	d := NewDevice(n)
	check(t, d.enter("Device.Call", d))
	check(t, d.Close())
	b := &event{}
	wantError(t, d.adopt("Device.Alloc", "buffer", &b.object, part{n, "buffer"}), ErrClosed)
	d.drop()
	n.wantReleased(t, "buffer", "device")
	wantError(t, d.adopt("Device.Alloc", "buffer", &b.object, part{n, "buffer"}), ErrClosed)
	n.wantReleased(t, "buffer", "device", "buffer")
}

// After an error that tells of a lost device every call says so, and everything can be closed.
func TestLost(t *testing.T) {
	n := newNoted()
	x := newThings(n)
	n.failure = &Error{
		Op: "fakeCall", Code: 7, Name: "FAKE_FIRE", Detail: "it burns", Err: ErrDeviceLost,
	}
	wantError(t, x.q.Wait(), ErrDeviceLost, "fakeCall: FAKE_FIRE (7)")
	n.failure = nil
	for name, call := range x.calls() {
		wantError(t, call(), ErrDeviceLost, name, "after fakeCall: FAKE_FIRE (7): it burns")
	}
	check(t, x.b.Free())
	check(t, x.d.Close())
	if last := n.released[len(n.released)-1]; last != "device" || len(n.released) != 6 {
		t.Errorf("released %q", n.released)
	}
}

// An abandoned device releases nothing, and nothing waits for it.
func TestAbandon(t *testing.T) {
	n := newNoted()
	x := newThings(n)
	x.d.Abandon()
	x.d.Abandon()
	for _, call := range x.calls() {
		wantError(t, call(), ErrDeviceLost, "abandoned")
	}
	for _, end := range []func() error{x.b.Free, x.h.Free, x.k.Release, x.e.Release, x.q.Close, x.d.Close} {
		check(t, end())
	}
	n.wantReleased(t)
	if n.waits != 0 {
		t.Errorf("%d waits", n.waits)
	}
}

// A queue waits for its commands before it is released, and Close tells what became of them.
func TestQueue(t *testing.T) {
	n := newNoted()
	d := NewDevice(n)
	q := must(d.NewQueue())
	n.failure = errors.New("the last command failed")
	if err := q.Wait(); err != n.failure || n.settled.Load() != 0 {
		t.Errorf("Wait: %v, and then settled %d times", err, n.settled.Load())
	}
	if err := n.finish(); err != n.failure {
		t.Errorf("Finish of the device: %v", err)
	}
	check(t, q.enter("Queue.Launch", q))
	closed := make(chan error)
	go func() { closed <- q.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait for the call")
	case <-time.After(20 * time.Millisecond):
	}
	n.wantReleased(t)
	q.drop()
	if err := <-closed; !errors.Is(err, n.failure) || n.settled.Load() != 1 {
		t.Errorf("Close: %v, and then settled %d times", err, n.settled.Load())
	}
	check(t, q.Close())
	waits := n.waits
	check(t, q.finish())
	if n.waits != waits {
		t.Error("finish waits for a queue that is released")
	}
	failure := n.failure
	n.failure = nil
	must(d.NewQueue())
	n.failure = failure
	if err := d.Close(); !errors.Is(err, n.failure) {
		t.Errorf("Close of the device: %v", err)
	}
	n.wantReleased(t, "queue", "queue", "device")
}

// Registered memory is left to the host when the queues are done.
func TestFreeOfRegisteredMemoryWaits(t *testing.T) {
	n := newNoted()
	x := newThings(n)
	check(t, x.b.Free())
	check(t, x.h.Free())
	n.info.Host = true // where commands are done when they have been issued
	check(t, must(x.d.Register(make([]byte, 1))).Free())
	n.info.Host = false
	if n.waits != 0 || n.settled.Load() != 0 {
		t.Errorf("%d waits, settled %d times: there is nothing to wait for", n.waits, n.settled.Load())
	}
	n.tracks = true
	r := must(x.d.Register(make([]byte, 1)))
	check(t, r.Free())
	if n.waits != 1 || n.settled.Load() != 1 || r.Bytes() != nil {
		t.Errorf("%d waits, settled %d times, %v left", n.waits, n.settled.Load(), r.Bytes())
	}
	n.wantReleased(t, "buffer", "host", "registered")
}

// Close in the midst of calls of many goroutines: nothing is released twice, nothing is left.
func TestCloseDuringCalls(t *testing.T) {
	for range 20 {
		n := newNoted()
		d := NewDevice(n)
		var wg sync.WaitGroup
		var made atomic.Int64
		for range 8 {
			wg.Go(func() {
				for {
					b, err1 := d.Alloc(8)
					q, err2 := d.NewQueue()
					if err1 != nil && err2 != nil {
						return
					}
					made.Add(1)
					if err1 == nil && err2 == nil {
						q.Read(make([]byte, 1), b, 0)
						n.finish()
						b.Free()
						q.Close()
					}
				}
			})
		}
		for made.Load() < 20 {
			time.Sleep(time.Microsecond)
		}
		check(t, d.Close())
		wg.Wait()
		if n.released[len(n.released)-1] != "device" || d.Used() != 0 || len(d.parts) != 0 {
			t.Fatalf("the last of %d is a %s; %d bytes, %d parts are left", len(n.released),
				n.released[len(n.released)-1], d.Used(), len(d.parts))
		}
	}
}

// What a program forgets is released.
func TestForgotten(t *testing.T) {
	n := newNoted()
	newThings(n)
	for range 1000 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		n.mu.Lock()
		released := len(n.released)
		n.mu.Unlock()
		if released == 6 {
			break
		}
	}
	if len(n.released) != 6 || n.released[5] != "device" {
		t.Errorf("released %q", n.released)
	}
}

func TestArguments(t *testing.T) {
	n := newNoted()
	x, other := newThings(n), newThings(newNoted())
	for want, b := range map[string]*Buffer{
		"nil": nil, "another device (Fake GPU)": other.b, "another device (none)": HostMemory(make([]byte, 8)),
	} {
		wantError(t, x.q.Write(b, 0, []byte{1}), ErrArgument, "Queue.Write", want)
		wantError(t, x.q.Copy(x.b, 0, b, 0, 1), ErrArgument, "Queue.Copy", want)
		wantError(t, x.q.Launch(x.k, Grid1(1, 1), Buf(b)), ErrLaunch, "kernel add: argument 0 (buffer a)", want)
	}
	wantError(t, x.q.Read([]byte{1}, new(Buffer), 0), ErrArgument, "Queue.Read", "nil")
	wantError(t, x.q.WriteAsync(x.b, 0, x.b, 0, 1), ErrArgument, "not host memory")
	wantError(t, x.q.ReadAsync(other.h, 0, x.b, 0, 1), ErrArgument, "another device")
	wantError(t, x.q.Launch(nil, Grid1(1, 1), Buf(x.b)), ErrLaunch, "the kernel")
	wantError(t, x.q.Launch(other.k, Grid1(1, 1), Buf(x.b)), ErrLaunch, "compile it here")
	wantError(t, x.q.Launch(x.k, Grid1(1, 9), Buf(x.b)), ErrLaunch,
		"this kernel runs with at most 8 on Fake GPU")
	for _, e := range []*Event{nil, other.e} {
		wantError(t, x.q.WaitEvent(e), ErrArgument, "the event is nil, or of another device")
	}
	_, err := x.d.Compile(nil)
	wantError(t, err, ErrArgument, "name")

	// memory for copies alone
	wantError(t, x.q.Write(x.h, 0, []byte{1}), ErrUnsupported, "WriteAsync")
	wantError(t, x.q.Launch(x.k, Grid1(1, 1), Buf(x.h)), ErrUnsupported, "WriteAsync")
	check(t, x.q.Write(x.r, 0, []byte{1}))

	check(t, x.b.Free())
	wantError(t, x.q.Launch(x.k, Grid1(1, 1), Buf(x.b)), ErrClosed, "kernel add: argument 0")
	if len(n.released) != 1 {
		t.Errorf("released %q", n.released)
	}
}

// A driver is not called where there is nothing to do.
func TestNothingToDo(t *testing.T) {
	n := newNoted()
	x := newThings(n)
	n.failure = errors.New("called")
	check(t, x.q.Write(x.b, 8, nil))
	check(t, x.q.Read(nil, x.b, 0))
	check(t, x.q.WriteAsync(x.b, 0, x.h, 8, 0))
	check(t, x.q.ReadAsync(x.h, 0, x.b, 0, 0))
	check(t, x.q.Copy(x.b, 0, x.b, 0, 0))
	check(t, x.q.Launch(x.k, Grid2(3, 0, 1, 1), Buf(x.b)))
	n.failure = nil
}

func TestSizes(t *testing.T) {
	n := newNoted()
	d := NewDevice(n)
	for _, alloc := range []func(int64) error{
		func(n int64) error { _, err := d.Alloc(n); return err },
		func(n int64) error { _, err := d.AllocHost(n); return err },
	} {
		check(t, alloc(0))
		check(t, alloc(1000))
		wantError(t, alloc(-1), ErrArgument, "-1")
		wantError(t, alloc(1001), ErrOutOfMemory, "1001", "at most 1000", "2000 bytes in all")
		n.failure = &Error{Op: "fakeAlloc", Err: ErrOutOfMemory, Detail: "no room"}
		wantError(t, alloc(7), ErrOutOfMemory, "a buffer of 7 bytes on Fake GPU with 2000 bytes: no room")
		n.failure = nil
	}
}

// Buffers that the program has forgotten make room for another.
func TestAllocateAgain(t *testing.T) {
	n := newNoted()
	d := NewDevice(n)
	full := newFull(n)
	d.driver = full
	for i := range 10 {
		b, err := d.Alloc(500)
		if err != nil {
			t.Fatalf("buffer %d: %v", i, err)
		}
		runtime.KeepAlive(b)
	}
	if full.refused == 0 {
		t.Error("there was always room")
	}
}

// full has room for as much as it says it has memory.
type full struct {
	*noted
	used    atomic.Int64
	refused int
}

func newFull(n *noted) *full { return &full{noted: n} }

func (f *full) Alloc(n int64) (Memory, error) {
	if f.used.Add(n) > f.info.Memory {
		f.used.Add(-n)
		f.refused++
		return Memory{}, &Error{Op: "fakeAlloc", Err: ErrOutOfMemory, Detail: fmt.Sprint(n)}
	}
	return Memory{Size: n, Handle: room{f, n}}, nil
}

type room struct {
	*full
	n int64
}

func (r room) Release() { r.used.Add(-r.n) }
