// Package capitest watches and disturbs the calls of the OpenCL function table in tests.
package capitest

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A Call is one call of a C function.
type Call struct {
	Name string // "clFinish"
	Args []reflect.Value
	fn   reflect.Value
}

// Run makes the call.
func (c *Call) Run() []reflect.Value { return c.fn.Call(c.Args) }

// Fail gives the results of a call that failed with code. C is not called.
func (c *Call) Fail(code int32) []reflect.Value {
	result := reflect.New(c.fn.Type().Out(0)).Elem()
	if result.Kind() == reflect.Int32 {
		result.SetInt(int64(code))
	} else {
		*c.Args[len(c.Args)-1].Interface().(*int32) = code
	}
	return []reflect.Value{result}
}

// Status is the status code in the results of the call.
func (c *Call) Status(results []reflect.Value) int32 {
	if results[0].Kind() == reflect.Int32 {
		return int32(results[0].Int())
	}
	return *c.Args[len(c.Args)-1].Interface().(*int32)
}

// Wrap makes every call of the table go through hook, which runs the call, or fails it, or does
// both and more. restore ends that. Wraps nest, and end in the reverse order. The library must have
// been loaded.
func Wrap(hook func(c *Call) []reflect.Value) (restore func()) {
	table := *capi.Current()
	v := reflect.ValueOf(&table).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsNil() {
			continue
		}
		name := dl.SymbolNames(v.Type().Field(i))[0]
		fn := reflect.ValueOf(f.Interface())
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			return hook(&Call{Name: name, Args: args, fn: fn})
		}))
	}
	old := capi.Swap(&table)
	return func() { capi.Swap(old) }
}

// Serialise lets one call run at a time, for libraries that are not safe for concurrent use, as
// Oclgrind's (which must be named in TANDEM_OPENCL_LIBRARY: loaded beside another driver, its
// compiler and the other's get into each other's way). A call that waits for what another goroutine
// has yet to call waits for ever.
func Serialise() (restore func()) {
	var mu sync.Mutex
	return Wrap(func(c *Call) []reflect.Value {
		mu.Lock()
		defer mu.Unlock()
		return c.Run()
	})
}

// Live knows which handles were created and not yet released.
type Live struct {
	mu      sync.Mutex
	handles map[string]int // references of every handle that was created, by kind and address
	errors  []string
}

// Watch counts creations and releases until the end of the test, which fails if a handle is then
// still alive or was released too often. Releases that come from background work have some seconds
// to arrive.
func Watch(t testing.TB) *Live {
	t.Helper()
	l := &Live{handles: map[string]int{}}
	restore := Wrap(l.hook)
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
	if strings.HasPrefix(c.Name, "clRelease") {
		l.add(c.Args[0], -1) // before the call: C may give the address to another object during it
		return c.Run()
	}
	results := c.Run()
	if c.Status(results) != capi.Success {
		return results
	}
	if strings.HasPrefix(c.Name, "clCreate") {
		l.add(results[0], 1)
	}
	if strings.HasPrefix(c.Name, "clEnqueue") {
		if ev := c.event(); ev != nil && *ev != 0 {
			l.add(reflect.ValueOf(*ev), 1)
		}
	}
	return results
}

// event is where an enqueue function puts its event: in its last argument, or the last but one
// before a status.
func (c *Call) event() *capi.Event {
	last := len(c.Args) - 1
	if c.Args[last].Type() == reflect.TypeFor[*int32]() {
		last--
	}
	return c.Args[last].Interface().(*capi.Event)
}

// add counts a reference. A handle from before the test is nothing to it.
func (l *Live) add(handle reflect.Value, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fmt.Sprintf("%s %#x", handle.Type(), handle.Uint())
	refs, known := l.handles[key]
	switch {
	case !known && n < 0:
	case refs+n < 0:
		l.errors = append(l.errors, "released too often: "+key)
	default:
		l.handles[key] = refs + n
	}
}
