package opencl

import (
	"errors"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// failure is the error of a check that stands before the C call.
func failure(op string, kind error, format string, v ...any) *backend.Error {
	return backend.Failure(driverName, op, kind, format, v...)
}

// callError is the error of the C function op.
func callError(op string, err error) *backend.Error {
	code := cl.Code(err)
	known := capi.Codes[int32(code)]
	e := &backend.Error{
		Driver: driverName, Op: op, Code: code, Name: cl.CodeName(err), Err: known.Err,
		Detail: known.Advice,
	}
	switch {
	case code == int(capi.OutOfResources) && op == "clEnqueueNDRangeKernel": // registers or local memory, not global
		e.Err = backend.ErrLaunch
	case errors.Is(err, cl.ErrUnsupported):
		e.Err, e.Detail = backend.ErrUnsupported, "the OpenCL library does not have this function; OpenCL 1.2 is needed"
	case code == 0:
		e.Detail = err.Error()
	}
	return e
}

// check is the error of the C function op, nil for success.
func (d *device) check(op string, err error) error {
	if err == nil {
		return nil
	}
	return callError(op, err)
}
