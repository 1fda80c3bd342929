// Package capi is the CUDA driver API as a table of Go functions, loaded from the NVIDIA driver's
// library when first used, and NVRTC, the compiler, as another. It adds nothing: sizes, pointers
// and codes are C's own.
package capi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// NewDriver makes a driver over other functions than NVIDIA's. Package cuda sets it, for package
// cudasim: a user of cuda could not name an API.
var NewDriver func(name, vendor, note string, load func() (*API, error)) backend.Driver

// EnvLibrary names the environment variable that chooses the CUDA driver library. Where it is set,
// no other is tried.
const EnvLibrary = "TANDEM_CUDA_LIBRARY"

// C's handles. Zero is C's NULL, except for a Device, which is a number.
type (
	Device   int32   // CUdevice
	Context  uintptr // CUcontext
	Module   uintptr // CUmodule
	Function uintptr // CUfunction
	Stream   uintptr // CUstream
	Event    uintptr // CUevent
	Pointer  uint64  // CUdeviceptr
	Pool     uintptr // CUmemoryPool
)

// Table holds the C functions. Results are status codes.
type Table struct {
	Init             func(flags uint32) int32                            `sym:"cuInit"`
	DriverGetVersion func(version *int32) int32                          `sym:"cuDriverGetVersion"`
	GetErrorName     func(code int32, name **byte) int32                 `sym:"cuGetErrorName"`
	GetErrorString   func(code int32, text **byte) int32                 `sym:"cuGetErrorString"`
	DeviceGetCount   func(n *int32) int32                                `sym:"cuDeviceGetCount"`
	DeviceGet        func(d *Device, i int32) int32                      `sym:"cuDeviceGet"`
	DeviceGetName    func(name *byte, size int32, d Device) int32        `sym:"cuDeviceGetName"`
	DeviceTotalMem   func(bytes *uintptr, d Device) int32                `sym:"cuDeviceTotalMem_v2,cuDeviceTotalMem"`
	DeviceAttribute  func(value *int32, attribute int32, d Device) int32 `sym:"cuDeviceGetAttribute"`

	PrimaryCtxRetain  func(c *Context, d Device) int32 `sym:"cuDevicePrimaryCtxRetain"`
	PrimaryCtxRelease func(d Device) int32             `sym:"cuDevicePrimaryCtxRelease_v2,cuDevicePrimaryCtxRelease"`
	CtxSetCurrent     func(c Context) int32            `sym:"cuCtxSetCurrent"`

	MemAlloc        func(p *Pointer, n uintptr) int32                      `sym:"cuMemAlloc_v2,cuMemAlloc"`
	MemFree         func(p Pointer) int32                                  `sym:"cuMemFree_v2,cuMemFree"`
	MemHostAlloc    func(p *unsafe.Pointer, n uintptr, flags uint32) int32 `sym:"cuMemHostAlloc"`
	MemFreeHost     func(p unsafe.Pointer) int32                           `sym:"cuMemFreeHost"`
	MemHostRegister func(p unsafe.Pointer, n uintptr,
		flags uint32) int32 `sym:"cuMemHostRegister_v2,cuMemHostRegister"`
	MemHostUnregister       func(p unsafe.Pointer) int32 `sym:"cuMemHostUnregister"`
	MemHostGetDevicePointer func(d *Pointer, host unsafe.Pointer,
		flags uint32) int32 `sym:"cuMemHostGetDevicePointer_v2,cuMemHostGetDevicePointer"`

	// Pools are there from CUDA 11.2 on.
	DeviceGetDefaultMemPool func(p *Pool, d Device) int32 `sym:"cuDeviceGetDefaultMemPool" dl:"optional"`
	MemPoolSetAttribute     func(p Pool, attribute int32,
		value *uint64) int32 `sym:"cuMemPoolSetAttribute" dl:"optional"`
	MemPoolTrimTo func(p Pool, keep uintptr) int32            `sym:"cuMemPoolTrimTo" dl:"optional"`
	MemAllocAsync func(p *Pointer, n uintptr, s Stream) int32 `sym:"cuMemAllocAsync" dl:"optional"`
	MemFreeAsync  func(p Pointer, s Stream) int32             `sym:"cuMemFreeAsync" dl:"optional"`

	MemcpyHtoDAsync func(dst Pointer, src unsafe.Pointer, n uintptr,
		s Stream) int32 `sym:"cuMemcpyHtoDAsync_v2,cuMemcpyHtoDAsync"`
	MemcpyDtoHAsync func(dst unsafe.Pointer, src Pointer, n uintptr,
		s Stream) int32 `sym:"cuMemcpyDtoHAsync_v2,cuMemcpyDtoHAsync"`
	MemcpyDtoDAsync func(dst, src Pointer, n uintptr,
		s Stream) int32 `sym:"cuMemcpyDtoDAsync_v2,cuMemcpyDtoDAsync"`
	MemsetD8Async func(p Pointer, value uint8, n uintptr, s Stream) int32 `sym:"cuMemsetD8Async"`

	StreamCreate      func(s *Stream, flags uint32) int32           `sym:"cuStreamCreate"`
	StreamDestroy     func(s Stream) int32                          `sym:"cuStreamDestroy_v2,cuStreamDestroy"`
	StreamSynchronize func(s Stream) int32                          `sym:"cuStreamSynchronize"`
	StreamWaitEvent   func(s Stream, e Event, flags uint32) int32   `sym:"cuStreamWaitEvent"`
	EventCreate       func(e *Event, flags uint32) int32            `sym:"cuEventCreate"`
	EventDestroy      func(e Event) int32                           `sym:"cuEventDestroy_v2,cuEventDestroy"`
	EventRecord       func(e Event, s Stream) int32                 `sym:"cuEventRecord"`
	EventSynchronize  func(e Event) int32                           `sym:"cuEventSynchronize"`
	EventElapsedTime  func(ms *float32, from Event, to Event) int32 `sym:"cuEventElapsedTime_v2,cuEventElapsedTime"`

	// ModuleLoadDataEx takes n options and their values, each of which is a number or an address.
	ModuleLoadDataEx func(m *Module, image *byte, n uint32, options *int32,
		values *uintptr) int32 `sym:"cuModuleLoadDataEx"`
	ModuleUnload      func(m Module) int32 `sym:"cuModuleUnload"`
	ModuleGetFunction func(f *Function, m Module,
		name *byte) int32 `sym:"cuModuleGetFunction"`
	FuncGetAttribute func(value *int32, attribute int32,
		f Function) int32 `sym:"cuFuncGetAttribute"`

	// LaunchKernel takes an array of the addresses of the arguments.
	LaunchKernel func(f Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, s Stream,
		params *unsafe.Pointer, extra *unsafe.Pointer) int32 `sym:"cuLaunchKernel"`
}

// An API is a table that is in use. Load gives the table to call through, Swap puts another in its
// place: tests observe and disturb calls this way.
type API = atomic.Pointer[Table]

var driver API

// Load loads the library on its first call, and gives the same result on every later one. The error
// names every library that was tried, and why each failed.
func Load() (*API, error) { return &driver, loadOnce() }

var loadOnce = sync.OnceValue(load)

func load() error {
	lib, err := dl.Open(libraries()...)
	if err != nil {
		return dl.Advise(err, hint())
	}
	t := new(Table)
	if err := bind(lib, t); err != nil {
		return fmt.Errorf("%s is no CUDA driver: %w; %s", lib.Name(), err, hint())
	}
	driver.Store(t)
	return nil
}

// libraries lists the names to try, best first.
func libraries() []string {
	if name := os.Getenv(EnvLibrary); name != "" {
		return []string{name}
	}
	if runtime.GOOS == "windows" {
		return []string{"nvcuda.dll"}
	}
	return []string{"libcuda.so.1", "libcuda.so"}
}

// hint says what to do where the library cannot be loaded.
func hint() string {
	if os.Getenv(EnvLibrary) != "" {
		return EnvLibrary + " names it, so no other was tried"
	}
	return "install NVIDIA's driver, or name its library in " + EnvLibrary
}

// bind fills t. The functions of every launch, and of the wait for it, go through dl.Call, which
// allocates nothing.
func bind(lib *dl.Library, t *Table) error {
	if err := dl.Bind(lib, t); err != nil {
		return err
	}
	setCurrent, err1 := lib.Symbol("cuCtxSetCurrent")
	launch, err2 := lib.Symbol("cuLaunchKernel")
	synchronize, err3 := lib.Symbol("cuStreamSynchronize")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	t.CtxSetCurrent = func(c Context) int32 { return int32(dl.Call(setCurrent, uintptr(c))) }
	t.StreamSynchronize = func(s Stream) int32 { return int32(dl.Call(synchronize, uintptr(s))) }
	t.LaunchKernel = func(f Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, s Stream,
		params *unsafe.Pointer, extra *unsafe.Pointer,
	) int32 {
		r := dl.Call(launch, uintptr(f), uintptr(gridX), uintptr(gridY), uintptr(gridZ), uintptr(blockX),
			uintptr(blockY), uintptr(blockZ),
			uintptr(shared), uintptr(s), uintptr(unsafe.Pointer(params)), uintptr(unsafe.Pointer(extra)))
		runtime.KeepAlive(params)
		runtime.KeepAlive(extra)
		return int32(r)
	}
	return nil
}

// GoString is the C string at p, "" for NULL.
func GoString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// CString is s with the zero byte that ends it for C. It must not contain another.
func CString(s string) *byte { return &append([]byte(s), 0)[0] }
