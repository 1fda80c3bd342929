package bench

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// clTable is what CLBlast needs around it of OpenCL: a context, a queue and buffers of its own.
type clTable struct {
	Platforms func(n uint32, list *uintptr,
		found *uint32) int32 `sym:"clGetPlatformIDs"`
	PlatformInfo func(p uintptr, param uint32, size uintptr, value *byte,
		need *uintptr) int32 `sym:"clGetPlatformInfo"`
	Devices func(p uintptr, kind uint64, n uint32, list *uintptr,
		found *uint32) int32 `sym:"clGetDeviceIDs"`
	DeviceInfo func(d uintptr, param uint32, size uintptr, value *byte,
		need *uintptr) int32 `sym:"clGetDeviceInfo"`
	CreateContext func(properties *uintptr, n uint32, devices *uintptr, notify, data uintptr,
		status *int32) uintptr `sym:"clCreateContext"`
	CreateQueue func(ctx, device uintptr, properties uint64,
		status *int32) uintptr `sym:"clCreateCommandQueue"`
	CreateBuffer func(ctx uintptr, flags uint64, size uintptr, host unsafe.Pointer,
		status *int32) uintptr `sym:"clCreateBuffer"`
	Read func(q, b uintptr, block uint32, off, n uintptr, p unsafe.Pointer, events uint32, wait,
		ev uintptr) int32 `sym:"clEnqueueReadBuffer"`
	Write func(q, b uintptr, block uint32, off, n uintptr, p unsafe.Pointer, events uint32, wait,
		ev uintptr) int32 `sym:"clEnqueueWriteBuffer"`
	Finish        func(q uintptr) int32   `sym:"clFinish"`
	ReleaseBuffer func(b uintptr) int32   `sym:"clReleaseMemObject"`
	ReleaseQueue  func(q uintptr) int32   `sym:"clReleaseCommandQueue"`
	ReleaseCtx    func(ctx uintptr) int32 `sym:"clReleaseContext"`
}

// clblastTable is what is used of CLBlast. Offsets and leading dimensions are in elements.
type clblastTable struct {
	Sgemm func(layout, ta, tb int32, m, n, k uintptr, alpha float32, a, aOff, lda, b, bOff, ldb uintptr, beta float32,
		c, cOff, ldc uintptr,
		queue *uintptr, event uintptr) int32 `sym:"CLBlastSgemm"`
	Dgemm func(layout, ta, tb int32, m, n, k uintptr, alpha float64, a, aOff, lda, b, bOff, ldb uintptr, beta float64,
		c, cOff, ldc uintptr,
		queue *uintptr, event uintptr) int32 `sym:"CLBlastDgemm"`
}

// clblast is CLBlast on one device.
type clblast struct {
	cl         clTable
	blas       clblastTable
	ctx, queue uintptr
}

func openCLBlast(device backend.Info) *library {
	const name = "CLBlast"
	l, err := newCLBlast(device)
	if err != nil {
		return absent(name, err)
	}
	return &library{
		info:  PeerInfo{Name: name, Loaded: true, Detail: "libclblast.so.1, its own parameters for " + device.Name},
		place: "device",
		float32: func(p problem[float32]) (*job, error) {
			m, n, k := uintptr(p.m), uintptr(p.n), uintptr(p.k)
			return clblastJob(l, p, func(a, b, c uintptr) int32 {
				return l.blas.Sgemm(cblasRowMajor, cblasNoTrans, cblasNoTrans, m, n, k, 1, a, 0, k, b, 0, n, 0, c, 0, n,
					&l.queue, 0)
			})
		},
		float64: func(p problem[float64]) (*job, error) {
			m, n, k := uintptr(p.m), uintptr(p.n), uintptr(p.k)
			return clblastJob(l, p, func(a, b, c uintptr) int32 {
				return l.blas.Dgemm(cblasRowMajor, cblasNoTrans, cblasNoTrans, m, n, k, 1, a, 0, k, b, 0, n, 0, c, 0, n,
					&l.queue, 0)
			})
		},
		close: l.close,
	}
}

func newCLBlast(device backend.Info) (*clblast, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("not looked for on %s", runtime.GOOS)
	}
	l := new(clblast)
	for _, lib := range []struct {
		name  string
		table any
	}{{"libclblast.so.1", &l.blas}, {"libOpenCL.so.1", &l.cl}} {
		handle, err := dl.Open(lib.name)
		if err == nil {
			err = dl.Bind(handle, lib.table)
		}
		if err != nil {
			return nil, err
		}
	}
	id, err := l.find(device)
	if err != nil {
		return nil, err
	}
	var status int32
	if l.ctx = l.cl.CreateContext(nil, 1, &id, 0, 0, &status); status != 0 {
		return nil, clError("clCreateContext", status)
	}
	if l.queue = l.cl.CreateQueue(l.ctx, id, 0, &status); status != 0 {
		l.cl.ReleaseCtx(l.ctx)
		return nil, clError("clCreateCommandQueue", status)
	}
	return l, nil
}

func (l *clblast) close() {
	l.cl.ReleaseQueue(l.queue)
	l.cl.ReleaseCtx(l.ctx)
}

func clError(call string, status int32) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: status %d", call, status)
}

// Parameters of clGetPlatformInfo and clGetDeviceInfo.
const (
	clPlatformVersion = 0x0901
	clPlatformName    = 0x0902
	clDriverVersion   = 0x102D
	clAllDevices      = 0xFFFFFFFF
)

// find is the device that the session runs on: the one at its index, if that is of the same
// platform and driver.
func (l *clblast) find(device backend.Info) (uintptr, error) {
	platforms := idList(func(n uint32, list *uintptr, found *uint32) int32 { return l.cl.Platforms(n, list, found) })
	index := 0
	for _, p := range platforms {
		devices := idList(func(n uint32, list *uintptr, found *uint32) int32 {
			return l.cl.Devices(p, clAllDevices, n, list, found)
		})
		for _, d := range devices {
			if index != device.Index {
				index++
				continue
			}
			platform := func(param uint32) string {
				return infoText(func(size uintptr, value *byte, need *uintptr) int32 {
					return l.cl.PlatformInfo(p, param, size, value, need)
				})
			}
			driver := infoText(func(size uintptr, value *byte, need *uintptr) int32 {
				return l.cl.DeviceInfo(d, clDriverVersion, size, value, need)
			})
			if platform(clPlatformName) == device.Platform &&
				driver+"; "+platform(clPlatformVersion) == device.Version {
				return d, nil
			}
			return 0, fmt.Errorf("device %d is of %s, not of %s", index, platform(clPlatformName), device.Platform)
		}
	}
	return 0, fmt.Errorf("OpenCL lists no device %d", device.Index)
}

func idList(get func(n uint32, list *uintptr, found *uint32) int32) []uintptr {
	var n uint32
	if get(0, nil, &n) != 0 || n == 0 {
		return nil
	}
	list := make([]uintptr, n)
	if get(n, &list[0], &n) != 0 {
		return nil
	}
	return list[:min(int(n), len(list))]
}

func infoText(get func(size uintptr, value *byte, need *uintptr) int32) string {
	var n uintptr
	if get(0, nil, &n) != 0 || n == 0 {
		return ""
	}
	b := make([]byte, n)
	if get(n, &b[0], &n) != 0 {
		return ""
	}
	return strings.TrimRight(string(b), "\x00")
}

// clblastJob copies the operands to the device, where gemm multiplies them.
func clblastJob[T float32 | float64](l *clblast, p problem[T], gemm func(a, b, c uintptr) int32) (*job, error) {
	var buffers [3]uintptr
	free := func() {
		for _, b := range buffers {
			if b != 0 {
				l.cl.ReleaseBuffer(b)
			}
		}
	}
	const readWrite = 1
	const blocking = 1
	for i, s := range [][]T{p.a, p.b, p.c} {
		var status int32
		b := l.cl.CreateBuffer(l.ctx, readWrite, bytesOf(s), nil, &status)
		if status != 0 {
			free()
			return nil, clError("clCreateBuffer", status)
		}
		buffers[i] = b
		if status := l.cl.Write(l.queue, b, blocking, 0, bytesOf(s), address(s), 0, 0, 0); status != 0 {
			free()
			return nil, clError("clEnqueueWriteBuffer", status)
		}
	}
	a, b, c := buffers[0], buffers[1], buffers[2]
	return &job{
		run: func(runs int) error {
			for range runs {
				if status := gemm(a, b, c); status != 0 {
					return clError("CLBlast", status)
				}
			}
			return clError("clFinish", l.cl.Finish(l.queue))
		},
		put: func() error {
			return clError("clEnqueueWriteBuffer",
				l.cl.Write(l.queue, c, blocking, 0, bytesOf(p.c), address(p.c), 0, 0, 0))
		},
		get: func() error {
			return clError("clEnqueueReadBuffer",
				l.cl.Read(l.queue, c, blocking, 0, bytesOf(p.c), address(p.c), 0, 0, 0))
		},
		close: free,
	}, nil
}

func bytesOf[T any](s []T) uintptr {
	var t T
	return uintptr(len(s)) * unsafe.Sizeof(t)
}
