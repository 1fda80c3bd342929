package backendtest

import (
	"fmt"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
)

var concurrencyCases = []testCase{
	{
		"Concurrency/OneQueue", valid, concurrentOneQueue,
		"Commands of concurrent calls on one queue run in some order, each whole.",
	},
	{"Concurrency/OwnQueues", valid, concurrentOwnQueues, "Everything here may be used from many goroutines at once."},
	{"Concurrency/Compile", valid, concurrentCompile, "The same Source may be compiled for many devices at once."},
	{
		"Concurrency/Release", valid, concurrentRelease,
		"Close, Free and Release are idempotent and release each underlying handle once.",
	},
	{
		"Concurrency/Launches", valid, concurrentLaunches,
		"A launch runs with its own arguments, whatever other goroutines launch of the same kernel.",
	},
}

const goroutines = 32

// work is a goroutine's share: its own buffers, and a kernel and a queue that it may share with
// others.
func (e *env) work(q *backend.Queue, k *backend.Kernel, id int) {
	const n = 100
	in, got := make([]int32, n), make([]int32, n)
	for i := range in {
		in[i] = int32(id*1000 + i)
	}
	a, b := e.alloc(4*n), e.alloc(4*n)
	defer a.Free()
	defer b.Free()
	e.must("Write", q.Write(a, 0, backend.Bytes(in)))
	for range 4 {
		e.must("Launch", e.affine(q, k, b, a, int32(id), n))
		e.must("Copy", q.Copy(a, 0, b, 0, 4*n))
	}
	e.must("Read", q.Read(backend.Bytes(got), a, 0))
	for i := range in {
		in[i] += 4 * int32(id)
	}
	same(e, fmt.Sprintf("the result of goroutine %d", id), got, in)
}

func concurrentOneQueue(e *env) {
	k := e.compile(affineSource)
	e.parallel(goroutines, func(i int) { e.work(e.q, k, i) })
	e.wait()
}

func concurrentOwnQueues(e *env) {
	k := e.compile(affineSource)
	e.parallel(goroutines, func(i int) {
		q := e.newQueue()
		e.work(q, k, i)
		ev := e.record(q)
		e.must("Event.Wait", ev.Wait())
		e.must("Event.Release", ev.Release())
		e.must("Queue.Close", q.Close())
	})
}

// concurrentLaunches compiles one source in all goroutines and launches it with arguments of their
// own, on one queue and on a queue each.
func concurrentLaunches(e *env) {
	e.parallel(goroutines, func(i int) { e.launchMany(e.q, i) })
	e.parallel(goroutines, func(i int) {
		q := e.newQueue()
		defer q.Close()
		e.launchMany(q, i)
	})
}

func (e *env) launchMany(q *backend.Queue, id int) {
	k := e.compile(affineSource)
	defer k.Release()
	for r := range 10 {
		n := 50 + id + r
		b := e.alloc(4*n + 4)
		e.must("Write", q.Write(b, 0, make([]byte, 4*n+4)))
		e.must("Launch", e.affine(q, k, b, b, int32(1000*id+r), n))
		got := make([]int32, n+1)
		e.must("Read", q.Read(backend.Bytes(got), b, 0))
		want := append(slices.Repeat([]int32{int32(1000*id + r)}, n), 0)
		same(e, fmt.Sprintf("the result of launch %d of goroutine %d", r, id), got, want)
		e.must("Free", b.Free())
	}
}

func concurrentCompile(e *env) {
	sources := []*backend.Source{affineSource, tripleSource()}
	e.parallel(goroutines, func(i int) {
		step := int32(1 + 2*(i%2))
		k, b := e.compile(sources[i%2]), upload(e, []int32{int32(i)})
		e.must("Launch", e.affine(e.q, k, b, b, 5, 1))
		same(e, fmt.Sprintf("the result with STEP=%d", step), download[int32](e, b), []int32{step*int32(i) + 5})
		e.must("Release", k.Release())
	})
}

func concurrentRelease(e *env) {
	e = e.open()
	b, k, ev := e.alloc(1000), e.compile(affineSource), e.record(e.q)
	for _, f := range []func() error{ev.Release, b.Free, k.Release, e.q.Close, e.dev.Close} {
		e.parallel(8, func(int) { e.must("release", f()) })
	}
}
