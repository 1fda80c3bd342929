// Package dltest watches and disturbs the calls of tables of C functions in tests.
package dltest

import (
	"maps"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// A Call is one call of a C function.
type Call struct {
	Name string // "clFinish", "cuStreamSynchronize": without a version
	Args []reflect.Value
	fn   reflect.Value
}

// Run makes the call.
func (c *Call) Run() []reflect.Value { return c.fn.Call(c.Args) }

// Fail gives the results of a call that failed with code, which is the result, or goes where the
// last argument points. C is not called.
func (c *Call) Fail(code int32) []reflect.Value {
	result := reflect.New(c.fn.Type().Out(0)).Elem()
	if result.Kind() == reflect.Int32 {
		result.SetInt(int64(code))
	} else {
		*c.Args[len(c.Args)-1].Interface().(*int32) = code
	}
	return []reflect.Value{result}
}

// status is the status code of a call with such results.
func (c *Call) status(results []reflect.Value) int32 {
	if results[0].Kind() == reflect.Int32 {
		return int32(results[0].Int())
	}
	return *c.Args[len(c.Args)-1].Interface().(*int32)
}

// Wrap makes every call of the table go through hook, which runs the call, or fails it, or does
// both and more. restore ends that. Wraps nest, and end in the reverse order. The library must have
// been loaded.
func Wrap[Table any](api *atomic.Pointer[Table], hook func(c *Call) []reflect.Value) (restore func()) {
	table := *api.Load()
	v := reflect.ValueOf(&table).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsNil() {
			continue
		}
		name, _, _ := strings.Cut(dl.SymbolNames(v.Type().Field(i))[0], "_v")
		fn := reflect.ValueOf(f.Interface())
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			return hook(&Call{Name: name, Args: args, fn: fn})
		}))
	}
	old := api.Swap(&table)
	return func() { api.Swap(old) }
}

// A Counter counts calls: its Count is a hook for Wrap.
type Counter struct {
	mu    sync.Mutex
	calls map[string]int64
}

// Count counts the call, and makes it.
func (n *Counter) Count(c *Call) []reflect.Value {
	n.mu.Lock()
	if n.calls == nil {
		n.calls = map[string]int64{}
	}
	n.calls[c.Name]++
	n.mu.Unlock()
	return c.Run()
}

// Calls is how often the function was called.
func (n *Counter) Calls(name string) int64 { return n.All()[name] }

// All is how often each function was called.
func (n *Counter) All() map[string]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.calls)
}

// A Handle tells what a call creates, n = 1, or, without results, before it is made, what it
// releases, n = -1. Other calls have n = 0.
type Handle func(c *Call, results []reflect.Value) (handle string, n int)

// Live knows which handles were created and not yet released.
type Live struct {
	handle  Handle
	mu      sync.Mutex
	handles map[string]int // references of every handle that was created
	errors  []string
}

// Watch counts creations and releases until the end of the test, which fails if a handle is then
// still alive or was released too often. Releases that come from background work have some seconds
// to arrive.
func Watch[Table any](t testing.TB, api *atomic.Pointer[Table], handle Handle) *Live {
	t.Helper()
	l := &Live{handle: handle, handles: map[string]int{}}
	restore := Wrap(api, l.hook)
	t.Cleanup(func() {
		defer restore()
		for range 500 {
			if l.Count() == 0 {
				break
			}
			runtime.GC() // objects that the test forgot on purpose
			time.Sleep(10 * time.Millisecond)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for handle, refs := range l.handles {
			if refs > 0 {
				t.Errorf("never released: %s", handle)
			}
		}
		for _, e := range l.errors {
			t.Error(e)
		}
	})
	return l
}

// Count is the number of references that are alive.
func (l *Live) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, refs := range l.handles {
		n += refs
	}
	return n
}

func (l *Live) hook(c *Call) []reflect.Value {
	if handle, n := l.handle(c, nil); n < 0 {
		l.add(handle, n) // before the call: C may give the address to another object during it
		return c.Run()
	}
	results := c.Run()
	if c.status(results) == 0 {
		if handle, n := l.handle(c, results); n > 0 {
			l.add(handle, n)
		}
	}
	return results
}

// add counts a reference. A handle from before the test is nothing to it.
func (l *Live) add(handle string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refs, known := l.handles[handle]
	switch {
	case !known && n < 0:
	case refs+n < 0:
		l.errors = append(l.errors, "released too often: "+handle)
	default:
		l.handles[handle] = refs + n
	}
}
