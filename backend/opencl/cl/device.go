package cl

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A Device is one OpenCL device. It needs no release.
//
// Its properties are read from the driver at each call. A property that the driver does not know is
// the zero value.
type Device struct {
	id capi.Device
}

// GetDevices lists the devices of a platform, of one kind or several. Where there are none, the
// error is ErrDeviceNotFound. What a nil platform means is up to the implementation.
func GetDevices(platform *Platform, deviceType DeviceType) ([]*Device, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	// PoCL takes this one, and needs it: with it the kernels that it runs survive a division by 0.
	const divisionBy0 = 8
	defer dl.KeepSignals(divisionBy0)()
	var id capi.Platform
	if platform != nil {
		id = platform.id
	}
	ids, err := listAll(func(n uint32, list *capi.Device, num *uint32) int32 {
		return api().GetDeviceIDs(id, uint64(deviceType), n, list, num)
	})
	if err == nil && len(ids) == 0 {
		err = ErrDeviceNotFound
	}
	var devices []*Device
	for _, id := range ids {
		devices = append(devices, &Device{id})
	}
	return devices, err
}

// deviceIDs is the C list of devices, nil for an empty one.
func deviceIDs(devices []*Device) ([]capi.Device, error) {
	ids := make([]capi.Device, len(devices))
	for i, d := range devices {
		if d == nil || d.id == 0 {
			return nil, ErrInvalidDevice
		}
		ids[i] = d.id
	}
	return ids, nil
}

// nullableID is C's NULL for a nil device.
func (d *Device) nullableID() capi.Device {
	if d == nil {
		return 0
	}
	return d.id
}

func (d *Device) info(param uint32) infoFunc {
	return func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		if d == nil || d.id == 0 {
			return capi.InvalidDevice
		}
		return api().GetDeviceInfo(d.id, param, size, value, sizeRet)
	}
}

// GetInfoString reads a text by its number, a cl_device_info of OpenCL or of an extension.
func (d *Device) GetInfoString(param uint32) (string, error) { return infoString(d.info(param)) }

// GetInfoUint reads a cl_uint by its number.
func (d *Device) GetInfoUint(param uint32) (uint, error) {
	v, err := infoValue[uint32](d.info(param))
	return uint(v), err
}

// GetInfoSize reads a size_t by its number.
func (d *Device) GetInfoSize(param uint32) (int, error) {
	v, err := infoValue[uintptr](d.info(param))
	return int(v), err
}

// GetInfoUlong reads a cl_ulong by its number.
func (d *Device) GetInfoUlong(param uint32) (int64, error) {
	v, err := infoValue[uint64](d.info(param))
	return int64(v), err
}

// GetInfoBool reads a cl_bool by its number.
func (d *Device) GetInfoBool(param uint32) (bool, error) {
	v, err := infoValue[uint32](d.info(param))
	return v != 0, err
}

func (d *Device) text(param uint32) string {
	s, _ := d.GetInfoString(param)
	return s
}

// value is a property, the zero value where the driver does not know it.
func value[T any](d *Device, param uint32) T {
	v, _ := infoValue[T](d.info(param))
	return v
}

func (d *Device) uint(param uint32) int    { return int(value[uint32](d, param)) }
func (d *Device) size(param uint32) int    { return int(value[uintptr](d, param)) }
func (d *Device) ulong(param uint32) int64 { return int64(value[uint64](d, param)) }
func (d *Device) bool(param uint32) bool   { return value[uint32](d, param) != 0 }

// Name is the device's name.
func (d *Device) Name() string { return d.text(0x102B) }

// Vendor is the device's vendor.
func (d *Device) Vendor() string { return d.text(0x102C) }

// Extensions lists the device's extensions, separated by spaces.
func (d *Device) Extensions() string { return d.text(0x1030) }

// OpenCLCVersion is "OpenCL C" and the newest version of the language that the compiler takes.
func (d *Device) OpenCLCVersion() string { return d.text(0x103D) }

// Profile is FULL_PROFILE or EMBEDDED_PROFILE.
func (d *Device) Profile() string { return d.text(0x102E) }

// Version is "OpenCL", the version that the device implements, and what the vendor adds.
func (d *Device) Version() string { return d.text(0x102F) }

// DriverVersion is the version of the driver software.
func (d *Device) DriverVersion() string { return d.text(0x102D) }

// BuiltInKernels lists the kernels built into the device, separated by semicolons.
func (d *Device) BuiltInKernels() string { return d.text(0x103F) }

// AddressBits is the width of a device address: 32 or 64.
func (d *Device) AddressBits() int { return d.uint(0x100D) }

// GlobalMemCachelineSize is the line size of the global memory cache in bytes.
func (d *Device) GlobalMemCachelineSize() int { return d.uint(0x101D) }

// MaxClockFrequency is the highest configured clock frequency in MHz.
func (d *Device) MaxClockFrequency() int { return d.uint(0x100C) }

// MaxComputeUnits is the number of parallel compute units. A work-group runs on one of them.
func (d *Device) MaxComputeUnits() int { return d.uint(0x1002) }

// MaxConstantArgs is the largest number of __constant arguments of a kernel.
func (d *Device) MaxConstantArgs() int { return d.uint(0x1021) }

// MaxReadImageArgs is the largest number of images that a kernel can read.
func (d *Device) MaxReadImageArgs() int { return d.uint(0x100E) }

// MaxSamplers is the largest number of samplers in a kernel.
func (d *Device) MaxSamplers() int { return d.uint(0x1018) }

// MaxWorkItemDimensions is the largest number of dimensions of a launch, at least 3.
func (d *Device) MaxWorkItemDimensions() int { return d.uint(0x1003) }

// MaxWriteImageArgs is the largest number of images that a kernel can write.
func (d *Device) MaxWriteImageArgs() int { return d.uint(0x100F) }

// MemBaseAddrAlign is the alignment of a sub-buffer's origin in bits.
func (d *Device) MemBaseAddrAlign() int { return d.uint(0x1019) }

// NativeVectorWidthChar is the hardware's vector width for char.
func (d *Device) NativeVectorWidthChar() int { return d.uint(0x1036) }

// NativeVectorWidthShort is the hardware's vector width for short.
func (d *Device) NativeVectorWidthShort() int { return d.uint(0x1037) }

// NativeVectorWidthInt is the hardware's vector width for int.
func (d *Device) NativeVectorWidthInt() int { return d.uint(0x1038) }

// NativeVectorWidthLong is the hardware's vector width for long.
func (d *Device) NativeVectorWidthLong() int { return d.uint(0x1039) }

// NativeVectorWidthFloat is the hardware's vector width for float.
func (d *Device) NativeVectorWidthFloat() int { return d.uint(0x103A) }

// NativeVectorWidthDouble is the hardware's vector width for double, 0 without double precision.
func (d *Device) NativeVectorWidthDouble() int { return d.uint(0x103B) }

// NativeVectorWidthHalf is the hardware's vector width for half, 0 without half precision.
func (d *Device) NativeVectorWidthHalf() int { return d.uint(0x103C) }

// PreferredVectorWidthChar is the preferred vector width for char.
func (d *Device) PreferredVectorWidthChar() int { return d.uint(0x1006) }

// PreferredVectorWidthShort is the preferred vector width for short.
func (d *Device) PreferredVectorWidthShort() int { return d.uint(0x1007) }

// PreferredVectorWidthInt is the preferred vector width for int.
func (d *Device) PreferredVectorWidthInt() int { return d.uint(0x1008) }

// PreferredVectorWidthLong is the preferred vector width for long.
func (d *Device) PreferredVectorWidthLong() int { return d.uint(0x1009) }

// PreferredVectorWidthFloat is the preferred vector width for float.
func (d *Device) PreferredVectorWidthFloat() int { return d.uint(0x100A) }

// PreferredVectorWidthDouble is the preferred vector width for double, 0 without double precision.
func (d *Device) PreferredVectorWidthDouble() int { return d.uint(0x100B) }

// PreferredVectorWidthHalf is the preferred vector width for half, 0 without half precision.
func (d *Device) PreferredVectorWidthHalf() int { return d.uint(0x1034) }

// Image2DMaxHeight is the largest height of a 2D image in pixels.
func (d *Device) Image2DMaxHeight() int { return d.size(0x1012) }

// Image2DMaxWidth is the largest width of a 2D image in pixels.
func (d *Device) Image2DMaxWidth() int { return d.size(0x1011) }

// Image3DMaxDepth is the largest depth of a 3D image in pixels.
func (d *Device) Image3DMaxDepth() int { return d.size(0x1015) }

// Image3DMaxHeight is the largest height of a 3D image in pixels.
func (d *Device) Image3DMaxHeight() int { return d.size(0x1014) }

// Image3DMaxWidth is the largest width of a 3D image in pixels.
func (d *Device) Image3DMaxWidth() int { return d.size(0x1013) }

// ImageMaxBufferSize is the largest number of pixels of a 1D image made from a buffer.
func (d *Device) ImageMaxBufferSize() int { return d.size(0x1040) }

// ImageMaxArraySize is the largest number of images in an image array.
func (d *Device) ImageMaxArraySize() int { return d.size(0x1041) }

// MaxParameterSize is the largest size of a kernel's arguments in bytes.
func (d *Device) MaxParameterSize() int { return d.size(0x1017) }

// MaxWorkGroupSize is the largest number of work-items in a work-group.
func (d *Device) MaxWorkGroupSize() int { return d.size(0x1004) }

// ProfilingTimerResolution is the resolution of the device's timer in nanoseconds.
func (d *Device) ProfilingTimerResolution() int { return d.size(0x1025) }

// LocalMemSize is the local memory of a work-group in bytes.
func (d *Device) LocalMemSize() int64 { return d.ulong(0x1023) }

// MaxConstantBufferSize is the largest size of a __constant argument in bytes.
func (d *Device) MaxConstantBufferSize() int64 { return d.ulong(0x1020) }

// MaxMemAllocSize is the largest size of a memory object in bytes.
func (d *Device) MaxMemAllocSize() int64 { return d.ulong(0x1010) }

// GlobalMemSize is the device's global memory in bytes.
func (d *Device) GlobalMemSize() int64 { return d.ulong(0x101F) }

// Available tells whether the device can be used now.
func (d *Device) Available() bool { return d.bool(0x1027) }

// CompilerAvailable tells whether programs can be built from source.
func (d *Device) CompilerAvailable() bool { return d.bool(0x1028) }

// LinkerAvailable tells whether programs can be linked.
func (d *Device) LinkerAvailable() bool { return d.bool(0x103E) }

// EndianLittle tells whether the device is little-endian.
func (d *Device) EndianLittle() bool { return d.bool(0x1026) }

// ErrorCorrectionSupport tells whether all accesses to device memory are error-corrected.
func (d *Device) ErrorCorrectionSupport() bool { return d.bool(0x1024) }

// HostUnifiedMemory tells whether the device and the host share their memory.
func (d *Device) HostUnifiedMemory() bool { return d.bool(0x1035) }

// ImageSupport tells whether the device has images.
func (d *Device) ImageSupport() bool { return d.bool(0x1016) }

// GlobalMemCacheSize is the size of the global memory cache in bytes.
func (d *Device) GlobalMemCacheSize() int { return int(d.ulong(0x101E)) }

// Type is the kind of device.
func (d *Device) Type() DeviceType { return DeviceType(d.ulong(0x1000)) }

// DoubleFPConfig describes double precision: 0 where the device has none.
func (d *Device) DoubleFPConfig() FPConfig { return FPConfig(d.ulong(0x1032)) }

// HalfFPConfig describes half precision: 0 where the device has none.
func (d *Device) HalfFPConfig() FPConfig { return FPConfig(d.ulong(0x1033)) }

// SingleFPConfig describes single precision.
func (d *Device) SingleFPConfig() FPConfig { return FPConfig(d.ulong(0x101B)) }

// LocalMemType tells where local memory is.
func (d *Device) LocalMemType() LocalMemType { return LocalMemType(d.uint(0x1022)) }

// GlobalMemCacheType tells what the global memory cache does.
func (d *Device) GlobalMemCacheType() MemCacheType { return MemCacheType(d.uint(0x101C)) }

// ExecutionCapabilities tells what the device can execute.
func (d *Device) ExecutionCapabilities() ExecCapability { return ExecCapability(d.ulong(0x1029)) }

// MaxWorkItemSizes is the largest number of work-items of a work-group in each dimension.
func (d *Device) MaxWorkItemSizes() []int {
	var sizes []int
	list, _ := infoList[uintptr](d.info(0x1005))
	for _, n := range list {
		sizes = append(sizes, int(n))
	}
	return sizes
}

// ParentDevice is the device that this one is a part of, nil for a whole device.
func (d *Device) ParentDevice() *Device {
	id := value[capi.Device](d, 0x1042)
	if id == 0 {
		return nil
	}
	return &Device{id}
}

// HasExtension tells whether the device has the extension of that name.
func (d *Device) HasExtension(name string) bool {
	return slices.Contains(strings.Fields(d.Extensions()), name)
}

// BoardName is the name on the box of an AMD card, "" on other devices: Name is then the
// architecture, such as gfx90a.
func (d *Device) BoardName() string {
	if !d.HasExtension("cl_amd_device_attribute_query") {
		return ""
	}
	return d.text(0x4038)
}

// ComputeCapability is the compute capability of an NVIDIA GPU, 0.0 on other devices.
func (d *Device) ComputeCapability() (major, minor int) {
	if !d.HasExtension("cl_nv_device_attribute_query") {
		return 0, 0
	}
	return d.uint(0x4000), d.uint(0x4001)
}
