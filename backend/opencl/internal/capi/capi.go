// Package capi is the OpenCL 1.2 C interface as a table of Go functions, loaded from the system's
// OpenCL library when first used. It adds nothing: sizes, pointers and codes are C's own. Package
// cl makes an interface for people of it.
package capi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// EnvLibrary names the environment variable that chooses the OpenCL library. Where it is set, no
// other is tried.
const EnvLibrary = "TANDEM_OPENCL_LIBRARY"

// C's handles. Zero is C's NULL.
type (
	Platform uintptr // cl_platform_id
	Device   uintptr // cl_device_id
	Context  uintptr // cl_context
	Queue    uintptr // cl_command_queue
	Mem      uintptr // cl_mem
	Program  uintptr // cl_program
	Kernel   uintptr // cl_kernel
	Event    uintptr // cl_event
)

// ImageFormat is cl_image_format.
type ImageFormat struct{ Order, DataType uint32 }

// ImageDesc is cl_image_desc.
type ImageDesc struct {
	Type                     uint32
	Width, Height, Depth     uintptr
	ArraySize                uintptr
	RowPitch, SlicePitch     uintptr
	NumMipLevels, NumSamples uint32
	Buffer                   Mem
}

// BufferRegion is cl_buffer_region.
type BufferRegion struct{ Origin, Size uintptr }

// Info is one of the clGet...Info functions: the value of a parameter, its size, or both.
type Info[Handle ~uintptr] func(h Handle, param uint32, size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32

// HostCopy is clEnqueueReadBuffer or clEnqueueWriteBuffer.
type HostCopy func(q Queue, m Mem, blocking uint32, off, size uintptr, host unsafe.Pointer, n uint32,
	wait, ev *Event) int32

// HostImageCopy is clEnqueueReadImage or clEnqueueWriteImage.
type HostImageCopy func(q Queue, m Mem, blocking uint32, origin, region *[3]uintptr, rowPitch, slicePitch uintptr,
	host unsafe.Pointer, n uint32, wait, ev *Event) int32

// Table holds the C functions. A function that a library older than OpenCL 1.2 may lack is nil
// where it is missing.
//
// Results are status codes, or handles with the status in the last parameter. Callback parameters
// are always given as 0.
type Table struct {
	GetPlatformIDs  func(n uint32, ids *Platform, num *uint32) int32                        `sym:"clGetPlatformIDs"`
	GetPlatformInfo Info[Platform]                                                          `sym:"clGetPlatformInfo"`
	GetDeviceIDs    func(p Platform, kind uint64, n uint32, ids *Device, num *uint32) int32 `sym:"clGetDeviceIDs"`
	GetDeviceInfo   Info[Device]                                                            `sym:"clGetDeviceInfo"`

	CreateContext func(props *uintptr, n uint32, ids *Device, notify, data uintptr,
		status *int32) Context `sym:"clCreateContext"`
	ReleaseContext func(c Context) int32 `sym:"clReleaseContext"`

	CreateCommandQueue  func(c Context, d Device, props uint64, status *int32) Queue `sym:"clCreateCommandQueue"`
	ReleaseCommandQueue func(q Queue) int32                                          `sym:"clReleaseCommandQueue"`
	Flush               func(q Queue) int32                                          `sym:"clFlush"`
	Finish              func(q Queue) int32                                          `sym:"clFinish"`

	CreateBuffer func(c Context, flags uint64, size uintptr, host unsafe.Pointer,
		status *int32) Mem `sym:"clCreateBuffer"`
	CreateSubBuffer func(m Mem, flags uint64, kind uint32, region *BufferRegion,
		status *int32) Mem `sym:"clCreateSubBuffer" dl:"optional"`
	CreateImage func(c Context, flags uint64, format *ImageFormat, desc *ImageDesc, host unsafe.Pointer,
		status *int32) Mem `sym:"clCreateImage" dl:"optional"`
	GetSupportedImageFormats func(c Context, flags uint64, kind, n uint32, formats *ImageFormat,
		num *uint32) int32 `sym:"clGetSupportedImageFormats"`
	GetImageInfo     Info[Mem]         `sym:"clGetImageInfo"`
	ReleaseMemObject func(m Mem) int32 `sym:"clReleaseMemObject"`

	CreateProgramWithSource func(c Context, n uint32, sources **byte, lengths *uintptr,
		status *int32) Program `sym:"clCreateProgramWithSource"`
	CreateProgramWithBinary func(c Context, n uint32, ids *Device, lengths *uintptr, binaries **byte, binaryStatus,
		status *int32) Program `sym:"clCreateProgramWithBinary"`
	BuildProgram func(p Program, n uint32, ids *Device, options *byte, notify,
		data uintptr) int32 `sym:"clBuildProgram"`
	GetProgramInfo      Info[Program] `sym:"clGetProgramInfo"`
	GetProgramBuildInfo func(p Program, d Device, param uint32, size uintptr, value unsafe.Pointer,
		sizeRet *uintptr) int32 `sym:"clGetProgramBuildInfo"`
	ReleaseProgram func(p Program) int32 `sym:"clReleaseProgram"`

	CreateKernel     func(p Program, name *byte, status *int32) Kernel                  `sym:"clCreateKernel"`
	SetKernelArg     func(k Kernel, i uint32, size uintptr, value unsafe.Pointer) int32 `sym:"clSetKernelArg"`
	GetKernelInfo    Info[Kernel]                                                       `sym:"clGetKernelInfo"`
	GetKernelArgInfo func(k Kernel, i, param uint32, size uintptr, value unsafe.Pointer,
		sizeRet *uintptr) int32 `sym:"clGetKernelArgInfo" dl:"optional"`
	GetKernelWorkGroupInfo func(k Kernel, d Device, param uint32, size uintptr, value unsafe.Pointer,
		sizeRet *uintptr) int32 `sym:"clGetKernelWorkGroupInfo"`
	ReleaseKernel func(k Kernel) int32 `sym:"clReleaseKernel"`

	WaitForEvents         func(n uint32, events *Event) int32  `sym:"clWaitForEvents"`
	GetEventInfo          Info[Event]                          `sym:"clGetEventInfo"`
	GetEventProfilingInfo Info[Event]                          `sym:"clGetEventProfilingInfo"`
	CreateUserEvent       func(c Context, status *int32) Event `sym:"clCreateUserEvent" dl:"optional"`
	SetUserEventStatus    func(e Event, status int32) int32    `sym:"clSetUserEventStatus" dl:"optional"`
	ReleaseEvent          func(e Event) int32                  `sym:"clReleaseEvent"`

	EnqueueReadBuffer  HostCopy `sym:"clEnqueueReadBuffer"`
	EnqueueWriteBuffer HostCopy `sym:"clEnqueueWriteBuffer"`
	EnqueueCopyBuffer  func(q Queue, src, dst Mem, srcOff, dstOff, size uintptr, n uint32,
		wait, ev *Event) int32 `sym:"clEnqueueCopyBuffer"`
	EnqueueFillBuffer func(q Queue, m Mem, pattern unsafe.Pointer, patternSize, off, size uintptr, n uint32,
		wait, ev *Event) int32 `sym:"clEnqueueFillBuffer" dl:"optional"`
	EnqueueReadImage  HostImageCopy `sym:"clEnqueueReadImage"`
	EnqueueWriteImage HostImageCopy `sym:"clEnqueueWriteImage"`
	EnqueueMapBuffer  func(q Queue, m Mem, blocking uint32, flags uint64, off, size uintptr, n uint32, wait, ev *Event,
		status *int32) unsafe.Pointer `sym:"clEnqueueMapBuffer"`
	EnqueueMapImage func(q Queue, m Mem, blocking uint32, flags uint64, origin, region *[3]uintptr, rowPitch,
		slicePitch *uintptr,
		n uint32, wait, ev *Event, status *int32) unsafe.Pointer `sym:"clEnqueueMapImage"`
	EnqueueUnmapMemObject func(q Queue, m Mem, mapped unsafe.Pointer, n uint32, wait,
		ev *Event) int32 `sym:"clEnqueueUnmapMemObject"`
	EnqueueNDRangeKernel func(q Queue, k Kernel, dims uint32, offset, global, local *[3]uintptr, n uint32,
		wait, ev *Event) int32 `sym:"clEnqueueNDRangeKernel"`
	EnqueueTask               func(q Queue, k Kernel, n uint32, wait, ev *Event) int32 `sym:"clEnqueueTask"`
	EnqueueMarkerWithWaitList func(q Queue, n uint32, wait,
		ev *Event) int32 `sym:"clEnqueueMarkerWithWaitList" dl:"optional"`
	EnqueueBarrierWithWaitList func(q Queue, n uint32, wait,
		ev *Event) int32 `sym:"clEnqueueBarrierWithWaitList" dl:"optional"`
}

// API has the table to call through, from when Load has succeeded. Tests put others there.
var API atomic.Pointer[Table]

// Current is the table to call through. It is nil until Load has succeeded.
func Current() *Table { return API.Load() }

// Load loads the library on its first call, and gives the same result on every later one. The error
// names every library that was tried, and why each failed.
var Load = sync.OnceValue(load)

func load() error {
	lib, err := dl.Open(libraries()...)
	if err != nil {
		return dl.Advise(err, hint())
	}
	t := new(Table)
	if err := bind(lib, t); err != nil {
		return fmt.Errorf("%s is no OpenCL library: %w", lib.Name(), err)
	}
	API.Store(t)
	return nil
}

// libraries lists the names to try, best first.
func libraries() []string {
	if name := os.Getenv(EnvLibrary); name != "" {
		return []string{name}
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

// hint says which libraries are tried.
func hint() string {
	if os.Getenv(EnvLibrary) != "" {
		return EnvLibrary + " names it, so no other was tried"
	}
	return EnvLibrary + " can name another"
}

// bind fills t. The functions of every launch, and of the wait for it, go through dl.Call, which
// allocates nothing.
func bind(lib *dl.Library, t *Table) error {
	if err := dl.Bind(lib, t); err != nil {
		return err
	}
	setArg, err1 := lib.Symbol("clSetKernelArg")
	launch, err2 := lib.Symbol("clEnqueueNDRangeKernel")
	flush, err3 := lib.Symbol("clFlush")
	finish, err4 := lib.Symbol("clFinish")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	t.Flush = func(q Queue) int32 { return int32(dl.Call(flush, uintptr(q))) }
	t.Finish = func(q Queue) int32 { return int32(dl.Call(finish, uintptr(q))) }
	t.SetKernelArg = func(k Kernel, i uint32, size uintptr, value unsafe.Pointer) int32 {
		r := dl.Call(setArg, uintptr(k), uintptr(i), size, uintptr(value))
		runtime.KeepAlive(value)
		return int32(r)
	}
	t.EnqueueNDRangeKernel = func(q Queue, k Kernel, dims uint32, offset, global, local *[3]uintptr, n uint32, wait,
		ev *Event,
	) int32 {
		r := dl.Call(launch, uintptr(q), uintptr(k), uintptr(dims), uintptr(unsafe.Pointer(offset)),
			uintptr(unsafe.Pointer(global)),
			uintptr(unsafe.Pointer(local)), uintptr(n), uintptr(unsafe.Pointer(wait)), uintptr(unsafe.Pointer(ev)))
		runtime.KeepAlive(offset)
		runtime.KeepAlive(global)
		runtime.KeepAlive(local)
		runtime.KeepAlive(wait)
		runtime.KeepAlive(ev)
		return int32(r)
	}
	return nil
}
