//go:build !race

package cl_test

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

func TestLaunchAllocatesNothing(t *testing.T) {
	firstDevice(t) // loads the library
	plain := capi.Current()
	f := setUp(t)
	k := f.kernel(squareSource, "square")
	m := f.buffer(make([]byte, 64))
	watching := capi.API.Swap(plain) // counting calls allocates
	defer capi.API.Swap(watching)
	launch := func() {
		f.ok(k.SetArgMem(0, m))
		f.ok(k.SetArgMem(1, m))
		f.ok(k.SetArgScalar(2, 16, 4))
		f.ok(f.queue.LaunchNDRange(k, 1, [3]int{16}, [3]int{16}))
	}
	launch()
	if n := testing.AllocsPerRun(200, launch); n != 0 {
		t.Errorf("%v allocations a launch", n)
	}
	f.ok(f.queue.Finish())
}

func BenchmarkSetArg(b *testing.B) {
	firstDevice(b)
	plain := capi.Current()
	f := setUp(b)
	k := f.kernel(squareSource, "square")
	m := f.buffer(make([]byte, 64))
	defer capi.API.Swap(capi.API.Swap(plain))
	b.Run("SetArgMem", func(b *testing.B) {
		for b.Loop() {
			_ = k.SetArgMem(0, m)
		}
	})
	b.Run("SetArg", func(b *testing.B) {
		for b.Loop() {
			_ = k.SetArg(2, uint32(1))
		}
	})
}
