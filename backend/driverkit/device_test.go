package driverkit_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// A device notes what it releases.
type device struct {
	driverkit.Device
	mu       sync.Mutex
	released []string
}

func newDevice() *device {
	d := new(device)
	d.Init(backend.Info{Driver: "fake", Name: "Fake GPU", Memory: 2000, MaxAlloc: 1000}, d.release("device"))
	return d
}

func (d *device) release(name string) func() {
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.released = append(d.released, name)
	}
}

func (d *device) wantReleased(t *testing.T, names ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.released, names) {
		t.Errorf("released %q, want %q", d.released, names)
	}
}

// A memory is the driver's own, a buffer the caller's handle of it.
type memory struct{ driverkit.Object }

type buffer struct{ *memory }

func (buffer) Len() int64           { return 8 }
func (buffer) Free() error          { return nil }
func (b *buffer) Memory() *memory   { return b.memory }
func (d *device) alloc() *buffer    { b, _ := d.tryAlloc(); return b }
func (d *device) enter() error      { return d.Enter("Device.Call") }
func (d *device) newQueue() *fQueue { q, _ := d.tryQueue(nil); return q }

func (d *device) tryAlloc() (*buffer, error) {
	b := &buffer{new(memory)}
	return b, d.Adopt("Device.Alloc", "buffer", &b.Object, d.release("buffer"))
}

type fQueue struct {
	driverkit.Queue
	waits atomic.Int64
}

func (d *device) tryQueue(failed error) (*fQueue, error) {
	q := new(fQueue)
	finish := func() error { q.waits.Add(1); return failed }
	return q, d.AdoptQueue("Device.NewQueue", &q.Queue, finish, d.release("queue"))
}

func wantError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var e *backend.Error
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

// What is used stays until the last call returns; the device goes last; each is released once.
func TestLifetimes(t *testing.T) {
	d := newDevice()
	used, idle := d.alloc(), d.alloc()
	q := d.newQueue()
	check(t, used.Enter("Queue.Read"))
	check(t, used.Enter("Queue.Read"))
	idle.Close()
	idle.Close()
	d.wantReleased(t, "buffer")
	check(t, d.enter())
	check(t, d.Close())
	check(t, d.Close())
	d.wantReleased(t, "buffer", "queue")
	wantError(t, used.Enter("Queue.Read"), backend.ErrClosed, "Queue.Read", "the buffer was closed, or its device")
	wantError(t, q.Wait(), backend.ErrClosed, "Queue.Wait", "the queue was closed")
	wantError(t, d.enter(), backend.ErrClosed, "Device.Call", "the device was closed")
	used.Drop()
	d.wantReleased(t, "buffer", "queue")
	used.Drop()
	d.Drop()
	d.wantReleased(t, "buffer", "queue", "buffer", "device")
	_, err := d.tryAlloc()
	wantError(t, err, backend.ErrClosed, "Device.Alloc")
	d.wantReleased(t, "buffer", "queue", "buffer", "device", "buffer")
}

// What is adopted while the device is being closed is released at once, and is an error.
func TestAdoptAfterClose(t *testing.T) {
	d := newDevice()
	check(t, d.enter())
	check(t, d.Close())
	_, err := d.tryAlloc()
	wantError(t, err, backend.ErrClosed)
	_, err = d.tryQueue(nil)
	wantError(t, err, backend.ErrClosed)
	d.wantReleased(t, "buffer", "queue")
	d.Drop()
	d.wantReleased(t, "buffer", "queue", "device")
}

func TestLost(t *testing.T) {
	d := newDevice()
	b := d.alloc()
	check(t, d.Lost("Device.Call"))
	d.Lose("fakeCall: it burns")
	d.Lose("another: later")
	for _, err := range []error{d.enter(), b.Enter("Buffer.Call"), d.Lost("Device.Call")} {
		wantError(t, err, backend.ErrDeviceLost, "after fakeCall: it burns")
	}
	check(t, d.Close())
	d.wantReleased(t, "buffer", "device")
}

// A queue waits for its commands before it is released, and Close tells what became of them.
func TestQueue(t *testing.T) {
	d := newDevice()
	settled := 0
	d.AfterWait = func() error { settled++; return nil }
	failed := errors.New("the last command failed")
	q, err := d.tryQueue(failed)
	check(t, err)
	if err := q.Wait(); err != failed || settled != 0 {
		t.Errorf("Wait: %v, and then settled %d times", err, settled)
	}
	if err := d.Finish(); err != failed {
		t.Errorf("Finish of the device: %v", err)
	}
	check(t, q.Enter("Queue.Launch"))
	closed := make(chan error)
	go func() { closed <- q.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait for the call")
	case <-time.After(20 * time.Millisecond):
	}
	d.wantReleased(t)
	q.Drop()
	if err := <-closed; !errors.Is(err, failed) || settled != 1 {
		t.Errorf("Close: %v, and then settled %d times", err, settled)
	}
	check(t, q.Close())
	n := q.waits.Load()
	check(t, q.Finish())
	if q.waits.Load() != n {
		t.Error("Finish waits for a queue that is released")
	}
	_, err = d.tryQueue(failed)
	check(t, err)
	if err := d.Close(); !errors.Is(err, failed) {
		t.Errorf("Close of the device: %v", err)
	}
	d.wantReleased(t, "queue", "queue", "device")
}

// Close in the midst of calls of many goroutines: nothing is released twice, nothing is left.
func TestCloseDuringCalls(t *testing.T) {
	for range 20 {
		d := newDevice()
		var wg sync.WaitGroup
		var made atomic.Int64
		for range 8 {
			wg.Go(func() {
				for d.enter() == nil {
					b, err1 := d.tryAlloc()
					q, err2 := d.tryQueue(nil)
					made.Add(2)
					d.Drop()
					if err1 == nil && b.Enter("Queue.Read") == nil {
						b.Drop()
					}
					if err2 == nil && d.Finish() == nil {
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
		if len(d.released) != int(made.Load())+1 || d.released[len(d.released)-1] != "device" {
			t.Fatalf("%d objects released of %d, the last is a %s", len(d.released), made.Load()+1,
				d.released[len(d.released)-1])
		}
	}
}

type foreign struct{ backend.Buffer }

func TestMemory(t *testing.T) {
	d, other := newDevice(), newDevice()
	const op = "Queue.Read"
	find := func(b backend.Buffer) error {
		_, err := driverkit.Memory[*memory](&d.Device, op, b)
		return err
	}
	b := d.alloc()
	if m, err := driverkit.Memory[*memory](&d.Device, op, b); err != nil || m != b.memory {
		t.Errorf("%p, %v, want %p", m, err, b.memory)
	}
	b.Close()
	d.wantReleased(t)
	b.Drop()
	d.wantReleased(t, "buffer")
	wantError(t, find(b), backend.ErrClosed, op)
	wantError(t, find(nil), backend.ErrArgument, "the buffer is nil")
	wantError(t, find((*buffer)(nil)), backend.ErrArgument, "the buffer is nil")
	wantError(t, find(foreign{}), backend.ErrArgument, "another driver", "foreign")
	wantError(t, find(other.alloc()), backend.ErrArgument, "another device (Fake GPU)")

	sig := driverkit.Signature{Name: "add", Params: []backend.Param{{Name: "a", Buffer: true}}}
	wantError(t, sig.ArgumentError(0, find(nil)), backend.ErrLaunch,
		"kernel add: argument 0 (buffer a): the buffer is nil")
	wantError(t, sig.ArgumentError(0, find(b)), backend.ErrClosed, "kernel add: argument 0")
	sig.MaxGroup = 8
	wantError(t, sig.Check(&d.Info, backend.Grid1(1, 9), []backend.Arg{backend.Buf(d.alloc())}), backend.ErrLaunch,
		"this kernel runs with at most 8 on Fake GPU")
}

func TestCheckSize(t *testing.T) {
	d := newDevice()
	check(t, d.CheckSize("Device.Alloc", 0))
	check(t, d.CheckSize("Device.Alloc", 1000))
	wantError(t, d.CheckSize("Device.Alloc", -1), backend.ErrArgument, "-1")
	wantError(t, d.CheckSize("Device.Alloc", 1001), backend.ErrOutOfMemory, "1001", "at most 1000", "2000 bytes in all")
	err := d.Sized(d.Failure("fakeAlloc", backend.ErrOutOfMemory, "no room"), 7)
	wantError(t, err, backend.ErrOutOfMemory, "a buffer of 7 bytes on Fake GPU with 2000 bytes: no room")
}
