package main

import (
	"context"
	"os"
	"time"

	"github.com/tandem-gpu/tandem/linalg"
)

// times are what one operation took.
type times struct {
	device time.Duration // by the device's own clock
	// device is of the first call: it includes compiling, and copies where the memory is not shared
	first bool
	call  time.Duration // of the call from host memory to host memory, compiling included
}

// repeatBelow is the time of a call below which the operation is repeated to measure it: the first
// run compiles, which takes longer than it.
const repeatBelow = time.Second

// measure runs p and takes its times. The time on the device is that of a second run on data which
// are there already, where the first was short; otherwise that of the first run. What is shared by
// devices, or may be larger than one, has no such time, but that of the call.
func measure[T linalg.Element](
	ctx context.Context, s *linalg.Session, p plan[T],
) (m linalg.Matrix[T], t times, err error) {
	t.device, err = s.DeviceTime(func() error {
		start := time.Now()
		m, err = p.host(ctx, s)
		t.call = time.Since(start)
		return err
	})
	t.first = true
	if inParts(s) {
		t.device = t.call
		return m, t, err
	}
	if err != nil || t.call >= repeatBelow || len(m.Data) == 0 {
		return m, t, err
	}
	t.device, err = repeat(s, p, m)
	t.first = false
	return m, t, err
}

// inParts tells whether matrices are computed in parts, of which arrays would not do.
func inParts(s *linalg.Session) bool {
	return len(s.Devices()) > 1 || os.Getenv(linalg.EnvMemory) != ""
}

// repeat runs p again, on arrays, into m, which it leaves as it is: the bits do not change.
func repeat[T linalg.Element](s *linalg.Session, p plan[T], m linalg.Matrix[T]) (d time.Duration, err error) {
	place := linalg.Upload[T]
	if s.Info().UnifiedMemory {
		place = linalg.Register[T]
	}
	var arrays []*linalg.Array[T]
	defer func() {
		for _, a := range arrays {
			if e := a.Free(); err == nil {
				err = e
			}
		}
	}()
	for _, x := range append(p.in[:len(p.in):len(p.in)], m) {
		a, err := place(s, x)
		if err != nil {
			return 0, err
		}
		arrays = append(arrays, a)
	}
	c := arrays[len(p.in)]
	return s.DeviceTime(func() error { return p.device(c, arrays[:len(p.in)]) })
}
