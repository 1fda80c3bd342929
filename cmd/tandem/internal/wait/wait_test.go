package wait

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if v, err := For(t.Context(), Grace, func() (int, error) { return 7, io.EOF }); v != 7 || err != io.EOF {
			t.Error(v, err)
		}
		// Work that ends soon after the interruption is waited for.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if v, err := For(ctx, Grace, func() (int, error) {
			<-ctx.Done()
			time.Sleep(Grace / 2)
			return 1,
				ctx.Err()
		}); v != 1 || err != context.Canceled {
			t.Error(v, err)
		}
		// Work that does not end is left alone.
		forever := make(chan struct{})
		defer close(forever)
		start := time.Now()
		v, err := For(ctx, Grace, func() (int, error) { <-forever; return 1, nil })
		if v != 0 || err != context.Canceled {
			t.Error(v, err)
		}
		if d := time.Since(start); d != Grace {
			t.Errorf("waited for %v", d)
		}
	})
}
