// Package capitest watches and disturbs the calls of the CUDA function tables in tests.
package capitest

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// A Call is one call of a C function.
type Call struct {
	Name string // "cuStreamSynchronize", without a version
	Args []reflect.Value
	fn   reflect.Value
}

// Run makes the call.
func (c *Call) Run() []reflect.Value { return c.fn.Call(c.Args) }

// Fail gives the results of a call that failed with code. C is not called.
func (c *Call) Fail(code int32) []reflect.Value { return []reflect.Value{reflect.ValueOf(code)} }

// Status is the status code in the results of the call.
func (c *Call) Status(results []reflect.Value) int32 { return int32(results[0].Int()) }

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

// Live knows which handles were created and not yet released.
type Live struct {
	mu      sync.Mutex
	handles map[string]int // references of every handle that was created, by kind and address
	errors  []string
}

// Watch counts creations and releases until the end of the test, which fails if a handle is then
// still alive or was released too often. Releases that come from background work have some seconds
// to arrive.
func Watch(t testing.TB, api *capi.API) *Live {
	t.Helper()
	l := &Live{handles: map[string]int{}}
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

// created are the functions that create something, with the argument that holds the handle
// afterwards, or its address.
var created = map[string]int{
	"cuDevicePrimaryCtxRetain": 1, "cuMemAlloc": 0, "cuMemHostAlloc": 0, "cuMemHostRegister": 0, "cuStreamCreate": 0,
	"cuEventCreate":      0,
	"cuModuleLoadDataEx": 0,
}

// released are the functions that release it again, with what had created it.
var released = map[string]string{
	"cuDevicePrimaryCtxRelease": "cuDevicePrimaryCtxRetain", "cuMemFree": "cuMemAlloc",
	"cuMemFreeHost":       "cuMemHostAlloc",
	"cuMemHostUnregister": "cuMemHostRegister", "cuStreamDestroy": "cuStreamCreate", "cuEventDestroy": "cuEventCreate",
	"cuModuleUnload": "cuModuleLoadDataEx",
}

func (l *Live) hook(c *Call) []reflect.Value {
	if creator, ok := released[c.Name]; ok {
		l.add(creator, c.Args[0], -1) // before the call: C may give the address to another object during it
		return c.Run()
	}
	results := c.Run()
	if i, ok := created[c.Name]; ok && c.Status(results) == capi.Success {
		l.add(c.Name, reflect.Indirect(c.Args[i]), 1)
	}
	return results
}

// add counts a reference. A handle from before the test is nothing to it.
func (l *Live) add(creator string, handle reflect.Value, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fmt.Sprintf("%#x of %s", handle.Interface(), creator)
	refs, known := l.handles[key]
	switch {
	case !known && n < 0:
	case refs+n < 0:
		l.errors = append(l.errors, "released too often: "+key)
	default:
		l.handles[key] = refs + n
	}
}
