package cuda

import (
	"fmt"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// describe fills in what the driver says of the device, which is number index of the list. It
// returns the function that failed.
func (e *entry) describe(index int) (op string, code int32) {
	c := e.api.Load()
	name := make([]byte, 256)
	if code := c.DeviceGetName(&name[0], int32(len(name)), e.dev); code != capi.Success {
		return "cuDeviceGetName", code
	}
	var memory uintptr
	if code := c.DeviceTotalMem(&memory, e.dev); code != capi.Success {
		return "cuDeviceTotalMem", code
	}
	attribute := func(a int32) int {
		var v int32
		if r := c.DeviceAttribute(&v, a, e.dev); r != capi.Success {
			code = r
		}
		return int(v)
	}
	three := func(a int32) [3]int { return [3]int{attribute(a), attribute(a + 1), attribute(a + 2)} }
	e.arch = 10*attribute(capi.AttributeComputeMajor) + attribute(capi.AttributeComputeMinor)
	e.canMap = attribute(capi.AttributeCanMapHostMemory) != 0
	e.claimed = backend.Info{
		Driver:   e.drv.name,
		Index:    index,
		Platform: "CUDA",
		Vendor:   e.drv.vendor,
		Name:     strings.TrimSpace(capi.GoString(&name[0])),
		Arch:     fmt.Sprintf("sm_%d", e.arch),
		Version:  fmt.Sprintf("CUDA %d.%d", e.version/1000, e.version%1000/10),
		Note:     e.drv.note,

		GPU:           true,
		UnifiedMemory: e.canMap && attribute(capi.AttributeIntegrated) != 0,
		Float32:       true,
		Float64:       true,

		ComputeUnits:  attribute(capi.AttributeMultiprocessors),
		Memory:        int64(memory),
		MaxAlloc:      int64(memory),
		LocalMemory:   int64(attribute(capi.AttributeMaxSharedPerBlock)),
		MaxGroup:      attribute(capi.AttributeMaxThreadsPerBlock),
		MaxGroupDims:  three(capi.AttributeMaxBlockDimX),
		MaxGroups:     three(capi.AttributeMaxGridDimX),
		OffsetAlign:   4, // the hardware asks for the alignment of what a kernel loads, and no more
		VectorFloat32: 1,
		VectorFloat64: 1,
		VectorInt32:   1,
	}
	e.id = strings.Join([]string{e.drv.name, e.claimed.Name, e.claimed.Arch, e.claimed.Version}, "\n")
	return "cuDeviceGetAttribute", code
}

// Known is the device with what is known of it before it is opened: from a probe of this process or
// from the cache.
func (e *entry) Known() backend.Info {
	info := e.claimed
	if f := e.probed.Recall(diskcache.Open(diskFolder), e.probeKey()); f != nil {
		f.Apply(&info)
	}
	return info
}
