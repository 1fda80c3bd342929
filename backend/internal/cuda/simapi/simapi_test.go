package simapi

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// Many faults are remembered by their codes, the last ones at least.
func TestFaultCodes(t *testing.T) {
	s := newDevice(ptxsim.Config{})
	seen := map[int32]bool{}
	for i := range 3 * maxFaults {
		f := &ptxsim.Fault{Kind: ptxsim.Race, Kernel: fmt.Sprint(i)}
		code := s.note(f)
		if code < capi.KernelFault || s.texts[code] != f.Error() || s.names[code] != "CUDASIM_DATA_RACE" {
			t.Fatalf("fault %d: code %d, %q, %q", i, code, s.names[code], s.texts[code])
		}
		seen[code] = true
	}
	if len(seen) != maxFaults {
		t.Errorf("%d codes", len(seen))
	}
}

// Handles that are not, or no longer, anything are refused as CUDA does, and so are calls without a
// context.
func TestHandles(t *testing.T) {
	s := newDevice(ptxsim.Config{})
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
		"StreamDestroy": c.StreamDestroy(999), "StreamSynchronize": c.StreamSynchronize(999),
		"EventDestroy":            c.EventDestroy(999),
		"EventRecord of no event": c.EventRecord(999, stream), "EventRecord on no stream": c.EventRecord(ev, 999),
		"EventSynchronize": c.EventSynchronize(999), "EventElapsedTime, not recorded": c.EventElapsedTime(&ms, ev, ev),
		"StreamWaitEvent": c.StreamWaitEvent(stream, 999, 0), "StreamWaitEvent on no stream": c.StreamWaitEvent(999, ev,
			0),
		"ModuleUnload": c.ModuleUnload(999), "ModuleGetFunction": c.ModuleGetFunction(new(capi.Function), 999, name),
		"FuncGetAttribute": c.FuncGetAttribute(&value, 0, 999), "LaunchKernel": c.LaunchKernel(999, 1, 1, 1, 1, 1, 1, 0,
			stream, nil, nil),
	}
	for call, code := range got {
		if code != capi.InvalidHandle {
			t.Errorf("%s: code %d", call, code)
		}
	}
	for call, code := range map[string][2]int32{
		"MemFree": {c.MemFree(12345), capi.InvalidValue}, "copy to nowhere": {
			c.MemcpyHtoDAsync(12345, at, 8, stream),
			capi.InvalidValue,
		},
		"copy from nowhere":       {c.MemcpyDtoHAsync(at, 12345, 8, stream), capi.InvalidValue},
		"MemFreeHost":             {c.MemFreeHost(at), capi.InvalidValue},
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
