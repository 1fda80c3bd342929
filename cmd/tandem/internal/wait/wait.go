// Package wait waits for work that may never end.
package wait

import (
	"context"
	"time"
)

// Grace is how long an interrupted program waits for the device before it leaves it alone.
const Grace = 2 * time.Second

// For runs f in a goroutine, and waits for it no longer than grace after ctx is done: a kernel that
// never ends, or a pipe that nobody writes to, must not keep the program.
func For[R any](ctx context.Context, grace time.Duration, f func() (R, error)) (R, error) {
	type outcome struct {
		r   R
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := f()
		done <- outcome{r, err}
	}()
	select {
	case o := <-done:
		return o.r, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.r, o.err
	case <-time.After(grace):
		var r R
		return r, ctx.Err()
	}
}
