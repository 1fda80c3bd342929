package backendtest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/faulttest/fault"
)

var closeCases = []testCase{
	{"Close/Twice", valid, closeTwice, "Close, Free and Release are idempotent."},
	{"Close/Buffer", refused, closeBuffer, "ErrClosed: the buffer was freed before."},
	{"Close/Queue", refused, closeQueue, "ErrClosed: the queue was closed before."},
	{
		"Close/Device", refused, closeDevice,
		"What a device made dies with it: using it afterwards is an ErrClosed, never a crash.",
	},
	{
		"Close/WrongOrder", valid, closeWrongOrder,
		"Device.Close waits for the queues, then releases the device and all that it made.",
	},
	{
		"Close/Waits", valid, closeWaits,
		"Queue.Close waits, then releases the queue; Device.Close waits for the queues.",
	},
	{
		"Close/DuringCalls", valid, closeDuringCalls,
		"Everything here may be used from many goroutines at once. What a device made dies with it.",
	},
	{
		"Close/Abandon", refused, closeAbandon,
		"Calls on an abandoned device and on what it made are ErrDeviceLost. Its Close returns at once.",
	},
	{"Close/Goroutines", valid, closeGoroutines, "Nothing leaks."},
}

// things is one of everything that a device makes.
type things struct {
	*env
	buf  *backend.Buffer
	host *backend.Buffer
	k    *backend.Kernel
	ev   *backend.Event
}

// everything opens the device once more, for a case that closes it, and makes one of each thing.
func (e *env) everything() things {
	t := things{env: e.open()}
	t.buf, t.host, t.k = t.alloc(64), t.allocHost(64), t.compile(affineSource)
	e.must("Launch", e.affine(t.q, t.k, t.buf, t.buf, 1, 16))
	t.ev = e.record(t.q)
	return t
}

func closeTwice(e *env) {
	t := e.everything()
	for range 3 {
		e.must("Event.Release", t.ev.Release())
		e.must("Buffer.Free", t.buf.Free())
		e.must("Buffer.Free of host memory", t.host.Free())
		e.must("Kernel.Release", t.k.Release())
	}
	for range 3 {
		e.must("Queue.Close", t.q.Close())
	}
	for range 3 {
		e.must("Device.Close", t.dev.Close())
	}
}

func closeBuffer(e *env) {
	freed, live := e.alloc(64), upload(e, garbage(64))
	host, freedHost := e.allocHost(64), e.allocHost(64)
	e.must("Free", freed.Free())
	e.must("Free", freedHost.Free())
	e.buffersRefused("that was freed", freed, freedHost, live, host, backend.ErrClosed)
	e.wait()
	e.holds("the other buffer", live, garbage(64))
}

// queueRefuses checks that want is the error of every method of a queue. The things are alive, or
// all of one closed device.
func (e *env) queueRefuses(t things, want error) {
	e.refused("Write", t.q.Write(t.buf, 0, make([]byte, 8)), want)
	e.refused("Read", t.q.Read(make([]byte, 8), t.buf, 0), want)
	e.refused("WriteAsync", t.q.WriteAsync(t.buf, 0, t.host, 0, 8), want)
	e.refused("ReadAsync", t.q.ReadAsync(t.host, 0, t.buf, 0, 8), want)
	e.refused("Copy", t.q.Copy(t.buf, 0, t.buf, 32, 8), want)
	e.refused("Launch", e.affine(t.q, t.k, t.buf, t.buf, 1, 16), want)
	e.refused("Launch of no groups", t.q.Launch(t.k, backend.Grid1(0, 1), backend.Buf(t.buf), backend.Buf(t.buf),
		backend.Int32(1), backend.Int32(1)), want)
	_, err := t.q.Record()
	e.refused("Record", err, want)
	e.refused("WaitEvent", t.q.WaitEvent(t.ev), want)
	e.refused("Queue.Wait", t.q.Wait(), want)
	e.must("Queue.Close", t.q.Close())
}

func closeQueue(e *env) {
	t := e.everything()
	e.must("Queue.Close", t.q.Close())
	e.queueRefuses(t, backend.ErrClosed)
	e.must("Event.Wait after its queue was closed", t.ev.Wait())
	q := t.newQueue()
	got := make([]int32, 16)
	e.must("Read on another queue", q.Read(backend.Bytes(got), t.buf, 0))
	same(e, "what the closed queue had to do", got, []int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
}

// deviceRefuses checks that want is the error of everything that a device and what it made do.
func (e *env) deviceRefuses(t things, want error) {
	_, err := t.dev.Alloc(8)
	e.refused("Alloc", err, want)
	_, err = t.dev.AllocHost(8)
	e.refused("AllocHost", err, want)
	_, err = t.dev.Register(make([]byte, 8))
	if t.dev.Info().UnifiedMemory {
		e.refused("Register", err, want)
	} else {
		e.refused("Register", err, want, backend.ErrUnsupported)
	}
	_, err = t.dev.Compile(affineSource)
	e.refused("Compile", err, want)
	_, err = t.dev.NewQueue()
	e.refused("NewQueue", err, want)
	e.queueRefuses(t, want)
	e.refused("Event.Wait", t.ev.Wait(), want)
	_, err = t.ev.Since(t.ev)
	e.refused("Since", err, want)
}

func closeDevice(e *env) {
	t := e.everything()
	info := t.dev.Info()
	e.must("Device.Close", t.dev.Close())
	e.deviceRefuses(t, backend.ErrClosed)
	if t.dev.Info() != info {
		e.errorf("Info after Close is %+v, before %+v", t.dev.Info(), info)
	}
	if t.host.Bytes() != nil {
		e.errorf("Bytes of host memory after Close")
	}
	if t.k.Name() != "affine" || len(t.k.Params()) != 4 || t.buf.Len() != 64 {
		e.errorf("kernel %s, %d parameters, a buffer of %d bytes after Close; want affine, 4 and 64",
			t.k.Name(), len(t.k.Params()), t.buf.Len())
	}
}

func closeAbandon(e *env) {
	t := e.everything()
	t.launch(t.compile(chainSource), backend.Grid1(1, 1), backend.Buf(t.buf), backend.Uint32(slow))
	t.dev.Abandon()
	e.deviceRefuses(t, backend.ErrDeviceLost)
	e.must("Event.Release", t.ev.Release())
	e.must("Kernel.Release", t.k.Release())
	e.must("Buffer.Free", t.buf.Free())
	e.must("Device.Close", t.dev.Close())
	e.must("Device.Close", t.dev.Close())
	t.dev.Abandon()

	b := upload(e, []int32{1, 2}) // the same device, opened another time
	e.must("Launch", e.affine(e.q, e.compile(affineSource), b, b, 40, 2))
	same(e, "the result on another device", download[int32](e, b), []int32{41, 42})
}

func closeWrongOrder(e *env) {
	t := e.everything()
	e.must("Device.Close", t.dev.Close())
	e.must("Queue.Close", t.q.Close())
	e.must("Buffer.Free", t.buf.Free())
	e.must("Buffer.Free of host memory", t.host.Free())
	e.must("Kernel.Release", t.k.Release())
	e.must("Event.Release", t.ev.Release())
	e.must("Device.Close", t.dev.Close())

	t = e.everything()
	e.must("Kernel.Release", t.k.Release())
	e.must("Buffer.Free", t.buf.Free())
	e.must("Queue.Close", t.q.Close())
	e.must("Event.Wait after Queue.Close", t.ev.Wait())
	e.must("Event.Release", t.ev.Release())
	e.must("Buffer.Free of host memory", t.host.Free())
	e.must("Device.Close", t.dev.Close())
}

// closeWaits closes a queue with a launch in it, then a device.
func closeWaits(e *env) {
	e = e.open()
	k, h, b := e.compile(chainSource), e.allocHost(8), e.alloc(8)
	e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
	e.must("ReadAsync", e.q.ReadAsync(h, 0, b, 0, 4))
	e.must("Queue.Close", e.q.Close())
	same(e, "the result after Queue.Close", backend.Elems[uint32](h.Bytes())[:1], []uint32{chain(0, slow)})
	if !e.dev.Info().UnifiedMemory {
		return
	}
	mem := make([]uint32, 4)
	r, err := e.dev.Register(backend.Bytes(mem))
	e.must("Register", err)
	q := e.newQueue()
	e.must("Launch", q.Launch(k, backend.Grid1(1, 1), backend.Buf(r), backend.Uint32(slow)))
	e.must("Device.Close", e.dev.Close())
	same(e, "the result after Device.Close", mem, []uint32{chain(0, slow), 0, 0, 0})
}

// closeDuringCalls closes a device in the midst of calls of other goroutines, which end well or
// with ErrClosed.
func closeDuringCalls(e *env) {
	for range 5 {
		dev := e.open().dev
		started, failed := make(chan struct{}, 8), make(chan error, 8)
		for range cap(started) {
			go func() {
				var err error
				for i := 0; err == nil; i++ {
					if err = useAll(dev); i == 0 {
						started <- struct{}{}
					}
				}
				failed <- err
			}()
		}
		<-started
		if err := dev.Close(); err != nil {
			e.errorf("Device.Close: %v", err)
		}
		for range cap(failed) {
			if err := <-failed; !errors.Is(err, backend.ErrClosed) {
				e.errorf("during Device.Close: %v, want an ErrClosed", err)
			}
		}
		if err := useAll(dev); !errors.Is(err, backend.ErrClosed) {
			e.errorf("after Device.Close: %v, want an ErrClosed", err)
		}
	}
}

// useAll does a little of everything with a device, and releases all that it made.
func useAll(d *backend.Device) error {
	return fault.Try(func(u *fault.Use) {
		q, k := parts(u, d, affineSource)
		b := fault.Keep(u, fault.Must(d.Alloc(400)))
		fault.Check(q.Write(b, 0, make([]byte, 400)))
		fault.Check(q.Launch(k, backend.Grid1(10, 10), backend.Buf(b), backend.Buf(b), backend.Int32(7),
			backend.Int32(100)))
		record(u, q)
		got := make([]int32, 100)
		fault.Check(q.Read(backend.Bytes(got), b, 0))
		if i := slices.IndexFunc(got, func(v int32) bool { return v != 7 }); i >= 0 {
			fault.Check(fmt.Errorf("element %d is %d, want 7", i, got[i]))
		}
		fault.Check(q.Wait())
	})
}

func closeGoroutines(e *env) {
	before := runtime.NumGoroutine()
	for range 20 { // those that give back what other cases have forgotten end meanwhile
		time.Sleep(time.Millisecond)
		before = min(before, runtime.NumGoroutine())
	}
	for range 3 {
		t := e.everything()
		e.must("Queue.Wait", t.q.Wait())
		e.must("Device.Close", t.dev.Close())
	}
	// A goroutine that was told to end may take a moment.
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	e.errorf("%d goroutines before, %d after everything was closed:\n%s",
		before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
}
