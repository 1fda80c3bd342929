package opencl

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

// failure is the error of a check that stands before the C call.
func failure(op string, kind error, format string, v ...any) *backend.Error {
	return &backend.Error{Driver: driverName, Op: op, Err: kind, Detail: fmt.Sprintf(format, v...)}
}

// callError is the error of the C function op.
func callError(op string, err error) *backend.Error {
	code := cl.Code(err)
	e := &backend.Error{Driver: driverName, Op: op, Code: code, Name: cl.CodeName(err), Err: kind(op, code), Detail: advice[code]}
	switch {
	case errors.Is(err, cl.ErrUnsupported):
		e.Err, e.Detail = backend.ErrUnsupported, "the OpenCL library does not have this function; OpenCL 1.2 is needed"
	case code == 0:
		e.Detail = err.Error()
	}
	return e
}

// kind is the sentinel of a status code. A queue or a context that has become invalid while it is open belongs to a device that is lost.
func kind(op string, code int) error {
	switch {
	case code == -5 && op == "clEnqueueNDRangeKernel": // registers or local memory, not global memory
		return backend.ErrLaunch
	}
	switch code {
	case -1, -32, -33, -1001:
		return backend.ErrNoDevice
	case -2, -34, -36, -1121, -9999:
		return backend.ErrDeviceLost
	case -4, -5, -6, -61:
		return backend.ErrOutOfMemory
	case -11, -15, -17, -43, -44, -46, -47:
		return backend.ErrBuild
	case -14, -45, -48, -49, -50, -51, -52, -53, -54, -55, -56, -63:
		return backend.ErrLaunch
	case -3, -7, -16, -19, -35, -59:
		return backend.ErrUnsupported
	case -8, -13, -30, -37, -38, -57, -58:
		return backend.ErrArgument
	}
	return nil
}

// advice is what to know about a status code beyond its name.
var advice = map[int]string{
	-2:    "the device is gone; close it and open another",
	-3:    "the driver has no compiler",
	-4:    "the device has no room for the buffer; free others or use smaller ones",
	-5:    "the device has no room for the command, or a kernel read or wrote outside its buffers",
	-6:    "the host has no memory left",
	-7:    "the driver does not give the times of this command",
	-36:   "the queue became invalid, as after a kernel that read or wrote outside its buffers; close the device and open it again",
	-54:   "the group does not fit the kernel on this device",
	-61:   "the buffer is larger than the device takes",
	-1001: "no OpenCL driver is installed",
	-9999: "a kernel read or wrote outside its buffers; close the device and open it again",
}

// check is the error of the C function op, nil for success. An error that means a lost device is remembered.
func (s *deviceState) check(op string, err error) error {
	if err == nil {
		return nil
	}
	e := callError(op, err)
	if e.Err == backend.ErrDeviceLost {
		s.lost.CompareAndSwap(nil, e)
	}
	return e
}

// live is the error of an object that is closed, or whose device is lost; nil where it can be used.
func (s *deviceState) live(op, what string, open bool) error {
	if !open {
		return failure(op, backend.ErrClosed, "the %s was closed, or its device", what)
	}
	if e := s.lost.Load(); e != nil {
		return failure(op, backend.ErrDeviceLost, "after %s: %s", e.Op, e.Detail)
	}
	return nil
}
