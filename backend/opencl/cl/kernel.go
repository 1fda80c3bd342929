package cl

import (
	"math"
	"sync"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A Kernel is one function of a program with its arguments.
//
// Its methods may be called from many goroutines, but arguments belong to the kernel, not to a
// launch: goroutines that set arguments and launch need a lock around both, or a kernel each.
type Kernel struct {
	h *handle

	mu      sync.Mutex
	mems    []*MemObject // the memory objects among the arguments: C does not keep them
	scratch struct {     // what C reads during a call, here so that no call allocates
		bits          uint64
		global, local [3]uintptr
	}
}

// LocalBuffer is an argument of Kernel.SetArg for a __local pointer: its size in bytes.
type LocalBuffer int

// Release gives the kernel back. Launches that are queued still run. It is idempotent.
func (k *Kernel) Release() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mems = nil
	k.h.release()
}

func (k *Kernel) handle() *handle {
	if k == nil {
		return nil
	}
	return k.h
}

// SetArgs sets all arguments, as SetArg does.
func (k *Kernel) SetArgs(args ...interface{}) error {
	for i, arg := range args {
		if err := k.SetArg(i, arg); err != nil {
			return err
		}
	}
	return nil
}

// SetArg sets an argument. arg is a *MemObject, a LocalBuffer, an int8, uint8, int32, uint32,
// int64, uint64, float32 or float64; anything else, also an int, is an ErrUnsupportedArgumentType.
func (k *Kernel) SetArg(index int, arg interface{}) error {
	switch v := arg.(type) {
	case uint8:
		return k.SetArgUint8(index, v)
	case int8:
		return k.SetArgInt8(index, v)
	case uint32:
		return k.SetArgUint32(index, v)
	case int32:
		return k.SetArgInt32(index, v)
	case uint64:
		return k.SetArgUint64(index, v)
	case int64:
		return k.SetArgInt64(index, v)
	case float32:
		return k.SetArgFloat32(index, v)
	case float64:
		return k.SetArgScalar(index, math.Float64bits(v), 8)
	case *MemObject:
		return k.SetArgBuffer(index, v)
	case LocalBuffer:
		return k.SetArgLocal(index, int(v))
	}
	return ErrUnsupportedArgumentType{Index: index, Value: arg}
}

// SetArgBuffer sets a buffer or image argument.
func (k *Kernel) SetArgBuffer(index int, buffer *MemObject) error { return k.SetArgMem(index, buffer) }

// SetArgFloat32 sets a float.
func (k *Kernel) SetArgFloat32(index int, val float32) error {
	return k.SetArgScalar(index, uint64(math.Float32bits(val)), 4)
}

// SetArgInt8 sets a char.
func (k *Kernel) SetArgInt8(index int, val int8) error {
	return k.SetArgScalar(index, uint64(uint8(val)), 1)
}

// SetArgUint8 sets a uchar.
func (k *Kernel) SetArgUint8(index int, val uint8) error {
	return k.SetArgScalar(index, uint64(val), 1)
}

// SetArgInt32 sets an int.
func (k *Kernel) SetArgInt32(index int, val int32) error {
	return k.SetArgScalar(index, uint64(uint32(val)), 4)
}

// SetArgUint32 sets a uint.
func (k *Kernel) SetArgUint32(index int, val uint32) error {
	return k.SetArgScalar(index, uint64(val), 4)
}

// SetArgInt64 sets a long.
func (k *Kernel) SetArgInt64(index int, val int64) error {
	return k.SetArgScalar(index, uint64(val), 8)
}

// SetArgUint64 sets a ulong.
func (k *Kernel) SetArgUint64(index int, val uint64) error { return k.SetArgScalar(index, val, 8) }

// SetArgLocal sets the size in bytes of a __local pointer's memory.
func (k *Kernel) SetArgLocal(index, size int) error { return k.SetArgUnsafe(index, size, nil) }

// SetArgUnsafe sets an argument of argSize bytes, which are copied from arg. It is for structures
// and vectors; a memory object set this way is not kept alive.
func (k *Kernel) SetArgUnsafe(index, argSize int, arg unsafe.Pointer) error {
	if argSize < 0 {
		return ErrInvalidArgSize
	}
	if err := k.acquire(); err != nil {
		return err
	}
	defer k.drop()
	return k.set(index, uintptr(argSize), arg, nil)
}

// SetArgScalar sets a scalar of size bytes, 1, 2, 4 or 8: the low bytes of bits. It allocates
// nothing.
func (k *Kernel) SetArgScalar(i int, bits uint64, size int) error {
	if size != 1 && size != 2 && size != 4 && size != 8 {
		return ErrInvalidArgSize
	}
	if err := k.acquire(); err != nil {
		return err
	}
	defer k.drop()
	k.scratch.bits = bits // every platform that Go and OpenCL share is little-endian
	return k.set(i, uintptr(size), unsafe.Pointer(&k.scratch.bits), nil)
}

// SetArgMem sets a buffer or image argument. It allocates nothing after the first time. The kernel
// keeps m from being collected, not from being released: a launch after m.Release is
// ErrInvalidMemObject.
func (k *Kernel) SetArgMem(i int, m *MemObject) error {
	if err := k.acquire(); err != nil {
		return err
	}
	defer k.drop()
	if !m.handle().acquire() {
		return ErrInvalidMemObject
	}
	defer m.h.drop()
	return k.set(i, unsafe.Sizeof(m.h.id), unsafe.Pointer(&m.h.id), m)
}

// set calls C and remembers m, which is nil for other arguments. The caller has locked the kernel.
func (k *Kernel) set(i int, size uintptr, value unsafe.Pointer, m *MemObject) error {
	if i < 0 || uint64(i) > math.MaxUint32 {
		return ErrInvalidArgIndex
	}
	if status := api().SetKernelArg(capi.Kernel(k.h.id), uint32(i), size, value); status != capi.Success {
		return toError(status)
	}
	for len(k.mems) <= i {
		k.mems = append(k.mems, nil)
	}
	k.mems[i] = m
	return nil
}

// acquire locks the kernel, which is not released before drop.
func (k *Kernel) acquire() error {
	if k == nil {
		return ErrInvalidKernel
	}
	k.mu.Lock()
	if !k.h.acquire() {
		k.mu.Unlock()
		return ErrInvalidKernel
	}
	return nil
}

func (k *Kernel) drop() {
	k.h.drop()
	k.mu.Unlock()
}

// acquireArgs is acquire for the kernel and its memory objects, as a launch needs them.
func (k *Kernel) acquireArgs() error {
	if err := k.acquire(); err != nil {
		return err
	}
	for i, m := range k.mems {
		if m != nil && !m.h.acquire() {
			k.dropArgs(i)
			return ErrInvalidMemObject
		}
	}
	return nil
}

// dropArgs undoes acquireArgs for the first n arguments.
func (k *Kernel) dropArgs(n int) {
	for _, m := range k.mems[:n] {
		if m != nil {
			m.h.drop()
		}
	}
	k.drop()
}

func (k *Kernel) workGroupInfo(device *Device, param uint32) infoFunc {
	return func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		return api().GetKernelWorkGroupInfo(capi.Kernel(k.h.id), device.nullableID(), param, size, value, sizeRet)
	}
}

// kernelInfo reads one value of the kernel.
func kernelInfo[T any](k *Kernel, get infoFunc) (T, error) {
	if !k.handle().acquire() {
		return *new(T), ErrInvalidKernel
	}
	defer k.h.drop()
	return infoValue[T](get)
}

// PreferredWorkGroupSizeMultiple is a number of work-items of which a good work-group size is a
// multiple. device may be nil where the kernel is built for one device only. So it is for the other
// methods with a device.
func (k *Kernel) PreferredWorkGroupSizeMultiple(device *Device) (int, error) {
	n, err := kernelInfo[uintptr](k, k.workGroupInfo(device, 0x11B3))
	return int(n), err
}

// WorkGroupSize is the largest number of work-items of a work-group with which the kernel can run
// on device.
func (k *Kernel) WorkGroupSize(device *Device) (int, error) {
	n, err := kernelInfo[uintptr](k, k.workGroupInfo(device, 0x11B0))
	return int(n), err
}

// CompileWorkGroupSize is the work-group size that the source demands with reqd_work_group_size,
// all 0 where it demands none.
func (k *Kernel) CompileWorkGroupSize(device *Device) ([3]int, error) {
	n, err := kernelInfo[[3]uintptr](k, k.workGroupInfo(device, 0x11B1))
	return [3]int{int(n[0]), int(n[1]), int(n[2])}, err
}

// LocalMemSize is the local memory in bytes that the kernel uses for a work-group, with the
// arguments set so far.
func (k *Kernel) LocalMemSize(device *Device) (int64, error) {
	n, err := kernelInfo[uint64](k, k.workGroupInfo(device, 0x11B2))
	return int64(n), err
}

// NumArgs is the number of arguments.
func (k *Kernel) NumArgs() (int, error) {
	n, err := kernelInfo[uint32](k, func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		return api().GetKernelInfo(capi.Kernel(k.h.id), 0x1191, size, value, sizeRet)
	})
	return int(n), err
}

// argInfo runs read on a property of an argument.
func (k *Kernel) argInfo(index int, param uint32, read func(infoFunc) error) error {
	if index < 0 || uint64(index) > math.MaxUint32 {
		return ErrInvalidArgIndex
	}
	if api() != nil && api().GetKernelArgInfo == nil {
		return ErrUnsupported
	}
	if !k.handle().acquire() {
		return ErrInvalidKernel
	}
	defer k.h.drop()
	return read(func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		return api().GetKernelArgInfo(capi.Kernel(k.h.id), uint32(index), param, size, value, sizeRet)
	})
}

func (k *Kernel) argText(index int, param uint32) (text string, err error) {
	err = k.argInfo(index, param, func(get infoFunc) (err error) {
		text, err = infoString(get)
		return err
	})
	return text, err
}

// ArgName is the name of an argument in the source. Many implementations know it only for a program
// built from source with the option -cl-kernel-arg-info; otherwise the error is
// ErrKernelArgInfoNotAvailable, or ErrUnsupported from a library older than OpenCL 1.2. So it is
// for the other methods about arguments.
func (k *Kernel) ArgName(index int) (string, error) { return k.argText(index, 0x119A) }

// ArgTypeName is the type of an argument in the source, without qualifiers and spaces: "float*",
// "uint".
func (k *Kernel) ArgTypeName(i int) (string, error) { return k.argText(i, 0x1198) }

// ArgIsGlobalPointer tells whether an argument is a pointer to __global or __constant memory, which
// a buffer is passed for. An image also counts as __global.
func (k *Kernel) ArgIsGlobalPointer(i int) (bool, error) {
	var q uint32
	err := k.argInfo(i, 0x1196, func(get infoFunc) (err error) {
		q, err = infoValue[uint32](get)
		return err
	})
	const global, constant = 0x119B, 0x119D // CL_KERNEL_ARG_ADDRESS_...
	return q == global || q == constant, err
}
