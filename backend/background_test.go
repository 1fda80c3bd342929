package backend

import (
	"runtime"
	"sync"
	"testing"
)

// What waits in the background takes one goroutine, however many calls there are, and all are made.
func TestBackground(t *testing.T) {
	var b background
	var done sync.WaitGroup
	blocked := make(chan bool)
	before := runtime.NumGoroutine()
	done.Add(1)
	b.add(func() {
		<-blocked
		done.Done()
	})
	for range 10_000 {
		done.Add(1)
		b.add(done.Done)
	}
	if n := runtime.NumGoroutine() - before; n > 1 {
		t.Errorf("%d goroutines", n)
	}
	close(blocked)
	done.Wait()
	done.Add(1)
	b.add(done.Done) // once more, after the end of the first or with it
	done.Wait()
}
