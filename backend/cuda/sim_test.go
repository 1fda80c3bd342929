package cuda

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cuda/internal/capi"
	"github.com/tandem-gpu/tandem/backend/cuda/ptxsim"
)

// simulator is a driver of a simulated device of its own.
func simulator(c ptxsim.Config) *driver {
	api := new(capi.API)
	api.Store(newSimDevice(c).table())
	return &driver{name: "cudasim", simulated: true, load: func() (*capi.API, error) { return api, nil }}
}

func openSim(t testing.TB, drv *driver) *device {
	t.Helper()
	d := must[backend.Device](t)(drv.Open(0))
	t.Cleanup(func() { d.Close() })
	return d.(*device)
}

// wantSimError is wantError for the simulator, whatever driver is under test.
func wantSimError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	wantErrorOf(t, "cudasim", err, kind, words...)
}

// What would break a real device breaks this one, with the place in the error; so it does for all who share its context. When all have
// closed it, it is whole again.
func TestSimDeviceLost(t *testing.T) {
	for name, c := range map[string]struct {
		ptx   string
		words []string
	}{
		"out of bounds": {testPTX, []string{"cuLaunchKernel", "CUDA_ERROR_ILLEGAL_ADDRESS", "out-of-bounds", "kernel fill", "PTX line", "block (0,0,0)", "thread (4,0,0)"}},
		"misaligned":    {strings.Replace(testPTX, "add.u64 %at, %a, %at;", "add.u64 %at, %a, %at;\nadd.u64 %at, %at, 2;", 1), []string{"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned"}},
		"trap":          {strings.Replace(testPTX, "NEXT:", "trap;\nNEXT:", 1), []string{"CUDA_ERROR_LAUNCH_FAILED", "trap"}},
		"timeout":       {strings.Replace(testPTX, "add.u32 %i, %i, %step;", "", 1), []string{"CUDA_ERROR_LAUNCH_TIMEOUT"}},
	} {
		t.Run(name, func(t *testing.T) {
			drv := simulator(ptxsim.Config{MaxSteps: 1 << 16})
			d, shared := openSim(t, drv), openSim(t, drv)
			q, b := newQueue(t, d), alloc(t, d, 16)
			k := must[backend.Kernel](t)(d.Compile(&backend.Source{Name: "fill", PTX: []byte(c.ptx)}))
			h := must[backend.HostBuffer](t)(d.AllocHost(64))
			ev := must[backend.Event](t)(q.Record())
			n := int32(4)
			if name == "out of bounds" {
				n = 5
			}
			err := q.Launch(k, backend.Grid1(1, 8), backend.Buf(b), backend.Int32(n), backend.Int32(0))
			wantSimError(t, err, backend.ErrDeviceLost, c.words...)
			for _, err := range useOfClosed(d, q, b, h, k, ev) {
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
	k := must[backend.Kernel](t)(d.Compile(&backend.Source{Name: "race", PTX: []byte(testPTX)}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := q.Launch(k, backend.Grid1(1, 2), backend.Buf(b))
			wantSimError(t, err, backend.ErrLaunch, "cuLaunchKernel", "CUDASIM_DATA_RACE", "kernel race", "data race", "PTX line", "thread (1,0,0)")
		})
	}
	wg.Wait()
	check(t, q.Launch(k, backend.Grid1(3, 1), backend.Buf(b))) // a group of one has no race
	check(t, q.Wait())
	check(t, useAll(d))
}

// Many faults are remembered by their codes, the last ones at least.
func TestSimFaultCodes(t *testing.T) {
	s := newSimDevice(ptxsim.Config{})
	seen := map[int32]bool{}
	for i := range 3 * maxFaults {
		f := &ptxsim.Fault{Kind: ptxsim.Race, Kernel: fmt.Sprint(i)}
		code := s.note(f)
		if code < simulatorCode || s.texts[code] != f.Error() || s.names[code] != "CUDASIM_DATA_RACE" {
			t.Fatalf("fault %d: code %d, %q, %q", i, code, s.names[code], s.texts[code])
		}
		seen[code] = true
	}
	if len(seen) != maxFaults {
		t.Errorf("%d codes", len(seen))
	}
}

func TestSimOutOfMemory(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{Memory: 1 << 20}))
	half := alloc(t, d, 1<<19)
	_, err := d.Alloc(1<<19 + 1)
	wantSimError(t, err, backend.ErrOutOfMemory, "cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", fmt.Sprint(1<<19+1), fmt.Sprint(1<<20))
	check(t, half.Free())
	check(t, alloc(t, d, 1<<19+1).Free())
	check(t, useAll(d))
}

// Limits of real devices: the driver refuses what they would.
func TestSimLimits(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{}))
	q, b := newQueue(t, d), alloc(t, d, 4)
	k := must[backend.Kernel](t)(d.Compile(fillSource))
	for _, g := range []backend.Grid{
		backend.Grid2(1, 65536, 1, 1), backend.Grid3(1, 1, 65536, 1, 1, 1), backend.Grid1(math.MaxInt, 1), backend.Grid1(1, 1025), backend.Grid3(1, 1, 1, 1, 1, 65), backend.Grid2(1, 1, 64, 32),
	} {
		wantSimError(t, q.Launch(k, g, backend.Buf(b), backend.Int32(1), backend.Int32(1)), backend.ErrLaunch, "at most")
	}
	check(t, q.Launch(k, backend.Grid2(1, 65535, 1, 1), backend.Buf(b), backend.Int32(0), backend.Int32(1)))
	// A kernel that is compiled for small groups.
	small := strings.Replace(testPTX, "v)\n{", "v)\n.maxntid 8, 4, 1\n{", 1)
	k = must[backend.Kernel](t)(d.Compile(&backend.Source{Name: "fill", PTX: []byte(small)}))
	wantSimError(t, q.Launch(k, backend.Grid1(1, 33), backend.Buf(b), backend.Int32(1), backend.Int32(1)), backend.ErrLaunch, "this kernel runs with at most 32")
	check(t, q.Launch(k, backend.Grid1(1, 32), backend.Buf(b), backend.Int32(1), backend.Int32(1)))
	large := strings.Replace(testPTX, ".shared .align 4 .b32 t;", ".shared .align 4 .b32 t;\n.shared .align 4 .b8 more[65536];", 1)
	k, err := d.Compile(&backend.Source{Name: "race", PTX: []byte(large)})
	if err == nil {
		err = q.Launch(k, backend.Grid1(1, 1), backend.Buf(b))
	}
	wantSimError(t, err, backend.ErrLaunch, "shared memory", "49152")
}

// Handles that are not, or no longer, anything are refused as CUDA does, and so are calls without a context.
func TestSimHandles(t *testing.T) {
	s := newSimDevice(ptxsim.Config{})
	c := s.table()
	var p capi.Pointer
	if code := c.MemAlloc(&p, 8); code != invalidContext {
		t.Errorf("without a context: %d", code)
	}
	if code := c.PrimaryCtxRelease(0); code != capi.InvalidValue {
		t.Errorf("release of nothing: %d", code)
	}
	var ctx capi.Context
	c.PrimaryCtxRetain(&ctx, 0)
	defer c.PrimaryCtxRelease(0)
	x := make([]byte, 8)
	at := unsafe.Pointer(&x[0])
	var value int32
	var ms float32
	var ev capi.Event
	var stream capi.Stream
	c.EventCreate(&ev, 0)
	c.StreamCreate(&stream, 0)
	name := capi.CString("k")
	got := map[string]int32{
		"StreamDestroy": c.StreamDestroy(999), "StreamSynchronize": c.StreamSynchronize(999), "EventDestroy": c.EventDestroy(999),
		"EventRecord of no event": c.EventRecord(999, stream), "EventRecord on no stream": c.EventRecord(ev, 999),
		"EventSynchronize": c.EventSynchronize(999), "EventElapsedTime, not recorded": c.EventElapsedTime(&ms, ev, ev),
		"StreamWaitEvent": c.StreamWaitEvent(stream, 999, 0), "StreamWaitEvent on no stream": c.StreamWaitEvent(999, ev, 0),
		"ModuleUnload": c.ModuleUnload(999), "ModuleGetFunction": c.ModuleGetFunction(new(capi.Function), 999, name),
		"FuncGetAttribute": c.FuncGetAttribute(&value, 0, 999), "LaunchKernel": c.LaunchKernel(999, 1, 1, 1, 1, 1, 1, 0, stream, nil, nil),
	}
	for call, code := range got {
		if code != capi.InvalidHandle {
			t.Errorf("%s: code %d", call, code)
		}
	}
	for call, code := range map[string][2]int32{
		"MemFree": {c.MemFree(12345), capi.InvalidValue}, "copy to nowhere": {c.MemcpyHtoDAsync(12345, at, 8, stream), capi.InvalidValue},
		"copy from nowhere": {c.MemcpyDtoHAsync(at, 12345, 8, stream), capi.InvalidValue}, "MemFreeHost": {c.MemFreeHost(at), capi.InvalidValue},
		"MemHostUnregister":       {c.MemHostUnregister(at), capi.HostMemoryNotRegistered},
		"MemHostGetDevicePointer": {c.MemHostGetDevicePointer(&p, at, 0), capi.HostMemoryNotRegistered},
	} {
		if code[0] != code[1] {
			t.Errorf("%s: code %d, want %d", call, code[0], code[1])
		}
	}
	var text *byte
	if c.GetErrorName(1, &text) == capi.Success || c.GetErrorString(12345, &text) == capi.Success {
		t.Error("there is a text for a code that nothing failed with")
	}
}

// The simulated device is never chosen by itself.
func TestSimNotAuto(t *testing.T) {
	e := backend.Explain("auto")
	if e.Chosen != nil && e.Chosen.Driver == "cudasim" {
		t.Error("auto takes the simulator")
	}
	if !slices.Contains(backend.Names(), "cudasim") {
		t.Error("the simulator is not registered")
	}
}
