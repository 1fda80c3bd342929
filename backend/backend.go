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

	// Open opens device i of Devices. Devices opened more than once are independent of each other.
	Open(i int) (Device, error)
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

// A Device makes buffers, kernels and queues. It is safe for concurrent use.
type Device interface {
	// Info describes the device. Unlike an entry of Driver.Devices, it says what was probed, not
	// what was claimed.
	Info() Info

	// Alloc makes a buffer of n bytes, all zero, that begins at a multiple of 16 bytes. n == 0 is a
	// buffer of no bytes. Too large a size is ErrOutOfMemory. So is a lack of room, once those
	// buffers that the program has forgotten are freed.
	Alloc(n int64) (Buffer, error)

	// AllocHost makes page-locked host memory of n zero bytes, for asynchronous copies.
	AllocHost(n int64) (HostBuffer, error)

	// Register makes a buffer of host memory without copying it, where the device can, and is
	// ErrUnsupported where it cannot. mem stays pinned until Free. While the buffer lives, the host
	// may touch mem only when no queued command uses it: Queue.Wait returns when the device is done
	// and makes its writes visible. The element type's alignment suffices. Two registered buffers
	// must not overlap.
	Register(mem []byte) (HostBuffer, error)

	// Compile makes a kernel from s, or takes it from the caches. ErrBuild carries the compiler's
	// whole log, with s.File and the lines of s.Text. ErrUnsupported says what the driver would
	// need.
	Compile(s *Source) (Kernel, error)

	// NewQueue makes an in-order queue.
	NewQueue() (Queue, error)

	// Close waits for the queues, then releases the device and all that it made. It is idempotent.
	Close() error

	// Abandon gives the device up, as its commands may never end. Calls on it and on what it made
	// are ErrDeviceLost from then on. All return at once, also Close, Free and Release, which
	// release nothing: what the commands use stays as it is until the process ends. Calls that wait
	// already go on waiting. The same device opened another time is another Device.
	Abandon()
}

// A Buffer is memory of one device.
type Buffer interface {
	// Len is the size in bytes.
	Len() int64
	// Free releases the memory, once the commands that use it are done. It is idempotent.
	Free() error
}

// A HostBuffer is host memory that its device reaches without a copy, or can copy from
// asynchronously. It can stand wherever a Buffer can only on devices with Info.UnifiedMemory.
type HostBuffer interface {
	Buffer
	// Bytes is the memory itself. It must not be used after Free.
	Bytes() []byte
}

// A Kernel is compiled code for one device.
type Kernel interface {
	// Name is the entry point.
	Name() string
	// Params describes the arguments; a launch is checked against it.
	Params() []Param
	// Release gives the kernel back. It is idempotent. Commands already queued still run.
	Release() error
}

// A Queue runs its commands in order, one after the other. A range outside a buffer, and a nil
// buffer or one of another device, is ErrArgument; in Launch it is ErrLaunch.
type Queue interface {
	// Write copies src to dst at byte off, after the queue's earlier commands, and blocks until src
	// may be reused.
	Write(dst Buffer, off int64, src []byte) error
	// Read copies from src at byte off into dst, after the queue's earlier commands, and blocks
	// until dst is filled.
	Read(dst []byte, src Buffer, off int64) error
	// WriteAsync copies n bytes of page-locked memory to dst and may return before it is done.
	WriteAsync(dst Buffer, off int64, src HostBuffer, srcOff, n int64) error
	// ReadAsync copies n bytes of src to page-locked memory and may return before it is done.
	ReadAsync(dst HostBuffer, dstOff int64, src Buffer, off, n int64) error
	// Copy copies n bytes between two buffers of the device. Overlapping ranges of one buffer are
	// ErrArgument.
	Copy(dst Buffer, dstOff int64, src Buffer, srcOff, n int64) error
	// Launch runs k over g and may return before it has run. A grid with a zero component is a
	// no-op, once the arguments are checked. Arguments that do not fit k.Params, a group beyond the
	// device's limits and buffers of another device are ErrLaunch. args is the caller's again when
	// Launch returns: no driver keeps it.
	Launch(k Kernel, g Grid, args ...Arg) error
	// Record marks the present end of the queue.
	Record() (Event, error)
	// WaitEvent makes later commands of this queue wait for e, an event of the same device. It does
	// not block the caller.
	WaitEvent(e Event) error
	// Wait blocks until everything queued is done, and returns what went wrong since the last Wait.
	Wait() error
	// Close waits, then releases the queue. It is idempotent.
	Close() error
}

// An Event marks a point in a queue.
type Event interface {
	// Wait blocks until the queue has reached the event. What earlier ReadAsync commands of that
	// queue copied is there then.
	Wait() error
	// Since is the device's own time in nanoseconds from earlier to this event, both of the same
	// device. It waits for both.
	Since(earlier Event) (int64, error)
	// Release gives the event back. It is idempotent.
	Release() error
}
