package faulttest

import (
	"errors"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// Abandoned gives up a session with all kinds of things in it. No call of C is made for it any
// more: what commands use stays as it is.
func Abandoned(t *testing.T, l *Library) {
	s, err := l.open()
	if err != nil {
		t.Fatal(err)
	}
	a, err1 := linalg.Upload(s, filled(3, 4, 0, 1))
	k, err2 := s.CompileSource(twice)
	host, err3 := s.Device().AllocHost(64)
	ev, err4 := s.Queue().Record()
	_, err5 := linalg.Upload(s, filled(5, 4, 0, 2)) // for the garbage collector
	if err := errors.Join(err1, err2, err3, err4, err5, s.Wait()); err != nil {
		t.Fatal(err)
	}
	s.Device().Abandon()
	var calls atomic.Pointer[string]
	restore := l.Wrap(func(name string, c Call) []reflect.Value {
		calls.CompareAndSwap(nil, &name)
		return c.Run()
	})
	if err := s.Wait(); !errors.Is(err, backend.ErrDeviceLost) {
		t.Errorf("Wait: %v, want a lost device", err)
	}
	if err := host.Free(); err != nil && !errors.Is(err, backend.ErrDeviceLost) {
		t.Error(err)
	}
	if err := errors.Join(a.Free(), k.Release(), ev.Release(), s.Close()); err != nil {
		t.Error(err)
	}
	a, k, host, ev, s = nil, nil, nil, nil, nil
	for range 3 {
		runtime.GC()
		runtime.Gosched()
	}
	restore()
	if name := calls.Load(); name != nil {
		t.Errorf("%s was called", *name)
	}
}
