package opencl

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

// oclgrind is the platform of a simulator that looks for errors of kernels. Its check for
// uninitialized values takes what the host writes to registered memory, and what
// clEnqueueFillBuffer writes, for uninitialized, and may crash on it: neither is used there. Nor
// does it know all that clang's optimizer writes, such as what it makes of a rotation: kernels
// written in Go are compiled without.
const oclgrind = "Oclgrind"

// newEntry describes a device as its driver does.
func newEntry(p *cl.Platform, dev *cl.Device, index int) *entry {
	kind, arithmetic, text := dev.Type(), dev.SingleFPConfig(), dev.Version()
	gpu := kind&cl.DeviceTypeGPU != 0
	info := backend.Info{
		Driver:   driverName,
		Index:    index,
		Platform: p.Name(),
		Vendor:   dev.Vendor(),
		Name:     strings.TrimSpace(dev.Name()),
		Version:  dev.DriverVersion() + "; " + p.Version(),

		GPU:           gpu,
		UnifiedMemory: kind&cl.DeviceTypeCPU != 0 || dev.HostUnifiedMemory(),
		Float32:       arithmetic&cl.FPConfigDenorm != 0,
		Float64:       dev.DoubleFPConfig() != 0 || dev.HasExtension("cl_khr_fp64"),

		ComputeUnits:  dev.MaxComputeUnits(),
		Memory:        dev.GlobalMemSize(),
		MaxAlloc:      dev.MaxMemAllocSize(),
		LocalMemory:   dev.LocalMemSize(),
		MaxGroup:      dev.MaxWorkGroupSize(),
		OffsetAlign:   dev.MemBaseAddrAlign() / 8,
		VectorFloat32: 1,
		VectorFloat64: 1,
		VectorInt32:   1,
	}
	if info.Platform == oclgrind {
		info.UnifiedMemory = false
	}
	copy(info.MaxGroupDims[:], dev.MaxWorkItemSizes())
	if !gpu {
		info.VectorFloat32 = max(1, dev.NativeVectorWidthFloat())
		info.VectorFloat64 = max(1, dev.NativeVectorWidthDouble())
		info.VectorInt32 = max(1, dev.NativeVectorWidthInt())
	}
	info.Arch = arch(info.Name, kind)
	if major, minor := dev.ComputeCapability(); major > 0 {
		info.Arch = fmt.Sprintf("sm_%d%d", major, minor)
	}
	if board := dev.BoardName(); board != "" {
		info.Name = board
	}
	major, minor := version(text)
	old := major < 1 || major == 1 && minor < 2 // 1.2 fills buffers
	if old {
		info.Float32, info.Float64, info.Note = false, false, "needs OpenCL 1.2, has "+text
	}
	id := strings.Join([]string{
		p.Name(), p.Version(), dev.Vendor(), dev.Name(), text, dev.DriverVersion(), processor(), variables(),
	}, "\n")
	return &entry{
		dev: dev, id: id, options: options(p.Name(), arithmetic), kind: kind, old: old,
		amd:     gpu && dev.HasExtension("cl_amd_device_attribute_query"),
		missing: missing(&info, kind, arithmetic, text), claimed: info,
	}
}

// processor is what this machine's processor can do. One home folder serves machines that differ in
// it, though their processors have one name: what is compiled for one may end the process on
// another.
var processor = func() string { return fmt.Sprint(cpu.X86, cpu.ARM64, cpu.PPC64, cpu.S390X, cpu.RISCV64) }

// variables are those of the environment that drivers take for their compilers: Intel's for
// processors and for GPUs, PoCL's, AMD's, Mesa's, Oclgrind's.
func variables() string {
	prefixes := []string{"CL_", "IGC_", "POCL_", "AMD_", "GPU_", "RUSTICL_", "GALLIVM_", "LP_", "OCLGRIND_"}
	var found []string
	for _, v := range os.Environ() {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(v, p) }) {
			found = append(found, v)
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}

// missing names a property that every device has and that this one did not tell, "" where it told
// all of them. Without it the device would be chosen, checked or compiled for wrongly.
func missing(info *backend.Info, kind cl.DeviceType, arithmetic cl.FPConfig, version string) string {
	switch {
	case kind == 0:
		return "the type"
	case version == "":
		return "the version"
	case info.Name == "":
		return "the name"
	case info.Memory <= 0 || info.MaxAlloc <= 0:
		return "the memory"
	case info.ComputeUnits <= 0 || info.MaxGroup <= 0 || info.MaxGroupDims[0] <= 0:
		return "the limits"
	case info.OffsetAlign <= 0:
		return "the alignment"
	case arithmetic == 0:
		return "the arithmetic"
	}
	return ""
}

// arch is the architecture that a device's name tells: gfx90a of AMD's "gfx90a:sramecc+:xnack-". A
// CPU is what this program runs on; other devices are known by their name alone.
func arch(name string, kind cl.DeviceType) string {
	switch {
	case strings.HasPrefix(name, "gfx"):
		name, _, _ = strings.Cut(name, ":")
	case kind&cl.DeviceTypeCPU != 0:
		return runtime.GOARCH
	}
	return name
}

// version reads "OpenCL 1.2 ...". Other text is version 0.0.
func version(s string) (major, minor int) {
	fmt.Sscanf(s, "OpenCL %d.%d", &major, &minor)
	return major, minor
}

// Known is the device with what is known of it before it is opened: from a probe of this process or
// from the cache.
func (e *entry) Known() backend.Info {
	info := e.claimed
	if f := e.probed.Recall(diskcache.Open(driverName), e.probeKey()); f != nil {
		f.apply(&info)
	}
	return info
}
