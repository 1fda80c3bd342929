package cl

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// The errors of OpenCL's status codes. They are plain values, so that err == cl.ErrInvalidValue works.
var (
	ErrDeviceNotFound                     = errors.New("cl: Device Not Found")
	ErrDeviceNotAvailable                 = errors.New("cl: Device Not Available")
	ErrCompilerNotAvailable               = errors.New("cl: Compiler Not Available")
	ErrMemObjectAllocationFailure         = errors.New("cl: Mem Object Allocation Failure")
	ErrOutOfResources                     = errors.New("cl: Out Of Resources")
	ErrOutOfHostMemory                    = errors.New("cl: Out Of Host Memory")
	ErrProfilingInfoNotAvailable          = errors.New("cl: Profiling Info Not Available")
	ErrMemCopyOverlap                     = errors.New("cl: Mem Copy Overlap")
	ErrImageFormatMismatch                = errors.New("cl: Image Format Mismatch")
	ErrImageFormatNotSupported            = errors.New("cl: Image Format Not Supported")
	ErrBuildProgramFailure                = errors.New("cl: Build Program Failure")
	ErrMapFailure                         = errors.New("cl: Map Failure")
	ErrMisalignedSubBufferOffset          = errors.New("cl: Misaligned Sub Buffer Offset")
	ErrExecStatusErrorForEventsInWaitList = errors.New("cl: Exec Status Error For Events In Wait List")
	ErrCompileProgramFailure              = errors.New("cl: Compile Program Failure")
	ErrLinkerNotAvailable                 = errors.New("cl: Linker Not Available")
	ErrLinkProgramFailure                 = errors.New("cl: Link Program Failure")
	ErrDevicePartitionFailed              = errors.New("cl: Device Partition Failed")
	ErrKernelArgInfoNotAvailable          = errors.New("cl: Kernel Arg Info Not Available")
	ErrInvalidValue                       = errors.New("cl: Invalid Value")
	ErrInvalidDeviceType                  = errors.New("cl: Invalid Device Type")
	ErrInvalidPlatform                    = errors.New("cl: Invalid Platform")
	ErrInvalidDevice                      = errors.New("cl: Invalid Device")
	ErrInvalidContext                     = errors.New("cl: Invalid Context")
	ErrInvalidQueueProperties             = errors.New("cl: Invalid Queue Properties")
	ErrInvalidCommandQueue                = errors.New("cl: Invalid Command Queue")
	ErrInvalidHostPtr                     = errors.New("cl: Invalid Host Ptr")
	ErrInvalidMemObject                   = errors.New("cl: Invalid Mem Object")
	ErrInvalidImageFormatDescriptor       = errors.New("cl: Invalid Image Format Descriptor")
	ErrInvalidImageSize                   = errors.New("cl: Invalid Image Size")
	ErrInvalidSampler                     = errors.New("cl: Invalid Sampler")
	ErrInvalidBinary                      = errors.New("cl: Invalid Binary")
	ErrInvalidBuildOptions                = errors.New("cl: Invalid Build Options")
	ErrInvalidProgram                     = errors.New("cl: Invalid Program")
	ErrInvalidProgramExecutable           = errors.New("cl: Invalid Program Executable")
	ErrInvalidKernelName                  = errors.New("cl: Invalid Kernel Name")
	ErrInvalidKernelDefinition            = errors.New("cl: Invalid Kernel Definition")
	ErrInvalidKernel                      = errors.New("cl: Invalid Kernel")
	ErrInvalidArgIndex                    = errors.New("cl: Invalid Arg Index")
	ErrInvalidArgValue                    = errors.New("cl: Invalid Arg Value")
	ErrInvalidArgSize                     = errors.New("cl: Invalid Arg Size")
	ErrInvalidKernelArgs                  = errors.New("cl: Invalid Kernel Args")
	ErrInvalidWorkDimension               = errors.New("cl: Invalid Work Dimension")
	ErrInvalidWorkGroupSize               = errors.New("cl: Invalid Work Group Size")
	ErrInvalidWorkItemSize                = errors.New("cl: Invalid Work Item Size")
	ErrInvalidGlobalOffset                = errors.New("cl: Invalid Global Offset")
	ErrInvalidEventWaitList               = errors.New("cl: Invalid Event Wait List")
	ErrInvalidEvent                       = errors.New("cl: Invalid Event")
	ErrInvalidOperation                   = errors.New("cl: Invalid Operation")
	ErrInvalidGlObject                    = errors.New("cl: Invalid Gl Object")
	ErrInvalidBufferSize                  = errors.New("cl: Invalid Buffer Size")
	ErrInvalidMipLevel                    = errors.New("cl: Invalid Mip Level")
	ErrInvalidGlobalWorkSize              = errors.New("cl: Invalid Global Work Size")
	ErrInvalidProperty                    = errors.New("cl: Invalid Property")
	ErrInvalidImageDescriptor             = errors.New("cl: Invalid Image Descriptor")
	ErrInvalidCompilerOptions             = errors.New("cl: Invalid Compiler Options")
	ErrInvalidLinkerOptions               = errors.New("cl: Invalid Linker Options")
	ErrInvalidDevicePartitionCount        = errors.New("cl: Invalid Device Partition Count")
)

var statusErrors = map[int32]error{
	-1:                       ErrDeviceNotFound,
	-2:                       ErrDeviceNotAvailable,
	-3:                       ErrCompilerNotAvailable,
	-4:                       ErrMemObjectAllocationFailure,
	-5:                       ErrOutOfResources,
	-6:                       ErrOutOfHostMemory,
	-7:                       ErrProfilingInfoNotAvailable,
	-8:                       ErrMemCopyOverlap,
	-9:                       ErrImageFormatMismatch,
	-10:                      ErrImageFormatNotSupported,
	-11:                      ErrBuildProgramFailure,
	-12:                      ErrMapFailure,
	-13:                      ErrMisalignedSubBufferOffset,
	-14:                      ErrExecStatusErrorForEventsInWaitList,
	-15:                      ErrCompileProgramFailure,
	-16:                      ErrLinkerNotAvailable,
	-17:                      ErrLinkProgramFailure,
	-18:                      ErrDevicePartitionFailed,
	-19:                      ErrKernelArgInfoNotAvailable,
	-30:                      ErrInvalidValue,
	-31:                      ErrInvalidDeviceType,
	-32:                      ErrInvalidPlatform,
	-33:                      ErrInvalidDevice,
	-34:                      ErrInvalidContext,
	-35:                      ErrInvalidQueueProperties,
	-36:                      ErrInvalidCommandQueue,
	-37:                      ErrInvalidHostPtr,
	-38:                      ErrInvalidMemObject,
	-39:                      ErrInvalidImageFormatDescriptor,
	-40:                      ErrInvalidImageSize,
	-41:                      ErrInvalidSampler,
	-42:                      ErrInvalidBinary,
	-43:                      ErrInvalidBuildOptions,
	-44:                      ErrInvalidProgram,
	-45:                      ErrInvalidProgramExecutable,
	-46:                      ErrInvalidKernelName,
	-47:                      ErrInvalidKernelDefinition,
	-48:                      ErrInvalidKernel,
	-49:                      ErrInvalidArgIndex,
	-50:                      ErrInvalidArgValue,
	-51:                      ErrInvalidArgSize,
	-52:                      ErrInvalidKernelArgs,
	-53:                      ErrInvalidWorkDimension,
	-54:                      ErrInvalidWorkGroupSize,
	-55:                      ErrInvalidWorkItemSize,
	-56:                      ErrInvalidGlobalOffset,
	-57:                      ErrInvalidEventWaitList,
	-58:                      ErrInvalidEvent,
	-59:                      ErrInvalidOperation,
	-60:                      ErrInvalidGlObject,
	-61:                      ErrInvalidBufferSize,
	-62:                      ErrInvalidMipLevel,
	-63:                      ErrInvalidGlobalWorkSize,
	-64:                      ErrInvalidProperty,
	-65:                      ErrInvalidImageDescriptor,
	-66:                      ErrInvalidCompilerOptions,
	-67:                      ErrInvalidLinkerOptions,
	-68:                      ErrInvalidDevicePartitionCount,
	capi.PlatformNotFoundKHR: ErrNoPlatform,
}

var (
	// ErrUnknown means that a function reported success but gave no object.
	ErrUnknown = errors.New("cl: unknown error")
	// ErrUnsupported means that the library or the device cannot do it.
	ErrUnsupported = errors.New("cl: unsupported")
	// ErrNoPlatform means that an OpenCL library is there, but no driver is registered with it.
	ErrNoPlatform = errors.New("cl: no OpenCL platform: the OpenCL library is installed, but no driver is registered with it; " +
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

// ErrUnsupportedArgumentType is the error of Kernel.SetArg for a Go type that has no counterpart in OpenCL C.
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

// Code is OpenCL's status code behind err or an error that it wraps, and 0 where there is none.
func Code(err error) int {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case ErrOther:
			return int(e)
		case BuildError:
			return int(capi.BuildProgramFailure)
		}
		for code, sentinel := range statusErrors {
			if err == sentinel {
				return int(code)
			}
		}
	}
	return 0
}

// CodeName is the name of Code(err) in OpenCL's headers, such as "CL_INVALID_VALUE", and "" where there is none.
func CodeName(err error) string {
	if code := Code(err); code != 0 {
		return capi.CodeName(int32(code))
	}
	return ""
}
