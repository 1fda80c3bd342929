package cl_test

import (
	"bufio"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
)

// headerConstants are the integer constants of the C headers, where these are installed.
func headerConstants(t *testing.T) map[string]int64 {
	define := regexp.MustCompile(`^#define\s+(CL_\w+)\s+\(?(-?\w+)(?:\s*<<\s*(\d+)\))?`)
	constants := map[string]int64{}
	for _, name := range []string{"/usr/include/CL/cl.h", "/usr/include/CL/cl_ext.h"} {
		f, err := os.Open(name)
		if err != nil {
			t.Skipf("the OpenCL headers are not installed: %v", err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			m := define.FindStringSubmatch(lines.Text())
			if m == nil {
				continue
			}
			v, err := strconv.ParseInt(m[2], 0, 64)
			if err != nil {
				continue
			}
			shift, _ := strconv.Atoi(m[3])
			constants[m[1]] = v << shift
		}
	}
	return constants
}

// snake is CamelCase in C's way of writing.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// Every information method asks for the parameter that it is named after.
func TestDeviceInfoParameters(t *testing.T) {
	constants := headerConstants(t)
	device, _ := firstDevice(t)
	var asked []int64
	defer capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		if c.Name == "clGetDeviceInfo" {
			asked = append(asked, int64(c.Args[1].Uint()))
		}
		return c.Run()
	})()
	irregular := map[string]string{
		"OpenCLCVersion": "CL_DEVICE_OPENCL_C_VERSION", "DriverVersion": "CL_DRIVER_VERSION",
		"DoubleFPConfig": "CL_DEVICE_DOUBLE_FP_CONFIG",
		"HalfFPConfig":   "CL_DEVICE_HALF_FP_CONFIG", "SingleFPConfig": "CL_DEVICE_SINGLE_FP_CONFIG",
		"Image2DMaxWidth": "CL_DEVICE_IMAGE2D_MAX_WIDTH", "Image2DMaxHeight": "CL_DEVICE_IMAGE2D_MAX_HEIGHT",
		"Image3DMaxWidth": "CL_DEVICE_IMAGE3D_MAX_WIDTH", "Image3DMaxHeight": "CL_DEVICE_IMAGE3D_MAX_HEIGHT",
		"Image3DMaxDepth": "CL_DEVICE_IMAGE3D_MAX_DEPTH", "BoardName": "CL_DEVICE_EXTENSIONS",
		"ComputeCapability": "CL_DEVICE_EXTENSIONS",
	}
	v := reflect.ValueOf(device)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if v.Method(i).Type().NumIn() > 0 {
			continue
		}
		asked = nil
		v.Method(i).Call(nil)
		want := irregular[name]
		if want == "" {
			want = "CL_DEVICE_" + snake(name)
		}
		code, ok := constants[want]
		if !ok || len(asked) == 0 || asked[0] != code {
			t.Errorf("%s asked for %#x, want %s = %#x (%v)", name, asked, want, code, ok)
		}
	}
}

func TestConstants(t *testing.T) {
	constants := headerConstants(t)
	values := map[string]int64{
		"CL_DEVICE_TYPE_CPU": int64(cl.DeviceTypeCPU), "CL_DEVICE_TYPE_GPU": int64(cl.DeviceTypeGPU),
		"CL_DEVICE_TYPE_ACCELERATOR": int64(cl.DeviceTypeAccelerator),
		"CL_DEVICE_TYPE_DEFAULT":     int64(cl.DeviceTypeDefault),
		"CL_DEVICE_TYPE_ALL":         int64(cl.DeviceTypeAll),
		"CL_FP_DENORM":               int64(cl.FPConfigDenorm), "CL_FP_INF_NAN": int64(cl.FPConfigInfNaN),
		"CL_FP_ROUND_TO_NEAREST": int64(cl.FPConfigRoundToNearest),
		"CL_FP_ROUND_TO_ZERO":    int64(cl.FPConfigRoundToZero),
		"CL_FP_ROUND_TO_INF":     int64(cl.FPConfigRoundToInf), "CL_FP_FMA": int64(cl.FPConfigFMA),
		"CL_FP_SOFT_FLOAT":                    int64(cl.FPConfigSoftFloat),
		"CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT": int64(cl.FPConfigCorrectlyRoundedDivideSqrt),
		"CL_NONE":                             int64(cl.LocalMemTypeNone), "CL_LOCAL": int64(cl.LocalMemTypeLocal),
		"CL_GLOBAL":      int64(cl.LocalMemTypeGlobal),
		"CL_EXEC_KERNEL": int64(cl.ExecCapabilityKernel), "CL_EXEC_NATIVE_KERNEL": int64(cl.ExecCapabilityNativeKernel),
		"CL_READ_ONLY_CACHE":  int64(cl.MemCacheTypeReadOnlyCache),
		"CL_READ_WRITE_CACHE": int64(cl.MemCacheTypeReadWriteCache),
		"CL_MEM_READ_WRITE":   int64(cl.MemReadWrite), "CL_MEM_WRITE_ONLY": int64(cl.MemWriteOnly),
		"CL_MEM_READ_ONLY":    int64(cl.MemReadOnly),
		"CL_MEM_USE_HOST_PTR": int64(cl.MemUseHostPtr), "CL_MEM_ALLOC_HOST_PTR": int64(cl.MemAllocHostPtr),
		"CL_MEM_COPY_HOST_PTR": int64(cl.MemCopyHostPtr), "CL_MEM_HOST_WRITE_ONLY": int64(cl.MemHostWriteOnly),
		"CL_MEM_HOST_READ_ONLY": int64(cl.MemHostReadOnly), "CL_MEM_HOST_NO_ACCESS": int64(cl.MemHostNoAccess),
		"CL_MEM_OBJECT_BUFFER": int64(cl.MemObjectTypeBuffer), "CL_MEM_OBJECT_IMAGE2D": int64(cl.MemObjectTypeImage2D),
		"CL_MEM_OBJECT_IMAGE3D":        int64(cl.MemObjectTypeImage3D),
		"CL_MEM_OBJECT_IMAGE2D_ARRAY":  int64(cl.MemObjectTypeImage2DArray),
		"CL_MEM_OBJECT_IMAGE1D":        int64(cl.MemObjectTypeImage1D),
		"CL_MEM_OBJECT_IMAGE1D_ARRAY":  int64(cl.MemObjectTypeImage1DArray),
		"CL_MEM_OBJECT_IMAGE1D_BUFFER": int64(cl.MemObjectTypeImage1DBuffer),
		"CL_MAP_READ":                  int64(cl.MapFlagRead), "CL_MAP_WRITE": int64(cl.MapFlagWrite),
		"CL_MAP_WRITE_INVALIDATE_REGION":         int64(cl.MapFlagWriteInvalidateRegion),
		"CL_PROFILING_COMMAND_QUEUED":            int64(cl.ProfilingInfoCommandQueued),
		"CL_PROFILING_COMMAND_SUBMIT":            int64(cl.ProfilingInfoCommandSubmit),
		"CL_PROFILING_COMMAND_START":             int64(cl.ProfilingInfoCommandStart),
		"CL_PROFILING_COMMAND_END":               int64(cl.ProfilingInfoCommandEnd),
		"CL_COMPLETE":                            int64(cl.CommmandExecStatusComplete),
		"CL_RUNNING":                             int64(cl.CommmandExecStatusRunning),
		"CL_SUBMITTED":                           int64(cl.CommmandExecStatusSubmitted),
		"CL_QUEUED":                              int64(cl.CommmandExecStatusQueued),
		"CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE": int64(cl.CommandQueueOutOfOrderExecModeEnable),
		"CL_QUEUE_PROFILING_ENABLE":              int64(cl.CommandQueueProfilingEnable),
	}
	for name, got := range values {
		if want, ok := constants[name]; !ok || got != want {
			t.Errorf("%s is %#x, want %#x (in the header: %v)", name, got, want, ok)
		}
	}
	// The channel constants are told by the names of their values.
	for code := int64(0x10B0); code <= 0x10BE; code++ {
		name := "CL_" + strings.ToUpper(cl.ChannelOrder(code).String())
		if odd := map[string]string{
			"CL_RX": "CL_Rx", "CL_RGX": "CL_RGx", "CL_RGBX": "CL_RGBx", "CL_DEPTHSTENCIL": "CL_DEPTH_STENCIL",
		}[name]; odd != "" {
			name = odd
		}
		if constants[name] != code {
			t.Errorf("channel order %#x is named %s", code, cl.ChannelOrder(code))
		}
	}
	if cl.ChannelOrderRGBA.String() != "RGBA" || cl.ChannelOrderDepthStencil.String() != "DepthStencil" {
		t.Error("channel orders are off")
	}
	for value, name := range map[cl.ChannelDataType]string{
		cl.ChannelDataTypeSNormInt8: "CL_SNORM_INT8", cl.ChannelDataTypeSNormInt16: "CL_SNORM_INT16",
		cl.ChannelDataTypeUNormInt8:  "CL_UNORM_INT8",
		cl.ChannelDataTypeUNormInt16: "CL_UNORM_INT16", cl.ChannelDataTypeUNormShort565: "CL_UNORM_SHORT_565",
		cl.ChannelDataTypeUNormShort555: "CL_UNORM_SHORT_555", cl.ChannelDataTypeUNormInt101010: "CL_UNORM_INT_101010",
		cl.ChannelDataTypeSignedInt8: "CL_SIGNED_INT8", cl.ChannelDataTypeSignedInt16: "CL_SIGNED_INT16",
		cl.ChannelDataTypeSignedInt32: "CL_SIGNED_INT32", cl.ChannelDataTypeUnsignedInt8: "CL_UNSIGNED_INT8",
		cl.ChannelDataTypeUnsignedInt16: "CL_UNSIGNED_INT16", cl.ChannelDataTypeUnsignedInt32: "CL_UNSIGNED_INT32",
		cl.ChannelDataTypeHalfFloat: "CL_HALF_FLOAT", cl.ChannelDataTypeFloat: "CL_FLOAT",
		cl.ChannelDataTypeUNormInt24: "CL_UNORM_INT24",
	} {
		if int64(value) != constants[name] {
			t.Errorf("%s is %#x, want %#x", name, int64(value), constants[name])
		}
		if strings.ReplaceAll(name[3:], "_", "") != strings.ToUpper(value.String()) {
			t.Errorf("%s is spelt %s", name, value)
		}
	}
}

func TestCodesAreTheHeaders(t *testing.T) {
	constants := headerConstants(t)
	named := 0
	for code := int32(-1200); code <= 0; code++ {
		name := capi.CodeName(code)
		if name == "" {
			continue
		}
		named++
		if want, ok := constants[name]; ok && want != int64(code) {
			t.Errorf("%s is %d in the header, not %d", name, want, code)
		}
	}
	if named < 64 {
		t.Errorf("only %d codes have names", named)
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		value interface{ String() string }
		want  string
	}{
		{cl.DeviceTypeCPU | cl.DeviceTypeGPU, "CPU|GPU"},
		{cl.DeviceTypeAccelerator | cl.DeviceTypeDefault, "Accelerator|Default"},
		{cl.DeviceType(0), "None"},
		{
			cl.FPConfigDenorm | cl.FPConfigFMA | cl.FPConfigCorrectlyRoundedDivideSqrt,
			"Denorm|FMA|CorrectlyRoundedDivideSqrt",
		},
		{cl.FPConfig(0), ""},
		{cl.LocalMemTypeLocal, "Local"},
		{cl.LocalMemTypeGlobal, "Global"},
		{cl.LocalMemType(7), "Unknown"},
		{cl.ExecCapabilityKernel | cl.ExecCapabilityNativeKernel, "Kernel|NativeKernel"},
		{cl.MemCacheTypeReadWriteCache, "ReadWrite"},
		{cl.MemCacheType(0x1f), "Unknown(1f)"},
		{cl.ChannelOrderBGRA, "BGRA"},
		{cl.ChannelOrder1RGBApple, "1RGBApple"},
		{cl.ChannelOrderBGR1Apple, "BGR1Apple"},
		{cl.ChannelOrder(0x20), "Unknown(20)"},
		{cl.ChannelDataTypeHalfFloat, "HalfFloat"},
		{cl.ChannelDataTypeSFixed14Apple, "SFixed14Apple"},
		{cl.MemReadOnly | cl.MemUseHostPtr | cl.MemHostNoAccess, "ReadOnly|UseHostPtr|HostNoAccess"},
		{cl.MemObjectTypeImage1DBuffer, "Image1DBuffer"},
		{cl.MapFlagRead | cl.MapFlagWrite, "Read|Write"},
		{cl.ProfilingInfoCommandEnd, "End"},
		{cl.CommmandExecStatusQueued, "Queued"},
		{cl.CommandExecStatus(-5), "Failed(-5)"},
		{cl.CommandQueueProfilingEnable, "Profiling"},
	} {
		if got := c.value.String(); got != c.want {
			t.Errorf("%T: %q, want %q", c.value, got, c.want)
		}
	}
}

// A property by its number, as programs write it, is what the method of that name gives; a number
// that no device knows is an error.
func TestDeviceInfoByNumber(t *testing.T) {
	const (
		name, units, group, memory, available = 0x102B, 0x1002, 0x1004, 0x101F, 0x1027
		unknown                               = 0xFFFF
	)
	d, _ := firstDevice(t)
	text, err1 := d.GetInfoString(name)
	n, err2 := d.GetInfoUint(units)
	size, err3 := d.GetInfoSize(group)
	long, err4 := d.GetInfoUlong(memory)
	yes, err5 := d.GetInfoBool(available)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil || text != d.Name() ||
		n != uint(d.MaxComputeUnits()) || size != d.MaxWorkGroupSize() || long != d.GlobalMemSize() ||
		yes != d.Available() {
		t.Errorf("%q, %d, %d, %d, %t, %v", text, n, size, long, yes, err)
	}
	for i, err := range []error{
		second(d.GetInfoString(unknown)), second(d.GetInfoUint(unknown)), second(d.GetInfoSize(unknown)),
		second(d.GetInfoUlong(unknown)), second(d.GetInfoBool(unknown)),
	} {
		if err != cl.ErrInvalidValue {
			t.Errorf("method %d: %v for a number that no device knows", i, err)
		}
	}
	if _, err := (*cl.Device)(nil).GetInfoString(name); err != cl.ErrInvalidDevice {
		t.Errorf("no device: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestPlatformAndDeviceInfo(t *testing.T) {
	device, platform := firstDevice(t)
	for i, text := range []string{
		platform.Name(), platform.Vendor(), platform.Profile(), platform.Version(), platform.Extensions(),
	} {
		if text == "" || strings.ContainsRune(text, 0) {
			t.Errorf("platform text %d is %q", i, text)
		}
	}
	if !strings.HasPrefix(platform.Version(), "OpenCL ") {
		t.Errorf("platform version %q", platform.Version())
	}
	for i, get := range deviceText {
		if strings.ContainsRune(get(device), 0) {
			t.Errorf("device text %d contains a zero byte", i)
		}
	}
	for i, get := range deviceInt {
		if get(device) < 0 {
			t.Errorf("device int %d is %d", i, get(device))
		}
	}
	for i, get := range deviceInt64 {
		if get(device) <= 0 {
			t.Errorf("device int64 %d is %d", i, get(device))
		}
	}
	for _, get := range deviceBool {
		get(device)
	}
	if device.Name() == "" || device.DriverVersion() == "" || !strings.HasPrefix(device.OpenCLCVersion(), "OpenCL C ") {
		t.Errorf("name %q, driver %q, language %q", device.Name(), device.DriverVersion(), device.OpenCLCVersion())
	}
	if got := len(device.MaxWorkItemSizes()); got < 3 || got != device.MaxWorkItemDimensions() {
		t.Errorf("%d work-item sizes, %d dimensions", got, device.MaxWorkItemDimensions())
	}
	if device.HasExtension("cl_khr_fp64") != (device.DoubleFPConfig() != 0) {
		t.Errorf("cl_khr_fp64 is %v, configuration %q", device.HasExtension("cl_khr_fp64"), device.DoubleFPConfig())
	}
	if device.HasExtension("cl_khr_fp6") || device.HasExtension("") {
		t.Error("HasExtension takes a part of a name for an extension")
	}
	if device.SingleFPConfig()&cl.FPConfigRoundToNearest == 0 {
		t.Errorf("single precision: %q", device.SingleFPConfig())
	}
	if device.AddressBits() != 32 && device.AddressBits() != 64 {
		t.Errorf("address of %d bits", device.AddressBits())
	}
	if device.Type() == 0 || device.ParentDevice() != nil ||
		device.ExecutionCapabilities()&cl.ExecCapabilityKernel == 0 {
		t.Errorf("type %s, parent %v, executes %s",
			device.Type(), device.ParentDevice(), device.ExecutionCapabilities())
	}
	if device.MaxComputeUnits() < 1 || device.MaxWorkGroupSize() < 1 || device.MemBaseAddrAlign() < 8 ||
		device.MaxMemAllocSize() > device.GlobalMemSize() {
		t.Errorf("units %d, group %d, alignment %d, allocation %d of %d", device.MaxComputeUnits(),
			device.MaxWorkGroupSize(),
			device.MemBaseAddrAlign(), device.MaxMemAllocSize(), device.GlobalMemSize())
	}
	if !device.HasExtension("cl_amd_device_attribute_query") && device.BoardName() != "" {
		t.Errorf("board %q without the extension", device.BoardName())
	}
	for _, d := range []*cl.Device{nil, {}} { // no crash, and zero values
		if d.Name() != "" || d.MaxComputeUnits() != 0 || d.MaxWorkItemSizes() != nil || d.Available() {
			t.Error("a device that is none has properties")
		}
	}
	if _, err := cl.GetDevices(platform, 1<<9); err == nil {
		t.Error("a device type that does not exist was found")
	}
}
