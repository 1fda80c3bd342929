package cuda

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/simapi"
)

// simulator is a driver of a simulated device of its own.
func simulator(c ptxsim.Config) *driver {
	api := simapi.New(c)
	return newDriver("cudasim", "", "", func() (*capi.API, error) { return api, nil }).(*driver)
}

func openSim(t testing.TB, drv *driver) *backend.Device {
	t.Helper()
	d := must[*backend.Device](t)(drv.Open(0))
	t.Cleanup(func() { d.Close() })
	return d
}

// wantSimError is wantError for the simulator, whatever driver is under test.
func wantSimError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	wantErrorOf(t, "cudasim", err, kind, words...)
}

// What would break a real device breaks this one, with the place in the error; so it does for all
// who share its context. When all have closed it, it is whole again.
func TestSimDeviceLost(t *testing.T) {
	for name, c := range map[string]struct {
		ptx   string
		words []string
	}{
		"out of bounds": {testPTX, []string{
			"cuLaunchKernel", "CUDA_ERROR_ILLEGAL_ADDRESS", "out-of-bounds",
			"kernel fill", "PTX line", "block (0,0,0)", "thread (4,0,0)",
		}},
		"misaligned": {strings.Replace(testPTX, "add.u64 %at, %a, %at;",
			"add.u64 %at, %a, %at;\nadd.u64 %at, %at, 2;", 1), []string{"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned"}},
		"trap": {
			strings.Replace(testPTX, "NEXT:", "trap;\nNEXT:", 1),
			[]string{"CUDA_ERROR_LAUNCH_FAILED", "trap"},
		},
		"timeout": {
			strings.Replace(testPTX, "add.u32 %i, %i, %step;", "", 1),
			[]string{"CUDA_ERROR_LAUNCH_TIMEOUT"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			drv := simulator(ptxsim.Config{MaxSteps: 1 << 16})
			d, shared := openSim(t, drv), openSim(t, drv)
			q, b := newQueue(t, d), alloc(t, d, 16)
			k := must[*backend.Kernel](t)(d.Compile(&backend.Source{Name: "fill", PTX: []byte(c.ptx)}))
			h := must[*backend.Buffer](t)(d.AllocHost(64))
			ev := must[*backend.Event](t)(q.Record())
			n := int32(4)
			if name == "out of bounds" {
				n = 5
			}
			err := q.Launch(k, backend.Grid1(1, 8), backend.Buf(b), backend.Int32(n), backend.Int32(0))
			wantSimError(t, err, backend.ErrDeviceLost, c.words...)
			for _, err := range backendtest.UseOfLost(d, q, b, h, k, ev) {
				wantSimError(t, err, backend.ErrDeviceLost, c.words[0])
			}
			wantSimError(t, useAll(shared), backend.ErrDeviceLost, "CUDA_ERROR_")
			check(t, b.Free())
			wantSimError(t, d.Close(), backend.ErrDeviceLost)
			_, err = drv.Open(0) // the probe was made before: the context itself is dead
			wantSimError(t, err, backend.ErrDeviceLost)
			shared.Close()
			check(t, useAll(openSim(t, drv)))
		})
	}
}

// What a real device would not notice fails the launch, and the device goes on.
func TestSimFindsRace(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{}))
	q, b := newQueue(t, d), alloc(t, d, 4)
	k := must[*backend.Kernel](t)(d.Compile(&backend.Source{Name: "race", PTX: []byte(testPTX)}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := q.Launch(k, backend.Grid1(1, 2), backend.Buf(b))
			wantSimError(t, err, backend.ErrLaunch, "cuLaunchKernel", "CUDASIM_DATA_RACE", "kernel race", "data race",
				"PTX line", "thread (1,0,0)")
		})
	}
	wg.Wait()
	check(t, q.Launch(k, backend.Grid1(1, 1), backend.Buf(b))) // a work-item alone has no race
	check(t, q.Wait())
	check(t, useAll(d))
}

func TestSimOutOfMemory(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{Memory: 1 << 20}))
	half := alloc(t, d, 1<<19)
	_, err := d.Alloc(1<<19 + 1)
	wantSimError(t, err, backend.ErrOutOfMemory, "cuMemAllocAsync", "CUDA_ERROR_OUT_OF_MEMORY", fmt.Sprint(1<<19+1),
		fmt.Sprint(1<<20))
	check(t, half.Free())
	check(t, alloc(t, d, 1<<19+1).Free())
	check(t, useAll(d))
}

// Limits of real devices: the driver refuses what they would.
func TestSimLimits(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{}))
	q, b := newQueue(t, d), alloc(t, d, 4)
	k := must[*backend.Kernel](t)(d.Compile(fillSource))
	for _, g := range []backend.Grid{
		backend.Grid2(1, 65536, 1, 1), backend.Grid3(1, 1, 65536, 1, 1, 1), backend.Grid1(math.MaxInt, 1),
		backend.Grid1(1, 1025), backend.Grid3(1, 1, 1, 1, 1, 65), backend.Grid2(1, 1, 64, 32),
	} {
		wantSimError(t, q.Launch(k, g, backend.Buf(b), backend.Int32(1), backend.Int32(1)), backend.ErrLaunch,
			"at most")
	}
	check(t, q.Launch(k, backend.Grid2(1, 65535, 1, 1), backend.Buf(b), backend.Int32(0), backend.Int32(1)))
	// A kernel that is compiled for small groups.
	small := strings.Replace(testPTX, "v)\n{", "v)\n.maxntid 8, 4, 1\n{", 1)
	k = must[*backend.Kernel](t)(d.Compile(&backend.Source{Name: "fill", PTX: []byte(small)}))
	wantSimError(t, q.Launch(k, backend.Grid1(1, 33), backend.Buf(b), backend.Int32(1), backend.Int32(1)),
		backend.ErrLaunch, "this kernel runs with at most 32")
	check(t, q.Launch(k, backend.Grid1(1, 32), backend.Buf(b), backend.Int32(1), backend.Int32(1)))
	large := strings.Replace(testPTX, ".shared .align 4 .b32 t;", ".shared .align 4 .b32 t;\n.shared .align 4 .b8 "+
		"more[65536];", 1)
	k, err := d.Compile(&backend.Source{Name: "race", PTX: []byte(large)})
	if err == nil {
		err = q.Launch(k, backend.Grid1(1, 1), backend.Buf(b))
	}
	wantSimError(t, err, backend.ErrLaunch, "shared memory", "49152")
}
