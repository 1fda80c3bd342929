package parallel

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// A panic in a goroutine of a Group goes on where it is waited for, once all have ended.
func TestGroup(t *testing.T) {
	for _, value := range []any{io.ErrNoProgress, "spilled"} {
		var g Group
		var others atomic.Int32
		g.Go(func() { spill(value) })
		for range 3 {
			g.Go(func() { others.Add(1) })
		}
		func() {
			defer func() {
				err, ok := recover().(error)
				if !ok || !strings.Contains(err.Error(), "parallel.spill") {
					t.Fatalf("%v: Wait panicked with %v, not with an error that has the stack", value, err)
				}
				v, is := value.(error)
				if is && !errors.Is(err, v) || !is && !strings.HasPrefix(err.Error(), "spilled\n") {
					t.Errorf("%v: Wait panicked with %v", value, err)
				}
			}()
			g.Wait()
		}()
		if others.Load() != 3 {
			t.Errorf("%d of 3 others ran", others.Load())
		}
	}
}

func spill(v any) { panic(v) }

// What ends a goroutine of a Group ends the one that waits.
func TestGroupExits(t *testing.T) {
	ended := make(chan bool, 1)
	go func() {
		defer close(ended)
		var g Group
		g.Go(func() { (&testing.T{}).SkipNow() })
		g.Wait()
		ended <- false
	}()
	if _, went := <-ended; went {
		t.Error("Wait returned")
	}
}
