package cuda

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cuda/internal/capi"
)

// failure is the error of a check that stands before the C call.
func (d *driver) failure(op string, kind error, format string, v ...any) *backend.Error {
	return &backend.Error{Driver: d.name, Op: op, Err: kind, Detail: fmt.Sprintf(format, v...)}
}

func (s *deviceState) failure(op string, kind error, format string, v ...any) *backend.Error {
	return s.drv.failure(op, kind, format, v...)
}

// callError is the error of the C function op, with CUDA's own text.
func (d *driver) callError(c *capi.Table, op string, code int32) *backend.Error {
	e := &backend.Error{Driver: d.name, Op: op, Code: int(code), Name: capi.CodeName(code), Err: kind(op, code)}
	var text *byte
	if e.Name == "" && c.GetErrorName(code, &text) == capi.Success {
		e.Name = capi.GoString(text)
	}
	var parts []string
	if text = nil; c.GetErrorString(code, &text) == capi.Success && text != nil {
		parts = append(parts, capi.GoString(text))
	}
	if a := advice[code]; a != "" {
		parts = append(parts, a)
	}
	e.Detail = strings.Join(parts, "; ")
	return e
}

// kind is the sentinel of a status code. A context that has become invalid while it is open belongs to a device that is lost, and so
// does one in which a kernel failed: CUDA lets nothing more run in it.
func kind(op string, code int32) error {
	switch {
	case op == "cuLaunchKernel" && (code == 1 || code == 400 || code == 701 || code == 720), code >= simulatorCode:
		return backend.ErrLaunch
	}
	switch code {
	case 3, 34, 100, 101, 102, 803, 804, 805, 999:
		return backend.ErrNoDevice
	case 2, 205:
		return backend.ErrOutOfMemory
	case 4, 46, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 802, 806, 807, 810:
		return backend.ErrDeviceLost
	case 200, 209, 218, 300, 302, 303, 500:
		return backend.ErrBuild
	case 701:
		return backend.ErrLaunch
	case 36, 221, 222, 223, 224, 225, 227, 800, 801:
		return backend.ErrUnsupported
	case 1, 400, 712, 713:
		return backend.ErrArgument
	}
	return nil
}

const lostAdvice = "a kernel failed, and CUDA runs nothing more on this device in this program: " +
	"compute-sanitizer, or the driver cudasim, can find where"

// advice is what to know about a status code beyond its name and text.
var advice = map[int32]string{
	2:   "the device has no room; free buffers or use smaller ones",
	46:  "another process has the GPU for itself",
	100: "no GPU is visible",
	222: "the PTX is newer than the driver: update the driver, or use the NVRTC of its CUDA version (see nvidia-smi and TANDEM_NVRTC)",
	221: "the driver's compiler, libnvidia-ptxjitcompiler, is missing",
	700: "a kernel read or wrote outside its buffers; " + lostAdvice,
	701: "the kernel needs more registers or shared memory for a group of this size than the device has",
	702: "a kernel ran longer than the system allows; " + lostAdvice,
	712: "the memory, or the page that it lies in, is registered already",
	715: lostAdvice,
	716: "a kernel used an address that is not a multiple of the access's size; " + lostAdvice,
	719: lostAdvice,
	802: "the system is still starting, or nvidia-fabricmanager does not run",
	803: "the kernel module and the library of NVIDIA's driver have different versions; reboot, or reinstall the driver",
}

// check is the error of the C function op, nil for success. An error that means a lost device is remembered.
func (s *deviceState) check(op string, code int32) error {
	if code == capi.Success {
		return nil
	}
	e := s.drv.callError(s.api.Load(), op, code)
	if e.Err == backend.ErrDeviceLost || e.Err == backend.ErrNoDevice {
		e.Err = backend.ErrDeviceLost
		s.lost.CompareAndSwap(nil, e)
	}
	return e
}

// live is the error of an object that is closed, or whose device is lost; nil where it can be used.
func (s *deviceState) live(op, what string, open bool) error {
	if !open {
		return s.failure(op, backend.ErrClosed, "the %s was closed, or its device", what)
	}
	if e := s.lost.Load(); e != nil {
		return s.failure(op, backend.ErrDeviceLost, "after %s: %s: %s", e.Op, e.Name, e.Detail)
	}
	return nil
}

// current makes the device's context that of this thread, for the C calls until leave. CUDA keeps the context by thread.
func (s *deviceState) current() (c *capi.Table, err error) {
	runtime.LockOSThread()
	c = s.api.Load()
	if code := c.CtxSetCurrent(s.ctx); code != capi.Success {
		runtime.UnlockOSThread()
		return nil, s.check("cuCtxSetCurrent", code)
	}
	return c, nil
}

// leave ends what current began.
func leave() { runtime.UnlockOSThread() }

// call makes the C call f, whose function is op, in the device's context.
func (s *deviceState) call(op string, f func(c *capi.Table) int32) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	defer leave()
	return s.check(op, f(c))
}

// dispose makes the C call f, which releases something, in the device's context as far as there is one. Its status helps nobody: what
// was queued before has been waited for.
func (s *deviceState) dispose(f func(c *capi.Table) int32) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := s.api.Load()
	c.CtxSetCurrent(s.ctx)
	f(c)
}
