package bench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/internal/host"
)

// gonumBLAS is gonum's own implementation, whatever blas64.Use has put in its place.
func gonumBLAS() *library {
	var impl gonum.Implementation
	return &library{
		info:  PeerInfo{Name: "gonum", Loaded: true, Detail: moduleVersion("gonum.org/v1/gonum")},
		place: "host",
		float32: func(p problem[float32]) (*job, error) {
			return &job{run: repeat(func() {
				impl.Sgemm(blas.NoTrans, blas.NoTrans, p.m, p.n, p.k, 1, p.a, p.k, p.b, p.n, 0, p.c, p.n)
			})}, nil
		},
		float64: func(p problem[float64]) (*job, error) {
			return &job{run: repeat(func() {
				impl.Dgemm(blas.NoTrans, blas.NoTrans, p.m, p.n, p.k, 1, p.a, p.k, p.b, p.n, 0, p.c, p.n)
			})}, nil
		},
	}
}

// moduleVersion is the version of a module in this program, as far as the program knows.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "version unknown"
}

// openBLASTable is what is used of OpenBLAS. Its integers are C's int, as in Debian's
// libopenblas.so.0.
type openBLASTable struct {
	SetThreads func(n int32) `sym:"openblas_set_num_threads"`
	Threads    func() int32  `sym:"openblas_get_num_threads"`
	CoreName   func() string `sym:"openblas_get_corename"`
	Config     func() string `sym:"openblas_get_config"`

	single        realCBLAS[float32]
	double        realCBLAS[float64]
	singleComplex complexCBLAS[complex64]
	doubleComplex complexCBLAS[complex128]
}

func bindOpenBLAS(lib *dl.Library) (*openBLASTable, error) {
	var t openBLASTable
	err := dl.Bind(lib, &t)
	return &t, errors.Join(err,
		bindLetter[float32](lib, &t.single), bindLetter[float64](lib, &t.double),
		bindLetter[complex64](lib, &t.singleComplex), bindLetter[complex128](lib, &t.doubleComplex))
}

// envThreadTimeout is how long threads of OpenBLAS look for work after a call, as a power of two of
// cycles: by default 26 ms, which they take from what is measured next.
const (
	envThreadTimeout = "OPENBLAS_THREAD_TIMEOUT"
	threadTimeout    = "16"
)

// envCoreType chooses OpenBLAS's kernels. Older versions take new processors with AVX-512 for
// Haswell, and use half of them.
const envCoreType = "OPENBLAS_CORETYPE"

func openBLAS(threads int) *library {
	const name = "OpenBLAS"
	if os.Getenv(envCoreType) == "" && host.InstructionSet() == "avx512" {
		os.Setenv(envCoreType, "SKYLAKEX")
	}
	if os.Getenv(envThreadTimeout) == "" {
		os.Setenv(envThreadTimeout, threadTimeout)
	}
	lib, err := dl.Open(openBLASNames()...)
	if err != nil {
		return absent(name, err)
	}
	t, err := bindOpenBLAS(lib)
	if err != nil {
		return absent(name, err)
	}
	t.SetThreads(int32(threads))
	detail := fmt.Sprintf("%s (%s), core type %s, %d threads",
		lib.Name(), strings.TrimSpace(t.Config()), t.CoreName(), t.Threads())
	if v := os.Getenv(envCoreType); v != "" {
		detail += ", " + envCoreType + "=" + v
	}
	return &library{
		info:  PeerInfo{Name: name, Loaded: true, Detail: detail},
		place: "host",
		blas:  t,
		float32: func(p problem[float32]) (*job, error) {
			return &job{run: repeat(func() { t.single.multiply(p) })}, nil
		},
		float64: func(p problem[float64]) (*job, error) {
			return &job{run: repeat(func() { t.double.multiply(p) })}, nil
		},
	}
}

func (c *realCBLAS[T]) multiply(p problem[T]) {
	m, n, k := int32(p.m), int32(p.n), int32(p.k)
	c.Gemm(cblasRowMajor, cblasNoTrans, cblasNoTrans, m, n, k, 1, first(p.a), k, first(p.b), n, 0, first(p.c), n)
}

func openBLASNames() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"libopenblas.dll"}
	case "darwin":
		return []string{
			"/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
			"/usr/local/opt/openblas/lib/libopenblas.dylib",
		}
	}
	return []string{"libopenblas.so.0"}
}

func address[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
