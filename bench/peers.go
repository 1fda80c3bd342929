package bench

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/internal/host"
)

// A peer is another library.
type peer struct {
	name, detail string                                    // version, threads; or why it is not used
	contender    func(t *task) (*measure.Contender, error) // nil where it does not compute the row, or is not used
	close        func()                                    // may be nil
}

// openPeers loads what is installed.
func (r *runner) openPeers(device backend.Info) []*peer {
	list := []*peer{
		r.openBLAS(), hosted("gonum", moduleVersion("gonum.org/v1/gonum")), openNumPy(),
		hosted(nameSlices, runtime.Version()),
	}
	switch device.Driver {
	case "opencl":
		list = append(list, openForeign("CLBlast", device, newCLBlast))
	case "cuda":
		list = append(list, openForeign("cuBLAS", device, newCUBLAS))
	}
	return list
}

// absent is a library that cannot be used, and why.
func absent(name string, err error) *peer {
	return &peer{name: name, detail: err.Error()}
}

// hosted is a library whose functions compute to the memory of this process: the task's calls.
func hosted(name, detail string) *peer {
	return &peer{name: name, detail: detail, contender: func(t *task) (*measure.Contender, error) {
		i := slices.IndexFunc(t.calls, func(c call) bool { return c.name == name })
		if i < 0 {
			return nil, nil
		}
		return t.Contender(name, t.calls[i].run, nil, nil), nil
	}}
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

// envThreadTimeout is how long threads of OpenBLAS look for work after a call, as a power of two of
// cycles: by default 26 ms, which they take from what is measured next.
const (
	envThreadTimeout = "OPENBLAS_THREAD_TIMEOUT"
	threadTimeout    = "16"
)

// envCoreType chooses OpenBLAS's kernels. Older versions take new processors with AVX-512 for
// Haswell, and use half of them.
const envCoreType = "OPENBLAS_CORETYPE"

func (r *runner) openBLAS() *peer {
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
	t.SetThreads(int32(runtime.GOMAXPROCS(0)))
	r.blas = t
	return hosted(name, fmt.Sprintf("%s (%s), core type %s, %d threads", lib.Name(), strings.TrimSpace(t.Config()),
		t.CoreName(), t.Threads()))
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

// A foreign is a library with memory of its own on a device. Handles of memory are its own.
type foreign struct {
	detail string
	within func(f func() error) error // every use is within

	alloc       func(bytes int) (at uintptr, err error)
	free        func(at uintptr)
	write, read func(at uintptr, mem []byte) error
	gemm        func(t *task, a, b, c uintptr) error // enqueues its product
	wait        func() error
	close       func()
}

// openForeign is a peer of such a library, for float32 and float64.
func openForeign(name string, device backend.Info, open func(device backend.Info) (*foreign, error)) *peer {
	l, err := open(device)
	if err != nil {
		return absent(name, err)
	}
	return &peer{name: name, detail: l.detail, close: l.close, contender: func(t *task) (*measure.Contender, error) {
		if !t.product || t.operands[0].typ.Integer() {
			return nil, nil
		}
		return l.product(name, t)
	}}
}

// product copies the operands to the device, and multiplies there.
func (l *foreign) product(name string, t *task) (*measure.Contender, error) {
	var at []uintptr
	t.free = append(t.free, func() {
		l.within(func() error {
			for _, x := range at {
				l.free(x)
			}
			return nil
		})
	})
	err := l.within(func() error {
		for _, mem := range [][]byte{t.operands[0].data, t.operands[1].data, t.out} {
			x, err := l.alloc(len(mem))
			if err != nil {
				return err
			}
			at = append(at, x)
			if err := l.write(x, mem); err != nil {
				return err
			}
		}
		return nil
	})
	run := measure.Repeat(func() error { return l.gemm(t, at[0], at[1], at[2]) })
	c := t.Contender(name,
		func(runs int) error { return l.within(func() error { return cmp.Or(run(runs), l.wait()) }) },
		func() error { return l.within(func() error { return l.write(at[2], t.out) }) },
		func() error { return l.within(func() error { return l.read(at[2], t.out) }) })
	c.Queued = true
	return c, err
}

// bind loads the first library of each list into the table behind it.
func bind(libraries ...any) error {
	for i := 0; i < len(libraries); i += 2 {
		lib, err := dl.Open(libraries[i].([]string)...)
		if err != nil {
			return err
		}
		if err := dl.Bind(lib, libraries[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// status is the error of a call that must return 0.
func status(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%s: status %d", call, code)
}
