package cl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// The errors of OpenCL's status codes. They are plain values, so that err == cl.ErrInvalidValue
// works.
var (
	ErrDeviceNotFound                     = statusError(-1)
	ErrDeviceNotAvailable                 = statusError(-2)
	ErrCompilerNotAvailable               = statusError(-3)
	ErrMemObjectAllocationFailure         = statusError(-4)
	ErrOutOfResources                     = statusError(-5)
	ErrOutOfHostMemory                    = statusError(-6)
	ErrProfilingInfoNotAvailable          = statusError(-7)
	ErrMemCopyOverlap                     = statusError(-8)
	ErrImageFormatMismatch                = statusError(-9)
	ErrImageFormatNotSupported            = statusError(-10)
	ErrBuildProgramFailure                = statusError(-11)
	ErrMapFailure                         = statusError(-12)
	ErrMisalignedSubBufferOffset          = statusError(-13)
	ErrExecStatusErrorForEventsInWaitList = statusError(-14)
	ErrCompileProgramFailure              = statusError(-15)
	ErrLinkerNotAvailable                 = statusError(-16)
	ErrLinkProgramFailure                 = statusError(-17)
	ErrDevicePartitionFailed              = statusError(-18)
	ErrKernelArgInfoNotAvailable          = statusError(-19)
	ErrInvalidValue                       = statusError(-30)
	ErrInvalidDeviceType                  = statusError(-31)
	ErrInvalidPlatform                    = statusError(-32)
	ErrInvalidDevice                      = statusError(-33)
	ErrInvalidContext                     = statusError(-34)
	ErrInvalidQueueProperties             = statusError(-35)
	ErrInvalidCommandQueue                = statusError(-36)
	ErrInvalidHostPtr                     = statusError(-37)
	ErrInvalidMemObject                   = statusError(-38)
	ErrInvalidImageFormatDescriptor       = statusError(-39)
	ErrInvalidImageSize                   = statusError(-40)
	ErrInvalidSampler                     = statusError(-41)
	ErrInvalidBinary                      = statusError(-42)
	ErrInvalidBuildOptions                = statusError(-43)
	ErrInvalidProgram                     = statusError(-44)
	ErrInvalidProgramExecutable           = statusError(-45)
	ErrInvalidKernelName                  = statusError(-46)
	ErrInvalidKernelDefinition            = statusError(-47)
	ErrInvalidKernel                      = statusError(-48)
	ErrInvalidArgIndex                    = statusError(-49)
	ErrInvalidArgValue                    = statusError(-50)
	ErrInvalidArgSize                     = statusError(-51)
	ErrInvalidKernelArgs                  = statusError(-52)
	ErrInvalidWorkDimension               = statusError(-53)
	ErrInvalidWorkGroupSize               = statusError(-54)
	ErrInvalidWorkItemSize                = statusError(-55)
	ErrInvalidGlobalOffset                = statusError(-56)
	ErrInvalidEventWaitList               = statusError(-57)
	ErrInvalidEvent                       = statusError(-58)
	ErrInvalidOperation                   = statusError(-59)
	ErrInvalidGlObject                    = statusError(-60)
	ErrInvalidBufferSize                  = statusError(-61)
	ErrInvalidMipLevel                    = statusError(-62)
	ErrInvalidGlobalWorkSize              = statusError(-63)
	ErrInvalidProperty                    = statusError(-64)
	ErrInvalidImageDescriptor             = statusError(-65)
	ErrInvalidCompilerOptions             = statusError(-66)
	ErrInvalidLinkerOptions               = statusError(-67)
	ErrInvalidDevicePartitionCount        = statusError(-68)
)

var statusErrors = map[int32]error{capi.PlatformNotFoundKHR: ErrNoPlatform}

// statusError makes the error of a status code: that of CL_DEVICE_NOT_FOUND is "cl: Device Not
// Found".
func statusError(code int32) error {
	words := strings.Split(strings.ToLower(strings.TrimPrefix(capi.CodeName(code), "CL_")), "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	err := errors.New("cl: " + strings.Join(words, " "))
	statusErrors[code] = err
	return err
}

var (
	// ErrUnknown means that a function reported success but gave no object.
	ErrUnknown = errors.New("cl: unknown error")
	// ErrUnsupported means that the library or the device cannot do it.
	ErrUnsupported = errors.New("cl: unsupported")
	// ErrNoPlatform means that an OpenCL library is there, but no driver is registered with it.
	ErrNoPlatform = errors.New("cl: no OpenCL platform: the OpenCL library is installed, but no driver is " +
		"registered with it; " +
		"install the GPU's driver, or PoCL for the CPU, and see what clinfo lists")
)

// ErrOther is a status code without an error value of its own.
type ErrOther int

// Error names the code.
func (e ErrOther) Error() string {
	if name := capi.CodeName(int32(e)); name != "" {
		return fmt.Sprintf("cl: error %d (%s)", int(e), name)
	}
	return fmt.Sprintf("cl: error %d", int(e))
}

// BuildError is the compiler's log of a program that did not build.
type BuildError string

// Error contains the whole log.
func (e BuildError) Error() string { return fmt.Sprintf("cl: build error (%s)", string(e)) }

// ErrUnsupportedArgumentType is the error of Kernel.SetArg for a Go type that has no counterpart in
// OpenCL C.
type ErrUnsupportedArgumentType struct {
	Index int
	Value interface{}
}

// Error names the argument's position and value.
func (e ErrUnsupportedArgumentType) Error() string {
	return fmt.Sprintf("cl: argument %d has the type %T, which a kernel cannot take: %+v", e.Index, e.Value, e.Value)
}

// toError is the error of a status code, nil for success.
func toError(status int32) error {
	if status == capi.Success {
		return nil
	}
	if err, ok := statusErrors[status]; ok {
		return err
	}
	return ErrOther(status)
}

// Code is OpenCL's status code behind err or an error that it wraps, and 0 where there is none. Of
// several it is the lowest.
func Code(err error) (code int) {
	var other ErrOther
	if errors.As(err, &other) {
		code = int(other)
	}
	if errors.As(err, new(BuildError)) {
		code = min(code, int(capi.BuildProgramFailure))
	}
	for status, sentinel := range statusErrors {
		if errors.Is(err, sentinel) {
			code = min(code, int(status))
		}
	}
	return code
}

// CodeName is the name of Code(err) in OpenCL's headers, such as "CL_INVALID_VALUE", and "" where
// there is none.
func CodeName(err error) string {
	if code := Code(err); code != 0 {
		return capi.CodeName(int32(code))
	}
	return ""
}
