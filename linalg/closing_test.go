package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

// A closing is a context that calls f whenever somebody looks whether it is done.
type closing struct {
	context.Context
	f func()
}

func (c closing) Err() error {
	c.f()
	return nil
}

// A session that another goroutine closes during a call, wherever that is, makes it an ErrClosed.
func TestCloseDuringCall(t *testing.T) {
	defer linalg.FactorOnDevice()()
	n := linalg.NewMatrix[float64](50, 50, nil)
	for i := range n.Data {
		n.Data[i] = float64((i/50 + 1) * (i%50 + 1) % 7) // symmetric
	}
	calls := map[string]func(o ...linalg.Option) error{
		"product": func(o ...linalg.Option) error { _, err := linalg.MatMul(n, n, o...); return err },
		"eigen":   func(o ...linalg.Option) error { _, err := linalg.FactorEigSym(n, o...); return err },
	}
	for _, small := range []bool{true, false} {
		if !small {
			defer linalg.SmallTiles(10, 20, 400)()
		}
		for name, call := range calls {
			for at, done := int64(1), false; !done; at += 1 + at/16 {
				var err error
				if done, err = closeDuring(t, at, call); err != nil && !errors.Is(err, backend.ErrClosed) {
					t.Errorf("%s, small %v: closed at %d: %v", name, small, at, err)
				}
			}
		}
	}
}

// closeDuring closes the session of a call at the place that is counted as at, and waits for that
// unless it has to wait for the call. done says that there is no such place.
func closeDuring(t *testing.T, at int64, call func(o ...linalg.Option) error) (done bool, err error) {
	t.Helper()
	var s *linalg.Session
	var count atomic.Int64
	count.Store(math.MinInt32) // until there is staging memory
	closed := make(chan struct{})
	look := func() {
		if count.Add(1) == at {
			go func() {
				s.Close()
				close(closed)
			}()
			select {
			case <-closed:
			case <-time.After(100 * time.Microsecond):
			}
		}
	}
	d, err := backend.Open("cpu")
	noError(t, err)
	s, err = linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
		Info: func(i *backend.Info) { i.Driver, i.UnifiedMemory, i.Host = "own", false, false },
		Call: func(_ string, f func() error) error { look(); return f() },
	}))
	noError(t, err)
	noError(t, call(linalg.On(s), linalg.WithContext(context.Background())))
	count.Store(0)
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		err = call(linalg.On(s), linalg.WithContext(closing{context.Background(), look}))
	}()
	if done = count.Load() < at; !done {
		<-closed
	}
	return done, errors.Join(err, s.Close())
}
