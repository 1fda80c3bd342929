package bench

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
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

// cublas is cuBLAS on one device. A context belongs to a thread: every use is within inContext.
type cublas struct {
	cuda   cudaTable
	blas   cublasTable
	device int32
	ctx    uintptr
	handle uintptr
}

func openCUBLAS(device backend.Info) *library {
	const name = "cuBLAS"
	l, version, err := newCUBLAS(device)
	if err != nil {
		return absent(name, err)
	}
	return &library{
		info:  PeerInfo{Name: name, Loaded: true, Detail: fmt.Sprintf("version %d, without TF32", version)},
		place: "device",
		float32: func(p problem[float32]) (*job, error) {
			one, zero := new(float32), new(float32)
			*one = 1
			m, n, k := int32(p.m), int32(p.n), int32(p.k)
			return cublasJob(l, p, func(a, b, c uintptr) int32 { // row-major C = A*B is column-major C' = B'*A'
				return l.blas.Sgemm(l.handle, 0, 0, n, m, k, one, b, n, a, k, zero, c, n)
			})
		},
		float64: func(p problem[float64]) (*job, error) {
			one, zero := new(float64), new(float64)
			*one = 1
			m, n, k := int32(p.m), int32(p.n), int32(p.k)
			return cublasJob(l, p, func(a, b, c uintptr) int32 {
				return l.blas.Dgemm(l.handle, 0, 0, n, m, k, one, b, n, a, k, zero, c, n)
			})
		},
		close: l.close,
	}
}

func newCUBLAS(device backend.Info) (l *cublas, version int32, err error) {
	driver, names := "libcuda.so.1", []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}
	if runtime.GOOS == "windows" {
		driver, names = "nvcuda.dll", []string{"cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll"}
	}
	l = new(cublas)
	for _, lib := range []struct {
		names []string
		table any
	}{{names, &l.blas}, {[]string{driver}, &l.cuda}} {
		handle, err := dl.Open(lib.names...)
		if err == nil {
			err = dl.Bind(handle, lib.table)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	if err := cudaErrors("cuInit", l.cuda.Init(0),
		"cuDeviceGet", l.cuda.DeviceGet(&l.device, int32(device.Index))); err != nil {
		return nil, 0, err
	}
	if err := cudaErrors("cuDevicePrimaryCtxRetain", l.cuda.Retain(&l.ctx, l.device)); err != nil {
		return nil, 0, err
	}
	err = l.inContext(func() error {
		if err := cudaErrors("cublasCreate", l.blas.Create(&l.handle)); err != nil {
			return err
		}
		// CUBLAS_DEFAULT_MATH uses no TF32.
		err := cudaErrors("cublasGetVersion", l.blas.Version(l.handle, &version),
			"cublasSetMathMode", l.blas.SetMath(l.handle, 0))
		if err != nil {
			l.blas.Destroy(l.handle)
		}
		return err
	})
	if err != nil {
		l.cuda.Release(l.device)
		return nil, 0, err
	}
	return l, version, nil
}

func (l *cublas) close() {
	l.inContext(func() error { return cudaErrors("cublasDestroy", l.blas.Destroy(l.handle)) })
	l.cuda.Release(l.device)
}

// inContext calls f on a thread that has the context.
func (l *cublas) inContext(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cudaErrors("cuCtxSetCurrent", l.cuda.SetCurrent(l.ctx)); err != nil {
		return err
	}
	return f()
}

// cudaErrors is the first error among pairs of a call and its status.
func cudaErrors(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if status := pairs[i+1].(int32); status != 0 {
			return fmt.Errorf("%s: status %d", pairs[i], status)
		}
	}
	return nil
}

// cublasJob copies the operands to the device, where gemm multiplies them.
func cublasJob[T float32 | float64](l *cublas, p problem[T], gemm func(a, b, c uintptr) int32) (*job, error) {
	var buffers [3]uintptr
	free := func() {
		l.inContext(func() error {
			for _, b := range buffers {
				if b != 0 {
					l.cuda.Free(b)
				}
			}
			return nil
		})
	}
	err := l.inContext(func() error {
		for i, s := range [][]T{p.a, p.b, p.c} {
			if err := cudaErrors("cuMemAlloc", l.cuda.Alloc(&buffers[i], bytesOf(s))); err != nil {
				return err
			}
			if err := cudaErrors("cuMemcpyHtoD", l.cuda.Write(buffers[i], address(s), bytesOf(s))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		free()
		return nil, err
	}
	a, b, c := buffers[0], buffers[1], buffers[2]
	return &job{
		run: func(runs int) error {
			return l.inContext(func() error {
				for range runs {
					if err := cudaErrors("cublasGemm", gemm(a, b, c)); err != nil {
						return err
					}
				}
				return cudaErrors("cuCtxSynchronize", l.cuda.Synchronize())
			})
		},
		put: func() error {
			return l.inContext(func() error {
				return cudaErrors("cuMemcpyHtoD", l.cuda.Write(c, address(p.c), bytesOf(p.c)))
			})
		},
		get: func() error {
			return l.inContext(func() error {
				return cudaErrors("cuMemcpyDtoH", l.cuda.Read(address(p.c), c, bytesOf(p.c)))
			})
		},
		close: free,
	}, nil
}
