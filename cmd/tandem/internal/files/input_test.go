package files

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// Reading and writing end between two pieces when the context is done.
func TestWatched(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &watched{ctx: ctx, r: strings.NewReader("0123456789"), size: 10}
	w := &watched{ctx: ctx, w: io.Discard, size: 10}
	b := make([]byte, 4)
	if n, err := r.Read(b); n != 4 || err != nil {
		t.Error(n, err)
	}
	if n, err := w.Write(b); n != 4 || err != nil || w.done != 4 {
		t.Error(n, err)
	}
	cancel()
	if n, err := r.Read(b); n != 0 || !errors.Is(err, context.Canceled) {
		t.Error(n, err)
	}
	if n, err := w.Write(b); n != 0 || !errors.Is(err, context.Canceled) {
		t.Error(n, err)
	}
}
