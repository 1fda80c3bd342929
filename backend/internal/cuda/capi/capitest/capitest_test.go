package capitest

import (
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// What CUDA's functions create and release counts, a context for each of its users.
func TestWatch(t *testing.T) {
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
	live := Watch(t, api)
	alive := func(want int) {
		t.Helper()
		if got := live.Count(); got != want {
			t.Errorf("%d handles are alive, want %d", got, want)
		}
	}
	c, p, x := api.Load(), new(capi.Pointer), unsafe.Pointer(new(int))
	c.MemAlloc(p, 7)
	alive(1)
	c.MemFree(*p)
	alive(0)
	c.MemHostRegister(x, 8, 0)
	alive(1)
	c.MemHostUnregister(x)
	alive(0)
	c.PrimaryCtxRetain(nil, 3)
	c.PrimaryCtxRetain(nil, 3)
	alive(2)
	c.PrimaryCtxRelease(3)
	c.PrimaryCtxRelease(3)
	alive(0)
}
