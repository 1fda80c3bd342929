package cuda

import (
	"strconv"
	"strings"
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
	k := must[*backend.Kernel](b)(d.Compile(incSource))
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Launch(k, backend.Grid1(1, 1), backend.Buf(buf), backend.Int32(1), backend.Int32(1)); err != nil {
			b.Fatal(err)
		}
	}
	check(b, q.Wait())
}

// silence makes launches on d do nothing: what is left is the driver's own part.
func silence(d *backend.Device) {
	quiet := *own(d).api.Load()
	quiet.LaunchKernel = func(capi.Function, uint32, uint32, uint32, uint32, uint32, uint32, uint32, capi.Stream,
		*unsafe.Pointer, *unsafe.Pointer,
	) int32 {
		return capi.Success
	}
	own(d).api.Store(&quiet)
}

// The driver's own part of a launch with the arguments of a matrix product.
func BenchmarkLaunchAlone(b *testing.B) {
	d := openSim(b, simulator(ptxsim.Config{}))
	q, buf := newQueue(b, d), alloc(b, d, 4096)
	var params []string
	var args []backend.Arg
	for i := range 19 {
		if i == 4 || i == 7 || i == 11 {
			params = append(params, ".param .u64 .ptr .global p")
			args = append(args, backend.Buf(buf))
		} else {
			params = append(params, ".param .u64 n")
			args = append(args, backend.Int64(1))
		}
		params[i] += strconv.Itoa(i)
	}
	k := must[*backend.Kernel](b)(d.Compile(&backend.Source{Name: "k", PTX: []byte(".version 6.4\n.target sm_50\n" +
		".address_size 64\n.visible .entry k(" + strings.Join(params, ", ") + ")\n{\nret;\n}\n")}))
	silence(d)
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Launch(k, backend.Grid1(1, 1), args...); err != nil {
			b.Fatal(err)
		}
	}
}
