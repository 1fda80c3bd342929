package capi

import "github.com/tandem-gpu/tandem/backend"

// Status codes that code compares with.
const (
	Success                     int32 = 0
	InvalidValue                int32 = 1
	OutOfMemory                 int32 = 2
	InvalidPTX                  int32 = 218
	InvalidHandle               int32 = 400
	NotFound                    int32 = 500
	IllegalAddress              int32 = 700
	LaunchTimeout               int32 = 702
	HostMemoryAlreadyRegistered int32 = 712
	HostMemoryNotRegistered     int32 = 713
	MisalignedAddress           int32 = 716
	LaunchFailed                int32 = 719
	CooperativeLaunchTooLarge   int32 = 720
)

// KernelFault is the first of the codes beyond CUDA's: a simulated device fails a launch with them
// where it finds a mistake that a real one would let pass.
const KernelFault int32 = 1 << 20

// Attributes of a device.
const (
	AttributeMaxThreadsPerBlock int32 = 1
	AttributeMaxBlockDimX       int32 = 2 // y and z follow
	AttributeMaxGridDimX        int32 = 5 // y and z follow
	AttributeMaxSharedPerBlock  int32 = 8
	AttributeMultiprocessors    int32 = 16
	AttributeIntegrated         int32 = 18
	AttributeCanMapHostMemory   int32 = 19
	AttributeComputeMajor       int32 = 75
	AttributeComputeMinor       int32 = 76
	AttributeMemoryPools        int32 = 115 // unknown to drivers before CUDA 11.2
)

// FuncMaxThreadsPerBlock is the attribute of a function that says how many threads a block of it
// can have.
const FuncMaxThreadsPerBlock int32 = 0

// Flags and options.
const (
	HostPortable       = 1 // of MemHostAlloc and MemHostRegister: for every context
	HostDeviceMap      = 2 // of both: with an address for the device
	StreamNonBlocking  = 1
	EventDefault       = 0
	EventDisableTiming = 2

	PoolReleaseThreshold int32 = 4 // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, of 64 bits

	JITErrorLog     int32 = 5
	JITErrorLogSize int32 = 6
)

// A Code is what is known of a status code.
type Code struct {
	Name   string // in cuda.h
	Err    error  // the sentinel of package backend that it is, if any
	Advice string // what to know beyond the name and CUDA's own text
}

const lostAdvice = "a kernel failed, and CUDA runs nothing more on this device in this program: " +
	"compute-sanitizer, or the driver cudasim, can find where"

// Codes are those of CUDA's status codes of which something is known: the library itself names them
// all.
//
// A context that has become invalid while it is open belongs to a device that is lost, and so does
// one in which a kernel failed: CUDA lets nothing more run in it.
var Codes = map[int32]Code{
	0: {"CUDA_SUCCESS", nil, ""},
	1: {"CUDA_ERROR_INVALID_VALUE", backend.ErrArgument, ""},
	2: {
		"CUDA_ERROR_OUT_OF_MEMORY", backend.ErrOutOfMemory,
		"the device has no room; free buffers or use smaller ones",
	},
	3:   {"CUDA_ERROR_NOT_INITIALIZED", backend.ErrNoDevice, ""},
	4:   {"CUDA_ERROR_DEINITIALIZED", backend.ErrDeviceLost, ""},
	34:  {"CUDA_ERROR_STUB_LIBRARY", backend.ErrNoDevice, ""},
	36:  {"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", backend.ErrUnsupported, ""},
	46:  {"CUDA_ERROR_DEVICE_UNAVAILABLE", backend.ErrDeviceLost, "another process has the GPU for itself"},
	100: {"CUDA_ERROR_NO_DEVICE", backend.ErrNoDevice, "no GPU is visible"},
	101: {"CUDA_ERROR_INVALID_DEVICE", backend.ErrNoDevice, ""},
	102: {"CUDA_ERROR_DEVICE_NOT_LICENSED", backend.ErrNoDevice, ""},
	200: {"CUDA_ERROR_INVALID_IMAGE", backend.ErrBuild, ""},
	201: {"CUDA_ERROR_INVALID_CONTEXT", backend.ErrDeviceLost, ""},
	205: {"CUDA_ERROR_MAP_FAILED", backend.ErrOutOfMemory, ""},
	209: {"CUDA_ERROR_NO_BINARY_FOR_GPU", backend.ErrBuild, ""},
	214: {"CUDA_ERROR_ECC_UNCORRECTABLE", backend.ErrDeviceLost, ""},
	218: {"CUDA_ERROR_INVALID_PTX", backend.ErrBuild, ""},
	220: {"CUDA_ERROR_NVLINK_UNCORRECTABLE", backend.ErrDeviceLost, ""},
	221: {
		"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", backend.ErrUnsupported,
		"the driver's compiler, libnvidia-ptxjitcompiler, is missing",
	},
	222: {
		"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", backend.ErrUnsupported,
		"the PTX is newer than the driver: update the driver, or use the NVRTC of its CUDA version (see nvidia-smi " +
			"and TANDEM_NVRTC)",
	},
	223: {"CUDA_ERROR_JIT_COMPILATION_DISABLED", backend.ErrUnsupported, ""},
	224: {"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", backend.ErrUnsupported, ""},
	225: {"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", backend.ErrUnsupported, ""},
	226: {"CUDA_ERROR_CONTAINED", backend.ErrDeviceLost, ""},
	227: {"CUDA_ERROR_INSUFFICIENT_LOADER_VERSION", backend.ErrUnsupported, ""},
	300: {"CUDA_ERROR_INVALID_SOURCE", backend.ErrBuild, ""},
	302: {"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", backend.ErrBuild, ""},
	303: {"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", backend.ErrBuild, ""},
	400: {"CUDA_ERROR_INVALID_HANDLE", backend.ErrArgument, ""},
	500: {"CUDA_ERROR_NOT_FOUND", backend.ErrBuild, ""},
	700: {
		"CUDA_ERROR_ILLEGAL_ADDRESS", backend.ErrDeviceLost,
		"a kernel read or wrote outside its buffers; " + lostAdvice,
	},
	701: {
		"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", backend.ErrLaunch,
		"the kernel needs more registers or shared memory for a group of this size than the device has",
	},
	702: {
		"CUDA_ERROR_LAUNCH_TIMEOUT", backend.ErrDeviceLost,
		"a kernel ran longer than the system allows; " + lostAdvice,
	},
	709: {"CUDA_ERROR_CONTEXT_IS_DESTROYED", backend.ErrDeviceLost, ""},
	710: {"CUDA_ERROR_ASSERT", backend.ErrDeviceLost, ""},
	712: {
		"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", backend.ErrArgument,
		"the memory, or the page that it lies in, is registered already",
	},
	713: {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", backend.ErrArgument, ""},
	714: {"CUDA_ERROR_HARDWARE_STACK_ERROR", backend.ErrDeviceLost, ""},
	715: {"CUDA_ERROR_ILLEGAL_INSTRUCTION", backend.ErrDeviceLost, lostAdvice},
	716: {
		"CUDA_ERROR_MISALIGNED_ADDRESS", backend.ErrDeviceLost,
		"a kernel used an address that is not a multiple of the access's size; " + lostAdvice,
	},
	717: {"CUDA_ERROR_INVALID_ADDRESS_SPACE", backend.ErrDeviceLost, ""},
	718: {"CUDA_ERROR_INVALID_PC", backend.ErrDeviceLost, ""},
	719: {"CUDA_ERROR_LAUNCH_FAILED", backend.ErrDeviceLost, lostAdvice},
	721: {"CUDA_ERROR_TENSOR_MEMORY_LEAK", backend.ErrDeviceLost, ""},
	800: {"CUDA_ERROR_NOT_PERMITTED", backend.ErrUnsupported, ""},
	801: {"CUDA_ERROR_NOT_SUPPORTED", backend.ErrUnsupported, ""},
	802: {
		"CUDA_ERROR_SYSTEM_NOT_READY", backend.ErrDeviceLost,
		"the system is still starting, or nvidia-fabricmanager does not run",
	},
	803: {
		"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", backend.ErrNoDevice,
		"the kernel module and the library of NVIDIA's driver have different versions; reboot, or reinstall the driver",
	},
	804: {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", backend.ErrNoDevice, ""},
	805: {"CUDA_ERROR_MPS_CONNECTION_FAILED", backend.ErrNoDevice, ""},
	806: {"CUDA_ERROR_MPS_RPC_FAILURE", backend.ErrDeviceLost, ""},
	807: {"CUDA_ERROR_MPS_SERVER_NOT_READY", backend.ErrDeviceLost, ""},
	810: {"CUDA_ERROR_MPS_CLIENT_TERMINATED", backend.ErrDeviceLost, ""},
	999: {"CUDA_ERROR_UNKNOWN", backend.ErrNoDevice, ""},
}
