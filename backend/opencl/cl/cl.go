package cl

import (
	"bytes"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// Load loads the system's OpenCL library: libOpenCL.so.1 or libOpenCL.so, OpenCL.dll, or the OpenCL
// framework of macOS, or else only the library that the environment variable TANDEM_OPENCL_LIBRARY
// names. The work is done once. The error names everything that was tried. GetPlatforms calls Load;
// a program need not.
func Load() error { return capi.Load() }

// infoFunc is one of C's clGet...Info functions with its object and parameter already given.
type infoFunc func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32

// listOf makes a list of as many elements as a driver tells of: that can be garbage.
func listOf[T any, N uint32 | uintptr](n N) ([]T, error) {
	const most = 1 << 28 // bytes
	if size := unsafe.Sizeof(*new(T)); uint64(n) > most/uint64(size) {
		return nil, fmt.Errorf("cl: the driver tells of %d elements of %d bytes, which cannot be", n, size)
	}
	return make([]T, n), nil
}

// listAll lists all that get, one of C's functions that count and list, knows of.
func listAll[T any](get func(n uint32, list *T, num *uint32) int32) ([]T, error) {
	var n uint32
	if err := toError(get(0, nil, &n)); err != nil || n == 0 {
		return nil, err
	}
	list, err := listOf[T](n)
	if err != nil {
		return nil, err
	}
	if err := toError(get(n, &list[0], &n)); err != nil {
		return nil, err
	}
	return list[:min(int(n), len(list))], nil
}

// infoList is a value that is an array.
func infoList[T any](get infoFunc) ([]T, error) {
	var n uintptr
	if err := toError(get(0, nil, &n)); err != nil {
		return nil, err
	}
	list, err := listOf[T](n / unsafe.Sizeof(*new(T)))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list, toError(get(n, unsafe.Pointer(&list[0]), nil))
}

// infoString is a text without C's terminating zero.
func infoString(get infoFunc) (string, error) {
	b, err := infoList[byte](get)
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text), err
}

// infoValue is a value of fixed size.
func infoValue[T any](get infoFunc) (T, error) {
	v := new(T)
	if err := toError(get(unsafe.Sizeof(*v), unsafe.Pointer(v), nil)); err != nil {
		return *new(T), err
	}
	return *v, nil
}

// cString is s with C's terminating zero.
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// pinned makes a C array of pointers to Go memory. Such an array may be given to C only while what
// it points to is pinned.
func pinned(p *runtime.Pinner, list []*byte) **byte {
	for _, b := range list {
		if b != nil {
			p.Pin(b)
		}
	}
	return unsafe.SliceData(list)
}

func clBool(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// sizes3 converts an origin or a region.
func sizes3(v [3]int) *[3]uintptr {
	return &[3]uintptr{uintptr(v[0]), uintptr(v[1]), uintptr(v[2])}
}
