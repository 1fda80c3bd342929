package backendtest

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
)

var concurrencyCases = []testCase{
	{
		name: "Concurrency/OneQueue", run: concurrentOneQueue,
		contract: "Commands of concurrent calls on one queue run in some order, each whole.",
	},
	{
		name: "Concurrency/OwnQueues", run: concurrentOwnQueues,
		contract: "Everything here may be used from many goroutines at once.",
	},
	{
		name: "Concurrency/Compile", run: concurrentCompile,
		contract: "The same Source may be compiled for many devices at once.",
	},
	{
		name: "Concurrency/Release", run: concurrentRelease,
		contract: "Close, Free and Release are idempotent and release each underlying handle once.",
	},
	{
		name: "Concurrency/Launches", run: concurrentLaunches,
		contract: "A launch runs with its own arguments, whatever other goroutines launch of the same kernel.",
	},
}

const goroutines = 32

// work is a goroutine's share: its own buffers, and a kernel and a queue that it may share with
// others.
func (e *env) work(q *backend.Queue, k *backend.Kernel, id int) error {
	const n = 100
	in, got := make([]int32, n), make([]int32, n)
	for i := range in {
		in[i] = int32(id*1000 + i)
	}
	a, err := e.dev.Alloc(4 * n)
	if err != nil {
		return err
	}
	defer a.Free()
	b, err := e.dev.Alloc(4 * n)
	if err != nil {
		return err
	}
	defer b.Free()
	if err := q.Write(a, 0, backend.Bytes(in)); err != nil {
		return err
	}
	for range 4 {
		if err := e.affine(q, k, b, a, int32(id), n); err != nil {
			return err
		}
		if err := q.Copy(a, 0, b, 0, 4*n); err != nil {
			return err
		}
	}
	if err := q.Read(backend.Bytes(got), a, 0); err != nil {
		return err
	}
	for i := range got {
		if want := in[i] + 4*int32(id); got[i] != want {
			return fmt.Errorf("element %d is %d, want %d", i, got[i], want)
		}
	}
	return nil
}

func concurrentOneQueue(e *env) {
	k := e.compile(affineSource)
	e.parallel(goroutines, func(i int) error { return e.work(e.q, k, i) })
	e.wait()
}

func concurrentOwnQueues(e *env) {
	k := e.compile(affineSource)
	e.parallel(goroutines, func(i int) error {
		q, err := e.dev.NewQueue()
		if err != nil {
			return err
		}
		if err := e.work(q, k, i); err != nil {
			return err
		}
		if ev, err := q.Record(); err != nil {
			return err
		} else if err := ev.Wait(); err != nil {
			return err
		} else if err := ev.Release(); err != nil {
			return err
		}
		return q.Close()
	})
}

// concurrentLaunches compiles one source in all goroutines and launches it with arguments of their
// own, on one queue and on a queue each.
func concurrentLaunches(e *env) {
	e.parallel(goroutines, func(i int) error { return e.launchMany(e.q, i) })
	e.parallel(goroutines, func(i int) error {
		q, err := e.dev.NewQueue()
		if err != nil {
			return err
		}
		defer q.Close()
		return e.launchMany(q, i)
	})
}

func (e *env) launchMany(q *backend.Queue, id int) error {
	k, err := e.dev.Compile(affineSource)
	if err != nil {
		return err
	}
	defer k.Release()
	for r := range 10 {
		n := 50 + id + r
		b, err := e.dev.Alloc(int64(4*n + 4))
		if err != nil {
			return err
		}
		if err := q.Write(b, 0, make([]byte, 4*n+4)); err != nil {
			return err
		}
		if err := e.affine(q, k, b, b, int32(1000*id+r), n); err != nil {
			return err
		}
		got := make([]int32, n+1)
		if err := q.Read(backend.Bytes(got), b, 0); err != nil {
			return err
		}
		for i, v := range got {
			if want := int32(1000*id + r); i < n && v != want || i == n && v != 0 {
				return fmt.Errorf("goroutine %d, launch %d: element %d of %d is %d, want %d", id, r, i, n, v, want)
			}
		}
		if err := b.Free(); err != nil {
			return err
		}
	}
	return nil
}

func concurrentCompile(e *env) {
	sources := []*backend.Source{affineSource, tripleSource()}
	e.parallel(goroutines, func(i int) error {
		step := int32(1 + 2*(i%2))
		k, err := e.dev.Compile(sources[i%2])
		if err != nil {
			return err
		}
		b, err := e.dev.Alloc(4)
		if err != nil {
			return err
		}
		got := []int32{int32(i)}
		if err := e.q.Write(b, 0, backend.Bytes(got)); err != nil {
			return err
		}
		if err := e.affine(e.q, k, b, b, 5, 1); err != nil {
			return err
		}
		if err := e.q.Read(backend.Bytes(got), b, 0); err != nil {
			return err
		}
		if want := step*int32(i) + 5; got[0] != want {
			return fmt.Errorf("with STEP=%d the result is %d, want %d", step, got[0], want)
		}
		return k.Release()
	})
}

func concurrentRelease(e *env) {
	dev := e.open()
	q := e.newQueue(dev)
	b, err := dev.Alloc(1000)
	e.must("Alloc", err)
	k, err := dev.Compile(affineSource)
	e.must("Compile", err)
	ev := e.record(q)
	for _, f := range []func() error{ev.Release, b.Free, k.Release, q.Close, dev.Close} {
		e.parallel(8, func(int) error { return f() })
	}
}
