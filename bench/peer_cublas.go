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

// newCUBLAS opens cuBLAS on one device.
func newCUBLAS(device backend.Info) (*foreign, error) {
	driver, names := "libcuda.so.1", []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}
	if runtime.GOOS == "windows" {
		driver, names = "nvcuda.dll", []string{"cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll"}
	}
	var cuda cudaTable
	var blas cublasTable
	if err := bind(names, &blas, []string{driver}, &cuda); err != nil {
		return nil, err
	}
	var number, version int32
	var ctx, handle uintptr
	if err := cmp.Or(status("cuInit", cuda.Init(0)),
		status("cuDeviceGet", cuda.DeviceGet(&number, int32(device.Index))),
		status("cuDevicePrimaryCtxRetain", cuda.Retain(&ctx, number))); err != nil {
		return nil, err
	}
	within := func(f func() error) error { // on a thread that has the context
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := status("cuCtxSetCurrent", cuda.SetCurrent(ctx)); err != nil {
			return err
		}
		return f()
	}
	err := within(func() error {
		return cmp.Or(status("cublasCreate", blas.Create(&handle)),
			status("cublasGetVersion", blas.Version(handle, &version)),
			status("cublasSetMathMode", blas.SetMath(handle, 0))) // CUBLAS_DEFAULT_MATH, which has no TF32
	})
	if err != nil {
		cuda.Release(number)
		return nil, err
	}
	return &foreign{
		detail: fmt.Sprintf("version %d, without TF32", version),
		within: within,
		alloc: func(bytes int) (at uintptr, err error) {
			err = status("cuMemAlloc", cuda.Alloc(&at, uintptr(bytes)))
			return at, err
		},
		free: func(at uintptr) { cuda.Free(at) },
		write: func(at uintptr, mem []byte) error {
			return status("cuMemcpyHtoD", cuda.Write(at, address(mem), uintptr(len(mem))))
		},
		read: func(at uintptr, mem []byte) error {
			return status("cuMemcpyDtoH", cuda.Read(address(mem), at, uintptr(len(mem))))
		},
		gemm: func(t *task, a, b, c uintptr) error { return status("cublasGemm", blas.gemm(handle, t, a, b, c)) },
		wait: func() error { return status("cuCtxSynchronize", cuda.Synchronize()) },
		close: func() {
			within(func() error { return status("cublasDestroy", blas.Destroy(handle)) })
			cuda.Release(number)
		},
	}, nil
}

// The scalars of products.
var (
	single = [2]float32{0, 1}
	double = [2]float64{0, 1}
)

// gemm is row-major C = A*B, which is column-major C' = B'*A'.
func (l *cublasTable) gemm(handle uintptr, t *task, a, b, c uintptr) int32 {
	x, y := &t.operands[0], &t.operands[1]
	m, n, k := int32(x.rows), int32(y.cols), int32(x.cols)
	if x.typ == element.Float32 {
		return l.Sgemm(handle, 0, 0, n, m, k, &single[1], b, n, a, k, &single[0], c, n)
	}
	return l.Dgemm(handle, 0, 0, n, m, k, &double[1], b, n, a, k, &double[0], c, n)
}
