package cuda

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
)

// withoutContext are the functions, or their first letters, that CUDA takes on any thread.
var withoutContext = []string{"cuInit", "cuDriver", "cuDevice", "cuGetError", "cuCtxSetCurrent"}

// CUDA keeps the context by thread. Each call that needs one is made on a thread on which the
// context was made current during the same call of the driver.
func TestContextIsCurrent(t *testing.T) {
	api := table(t)
	var mu sync.Mutex
	current := map[int]bool{} // by thread
	var failed []string
	calls := 0
	defer dltest.Wrap(api, func(c *dltest.Call) []reflect.Value {
		mu.Lock()
		thread := syscall.Gettid()
		if c.Name == "cuCtxSetCurrent" && c.Args[0].Uint() != 0 {
			current[thread] = true
		}
		if !slices.ContainsFunc(withoutContext, func(prefix string) bool { return strings.HasPrefix(c.Name, prefix) }) {
			if calls++; !current[thread] {
				failed = append(failed, c.Name)
			}
		}
		mu.Unlock()
		return c.Run()
	})()
	step := func(err error) {
		t.Helper()
		check(t, err)
		mu.Lock()
		defer mu.Unlock()
		clear(current)
	}
	d := must[*backend.Device](t)(fresh(t).Open(0))
	step(nil)
	q, err := d.NewQueue()
	step(err)
	k, err := d.Compile(fillSource)
	step(err)
	b, err := d.Alloc(64)
	step(err)
	h, err := d.AllocHost(64)
	step(err)
	r, err := d.Register(make([]byte, 64))
	step(err)
	first, err := q.Record()
	step(err)
	step(q.Write(b, 0, make([]byte, 8)))
	step(q.Read(make([]byte, 8), b, 0))
	step(q.WriteAsync(b, 0, h, 0, 8))
	step(q.ReadAsync(h, 0, b, 0, 8))
	step(q.Copy(b, 0, r, 8, 8))
	step(q.Launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Int32(1), backend.Int32(1)))
	step(q.WaitEvent(first))
	step(first.Wait())
	_, err = first.Since(first)
	step(err)
	step(q.Wait())
	for _, release := range []func() error{first.Release, h.Free, r.Free, b.Free, k.Release, q.Close, d.Close} {
		step(release())
	}
	for _, name := range failed {
		t.Errorf("%s was called on a thread without the context", name)
	}
	if calls < 30 {
		t.Errorf("only %d calls needed a context", calls)
	}
}
