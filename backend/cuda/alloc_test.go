//go:build !race

package cuda

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
)

// A launch allocates nothing: the driver's part of it, without CUDA's.
func TestLaunchAllocatesNothing(t *testing.T) {
	drv := simulator(ptxsim.Config{})
	d := openSim(t, drv)
	q, b := newQueue(t, d), alloc(t, d, 64)
	k := must[*backend.Kernel](t)(d.Compile(fillSource))
	silence(d)
	args := []backend.Arg{backend.Buf(b), backend.Int32(1), backend.Int32(1)}
	n := testing.AllocsPerRun(1000, func() {
		if err := q.Launch(k, backend.Grid1(1, 1), args...); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a launch", n)
	}
}
