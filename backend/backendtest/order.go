package backendtest

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
)

var orderCases = []testCase{
	{"Order/Chain", valid, orderChain, "A Queue runs its commands in order, one after the other."},
	{"Order/Async", valid, orderAsync, "ReadAsync and WriteAsync run in the queue's order."},
	{"Order/Write", valid, orderWrite, "Write copies src to dst after the queue's earlier commands, Read after them."},
	{"Order/TwoQueues", valid, orderTwoQueues, "WaitEvent makes later commands of this queue wait for e."},
	{"Order/Wait", valid, orderWait, "Wait blocks until everything queued is done."},
	{
		"Order/FreeInFlight", valid, freeInFlight,
		"Every buffer that a queued command uses stays alive until the command is done, even when the caller frees " +
			"it before.",
	},
}

var eventCases = []testCase{
	{"Event/Wait", valid, eventWait, "Event.Wait blocks until the queue has reached the event."},
	{"Event/Since", valid, eventSince, "Since is the device's own time in nanoseconds from earlier to this event."},
	{"Event/Release", refused, eventRelease, "Release gives the event back. It is idempotent."},
	{
		"Event/Foreign", refused, eventForeign,
		"WaitEvent takes an event of the same device, Since one of the same device.",
	},
	{"Event/EmptyQueue", valid, eventEmptyQueue, "Record marks the present end of the queue."},
}

// orderChain adds 1, 2, 3, ... in turn, through launches and copies that each need the one before.
func orderChain(e *env) {
	const n, rounds = 100, 25
	k := e.compile(affineSource)
	triple := e.compile(tripleSource())
	a, b, c := upload(e, make([]int32, n)), e.alloc(4*n), e.alloc(4*n)
	want := int32(0)
	for i := range int32(rounds) {
		e.must("Launch", e.affine(e.q, k, b, a, i, n))
		e.must("Copy", e.q.Copy(c, 0, b, 0, 4*n))
		e.must("Launch", e.affine(e.q, triple, a, c, 1, n))
		want = 3*(want+i) + 1
	}
	got := download[int32](e, a)
	for i := range got {
		if got[i] != want {
			e.fatalf("element %d is %d, want %d", i, got[i], want)
		}
	}
}

func orderAsync(e *env) {
	k := e.compile(chainSource)
	b, in, out := e.alloc(4), e.allocHost(4), e.allocHost(8)
	copy(in.Bytes(), backend.Bytes([]uint32{17}))
	e.must("WriteAsync", e.q.WriteAsync(b, 0, in, 0, 4))
	e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
	e.must("ReadAsync", e.q.ReadAsync(out, 0, b, 0, 4))
	e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(1))
	e.must("ReadAsync", e.q.ReadAsync(out, 4, b, 0, 4))
	e.wait()
	x := chain(17, slow)
	same(e, "results of two launches", backend.Elems[uint32](out.Bytes()), []uint32{x, chain(x, 1)})
}

func orderWrite(e *env) {
	k := e.compile(chainSource)
	b, out := upload(e, []uint32{5}), e.alloc(4)
	e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
	e.must("Copy", e.q.Copy(out, 0, b, 0, 4))
	e.must("Write", e.q.Write(b, 0, backend.Bytes([]uint32{77})))
	same(e, "a copy of what was there before Write", download[uint32](e, out), []uint32{chain(5, slow)})
	same(e, "what was written", download[uint32](e, b), []uint32{77})
	e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
	same(e, "what Read found after a launch", download[uint32](e, b), []uint32{chain(77, slow)})
}

func orderTwoQueues(e *env) {
	k := e.compile(chainSource)
	q2 := e.newQueue()
	b := upload(e, []uint32{1})
	e.wait()
	want := uint32(1)
	for i := range 4 { // back and forth
		from, to := e.q, q2
		if i%2 == 1 {
			from, to = q2, e.q
		}
		e.must("Launch", from.Launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow)))
		ev := e.record(from)
		e.must("WaitEvent", to.WaitEvent(ev))
		e.must("Release of an event that a queue waits for", ev.Release())
		want = chain(want, slow)
	}
	same(e, "the chain through two queues", download[uint32](e, b), []uint32{want})
	// An event that was reached long ago holds nothing up.
	ev := e.record(e.q)
	e.wait()
	e.must("WaitEvent for the past", q2.WaitEvent(ev))
	e.must("Wait", q2.Wait())
}

func orderWait(e *env) {
	k := e.compile(chainSource)
	b, h := upload(e, []uint32{5}), e.allocHost(4)
	e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
	e.must("ReadAsync", e.q.ReadAsync(h, 0, b, 0, 4))
	e.wait()
	same(e, "the result after Wait", backend.Elems[uint32](h.Bytes()), []uint32{chain(5, slow)})
	e.must("Wait with nothing queued", e.q.Wait())
}

func freeInFlight(e *env) {
	k := e.compile(chainSource)
	for i := range uint32(3) {
		b, out := upload(e, []uint32{i}), e.alloc(4)
		e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
		e.must("Copy", e.q.Copy(out, 0, b, 0, 4))
		e.must("Free while a launch uses the buffer", b.Free())
		if i == 2 {
			e.must("Release while a launch uses the kernel", k.Release())
		}
		other := upload(e, garbage(64)) // likes to take the place of b
		same(e, "the result", download[uint32](e, out), []uint32{chain(i, slow)})
		e.must("Free", other.Free())
	}
}

func eventWait(e *env) {
	k := e.compile(chainSource)
	b, h := upload(e, []uint32{9}), e.allocHost(4)
	e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
	e.must("ReadAsync", e.q.ReadAsync(h, 0, b, 0, 4))
	ev := e.record(e.q)
	e.must("Event.Wait", ev.Wait())
	same(e, "the result after Event.Wait", backend.Elems[uint32](h.Bytes()), []uint32{chain(9, slow)})
	e.must("Event.Wait again", ev.Wait())
}

func eventSince(e *env) {
	k := e.compile(chainSource)
	b := upload(e, []uint32{1})
	var events [4]*backend.Event
	for i := range events {
		if i > 0 {
			e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Uint32(slow))
		}
		events[i] = e.record(e.q)
	}
	since := func(later, earlier int) int64 {
		ns, err := events[later].Since(events[earlier])
		e.must("Since", err)
		return ns
	}
	for i := range events {
		if ns := since(i, i); ns != 0 {
			e.errorf("an event is %d ns after itself", ns)
		}
		for j := range i {
			if ns := since(i, j); ns <= 0 {
				e.errorf("event %d is %d ns after event %d, with %d launches between them", i, ns, j, i-j)
			}
			if back := since(j, i); back != -since(i, j) {
				e.errorf("event %d is %d ns after event %d, and that %d ns after it", i, since(i, j), j, back)
			}
			if i < 3 && since(i+1, j) < since(i, j) {
				e.errorf("event %d comes before event %d by the device's time", i+1, i)
			}
		}
	}
}

func eventRelease(e *env) {
	ev, live := e.record(e.q), e.record(e.q)
	e.must("Release", ev.Release())
	e.must("Release again", ev.Release())
	e.refused("Wait for a released event", ev.Wait(), backend.ErrClosed)
	e.refused("WaitEvent for a released event", e.q.WaitEvent(ev), backend.ErrClosed)
	_, err := ev.Since(live)
	e.refused("Since of a released event", err, backend.ErrClosed)
	_, err = live.Since(ev)
	e.refused("Since from a released event", err, backend.ErrClosed)
	e.must("Wait for another event", live.Wait())
	e.wait()
}

func eventForeign(e *env) {
	foreign := e.record(e.open().q)
	own := e.record(e.q)
	e.refused("WaitEvent for an event of another device", e.q.WaitEvent(foreign), backend.ErrArgument)
	e.refused("WaitEvent for no event", e.q.WaitEvent(nil), backend.ErrArgument)
	for name, other := range map[string]*backend.Event{"an event of another device": foreign, "no event": nil} {
		_, err := own.Since(other)
		e.refused(fmt.Sprintf("Since from %s", name), err, backend.ErrArgument)
	}
	e.wait()
}

func eventEmptyQueue(e *env) {
	q := e.newQueue()
	ev := e.record(q)
	e.must("Wait for an event of an empty queue", ev.Wait())
	e.must("WaitEvent for an event of an empty queue", e.q.WaitEvent(ev))
	later := e.record(q)
	if ns, err := later.Since(ev); err != nil || ns < 0 {
		e.errorf("Since between events of an empty queue: %d ns, %v", ns, err)
	}
	e.wait()
}
