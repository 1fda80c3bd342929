package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// A Group is goroutines that call what others wrote, such as an io.ReaderAt. Where that panics,
// Wait panics, in a goroutine whose callers can recover from it.
type Group struct {
	wait   sync.WaitGroup
	mu     sync.Mutex
	err    error // of the first panic
	exited bool  // a goroutine was ended, as testing's FailNow does
}

// Go runs f in a goroutine.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		returned := false
		defer func() {
			if v := recover(); !returned {
				g.failed(v)
			}
		}()
		f()
		returned = true
	})
}

// failed notes what ended a goroutine, nil where that was not a panic.
func (g *Group) failed(v any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v == nil {
		g.exited = true
	} else if g.err == nil {
		err, ok := v.(error)
		if !ok {
			err = fmt.Errorf("%v", v)
		}
		g.err = fmt.Errorf("%w\n\n%s", err, debug.Stack())
	}
}

// Wait waits for the goroutines. After a panic in one of them it panics with an error that has the
// value, wrapped where it is an error, and the stack.
func (g *Group) Wait() {
	g.wait.Wait()
	switch {
	case g.err != nil:
		panic(g.err)
	case g.exited:
		runtime.Goexit()
	}
}
