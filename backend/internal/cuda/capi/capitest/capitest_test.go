package capitest

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// A recorder is a test that only keeps what it was told.
type recorder struct {
	testing.TB
	cleanups []func()
	errors   int
}

func (r *recorder) Helper()               {}
func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(...any)          { r.errors++ }
func (r *recorder) Errorf(string, ...any) { r.errors++ }

// library is a table of functions in Go.
func library() *capi.API {
	api := new(capi.API)
	api.Store(&capi.Table{
		MemAlloc: func(p *capi.Pointer, n uintptr) int32 {
			*p = capi.Pointer(n)
			return 0
		},
		MemFree:           func(capi.Pointer) int32 { return 0 },
		MemHostRegister:   func(unsafe.Pointer, uintptr, uint32) int32 { return 0 },
		MemHostUnregister: func(unsafe.Pointer) int32 { return 0 },
		PrimaryCtxRetain:  func(*capi.Context, capi.Device) int32 { return 0 },
		PrimaryCtxRelease: func(capi.Device) int32 { return 0 },
	})
	return api
}

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		use    func(l *capi.Table)
		errors int
	}{
		"clean": {func(l *capi.Table) {
			var p capi.Pointer
			var x int
			l.MemAlloc(&p, 7)
			l.MemFree(7)
			l.MemAlloc(&p, 7) // the same address again
			l.MemFree(p)
			l.MemHostRegister(unsafe.Pointer(&x), 8, 0)
			l.MemHostUnregister(unsafe.Pointer(&x))
			l.PrimaryCtxRetain(nil, 3)
			l.PrimaryCtxRetain(nil, 3)
			l.PrimaryCtxRelease(3)
			l.PrimaryCtxRelease(3)
		}, 0},
		"older handle": {func(l *capi.Table) { l.MemFree(99) }, 0},
		"released too often": {func(l *capi.Table) {
			var p capi.Pointer
			l.MemAlloc(&p, 7)
			l.MemFree(p)
			l.MemFree(p)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			api := library()
			r := &recorder{TB: t}
			live := Watch(r, api)
			c.use(api.Load())
			if live.Count() != 0 {
				t.Errorf("%d handles are alive", live.Count())
			}
			for _, f := range r.cleanups {
				f()
			}
			if r.errors != c.errors {
				t.Errorf("%d errors, want %d", r.errors, c.errors)
			}
		})
	}
	t.Run("alive", func(t *testing.T) {
		api := library()
		live := Watch(&recorder{TB: t}, api)
		var p capi.Pointer
		api.Load().MemAlloc(&p, 7)
		if live.Count() != 1 {
			t.Errorf("%d handles are alive, not 1", live.Count())
		}
	})
}

func TestWrap(t *testing.T) {
	api := library()
	plain := api.Load()
	var names []string
	restore := dltest.Wrap(api, func(c *dltest.Call) []reflect.Value {
		names = append(names, c.Name)
		if c.Name == "cuMemFree" {
			return c.Run()
		}
		return c.Fail(2)
	})
	var p capi.Pointer
	if code := api.Load().MemAlloc(&p, 5); code != 2 || p != 0 {
		t.Errorf("code %d, address %d", code, p)
	}
	if code := api.Load().MemFree(5); code != 0 {
		t.Errorf("code %d", code)
	}
	if api.Load().StreamCreate != nil {
		t.Error("a function that is missing was wrapped")
	}
	restore()
	if want := []string{"cuMemAlloc", "cuMemFree"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if api.Load() != plain {
		t.Error("the table was not restored")
	}
}
