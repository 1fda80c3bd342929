// Package backend is the contract between linear algebra and the devices that run it.
//
// A [Driver] reaches devices through one programming interface (CUDA, OpenCL, Go itself). Drivers
// register themselves when their package is imported, as database/sql's do; [Open] picks a device
// by name or by itself. The kernels that run on a device are written once, in the portable dialect
// of OpenCL C that docs/kernels.md describes.
//
// # Order and memory
//
// The commands of one [Queue] run in the order of the calls. Commands of different queues are
// ordered by events alone: [Queue.Record] on one, [Queue.WaitEvent] on the other. Every buffer that
// a queued command uses stays alive until the command is done, even when the caller frees or
// forgets it before.
//
// # Concurrency
//
// Everything here may be used from many goroutines at once. Commands of concurrent calls on one
// queue run in some order, each whole.
//
// # Lifetime
//
// Close, Free and Release are idempotent and release each underlying handle once. What a device
// made dies with it: using it afterwards is an [ErrClosed], never a crash.
package backend

// A Driver is one way to reach devices: "cuda", "opencl", "cpu". It loads its libraries on first
// use, never in init.
type Driver interface {
	// Name is the driver's name in TANDEM_BACKEND: lower-case letters and digits.
	Name() string

	// Devices lists the devices in a stable order. Without any it returns an error that wraps
	// ErrNoDevice and says why each library or platform failed.
	Devices() ([]Info, error)

	// Open opens device i of Devices: NewDevice makes it of the driver's own. Devices opened more
	// than once are independent of each other.
	Open(i int) (*Device, error)
}

// Info is what a person sees of a device, and all that the choice of a kernel may depend on.
type Info struct {
	Driver   string `json:"driver"`   // the driver's name
	Index    int    `json:"index"`    // position in the driver's Devices
	Platform string `json:"platform"` // OpenCL platform, CUDA, Go
	Vendor   string `json:"vendor"`
	Name     string `json:"name"`
	Arch     string `json:"arch"`    // gfx90a, sm_90, amd64, ...
	Version  string `json:"version"` // of the driver software: part of every cache key

	GPU           bool `json:"gpu"`            // runs the GPU shape of a kernel well; a CPU shape is chosen otherwise
	UnifiedMemory bool `json:"unified_memory"` // Register works and copies nothing
	Host          bool `json:"host"`           // runs Source.Go, the implementations in Go, in this process

	// Float32 and Float64 tell whether the device keeps the numerics contract in that type:
	// correctly rounded fma, subnormals kept. Devices reports what the driver claims, or what an
	// earlier probe found; an open Device what its own probe found. Where one is false the type is
	// not supported there at all.
	Float32 bool `json:"float32"`
	Float64 bool `json:"float64"`

	// Float64Unit is the matrix instruction of float64, "m16n8k4" or "m8n8k4" of NVIDIA's mma.sync
	// or "mfma_f64_16x16x4f64" of AMD's CDNA, whose results a probe found to be the chain of fused
	// multiply-adds bit by bit; "" without one, and before the device was opened. Float32Unit is
	// that of float32, "mfma_f32_16x16x4f32", and Int8Unit that of bytes into int32, "m16n8k32" of
	// NVIDIA's mma.sync, by which int32 is multiplied too, or "mfma_i32_16x16" of AMD's CDNA, which
	// is mfma_i32_16x16x16i8 or, from gfx940 on, mfma_i32_16x16x32_i8.
	Float32Unit string `json:"float32_unit,omitempty"`
	Float64Unit string `json:"float64_unit,omitempty"`
	Int8Unit    string `json:"int8_unit,omitempty"`

	ComputeUnits  int    `json:"compute_units"`
	Memory        int64  `json:"memory"`         // bytes
	MaxAlloc      int64  `json:"max_alloc"`      // bytes, the largest single buffer
	LocalMemory   int64  `json:"local_memory"`   // bytes a group
	MaxGroup      int    `json:"max_group"`      // work-items a group
	MaxGroupDims  [3]int `json:"max_group_dims"` // work-items a group in x, y, z
	MaxGroups     [3]int `json:"max_groups"`     // groups a launch in x, y, z; 0: only the int limits it
	OffsetAlign   int    `json:"offset_align"`   // bytes: a buffer argument's offset is a multiple of it
	VectorFloat32 int    `json:"vector_float32"` // native vector width in elements; 1 on GPUs
	VectorFloat64 int    `json:"vector_float64"` // the same for float64
	VectorInt32   int    `json:"vector_int32"`   // the same for int32
	// what a user should know: "simulated", "float32 flushes subnormals", ...
	Note string `json:"note,omitempty"`
}
