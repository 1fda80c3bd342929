package cuda

import (
	"runtime"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// failure is the error of a check that stands before the C call.
func (d *driver) failure(op string, kind error, format string, v ...any) *backend.Error {
	return driverkit.Failure(d.name, op, kind, format, v...)
}

// launchCodes are the codes that, of cuLaunchKernel, mean a wrong launch.
var launchCodes = []int32{capi.InvalidValue, capi.InvalidHandle, capi.CooperativeLaunchTooLarge}

// callError is the error of the C function op, with CUDA's own text.
func (d *driver) callError(c *capi.Table, op string, code int32) *backend.Error {
	known := capi.Codes[code]
	e := &backend.Error{Driver: d.name, Op: op, Code: int(code), Name: known.Name, Err: known.Err}
	if code >= capi.KernelFault || op == "cuLaunchKernel" && slices.Contains(launchCodes, code) {
		e.Err = backend.ErrLaunch
	}
	var text *byte
	if e.Name == "" && c.GetErrorName(code, &text) == capi.Success {
		e.Name = capi.GoString(text)
	}
	var parts []string
	if text = nil; c.GetErrorString(code, &text) == capi.Success && text != nil {
		parts = append(parts, capi.GoString(text))
	}
	if known.Advice != "" {
		parts = append(parts, known.Advice)
	}
	e.Detail = strings.Join(parts, "; ")
	return e
}

// check is the error of the C function op, nil for success. An error that means a lost device is
// remembered.
func (s *deviceState) check(op string, code int32) error {
	if code == capi.Success {
		return nil
	}
	e := s.drv.callError(s.api.Load(), op, code)
	if e.Err == backend.ErrDeviceLost || e.Err == backend.ErrNoDevice {
		e.Err = backend.ErrDeviceLost
		s.Lose(e.Op + ": " + e.Name + ": " + e.Detail)
	}
	return e
}

// current makes the device's context that of this thread, for the C calls until leave. CUDA keeps
// the context by thread.
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

// dispose makes the C call f, which releases something, in the device's context as far as there is
// one. Its status helps nobody: what was queued before has been waited for.
func (s *deviceState) dispose(f func(c *capi.Table) int32) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := s.api.Load()
	c.CtxSetCurrent(s.ctx)
	f(c)
}
