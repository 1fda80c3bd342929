//go:build !race

package opencl

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A launch and the wait for it allocate nothing: the driver's part of it, without OpenCL's.
func TestLaunchAllocatesNothing(t *testing.T) {
	d := open(t)
	q, b := newQueue(t, d), alloc(t, d, 64)
	k := must[*backend.Kernel](t)(d.Compile(fillSource))
	quiet := *capi.Current()
	quiet.EnqueueNDRangeKernel = func(
		capi.Queue, capi.Kernel, uint32, *[3]uintptr, *[3]uintptr, *[3]uintptr, uint32, *capi.Event, *capi.Event,
	) int32 {
		return capi.Success
	}
	quiet.Flush = func(capi.Queue) int32 { return capi.Success }
	quiet.Finish = quiet.Flush
	defer capi.API.Swap(capi.API.Swap(&quiet))
	args := []backend.Arg{backend.Buf(b), backend.Int32(1), backend.Int32(1)}
	n := testing.AllocsPerRun(1000, func() {
		if err := q.Launch(k, backend.Grid1(1, 1), args...); err != nil {
			t.Fatal(err)
		}
		if err := q.Wait(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a launch", n)
	}
}
