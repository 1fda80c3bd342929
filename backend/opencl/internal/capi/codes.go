package capi

import "github.com/tandem-gpu/tandem/backend"

// Status codes that code compares with.
const (
	Success                            int32 = 0
	DeviceNotFound                     int32 = -1
	OutOfResources                     int32 = -5
	BuildProgramFailure                int32 = -11
	ExecStatusErrorForEventsInWaitList int32 = -14
	InvalidValue                       int32 = -30
	InvalidDevice                      int32 = -33
	PlatformNotFoundKHR                int32 = -1001
)

// A Code is what is known of a status code.
type Code struct {
	Name   string // in cl.h or cl_ext.h
	Err    error  // the sentinel of package backend that it is, if any
	Advice string // what to know beyond the name
}

// Codes are OpenCL's status codes.
//
// A queue or a context that has become invalid while it is open belongs to a device that is lost.
var Codes = map[int32]Code{
	0:  {"CL_SUCCESS", nil, ""},
	-1: {"CL_DEVICE_NOT_FOUND", backend.ErrNoDevice, ""},
	-2: {"CL_DEVICE_NOT_AVAILABLE", backend.ErrDeviceLost, "the device is gone; close it and open another"},
	-3: {"CL_COMPILER_NOT_AVAILABLE", backend.ErrUnsupported, "the driver has no compiler"},
	-4: {
		"CL_MEM_OBJECT_ALLOCATION_FAILURE", backend.ErrOutOfMemory,
		"the device has no room for the buffer; free others or use smaller ones",
	},
	-5: {
		"CL_OUT_OF_RESOURCES", backend.ErrOutOfMemory,
		"the device has no room for the command, or a kernel read or wrote outside its buffers",
	},
	-6: {"CL_OUT_OF_HOST_MEMORY", backend.ErrOutOfMemory, "the host has no memory left"},
	-7: {
		"CL_PROFILING_INFO_NOT_AVAILABLE", backend.ErrUnsupported,
		"the driver does not give the times of this command",
	},
	-8:  {"CL_MEM_COPY_OVERLAP", backend.ErrArgument, ""},
	-9:  {"CL_IMAGE_FORMAT_MISMATCH", nil, ""},
	-10: {"CL_IMAGE_FORMAT_NOT_SUPPORTED", nil, ""},
	-11: {"CL_BUILD_PROGRAM_FAILURE", backend.ErrBuild, ""},
	-12: {"CL_MAP_FAILURE", nil, ""},
	-13: {"CL_MISALIGNED_SUB_BUFFER_OFFSET", backend.ErrArgument, ""},
	-14: {"CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", backend.ErrLaunch, ""},
	-15: {"CL_COMPILE_PROGRAM_FAILURE", backend.ErrBuild, ""},
	-16: {"CL_LINKER_NOT_AVAILABLE", backend.ErrUnsupported, ""},
	-17: {"CL_LINK_PROGRAM_FAILURE", backend.ErrBuild, ""},
	-18: {"CL_DEVICE_PARTITION_FAILED", nil, ""},
	-19: {"CL_KERNEL_ARG_INFO_NOT_AVAILABLE", backend.ErrUnsupported, ""},
	-30: {"CL_INVALID_VALUE", backend.ErrArgument, ""},
	-31: {"CL_INVALID_DEVICE_TYPE", nil, ""},
	-32: {"CL_INVALID_PLATFORM", backend.ErrNoDevice, ""},
	-33: {"CL_INVALID_DEVICE", backend.ErrNoDevice, ""},
	-34: {"CL_INVALID_CONTEXT", backend.ErrDeviceLost, ""},
	-35: {"CL_INVALID_QUEUE_PROPERTIES", backend.ErrUnsupported, ""},
	-36: {
		"CL_INVALID_COMMAND_QUEUE", backend.ErrDeviceLost,
		"the queue became invalid, as after a kernel that read or wrote outside its buffers; close the device " +
			"and open it again",
	},
	-37:   {"CL_INVALID_HOST_PTR", backend.ErrArgument, ""},
	-38:   {"CL_INVALID_MEM_OBJECT", backend.ErrArgument, ""},
	-39:   {"CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", nil, ""},
	-40:   {"CL_INVALID_IMAGE_SIZE", nil, ""},
	-41:   {"CL_INVALID_SAMPLER", nil, ""},
	-42:   {"CL_INVALID_BINARY", nil, ""},
	-43:   {"CL_INVALID_BUILD_OPTIONS", backend.ErrBuild, ""},
	-44:   {"CL_INVALID_PROGRAM", backend.ErrBuild, ""},
	-45:   {"CL_INVALID_PROGRAM_EXECUTABLE", backend.ErrLaunch, ""},
	-46:   {"CL_INVALID_KERNEL_NAME", backend.ErrBuild, ""},
	-47:   {"CL_INVALID_KERNEL_DEFINITION", backend.ErrBuild, ""},
	-48:   {"CL_INVALID_KERNEL", backend.ErrLaunch, ""},
	-49:   {"CL_INVALID_ARG_INDEX", backend.ErrLaunch, ""},
	-50:   {"CL_INVALID_ARG_VALUE", backend.ErrLaunch, ""},
	-51:   {"CL_INVALID_ARG_SIZE", backend.ErrLaunch, ""},
	-52:   {"CL_INVALID_KERNEL_ARGS", backend.ErrLaunch, ""},
	-53:   {"CL_INVALID_WORK_DIMENSION", backend.ErrLaunch, ""},
	-54:   {"CL_INVALID_WORK_GROUP_SIZE", backend.ErrLaunch, "the group does not fit the kernel on this device"},
	-55:   {"CL_INVALID_WORK_ITEM_SIZE", backend.ErrLaunch, ""},
	-56:   {"CL_INVALID_GLOBAL_OFFSET", backend.ErrLaunch, ""},
	-57:   {"CL_INVALID_EVENT_WAIT_LIST", backend.ErrArgument, ""},
	-58:   {"CL_INVALID_EVENT", backend.ErrArgument, ""},
	-59:   {"CL_INVALID_OPERATION", backend.ErrUnsupported, ""},
	-60:   {"CL_INVALID_GL_OBJECT", nil, ""},
	-61:   {"CL_INVALID_BUFFER_SIZE", backend.ErrOutOfMemory, "the buffer is larger than the device takes"},
	-62:   {"CL_INVALID_MIP_LEVEL", nil, ""},
	-63:   {"CL_INVALID_GLOBAL_WORK_SIZE", backend.ErrLaunch, ""},
	-64:   {"CL_INVALID_PROPERTY", nil, ""},
	-65:   {"CL_INVALID_IMAGE_DESCRIPTOR", nil, ""},
	-66:   {"CL_INVALID_COMPILER_OPTIONS", nil, ""},
	-67:   {"CL_INVALID_LINKER_OPTIONS", nil, ""},
	-68:   {"CL_INVALID_DEVICE_PARTITION_COUNT", nil, ""},
	-69:   {"CL_INVALID_PIPE_SIZE", nil, ""},
	-70:   {"CL_INVALID_DEVICE_QUEUE", nil, ""},
	-71:   {"CL_INVALID_SPEC_ID", nil, ""},
	-72:   {"CL_MAX_SIZE_RESTRICTION_EXCEEDED", nil, ""},
	-1000: {"CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR", nil, ""},
	-1001: {"CL_PLATFORM_NOT_FOUND_KHR", backend.ErrNoDevice, "no OpenCL driver is installed"},
	-1057: {"CL_DEVICE_PARTITION_FAILED_EXT", nil, ""},
	-1058: {"CL_INVALID_PARTITION_COUNT_EXT", nil, ""},
	-1059: {"CL_INVALID_PARTITION_NAME_EXT", nil, ""},
	-1108: {"CL_COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM", nil, ""},
	-1121: {"CL_CONTEXT_TERMINATED_KHR", backend.ErrDeviceLost, ""},
	-1138: {"CL_INVALID_COMMAND_BUFFER_KHR", nil, ""},
	-1142: {"CL_INVALID_SEMAPHORE_KHR", nil, ""},
	-9999: { // of NVIDIA, without a name
		"", backend.ErrDeviceLost,
		"a kernel read or wrote outside its buffers; close the device and open it again",
	},
}

// CodeName is the name of a status code in cl.h or cl_ext.h, and "" for a code that has none.
func CodeName(code int32) string { return Codes[code].Name }
