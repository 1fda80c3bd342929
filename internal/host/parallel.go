package host

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Parallel calls f(0) ... f(n-1) on up to GOMAXPROCS goroutines, each taking the next index when it is free, and returns when all are
// done. It runs in the caller's goroutine alone when n is 1 or there is one core.
//
// When an f panics, indices not yet taken are left out, and once the others are done Parallel panics with the same value. In
// the same way an f that ends its goroutine, as testing's FailNow does, ends the caller's.
func Parallel(n int, f func(i int)) {
	workers := min(n, maxWorkers())
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	w := work{n: int64(n), f: f}
	w.wait.Add(workers)
	defer w.wait.Wait() // where the caller's own f ends the goroutine
	for range workers - 1 {
		go w.run()
	}
	w.run()
	w.wait.Wait()
	switch {
	case w.value != nil:
		panic(w.value)
	case w.exited:
		runtime.Goexit()
	}
}

// maxWorkers is the number of goroutines that Parallel uses at most.
func maxWorkers() int { return runtime.GOMAXPROCS(0) }

// work is one call of Parallel.
type work struct {
	n    int64
	f    func(i int)
	next atomic.Int64
	wait sync.WaitGroup

	mu     sync.Mutex
	value  any  // of the first panic
	exited bool // an f ended its goroutine
}

func (w *work) run() {
	done := false
	defer func() {
		if v := recover(); !done {
			w.next.Store(w.n)
			w.mu.Lock()
			if v == nil {
				w.exited = true
			} else if w.value == nil {
				w.value = v
			}
			w.mu.Unlock()
		}
		w.wait.Done()
	}()
	for {
		i := w.next.Add(1) - 1
		if i >= w.n {
			done = true
			return
		}
		w.f(int(i))
	}
}
