package parallel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{0, 1, 2, 3, 7, 1000} {
		seen := make([]atomic.Int32, n)
		Do(n, func(i int) { seen[i].Add(1) })
		for i := range seen {
			if got := seen[i].Load(); got != 1 {
				t.Fatalf("n = %d: f(%d) ran %d times", n, i, got)
			}
		}
	}
	for range 100 {
		var begun atomic.Int64
		InOrder(10, func(i int) {
			for turn := 0; begun.Load() < int64(i); turn++ { // for the one before, which has begun or is about to
				runtime.Gosched()
			}
			begun.Add(1)
		})
	}
	var inner atomic.Int32
	Do(5, func(int) { Do(5, func(int) { inner.Add(1) }) })
	if inner.Load() != 25 {
		t.Errorf("nested calls ran %d times, want 25", inner.Load())
	}
}

// Each worker begins with a range of its own, which its core or its number tells, and one that is
// alone does all.
func TestRanges(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 9} {
		w := &work{n: 20}
		w.divide(workers, false)
		var order []int
		w.f = func(i int) { order = append(order, i) }
		w.run()
		if first := order[0]; workers > 1 && order[1] != first+1 {
			t.Errorf("one of %d workers began with %v", workers, order[:2])
		}
		slices.Sort(order)
		for i, v := range order {
			if i != v || len(order) != 20 {
				t.Fatalf("one of %d workers, alone, did %v", workers, order)
			}
		}
	}
}

func TestPanics(t *testing.T) {
	for _, procs := range []int{1, 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			type mark struct{ i int }
			var running atomic.Int32
			defer func() {
				if v, ok := recover().(mark); !ok || v.i != 3 {
					t.Errorf("recovered %v, want the value of the panic", v)
				}
				if running.Load() != 0 {
					t.Errorf("Do panicked while %d calls still ran", running.Load())
				}
			}()
			Do(100, func(i int) {
				running.Add(1)
				defer running.Add(-1)
				if i == 3 {
					panic(mark{i})
				}
			})
			t.Error("Do did not panic")
		}()
	}
}

// Goexit ends the caller's goroutine, wherever it was called, and only after the other calls.
func TestGoexit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for i := range 8 {
		var running atomic.Int32
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			defer func() {
				if running.Load() != 0 {
					t.Errorf("the goroutine ended while %d calls still ran", running.Load())
				}
			}()
			Do(100, func(j int) {
				running.Add(1)
				defer running.Add(-1)
				if i == j {
					runtime.Goexit()
				}
				runtime.Gosched()
			})
			returned = true
		}()
		<-ended
		if returned {
			t.Errorf("Do returned after Goexit in f(%d)", i)
		}
	}
}

func TestFromManyGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			sum := make([]int, 50)
			Do(len(sum), func(i int) { sum[i] = i })
			for i, v := range sum {
				if v != i {
					t.Errorf("sum[%d] = %d", i, v)
				}
			}
		})
	}
	wg.Wait()
}

// Helpers take work from calls that follow each other, and end when there is none any more.
func TestHelpers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, callers := range []int{1, 3} {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for call := range 300 {
					var ran, inner atomic.Int32
					Do(1+call%5, func(int) {
						ran.Add(1)
						if call%50 == 0 {
							Do(3, func(int) { inner.Add(1) })
						}
					})
					if want := int32(1 + call%5); ran.Load() != want {
						t.Errorf("call %d ran %d times, want %d", call, ran.Load(), want)
					}
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); n != 0 {
			t.Errorf("%d calls are counted after the last", n)
		}
		for start := time.Now(); helpersLeft() > 0; time.Sleep(time.Millisecond) {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("%d helpers look for work for ever", helpersLeft())
			}
		}
	}
}

func helpersLeft() int {
	idle.Lock()
	defer idle.Unlock()
	return len(idle.helpers)
}

// A call does not wait for a helper that has not begun when all is done.
func TestLateHelper(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	h := new(helper)
	for start := time.Now(); h.next.Load() == nil; { // other tests may have left helpers that come first
		idle.Lock()
		if !slices.Contains(idle.helpers, h) {
			idle.helpers = append(idle.helpers, h)
		}
		idle.Unlock()
		done := make(chan bool)
		go func() {
			Do(2, func(int) {})
			done <- true
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("a call waits for a helper that never comes")
		}
		if time.Since(start) > time.Minute {
			t.Fatal("no call has asked the helper")
		}
	}
	w := h.next.Load()
	h.run(w)
	if w.enter() || w.workers.Load() != 1 {
		t.Errorf("a helper that came too late is one of %d workers", w.workers.Load())
	}
}

// A helper that is idle does the work of a later call.
func TestHelperIsUsed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	h, taken := new(helper), make(chan struct{})
	idle.Lock()
	idle.helpers = append(idle.helpers, h)
	idle.Unlock()
	go func() {
		for h.next.Load() == nil {
			runtime.Gosched()
		}
		close(taken)
		h.work(h.next.Load())
	}()
	for start := time.Now(); time.Since(start) < 10*time.Second; { // other tests may have left helpers that come first
		Do(2, func(int) { runtime.Gosched() })
		select {
		case <-taken:
			return
		default:
		}
	}
	t.Error("no call has used the helper")
}
