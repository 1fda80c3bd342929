package cl_test

import (
	"image"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

// The API of go-opencl, pinned: a signature that differs does not compile.

var (
	_ func() ([]*cl.Platform, error)                          = cl.GetPlatforms
	_ func(*cl.Platform, cl.DeviceType) ([]*cl.Device, error) = cl.GetDevices
	_ func([]*cl.Device) (*cl.Context, error)                 = cl.CreateContext
	_ func([]*cl.Event) error                                 = cl.WaitForEvents
	_ func(*cl.Platform, cl.DeviceType) ([]*cl.Device, error) = (*cl.Platform).GetDevices
)

var _ = []func(*cl.Platform) string{
	(*cl.Platform).Name, (*cl.Platform).Vendor, (*cl.Platform).Profile, (*cl.Platform).Version,
	(*cl.Platform).Extensions,
}

// deviceText and the like hold go-opencl's information methods by the type of their result.
var (
	deviceText = []func(*cl.Device) string{
		(*cl.Device).Name, (*cl.Device).Vendor, (*cl.Device).Extensions, (*cl.Device).OpenCLCVersion,
		(*cl.Device).Profile,
		(*cl.Device).Version, (*cl.Device).DriverVersion, (*cl.Device).BuiltInKernels,
	}
	deviceInt = []func(*cl.Device) int{
		(*cl.Device).AddressBits, (*cl.Device).GlobalMemCachelineSize, (*cl.Device).MaxClockFrequency,
		(*cl.Device).MaxComputeUnits,
		(*cl.Device).MaxConstantArgs, (*cl.Device).MaxReadImageArgs, (*cl.Device).MaxSamplers,
		(*cl.Device).MaxWorkItemDimensions,
		(*cl.Device).MaxWriteImageArgs, (*cl.Device).MemBaseAddrAlign, (*cl.Device).NativeVectorWidthChar,
		(*cl.Device).NativeVectorWidthShort, (*cl.Device).NativeVectorWidthInt, (*cl.Device).NativeVectorWidthLong,
		(*cl.Device).NativeVectorWidthFloat, (*cl.Device).NativeVectorWidthDouble, (*cl.Device).NativeVectorWidthHalf,
		(*cl.Device).PreferredVectorWidthChar, (*cl.Device).PreferredVectorWidthShort,
		(*cl.Device).PreferredVectorWidthInt,
		(*cl.Device).PreferredVectorWidthLong, (*cl.Device).PreferredVectorWidthFloat,
		(*cl.Device).PreferredVectorWidthDouble,
		(*cl.Device).PreferredVectorWidthHalf, (*cl.Device).Image2DMaxHeight, (*cl.Device).Image2DMaxWidth,
		(*cl.Device).Image3DMaxDepth, (*cl.Device).Image3DMaxHeight, (*cl.Device).Image3DMaxWidth,
		(*cl.Device).ImageMaxBufferSize,
		(*cl.Device).ImageMaxArraySize, (*cl.Device).MaxParameterSize, (*cl.Device).MaxWorkGroupSize,
		(*cl.Device).ProfilingTimerResolution, (*cl.Device).GlobalMemCacheSize,
	}
	deviceInt64 = []func(*cl.Device) int64{
		(*cl.Device).LocalMemSize, (*cl.Device).MaxConstantBufferSize, (*cl.Device).MaxMemAllocSize,
		(*cl.Device).GlobalMemSize,
	}
	deviceBool = []func(*cl.Device) bool{
		(*cl.Device).Available, (*cl.Device).CompilerAvailable, (*cl.Device).LinkerAvailable, (*cl.Device).EndianLittle,
		(*cl.Device).ErrorCorrectionSupport, (*cl.Device).HostUnifiedMemory, (*cl.Device).ImageSupport,
	}

	_ interface {
		GetInfoString(param uint32) (string, error)
		GetInfoUint(param uint32) (uint, error)
		GetInfoSize(param uint32) (int, error)
		GetInfoUlong(param uint32) (int64, error)
		GetInfoBool(param uint32) (bool, error)
	} = (*cl.Device)(nil)

	_ func(*cl.Device) cl.DeviceType     = (*cl.Device).Type
	_ func(*cl.Device) cl.FPConfig       = (*cl.Device).DoubleFPConfig
	_ func(*cl.Device) cl.FPConfig       = (*cl.Device).HalfFPConfig
	_ func(*cl.Device) cl.LocalMemType   = (*cl.Device).LocalMemType
	_ func(*cl.Device) cl.ExecCapability = (*cl.Device).ExecutionCapabilities
	_ func(*cl.Device) cl.MemCacheType   = (*cl.Device).GlobalMemCacheType
	_ func(*cl.Device) []int             = (*cl.Device).MaxWorkItemSizes
	_ func(*cl.Device) *cl.Device        = (*cl.Device).ParentDevice
)

var _ interface {
	Release()
	GetSupportedImageFormats(flags cl.MemFlag, imageType cl.MemObjectType) ([]cl.ImageFormat, error)
	CreateCommandQueue(device *cl.Device, properties cl.CommandQueueProperty) (*cl.CommandQueue, error)
	CreateProgramWithSource(sources []string) (*cl.Program, error)
	CreateBufferUnsafe(flags cl.MemFlag, size int, dataPtr unsafe.Pointer) (*cl.MemObject, error)
	CreateEmptyBuffer(flags cl.MemFlag, size int) (*cl.MemObject, error)
	CreateBuffer(flags cl.MemFlag, data []byte) (*cl.MemObject, error)
	CreateBufferFloat32(flags cl.MemFlag, data []float32) (*cl.MemObject, error)
	CreateUserEvent() (*cl.Event, error)
	CreateImage(flags cl.MemFlag, imageFormat cl.ImageFormat, imageDesc cl.ImageDescription,
		data []byte) (*cl.MemObject, error)
	CreateImageSimple(flags cl.MemFlag, width, height int, channelOrder cl.ChannelOrder,
		channelDataType cl.ChannelDataType,
		data []byte) (*cl.MemObject, error)
	CreateImageFromImage(flags cl.MemFlag, img image.Image) (*cl.MemObject, error)
} = (*cl.Context)(nil)

var _ interface {
	Release()
	Finish() error
	Flush() error
	EnqueueMapBuffer(buffer *cl.MemObject, blocking bool, flags cl.MapFlag, offset, size int,
		eventWaitList []*cl.Event) (*cl.MappedMemObject, *cl.Event, error)
	EnqueueMapImage(buffer *cl.MemObject, blocking bool, flags cl.MapFlag, origin, region [3]int,
		eventWaitList []*cl.Event) (*cl.MappedMemObject, *cl.Event, error)
	EnqueueUnmapMemObject(buffer *cl.MemObject, mappedObj *cl.MappedMemObject, eventWaitList []*cl.Event) (*cl.Event,
		error)
	EnqueueCopyBuffer(srcBuffer, dstBuffer *cl.MemObject, srcOffset, dstOffset, byteCount int,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueWriteBuffer(buffer *cl.MemObject, blocking bool, offset, dataSize int, dataPtr unsafe.Pointer,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueWriteBufferFloat32(buffer *cl.MemObject, blocking bool, offset int, data []float32,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueReadBuffer(buffer *cl.MemObject, blocking bool, offset, dataSize int, dataPtr unsafe.Pointer,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueReadBufferFloat32(buffer *cl.MemObject, blocking bool, offset int, data []float32,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueNDRangeKernel(kernel *cl.Kernel, globalWorkOffset, globalWorkSize, localWorkSize []int,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueReadImage(image *cl.MemObject, blocking bool, origin, region [3]int, rowPitch, slicePitch int, data []byte,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueWriteImage(image *cl.MemObject, blocking bool, origin, region [3]int, rowPitch, slicePitch int, data []byte,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueTask(kernel *cl.Kernel, eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueFillBuffer(buffer *cl.MemObject, pattern unsafe.Pointer, patternSize, offset, size int,
		eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueBarrierWithWaitList(eventWaitList []*cl.Event) (*cl.Event, error)
	EnqueueMarkerWithWaitList(eventWaitList []*cl.Event) (*cl.Event, error)
} = (*cl.CommandQueue)(nil)

var _ interface {
	Release()
	BuildProgram(devices []*cl.Device, options string) error
	CreateKernel(name string) (*cl.Kernel, error)
} = (*cl.Program)(nil)

var _ interface {
	Release()
	SetArgs(args ...interface{}) error
	SetArg(index int, arg interface{}) error
	SetArgBuffer(index int, buffer *cl.MemObject) error
	SetArgFloat32(index int, val float32) error
	SetArgInt8(index int, val int8) error
	SetArgUint8(index int, val uint8) error
	SetArgInt32(index int, val int32) error
	SetArgUint32(index int, val uint32) error
	SetArgInt64(index int, val int64) error
	SetArgUint64(index int, val uint64) error
	SetArgLocal(index int, size int) error
	SetArgUnsafe(index, argSize int, arg unsafe.Pointer) error
	PreferredWorkGroupSizeMultiple(device *cl.Device) (int, error)
	WorkGroupSize(device *cl.Device) (int, error)
	NumArgs() (int, error)
	ArgName(index int) (string, error)
} = (*cl.Kernel)(nil)

var _ interface {
	Release()
	GetEventProfilingInfo(paramName cl.ProfilingInfo) (int64, error)
	SetUserEventStatus(status int) error
} = (*cl.Event)(nil)

var _ interface {
	ByteSlice() []byte
	Ptr() unsafe.Pointer
	Size() int
	RowPitch() int
	SlicePitch() int
} = (*cl.MappedMemObject)(nil)

var _ interface{ Release() } = (*cl.MemObject)(nil)

// The types that programs convert, construct and switch on.
var (
	_ error = cl.ErrOther(-1)
	_ error = cl.BuildError("log")
	_ error = cl.ErrUnsupportedArgumentType{Index: 0, Value: nil}
	_       = cl.LocalBuffer(16)
	_       = cl.ImageFormat{ChannelOrder: cl.ChannelOrderRGBA, ChannelDataType: cl.ChannelDataTypeFloat}
	_       = cl.ImageDescription{
		Type: cl.MemObjectTypeImage2D, Width: 1, Height: 1, Depth: 0, ArraySize: 0, RowPitch: 0, SlicePitch: 0,
		NumMipLevels: 0, NumSamples: 0, Buffer: (*cl.MemObject)(nil),
	}
)

// go-opencl has these on macOS alone.
var (
	_ = []cl.ChannelOrder{cl.ChannelOrder1RGBApple, cl.ChannelOrderBGR1Apple}
	_ = []cl.ChannelDataType{cl.ChannelDataTypeSFixed14Apple}
)

// go-opencl's errors.
var _ = []error{
	cl.ErrUnknown, cl.ErrUnsupported, cl.ErrDeviceNotFound, cl.ErrDeviceNotAvailable, cl.ErrCompilerNotAvailable,
	cl.ErrMemObjectAllocationFailure, cl.ErrOutOfResources, cl.ErrOutOfHostMemory, cl.ErrProfilingInfoNotAvailable,
	cl.ErrMemCopyOverlap, cl.ErrImageFormatMismatch, cl.ErrImageFormatNotSupported, cl.ErrBuildProgramFailure,
	cl.ErrMapFailure,
	cl.ErrMisalignedSubBufferOffset, cl.ErrExecStatusErrorForEventsInWaitList, cl.ErrCompileProgramFailure,
	cl.ErrLinkerNotAvailable, cl.ErrLinkProgramFailure, cl.ErrDevicePartitionFailed, cl.ErrKernelArgInfoNotAvailable,
	cl.ErrInvalidValue, cl.ErrInvalidDeviceType, cl.ErrInvalidPlatform, cl.ErrInvalidDevice, cl.ErrInvalidContext,
	cl.ErrInvalidQueueProperties, cl.ErrInvalidCommandQueue, cl.ErrInvalidHostPtr, cl.ErrInvalidMemObject,
	cl.ErrInvalidImageFormatDescriptor, cl.ErrInvalidImageSize, cl.ErrInvalidSampler, cl.ErrInvalidBinary,
	cl.ErrInvalidBuildOptions, cl.ErrInvalidProgram, cl.ErrInvalidProgramExecutable, cl.ErrInvalidKernelName,
	cl.ErrInvalidKernelDefinition, cl.ErrInvalidKernel, cl.ErrInvalidArgIndex, cl.ErrInvalidArgValue,
	cl.ErrInvalidArgSize,
	cl.ErrInvalidKernelArgs, cl.ErrInvalidWorkDimension, cl.ErrInvalidWorkGroupSize, cl.ErrInvalidWorkItemSize,
	cl.ErrInvalidGlobalOffset, cl.ErrInvalidEventWaitList, cl.ErrInvalidEvent, cl.ErrInvalidOperation,
	cl.ErrInvalidGlObject,
	cl.ErrInvalidBufferSize, cl.ErrInvalidMipLevel, cl.ErrInvalidGlobalWorkSize, cl.ErrInvalidProperty,
	cl.ErrInvalidImageDescriptor, cl.ErrInvalidCompilerOptions, cl.ErrInvalidLinkerOptions,
	cl.ErrInvalidDevicePartitionCount,
}
