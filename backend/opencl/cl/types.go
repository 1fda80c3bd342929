package cl

import (
	"cmp"
	"fmt"
	"strings"
)

// flagNames spells a set of bits.
func flagNames(value uint64, bits []string) string {
	var parts []string
	for i, name := range bits {
		if value>>i&1 != 0 && name != "" {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, "|")
}

// valueName spells one of a list of values, of which the first is base.
func valueName(value, base int, names []string) string {
	if i := value - base; i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("Unknown(%x)", value)
}

// DeviceType is a set of kinds of device.
type DeviceType uint

// The kinds of device.
const (
	DeviceTypeDefault     DeviceType = 1 << 0
	DeviceTypeCPU         DeviceType = 1 << 1
	DeviceTypeGPU         DeviceType = 1 << 2
	DeviceTypeAccelerator DeviceType = 1 << 3
	DeviceTypeAll         DeviceType = 0xFFFFFFFF
)

// String lists the kinds, separated by bars.
func (dt DeviceType) String() string {
	bits := dt>>1&7 | dt<<3&8 // Default, the lowest bit, comes last
	return cmp.Or(flagNames(uint64(bits), []string{"CPU", "GPU", "Accelerator", "Default"}), "None")
}

// FPConfig is a set of floating-point capabilities.
type FPConfig int

// The floating-point capabilities.
const (
	FPConfigDenorm                     FPConfig = 1 << 0 // subnormal numbers are kept
	FPConfigInfNaN                     FPConfig = 1 << 1 // infinities and NaNs
	FPConfigRoundToNearest             FPConfig = 1 << 2 // rounding to nearest, ties to even
	FPConfigRoundToZero                FPConfig = 1 << 3 // rounding to zero
	FPConfigRoundToInf                 FPConfig = 1 << 4 // rounding to both infinities
	FPConfigFMA                        FPConfig = 1 << 5 // IEEE 754-2008 fused multiply-add
	FPConfigSoftFloat                  FPConfig = 1 << 6 // the basic operations are done in software
	FPConfigCorrectlyRoundedDivideSqrt FPConfig = 1 << 7 // division and square root are correctly rounded
)

// String lists the capabilities, separated by bars.
func (c FPConfig) String() string {
	return flagNames(uint64(c), []string{
		"Denorm", "InfNaN", "RoundToNearest", "RoundToZero", "RoundToInf", "FMA", "SoftFloat",
		"CorrectlyRoundedDivideSqrt",
	})
}

// LocalMemType tells where local memory is.
type LocalMemType int

// The places of local memory.
const (
	LocalMemTypeNone   LocalMemType = 0 // there is none
	LocalMemTypeLocal  LocalMemType = 1 // in its own store on the chip
	LocalMemTypeGlobal LocalMemType = 2 // in global memory
)

// String names the place.
func (t LocalMemType) String() string {
	if t < LocalMemTypeNone || t > LocalMemTypeGlobal {
		return "Unknown"
	}
	return [...]string{"None", "Local", "Global"}[t]
}

// ExecCapability is a set of things that a device can execute.
type ExecCapability int

// What a device can execute.
const (
	ExecCapabilityKernel       ExecCapability = 1 << 0 // OpenCL kernels
	ExecCapabilityNativeKernel ExecCapability = 1 << 1 // functions of the host
)

// String lists what can be executed, separated by bars.
func (ec ExecCapability) String() string {
	return flagNames(uint64(ec), []string{"Kernel", "NativeKernel"})
}

// MemCacheType is the kind of the global memory cache.
type MemCacheType int

// The kinds of cache.
const (
	MemCacheTypeNone           MemCacheType = 0
	MemCacheTypeReadOnlyCache  MemCacheType = 1
	MemCacheTypeReadWriteCache MemCacheType = 2
)

// String names the kind.
func (ct MemCacheType) String() string {
	return valueName(int(ct), 0, []string{"None", "ReadOnly", "ReadWrite"})
}

// MemFlag is a set of flags of a new memory object.
type MemFlag int

// The flags of a memory object.
const (
	MemReadWrite MemFlag = 1 << 0 // kernels read and write it
	MemWriteOnly MemFlag = 1 << 1 // kernels only write it
	MemReadOnly  MemFlag = 1 << 2 // kernels only read it
	// it lies in the host memory given, which stays pinned: see Context.CreateBufferUnsafe
	MemUseHostPtr    MemFlag = 1 << 3
	MemAllocHostPtr  MemFlag = 1 << 4 // it lies in memory that the host can reach
	MemCopyHostPtr   MemFlag = 1 << 5 // it starts as a copy of the host memory given
	MemHostWriteOnly MemFlag = 1 << 7 // the host only writes it
	MemHostReadOnly  MemFlag = 1 << 8 // the host only reads it
	MemHostNoAccess  MemFlag = 1 << 9 // the host does not touch it
)

// String lists the flags, separated by bars.
func (f MemFlag) String() string {
	return flagNames(uint64(f), []string{
		"ReadWrite", "WriteOnly", "ReadOnly", "UseHostPtr", "AllocHostPtr", "CopyHostPtr", "", "HostWriteOnly",
		"HostReadOnly", "HostNoAccess",
	})
}

// MemObjectType is the kind of a memory object.
type MemObjectType int

// The kinds of memory object.
const (
	MemObjectTypeBuffer        MemObjectType = 0x10F0
	MemObjectTypeImage2D       MemObjectType = 0x10F1
	MemObjectTypeImage3D       MemObjectType = 0x10F2
	MemObjectTypeImage2DArray  MemObjectType = 0x10F3
	MemObjectTypeImage1D       MemObjectType = 0x10F4
	MemObjectTypeImage1DArray  MemObjectType = 0x10F5
	MemObjectTypeImage1DBuffer MemObjectType = 0x10F6
)

// String names the kind.
func (t MemObjectType) String() string {
	return valueName(int(t), int(MemObjectTypeBuffer), []string{
		"Buffer", "Image2D", "Image3D", "Image2DArray", "Image1D", "Image1DArray", "Image1DBuffer",
	})
}

// MapFlag is a set of uses of mapped memory.
type MapFlag int

// The uses of mapped memory.
const (
	MapFlagRead  MapFlag = 1 << 0 // the host reads it
	MapFlagWrite MapFlag = 1 << 1 // the host writes it
	// the host writes all of it, so that the old contents need not be fetched
	MapFlagWriteInvalidateRegion MapFlag = 1 << 2
)

// String lists the uses, separated by bars.
func (mf MapFlag) String() string {
	return flagNames(uint64(mf), []string{"Read", "Write", "WriteInvalidateRegion"})
}

// ChannelOrder says which channels a pixel has.
type ChannelOrder int

// The channel orders.
const (
	ChannelOrderR            ChannelOrder = 0x10B0
	ChannelOrderA            ChannelOrder = 0x10B1
	ChannelOrderRG           ChannelOrder = 0x10B2
	ChannelOrderRA           ChannelOrder = 0x10B3
	ChannelOrderRGB          ChannelOrder = 0x10B4
	ChannelOrderRGBA         ChannelOrder = 0x10B5
	ChannelOrderBGRA         ChannelOrder = 0x10B6
	ChannelOrderARGB         ChannelOrder = 0x10B7
	ChannelOrderIntensity    ChannelOrder = 0x10B8
	ChannelOrderLuminance    ChannelOrder = 0x10B9
	ChannelOrderRx           ChannelOrder = 0x10BA
	ChannelOrderRGx          ChannelOrder = 0x10BB
	ChannelOrderRGBx         ChannelOrder = 0x10BC
	ChannelOrderDepth        ChannelOrder = 0x10BD
	ChannelOrderDepthStencil ChannelOrder = 0x10BE
	ChannelOrder1RGBApple    ChannelOrder = 0x10000006 // of an extension of macOS
	ChannelOrderBGR1Apple    ChannelOrder = 0x10000007 // of an extension of macOS
)

// String names the order.
func (co ChannelOrder) String() string {
	switch co {
	case ChannelOrder1RGBApple:
		return "1RGBApple"
	case ChannelOrderBGR1Apple:
		return "BGR1Apple"
	}
	return valueName(int(co), int(ChannelOrderR), []string{
		"R", "A", "RG", "RA", "RGB", "RGBA", "BGRA", "ARGB", "Intensity", "Luminance", "Rx", "RGx", "RGBx", "Depth",
		"DepthStencil",
	})
}

// ChannelDataType is the type of a pixel's channels.
type ChannelDataType int

// The channel types.
const (
	ChannelDataTypeSNormInt8      ChannelDataType = 0x10D0
	ChannelDataTypeSNormInt16     ChannelDataType = 0x10D1
	ChannelDataTypeUNormInt8      ChannelDataType = 0x10D2
	ChannelDataTypeUNormInt16     ChannelDataType = 0x10D3
	ChannelDataTypeUNormShort565  ChannelDataType = 0x10D4
	ChannelDataTypeUNormShort555  ChannelDataType = 0x10D5
	ChannelDataTypeUNormInt101010 ChannelDataType = 0x10D6
	ChannelDataTypeSignedInt8     ChannelDataType = 0x10D7
	ChannelDataTypeSignedInt16    ChannelDataType = 0x10D8
	ChannelDataTypeSignedInt32    ChannelDataType = 0x10D9
	ChannelDataTypeUnsignedInt8   ChannelDataType = 0x10DA
	ChannelDataTypeUnsignedInt16  ChannelDataType = 0x10DB
	ChannelDataTypeUnsignedInt32  ChannelDataType = 0x10DC
	ChannelDataTypeHalfFloat      ChannelDataType = 0x10DD
	ChannelDataTypeFloat          ChannelDataType = 0x10DE
	ChannelDataTypeUNormInt24     ChannelDataType = 0x10DF
	ChannelDataTypeSFixed14Apple  ChannelDataType = 0x10000008 // of an extension of macOS
)

// String names the type.
func (ct ChannelDataType) String() string {
	if ct == ChannelDataTypeSFixed14Apple {
		return "SFixed14Apple"
	}
	return valueName(int(ct), int(ChannelDataTypeSNormInt8), []string{
		"SNormInt8", "SNormInt16", "UNormInt8", "UNormInt16", "UNormShort565", "UNormShort555", "UNormInt101010",
		"SignedInt8", "SignedInt16", "SignedInt32", "UnsignedInt8", "UnsignedInt16", "UnsignedInt32",
		"HalfFloat", "Float", "UNormInt24",
	})
}

// ProfilingInfo is a moment in the life of a command.
type ProfilingInfo int

// The moments of a command.
const (
	ProfilingInfoCommandQueued ProfilingInfo = 0x1280 // the host put it into the queue
	ProfilingInfoCommandSubmit ProfilingInfo = 0x1281 // the host gave it to the device
	ProfilingInfoCommandStart  ProfilingInfo = 0x1282 // it started to run
	ProfilingInfoCommandEnd    ProfilingInfo = 0x1283 // it ended
)

// String names the moment.
func (p ProfilingInfo) String() string {
	return valueName(int(p), int(ProfilingInfoCommandQueued), []string{"Queued", "Submit", "Start", "End"})
}

// CommmandExecStatus is how far a command has come. (The third m is part of the name in go-opencl.)
type CommmandExecStatus int

// CommandExecStatus is CommmandExecStatus, spelt right.
type CommandExecStatus = CommmandExecStatus

// How far a command has come.
const (
	CommmandExecStatusComplete  CommmandExecStatus = 0
	CommmandExecStatusRunning   CommmandExecStatus = 1
	CommmandExecStatusSubmitted CommmandExecStatus = 2
	CommmandExecStatusQueued    CommmandExecStatus = 3
)

// String names the status; a failed command's status is a negative error code.
func (s CommmandExecStatus) String() string {
	if s < 0 {
		return fmt.Sprintf("Failed(%d)", int(s))
	}
	return valueName(int(s), 0, []string{"Complete", "Running", "Submitted", "Queued"})
}

// CommandQueueProperty is a set of properties of a queue.
type CommandQueueProperty int

// The properties of a queue.
const (
	CommandQueueOutOfOrderExecModeEnable CommandQueueProperty = 1 << 0 // commands may overtake one another
	CommandQueueProfilingEnable          CommandQueueProperty = 1 << 1 // events record their times
)

// String lists the properties, separated by bars.
func (p CommandQueueProperty) String() string {
	return flagNames(uint64(p), []string{"OutOfOrder", "Profiling"})
}
