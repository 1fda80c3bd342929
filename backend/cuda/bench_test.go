package cuda

import (
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// A small launch: what the driver, and the simulator under it, cost beyond the kernel.
func BenchmarkLaunch(b *testing.B) {
	d := openAgain(b)
	q, buf := newQueue(b, d), alloc(b, d, 4096)
	k := must[backend.Kernel](b)(d.Compile(incSource))
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Launch(k, backend.Grid1(1, 1), backend.Buf(buf), backend.Int32(1), backend.Int32(1)); err != nil {
			b.Fatal(err)
		}
	}
	check(b, q.Wait())
}

// silence makes launches on d do nothing: what is left is the driver's own part.
func silence(d *device) {
	quiet := *d.api.Load()
	quiet.LaunchKernel = func(capi.Function, uint32, uint32, uint32, uint32, uint32, uint32, uint32, capi.Stream,
		*unsafe.Pointer, *unsafe.Pointer,
	) int32 {
		return capi.Success
	}
	d.api.Store(&quiet)
}

// The driver's own part of a launch with the arguments of a matrix product, whose declared
// parameters are all that is checked.
func BenchmarkLaunchAlone(b *testing.B) {
	d := openSim(b, simulator(ptxsim.Config{}))
	q, buf := newQueue(b, d), alloc(b, d, 4096)
	k := must[backend.Kernel](b)(d.Compile(incSource)).(*kernel)
	var args []backend.Arg
	k.sig.Params = nil
	for i := range 19 {
		if i == 4 || i == 7 || i == 11 {
			args = append(args, backend.Buf(buf))
		} else {
			args = append(args, backend.Int64(1))
		}
		k.sig.Params = append(k.sig.Params, backend.Param{Buffer: args[i].Buffer != nil})
	}
	silence(d)
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Launch(k, backend.Grid1(1, 1), args...); err != nil {
			b.Fatal(err)
		}
	}
}
