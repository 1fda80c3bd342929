package cuda

import (
	"runtime"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// failure is the error of a check that stands before the C call.
func (d *driver) failure(op string, kind error, format string, v ...any) *backend.Error {
	return backend.Failure(d.name, op, kind, format, v...)
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

// check is the error of the C function op, nil for success.
func (d *device) check(op string, code int32) error {
	if code == capi.Success {
		return nil
	}
	e := d.drv.callError(d.api.Load(), op, code)
	if e.Err == backend.ErrNoDevice {
		e.Err = backend.ErrDeviceLost
	}
	return e
}

// current makes the device's context that of this thread, for the C calls until leave. CUDA keeps
// the context by thread.
func (d *device) current() (c *capi.Table, err error) {
	runtime.LockOSThread()
	c = d.api.Load()
	if code := c.CtxSetCurrent(d.ctx); code != capi.Success {
		runtime.UnlockOSThread()
		return nil, d.check("cuCtxSetCurrent", code)
	}
	return c, nil
}

// leave ends what current began.
func leave() { runtime.UnlockOSThread() }

// call makes the C call f, whose function is op, in the device's context.
func (d *device) call(op string, f func(c *capi.Table) int32) error {
	c, err := d.current()
	if err != nil {
		return err
	}
	defer leave()
	return d.check(op, f(c))
}

// dispose makes the C call f, which releases something, in the device's context as far as there is
// one. Its status helps nobody: what was queued before has been waited for.
func (d *device) dispose(f func(c *capi.Table) int32) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := d.api.Load()
	c.CtxSetCurrent(d.ctx)
	f(c)
}
