package bench

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

// clTable is what CLBlast needs around it of OpenCL: a context, a queue and buffers of its own.
type clTable struct {
	Platforms     func(n uint32, list *uintptr, found *uint32) int32                            `sym:"clGetPlatformIDs"`
	Devices       func(p uintptr, kind uint64, n uint32, list *uintptr, found *uint32) int32    `sym:"clGetDeviceIDs"`
	DeviceInfo    func(d uintptr, param uint32, size uintptr, value *byte, need *uintptr) int32 `sym:"clGetDeviceInfo"`
	CreateContext func(properties *uintptr, n uint32, devices *uintptr, notify, data uintptr,
		status *int32) uintptr `sym:"clCreateContext"`
	CreateQueue  func(ctx, device uintptr, properties uint64, status *int32) uintptr `sym:"clCreateCommandQueue"`
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
		c, cOff, ldc uintptr, queue *uintptr, event uintptr) int32 `sym:"CLBlastSgemm"`
	Dgemm func(layout, ta, tb int32, m, n, k uintptr, alpha float64, a, aOff, lda, b, bOff, ldb uintptr, beta float64,
		c, cOff, ldc uintptr, queue *uintptr, event uintptr) int32 `sym:"CLBlastDgemm"`
}

// newCLBlast opens CLBlast on one device.
func newCLBlast(device backend.Info) (*foreign, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("not looked for on %s", runtime.GOOS)
	}
	var cl clTable
	var blas clblastTable
	if err := bind([]string{"libclblast.so.1"}, &blas, []string{"libOpenCL.so.1"}, &cl); err != nil {
		return nil, err
	}
	id, err := cl.find(device)
	if err != nil {
		return nil, err
	}
	var code int32
	ctx := cl.CreateContext(nil, 1, &id, 0, 0, &code)
	if code != 0 {
		return nil, status("clCreateContext", code)
	}
	queue := cl.CreateQueue(ctx, id, 0, &code)
	if code != 0 {
		cl.ReleaseCtx(ctx)
		return nil, status("clCreateCommandQueue", code)
	}
	return &foreign{
		detail: "libclblast.so.1, its own parameters for the device",
		within: func(f func() error) error { return f() },
		alloc: func(bytes int) (uintptr, error) {
			const readWrite = 1
			var code int32
			b := cl.CreateBuffer(ctx, readWrite, uintptr(bytes), nil, &code)
			return b, status("clCreateBuffer", code)
		},
		free: func(at uintptr) { cl.ReleaseBuffer(at) },
		write: func(at uintptr, mem []byte) error {
			return status("clEnqueueWriteBuffer", cl.Write(queue, at, 1, 0, uintptr(len(mem)), address(mem), 0, 0, 0))
		},
		read: func(at uintptr, mem []byte) error {
			return status("clEnqueueReadBuffer", cl.Read(queue, at, 1, 0, uintptr(len(mem)), address(mem), 0, 0, 0))
		},
		gemm:  func(t *task, a, b, c uintptr) error { return status("CLBlast", blas.gemm(t, a, b, c, &queue)) },
		wait:  func() error { return status("clFinish", cl.Finish(queue)) },
		close: func() { cl.ReleaseQueue(queue); cl.ReleaseCtx(ctx) },
	}, nil
}

func (l *clblastTable) gemm(t *task, a, b, c uintptr, queue *uintptr) int32 {
	const order, trans = cblasRowMajor, cblasNoTrans
	x, y := &t.operands[0], &t.operands[1]
	m, n, k := uintptr(x.rows), uintptr(y.cols), uintptr(x.cols)
	if x.typ == element.Float32 {
		return l.Sgemm(order, trans, trans, m, n, k, 1, a, 0, k, b, 0, n, 0, c, 0, n, queue, 0)
	}
	return l.Dgemm(order, trans, trans, m, n, k, 1, a, 0, k, b, 0, n, 0, c, 0, n, queue, 0)
}

// find is the device that the session runs on: the one at its index, if it has its name.
func (cl *clTable) find(device backend.Info) (uintptr, error) {
	const allDevices, deviceName = 0xFFFFFFFF, 0x102B
	var all []uintptr
	for _, p := range idList(cl.Platforms) {
		all = append(all, idList(func(n uint32, list *uintptr, found *uint32) int32 {
			return cl.Devices(p, allDevices, n, list, found)
		})...)
	}
	if device.Index >= len(all) {
		return 0, fmt.Errorf("OpenCL lists no device %d", device.Index)
	}
	var name [1024]byte
	code := cl.DeviceInfo(all[device.Index], deviceName, uintptr(len(name)), &name[0], nil)
	text, _, _ := strings.Cut(string(name[:]), "\x00")
	if code != 0 || strings.TrimSpace(text) != strings.TrimSpace(device.Name) {
		return 0, fmt.Errorf("device %d is %s, not %s", device.Index, text, device.Name)
	}
	return all[device.Index], nil
}

func idList(get func(n uint32, list *uintptr, found *uint32) int32) []uintptr {
	var n uint32
	list := make([]uintptr, 64)
	if get(uint32(len(list)), &list[0], &n) != 0 {
		return nil
	}
	return list[:min(int(n), len(list))]
}

func address(s []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
