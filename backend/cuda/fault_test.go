package cuda

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi/capitest"
	"github.com/tandem-gpu/tandem/internal/faulttest/fault"
)

// A session is what a program does with a device, on a driver of its own: list, open with the
// probe, compile, run, close.
func session(drv *driver) (err error) {
	d, err := drv.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := useAll(d); err != nil {
		return err
	}
	return backendtest.UseMore(d, incSource)
}

func useAll(d *backend.Device) error { return backendtest.Use(d, fillSource, true) }

// tolerated are calls that may fail without a failure of the session: a handle is then C's to lose,
// a text is missing from a message.
var tolerated = []string{
	"cuGetErrorName", "cuGetErrorString", "cuDevicePrimaryCtxRelease", "cuMemFree", "cuMemFreeAsync", "cuMemFreeHost",
	"cuMemHostUnregister", "cuStreamDestroy", "cuEventDestroy", "cuModuleUnload", "cuMemPoolTrimTo",
	"cuEventRecord", "cuStreamWaitEvent", // where memory is freed; TestPoolOrder has what follows
	"cuDeviceGetAttribute", "cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute", // of pools; TestWithoutPool
}

// late are calls that are also made where nobody takes an error any more: before something is
// released.
var late = []string{"cuStreamSynchronize", "cuCtxSetCurrent"}

// Each C call of a session fails once, at its first, second, ... and last use. The error names the
// call, nothing leaks, and the next session works.
func TestEveryCallFails(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what is released is released by the driver
	api := table(t)
	openAgain(t) // keeps the context, which takes a GPU a third of a second to make, for all sessions
	live := capitest.Watch(t, api)
	for _, probe := range []bool{true, false} {
		if t.Setenv(backend.EnvCache, "off"); !probe {
			backendtest.EmptyCache(t)
		}
		check(t, session(fresh(t)))
		counts := callCounts(api, func() { check(t, session(fresh(t))) })
		if calls := len(counts); calls < 30 {
			t.Fatalf("only %d functions are called", calls)
		}
		for name, n := range counts {
			uses := []int64{1, min(2, n), (n + 1) / 2, n}
			if testing.Short() { // under the race detector, and where another run makes the rest fail
				uses = []int64{1, n}
			}
			for _, nth := range slices.Compact(uses) {
				mayPass := slices.Contains(tolerated, name) || slices.Contains(late, name) && nth > 1
				sessionFails(t, live, api, fmt.Sprintf("%s %d probe=%v", name, nth, probe), name, nth, mayPass)
			}
		}
	}
}

func callCounts(api *capi.API, f func()) map[string]int64 {
	var n dltest.Counter
	defer dltest.Wrap(api, n.Count)()
	f()
	return n.All()
}

func sessionFails(t *testing.T, live *dltest.Live, api *capi.API, title, name string, nth int64, mayPass bool) {
	t.Run(title, func(t *testing.T) {
		const code = capi.OutOfMemory
		drv := fresh(t)
		restore := failNth(api, name, nth, code)
		err := session(drv)
		restore()
		var e *backend.Error
		op := ""
		if errors.As(err, &e) {
			op, _, _ = strings.Cut(e.Op, " ") // "cuDeviceGetName of device 0"
		}
		switch {
		case mayPass && (err == nil || errors.Is(err, backend.ErrOutOfMemory)):
		case err == nil:
			t.Error("no error")
		case op != name || e.Code != int(code) || e.Driver != drv.name:
			t.Errorf("%v, want an error of %s", err, name)
		}
		for range 2000 { // what is released in the background
			if live.Count() == 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if n := live.Count(); n != 0 {
			t.Errorf("%d handles are left", n)
		}
	})
}

// After a call that tells of a lost device, every other says so, and everything can still be
// closed. Another device goes on.
func TestDeviceLost(t *testing.T) {
	for _, code := range []int32{700, 716, 719, 214, 46, 999} {
		t.Run(capi.Codes[code].Name, func(t *testing.T) {
			d := open(t)
			q, b := newQueue(t, d), alloc(t, d, 64)
			k := must[*backend.Kernel](t)(d.Compile(fillSource))
			h := must[*backend.Buffer](t)(d.AllocHost(64))
			ev := must[*backend.Event](t)(q.Record())
			restore := failNth(own(d).api, "cuStreamSynchronize", 1, code)
			wantError(t, q.Wait(), backend.ErrDeviceLost, "cuStreamSynchronize", capi.Codes[code].Name)
			restore()
			for i, err := range backendtest.UseOfLost(d, q, b, h, k, ev) {
				wantError(t, err, backend.ErrDeviceLost, "cuStreamSynchronize", capi.Codes[code].Name)
				if err == nil {
					t.Errorf("call %d", i)
				}
			}
			check(t, useAll(openAgain(t)))
		})
	}
}

// Codes become the errors that a program can act on.
func TestErrorKinds(t *testing.T) {
	d, c := under(t), table(t).Load()
	for code, want := range map[int32]error{
		1: backend.ErrArgument, 2: backend.ErrOutOfMemory, 100: backend.ErrNoDevice, 200: backend.ErrBuild,
		218: backend.ErrBuild, 222: backend.ErrUnsupported,
		700: backend.ErrDeviceLost, 701: backend.ErrLaunch, 702: backend.ErrDeviceLost, 716: backend.ErrDeviceLost,
		719: backend.ErrDeviceLost,
		801: backend.ErrUnsupported, 12345: nil, capi.KernelFault: backend.ErrLaunch,
		capi.KernelFault + 7: backend.ErrLaunch,
	} {
		if got := d.callError(c, "cuStreamSynchronize", code).Err; got != want {
			t.Errorf("code %d is %v, want %v", code, got, want)
		}
	}
	if got := d.callError(c, "cuLaunchKernel", 1).Err; got != backend.ErrLaunch {
		t.Errorf("a launch with wrong values is %v", got)
	}
	for code, known := range capi.Codes {
		if known.Name == "" {
			t.Errorf("there is advice about %d, which is no code", code)
		}
	}
}

// A driver too old for the PTX says what to do.
func TestOldDriver(t *testing.T) {
	d := open(t)
	defer failNth(own(d).api, "cuModuleLoadDataEx", 1, 222)()
	_, err := d.Compile(fillSource)
	wantError(t, err, backend.ErrUnsupported, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "update the driver")
}

// failNth makes the nth call of a C function fail with code, until restore.
func failNth(api *capi.API, name string, nth int64, code int32) (restore func()) {
	f := fault.Fault{Name: name, Nth: nth}
	return dltest.Wrap(api, func(c *dltest.Call) []reflect.Value {
		if !f.Due(c.Name) {
			return c.Run()
		}
		if slices.Contains(tolerated, name) {
			c.Run() // a handle that C keeps would be a leak of the test's making
		}
		return c.Fail(code)
	})
}
