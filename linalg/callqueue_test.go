package linalg_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

type onLaunch func(q *backendtest.HookedQueue, args []backend.Arg) error

// eachMemory runs f with a session on a device that computes on the host's memory, and one on a
// device that has its own. Launches call launch, and queues counts the open queues.
func eachMemory(t *testing.T, launch onLaunch, f func(t *testing.T, s *linalg.Session, queues *atomic.Int64)) {
	for _, unified := range []bool{true, false} {
		t.Run(fmt.Sprintf("unified=%v", unified), func(t *testing.T) {
			d, err := backend.Open("cpu")
			if err != nil {
				t.Fatal(err)
			}
			open := new(atomic.Int64)
			count := func(by int64) func(string, int64) {
				return func(what string, _ int64) {
					if what == "queue" {
						open.Add(by)
					}
				}
			}
			s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
				Info: func(i *backend.Info) { i.UnifiedMemory = unified },
				Made: count(1), Freed: count(-1),
				Launch: func(q *backendtest.HookedQueue, _ string, _ backend.Grid, args []backend.Arg) error {
					return launch(q, args)
				},
			}))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			f(t, s, open)
		})
	}
}

func square(n int) linalg.Matrix[float32] { return linalg.NewMatrix[float32](n, n, nil) }

// The failure of one call is not told to another that runs at the same time, nor to a later one.
func TestErrorsStayWithTheirCall(t *testing.T) {
	failure, refusal := errors.New("the command failed"), errors.New("the launch failed")
	var other func() error
	launch := func(q *backendtest.HookedQueue, args []backend.Arg) error {
		switch args[0].Int32() {
		case 13:
			q.Fail(failure)
			if err := other(); err != nil { // between the failure and the wait that tells it
				t.Errorf("a call beside one that fails: %v", err)
			}
		case 17: // a transpose
			q.Fail(failure)
		case 19:
			return refusal // before any wait
		}
		return nil
	}
	eachMemory(t, launch, func(t *testing.T, s *linalg.Session, queues *atomic.Int64) {
		product := func(n int) error { _, err := linalg.MatMul(square(n), square(n), linalg.On(s)); return err }
		other = func() error { return product(12) }
		for _, fails := range []struct {
			call func() error
			with error
		}{
			{func() error { return product(13) }, failure},
			{func() error {
				a, b, c := linalg.NewMatrix[float32](17, 19, nil), linalg.NewMatrix[float32](17, 5, nil),
					linalg.NewMatrix[float32](19, 5, nil)
				return linalg.Gemm(1, blas.Trans, a, blas.NoTrans, b, 0, c, linalg.On(s))
			}, refusal},
		} {
			for range 3 {
				if err := fails.call(); !errors.Is(err, fails.with) {
					t.Errorf("the call that fails: %v, want %v", err, fails.with)
				}
				if err := product(14); err != nil {
					t.Errorf("the call after it: %v", err)
				}
				if err := s.Wait(); err != nil {
					t.Errorf("the session: %v", err)
				}
			}
		}
		if n := queues.Load(); n > 3 {
			t.Errorf("%d queues are open; at most two calls ran at a time", n)
		}
	})
}

// Calls one after the other share a queue; as many at once as there may be leave only a few.
func TestCallQueuesAreKept(t *testing.T) {
	eachMemory(t, func(*backendtest.HookedQueue, []backend.Arg) error { return nil },
		func(t *testing.T, s *linalg.Session, queues *atomic.Int64) {
			for range 5 {
				if _, err := linalg.MatMul(square(4), square(4), linalg.On(s)); err != nil {
					t.Fatal(err)
				}
			}
			if n := queues.Load(); n != 2 {
				t.Errorf("%d queues are open, want the session's and one for its calls", n)
			}
		})
	const callers = 20
	var arrived sync.WaitGroup
	arrived.Add(callers)
	meet := func(*backendtest.HookedQueue, []backend.Arg) error {
		arrived.Done()
		arrived.Wait()
		return nil
	}
	eachMemory(t, meet, func(t *testing.T, s *linalg.Session, queues *atomic.Int64) {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if _, err := linalg.MatMul(square(4), square(4), linalg.On(s)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := queues.Load(); n < 2 || n > 9 {
			t.Errorf("%d queues are open after %d calls at once", n, callers)
		}
		arrived.Add(callers)
	})
}

// Operands below and above the size that is copied through a session's own memory, in any order,
// with gaps, shared operands and every epilogue: the bits are the same.
func TestSizesOfHostCalls(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rng := rand.New(rand.NewPCG(8, 15))
		for _, n := range []int{1, 30, 290, 7, 300, 131, 0, 30} {
			if n > 100 && s.Info().Driver == "cudasim" {
				continue
			}
			a, b := random[float32](rng, n, 3, 5), random[float32](rng, 3, n, 0)
			c := random[float32](rng, n, n, n%3)
			for _, beta := range []float32{0, 3} {
				want := reference(2, 'N', a, 'N', b, beta, c)
				if err := linalg.Gemm(2, 'N', a, 'N', b, beta, c, linalg.On(s)); err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprintf("n = %d, beta = %v", n, beta), c, want)
				guarded(t, fmt.Sprintf("n = %d, beta = %v", n, beta), c)
			}
			sum, err := linalg.Add(c, c, linalg.On(s))
			if err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("sum, n = %d", n), sum, doubled(c))
		}
	})
}

func doubled(m linalg.Matrix[float32]) linalg.Matrix[float32] {
	p := m.Packed()
	for i, v := range p.Data {
		p.Data[i] = v + v
	}
	return p
}
