package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

// cudaTable is what cuBLAS needs around it of CUDA's driver interface.
type cudaTable struct {
	Init        func(flags uint32) int32          `sym:"cuInit"`
	DeviceGet   func(d *int32, i int32) int32     `sym:"cuDeviceGet"`
	Retain      func(ctx *uintptr, d int32) int32 `sym:"cuDevicePrimaryCtxRetain"`
	Release     func(d int32) int32               `sym:"cuDevicePrimaryCtxRelease_v2,cuDevicePrimaryCtxRelease"`
	SetCurrent  func(ctx uintptr) int32           `sym:"cuCtxSetCurrent"`
	Synchronize func() int32                      `sym:"cuCtxSynchronize"`
	Alloc       func(p *uintptr, n uintptr) int32 `sym:"cuMemAlloc_v2"`
	Free        func(p uintptr) int32             `sym:"cuMemFree_v2"`

	Write func(dst uintptr, src unsafe.Pointer, n uintptr) int32 `sym:"cuMemcpyHtoD_v2"`
	Read  func(dst unsafe.Pointer, src uintptr, n uintptr) int32 `sym:"cuMemcpyDtoH_v2"`
}

// cublasTable is what is used of cuBLAS. Its matrices are column-major, and the scalars are passed
// by address.
type cublasTable struct {
	Create  func(h *uintptr) int32            `sym:"cublasCreate_v2"`
	Destroy func(h uintptr) int32             `sym:"cublasDestroy_v2"`
	Version func(h uintptr, v *int32) int32   `sym:"cublasGetVersion_v2"`
	SetMath func(h uintptr, mode int32) int32 `sym:"cublasSetMathMode"`
	Sgemm   func(h uintptr, ta, tb, m, n, k int32, alpha *float32, a uintptr, lda int32, b uintptr, ldb int32,
		beta *float32, c uintptr, ldc int32) int32 `sym:"cublasSgemm_v2"`
	Dgemm func(h uintptr, ta, tb, m, n, k int32, alpha *float64, a uintptr, lda int32, b uintptr, ldb int32,
		beta *float64, c uintptr, ldc int32) int32 `sym:"cublasDgemm_v2"`
}

// cublas is cuBLAS on one device. A context belongs to a thread.
type cublas struct {
	cuda    cudaTable
	blas    cublasTable
	device  int32
	version int32
	ctx     uintptr
	handle  uintptr
	single  [2]float32 // 0 and 1
	double  [2]float64
}

func newCUBLAS(device backend.Info) (*cublas, error) {
	driver, names := "libcuda.so.1", []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}
	if runtime.GOOS == "windows" {
		driver, names = "nvcuda.dll", []string{"cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll"}
	}
	l := &cublas{single: [2]float32{0, 1}, double: [2]float64{0, 1}}
	if err := bind(names, &l.blas, []string{driver}, &l.cuda); err != nil {
		return nil, err
	}
	if err := cmp.Or(status("cuInit", l.cuda.Init(0)),
		status("cuDeviceGet", l.cuda.DeviceGet(&l.device, int32(device.Index))),
		status("cuDevicePrimaryCtxRetain", l.cuda.Retain(&l.ctx, l.device))); err != nil {
		return nil, err
	}
	err := l.within(func() error {
		return cmp.Or(status("cublasCreate", l.blas.Create(&l.handle)),
			status("cublasGetVersion", l.blas.Version(l.handle, &l.version)),
			status("cublasSetMathMode", l.blas.SetMath(l.handle, 0))) // CUBLAS_DEFAULT_MATH, which has no TF32
	})
	if err != nil {
		l.cuda.Release(l.device)
		return nil, err
	}
	return l, nil
}

func (l *cublas) detail() string { return fmt.Sprintf("version %d, without TF32", l.version) }

// within calls f on a thread that has the context.
func (l *cublas) within(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := status("cuCtxSetCurrent", l.cuda.SetCurrent(l.ctx)); err != nil {
		return err
	}
	return f()
}

func (l *cublas) alloc(bytes int) (at uintptr, err error) {
	err = status("cuMemAlloc", l.cuda.Alloc(&at, uintptr(bytes)))
	return at, err
}

func (l *cublas) free(at uintptr) { l.cuda.Free(at) }

func (l *cublas) write(at uintptr, data []byte) error {
	return status("cuMemcpyHtoD", l.cuda.Write(at, address(data), uintptr(len(data))))
}

func (l *cublas) read(data []byte, at uintptr) error {
	return status("cuMemcpyDtoH", l.cuda.Read(address(data), at, uintptr(len(data))))
}

// gemm is row-major C = A*B, which is column-major C' = B'*A'.
func (l *cublas) gemm(g *gemm, a, b, c uintptr) error {
	m, n, k := int32(g.m), int32(g.n), int32(g.k)
	var code int32
	if g.typ == element.Float32 {
		code = l.blas.Sgemm(l.handle, 0, 0, n, m, k, &l.single[1], b, n, a, k, &l.single[0], c, n)
	} else {
		code = l.blas.Dgemm(l.handle, 0, 0, n, m, k, &l.double[1], b, n, a, k, &l.double[0], c, n)
	}
	return status("cublasGemm", code)
}

func (l *cublas) wait() error { return status("cuCtxSynchronize", l.cuda.Synchronize()) }

func (l *cublas) close() {
	l.within(func() error { return status("cublasDestroy", l.blas.Destroy(l.handle)) })
	l.cuda.Release(l.device)
}
