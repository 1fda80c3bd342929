package opencl

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
	"github.com/tandem-gpu/tandem/internal/hugepage"
)

// A session is what a program does with a device, on a driver of its own: list, open with the
// probe, compile, run, close.
func session(mapped bool) (err error) {
	d, err := newDriver().Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if mapped {
		own(d).mapped = true
	}
	if err := useAll(d); err != nil {
		return err
	}
	if mapped {
		own(d).info.UnifiedMemory = false
	}
	large, err := d.Alloc(hugepage.MinBytes)
	if err != nil {
		return err
	}
	return errors.Join(backendtest.UseMore(d, incSource), large.Free())
}

func useAll(d *backend.Device) error {
	return backendtest.Use(d, fillSource, d.Info().UnifiedMemory)
}

// tolerated are calls that may fail without a failure of the session: a property is then its zero
// value, a parameter is read from the text, a binary is not kept, a handle is C's to lose, memory
// that is being freed is unmapped by its release.
var tolerated = []string{
	"clGetDeviceInfo", "clGetPlatformInfo", "clGetKernelArgInfo", "clGetProgramInfo", "clReleaseContext",
	"clReleaseCommandQueue",
	"clReleaseMemObject", "clReleaseProgram", "clReleaseKernel", "clReleaseEvent", "clEnqueueUnmapMemObject",
}

// tolerates tells whether a call may fail so. Where one platform cannot list its devices, another
// may have some.
func tolerates(name string) bool {
	return slices.Contains(tolerated, name) || name == "clGetDeviceIDs" && SeveralPlatforms()
}

// fromBinary are calls that may also fail when a program comes from the disk cache: it is made from
// its text then.
var fromBinary = []string{"clCreateProgramWithBinary", "clBuildProgram", "clCreateKernel", "clGetKernelWorkGroupInfo"}

// late are calls that are also made where nobody takes an error any more: in the background, at any
// time, or to unmap memory that is being freed. TestWaitFails shows that the others are told.
var late = []string{"clFinish", "clWaitForEvents"}

// Each C call of a session fails once, at its first, second, ... and last use. The error names the
// call, nothing leaks, and the next session works.
func TestEveryCallFails(t *testing.T) {
	need(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what is released is released by the driver
	live := capitest.Watch(t)
	backendtest.EmptyCache(t)
	for _, mapped := range []bool{false, true} {
		check(t, session(mapped)) // fills the disk cache
		cached := callCounts(func() { check(t, session(mapped)) })
		for name, n := range cached {
			uses := []int64{1, min(2, n), (n + 1) / 2, n}
			if testing.Short() { // under the race detector, and where another run makes the rest fail
				uses = []int64{1, n}
			}
			for _, nth := range slices.Compact(uses) {
				mayPass := tolerates(name) || slices.Contains(fromBinary, name) || slices.Contains(late, name)
				sessionFails(t, live, fmt.Sprintf("%s %d mapped=%v", name, nth, mapped), name, nth, mapped, mayPass)
			}
		}
		if cached["clCreateProgramWithBinary"] == 0 || cached["clCreateProgramWithSource"] != 0 {
			t.Error("the disk cache was not used")
		}
	}
	t.Setenv(backend.EnvCache, "off")
	// Compiled, and with the probe, whose registered memory is released in the background at any
	// time after: the first of the late calls may be that.
	for name, n := range callCounts(func() { check(t, session(false)) }) {
		for _, nth := range slices.Compact([]int64{1, n}) {
			mayPass := tolerates(name) || slices.Contains(late, name)
			sessionFails(t, live, fmt.Sprintf("%s %d compiled", name, nth), name, nth, false, mayPass)
		}
	}
}

func callCounts(f func()) map[string]int64 {
	var n dltest.Counter
	defer capitest.Wrap(n.Count)()
	f()
	return n.All()
}

func sessionFails(t *testing.T, live *dltest.Live, title, name string, nth int64, mapped, mayPass bool) {
	t.Run(title, func(t *testing.T) {
		const code = -6 // CL_OUT_OF_HOST_MEMORY
		restore := failNth(name, nth, code)
		err := session(mapped)
		restore()
		var e *backend.Error
		switch {
		case name == "clGetDeviceInfo" && errors.Is(err, backend.ErrNoDevice) && strings.Contains(err.Error(), name):
		case mayPass && (err == nil || errors.Is(err, backend.ErrUnsupported) ||
			errors.Is(err, backend.ErrOutOfMemory)):
		case err == nil:
			t.Error("no error")
		case !errors.As(err, &e) || e.Op != name || e.Code != code && name != "clGetDeviceIDs" &&
			name != "clGetPlatformIDs":
			t.Errorf("%v, want an error of %s", err, name)
		}
		for range 2000 { // registered memory is released in the background
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

// Garbage for a number among the answers of a driver is an error, or does no harm.
func TestGarbage(t *testing.T) {
	need(t)
	backendtest.EmptyCache(t)
	check(t, session(false)) // fills the disk cache
	for _, garbage := range []uint64{1<<31 + 5, 1<<64 - 1} {
		done := map[string]bool{}
		for question := "first"; question != ""; {
			question = ""
			restore := capitest.Wrap(func(c *capitest.Call) []reflect.Value {
				results := c.Run()
				if q, answer := number(c); q != "" && question == "" && !done[q] {
					question, done[q] = q, true
					answer.SetUint(garbage)
				}
				return results
			})
			if panicked := recovered(func() { session(false) }); panicked != "<nil>" {
				t.Errorf("%#x for %s: %s", garbage, question, panicked)
			}
			restore()
		}
	}
}

// number is the question that a function answers with a number, a size or a count, and the answer.
func number(c *capitest.Call) (question string, answer reflect.Value) {
	if !strings.HasPrefix(c.Name, "clGet") {
		return "", answer
	}
	n := len(c.Args)
	if last := c.Args[n-1]; last.Kind() == reflect.Pointer && !last.IsNil() {
		return fmt.Sprint("the size of ", c.Name, c.Args[n-min(n, 4)].Interface()), last.Elem()
	}
	if strings.HasSuffix(c.Name, "Info") {
		question, value := fmt.Sprint(c.Name, c.Args[n-4].Interface()), c.Args[n-2].UnsafePointer()
		switch size := c.Args[n-3].Uint(); {
		case value == nil:
		case size == 4:
			return question, reflect.ValueOf((*uint32)(value)).Elem()
		case size == 8:
			return question, reflect.ValueOf((*uint64)(value)).Elem()
		}
	}
	return "", answer
}

// recovered is what f panics with.
func recovered(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return
}

// After a call that tells of a lost device, every other says so, and everything can still be
// closed.
func TestDeviceLost(t *testing.T) {
	d := open(t)
	q, b := newQueue(t, d), alloc(t, d, 64)
	k := must[*backend.Kernel](t)(d.Compile(fillSource))
	h := must[*backend.Buffer](t)(d.AllocHost(64))
	ev := must[*backend.Event](t)(q.Record())
	restore := failNth("clFinish", 1, -36)
	wantError(t, q.Wait(), backend.ErrDeviceLost, "clFinish", "CL_INVALID_COMMAND_QUEUE")
	restore()
	for i, err := range backendtest.UseOfLost(d, q, b, h, k, ev) {
		if !errors.Is(err, backend.ErrDeviceLost) {
			t.Errorf("call %d: %v, want ErrDeviceLost", i, err)
		}
	}
	again := openAgain(t) // another device goes on
	check(t, useAll(again))
}

// When a wait fails because a command did, the error is the command's; otherwise it is the wait's.
func TestWaitFails(t *testing.T) {
	d := open(t)
	for _, c := range []struct {
		wait, command, info int32 // the codes of clWaitForEvents, of the command, and of clGetEventInfo
		op, name            string
	}{
		{-14, -4, 0, "clEnqueueFillBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
		{-14, 0, -6, "clWaitForEvents", "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
		{-6, -4, 0, "clWaitForEvents", "CL_OUT_OF_HOST_MEMORY"},
	} {
		restore := capitest.Wrap(func(call *capitest.Call) []reflect.Value {
			switch {
			case call.Name == "clWaitForEvents":
				call.Run()
				return call.Fail(c.wait)
			case call.Name == "clGetEventInfo" && c.info != 0:
				return call.Fail(c.info)
			case call.Name == "clGetEventInfo":
				results := call.Run()
				*(*int32)(call.Args[3].Interface().(unsafe.Pointer)) = c.command
				return results
			}
			return call.Run()
		})
		_, err := d.Alloc(64)
		restore()
		var e *backend.Error
		if !errors.As(err, &e) || e.Op != c.op || e.Name != c.name {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Codes become the errors that a program can act on.
func TestErrorKinds(t *testing.T) {
	for code, want := range map[int]error{
		-1: backend.ErrNoDevice, -1001: backend.ErrNoDevice, -2: backend.ErrDeviceLost, -4: backend.ErrOutOfMemory,
		-5: backend.ErrOutOfMemory,
		-6: backend.ErrOutOfMemory, -11: backend.ErrBuild, -52: backend.ErrLaunch, -54: backend.ErrLaunch,
		-55: backend.ErrLaunch, -7: backend.ErrUnsupported,
		-30: backend.ErrArgument, -9999: backend.ErrDeviceLost,
	} {
		if got := callError("clFinish", cl.ErrOther(code)).Err; got != want {
			t.Errorf("code %d is %v, want %v", code, got, want)
		}
	}
	if got := callError("clEnqueueNDRangeKernel", cl.ErrOutOfResources).Err; got != backend.ErrLaunch {
		t.Errorf("a launch without resources is %v", got)
	}
}

// Times that the driver does not give are ErrUnsupported.
func TestNoProfiling(t *testing.T) {
	d := open(t)
	q := newQueue(t, d)
	ev := must[*backend.Event](t)(q.Record())
	defer failNth("clGetEventProfilingInfo", 1, -7)()
	_, err := ev.Since(ev)
	wantError(t, err, backend.ErrUnsupported, "clGetEventProfilingInfo", "CL_PROFILING_INFO_NOT_AVAILABLE")
}

// A compiler that tells nothing of the arguments: they are read from the text, or declared.
func TestNoArgInfo(t *testing.T) {
	d := open(t)
	t.Setenv(backend.EnvCache, "off")
	own(d).disk = diskcache.Open(driverName)
	defer capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		if c.Name == "clGetKernelArgInfo" {
			return c.Fail(-19)
		}
		return c.Run()
	})()
	k := must[*backend.Kernel](t)(d.Compile(fillSource))
	var got []string
	for _, p := range k.Params() {
		got = append(got, p.String())
	}
	if want := []string{"buffer (int*) a", "int n", "int v"}; !slices.Equal(got, want) {
		t.Errorf("parameters %q, want %q", got, want)
	}
	hidden := &backend.Source{Name: "k", Text: "#define KERNEL(name) __kernel void name(__global int *a)\nKERNEL(k) " +
		"{ a[0] = 3; }\n"}
	_, err := d.Compile(hidden)
	wantError(t, err, backend.ErrBuild, "Source.Params")
	declared := *hidden
	declared.Params = []backend.Param{{Name: "a", Buffer: true}}
	k = must[*backend.Kernel](t)(d.Compile(&declared))
	q, b := newQueue(t, d), alloc(t, d, 4)
	check(t, q.Launch(k, backend.Grid1(1, 1), backend.Buf(b)))
	v := make([]byte, 4)
	check(t, q.Read(v, b, 0))
	if v[0] != 3 {
		t.Errorf("%v, want 3", v)
	}
}

// A platform that fails does not hide the others; without any other, the error names it.
func TestBrokenPlatform(t *testing.T) {
	need(t)
	defer failNth("clGetDeviceIDs", 1, -6)()
	_, err := newDriver().Devices()
	if err == nil {
		return // there is another platform
	}
	wantError(t, err, backend.ErrNoDevice, "platform", "CL_OUT_OF_HOST_MEMORY", remedy)
}

// What goes wrong with the list of platforms is not told as a missing driver, unless it is one.
func TestPlatformsFail(t *testing.T) {
	need(t)
	for _, c := range []struct {
		code  int32
		count uint32
		want  string
	}{
		{-1001, 0, "no driver"},
		{0, 0, "no driver"},
		{-6, 0, "clGetPlatformIDs: CL_OUT_OF_HOST_MEMORY (-6)"},
		{-9999, 0, "clGetPlatformIDs: code -9999"},
		{0, 4e9, "4000000000 elements"},
	} {
		restore := capitest.Wrap(func(call *capitest.Call) []reflect.Value {
			if call.Name != "clGetPlatformIDs" {
				return call.Run()
			}
			*call.Args[2].Interface().(*uint32) = c.count
			return call.Fail(c.code)
		})
		_, err := findDevices()
		restore()
		wantError(t, err, backend.ErrNoDevice, c.want)
		if missing := strings.Contains(err.Error(), "no driver"); missing != (c.want == "no driver") {
			t.Error(err)
		}
	}
}

// PoCL has its device always, but for where it cannot write.
func TestPoCLWithoutCache(t *testing.T) {
	need(t)
	platforms := must[[]*cl.Platform](t)(cl.GetPlatforms())
	if !slices.ContainsFunc(platforms, func(p *cl.Platform) bool { return p.Name() == pocl }) {
		t.Skip("PoCL is not among the platforms")
	}
	defer capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		if c.Name == "clGetDeviceIDs" {
			return c.Fail(-1)
		}
		return c.Run()
	})()
	_, err := findDevices()
	wantError(t, err, backend.ErrNoDevice, "CL_DEVICE_NOT_FOUND", "POCL_CACHE_DIR", "HOME", remedy)
}
