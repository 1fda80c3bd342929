package bench

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// A problem is a product to compute: C = A*B, packed row-major, in host memory.
type problem[T linalg.Element] struct {
	m, n, k int
	a, b, c []T
}

// A library is another library that multiplies matrices.
type library struct {
	info  PeerInfo
	place string
	// The functions make a product ready to run; nil where the library has none.
	float32 func(problem[float32]) (*job, error)
	float64 func(problem[float64]) (*job, error)
	int32   func(problem[int32]) (*job, error)
	apart   bool           // it runs in a process of its own
	blas    *openBLASTable // OpenBLAS's functions
	python  *numpyProcess  // that has NumPy
	close   func()         // may be nil
}

// A job is a product of a library, ready to run.
type job struct {
	run   func(runs int) error // until the result is there
	put   func() error         // brings problem.c to where the result goes; nil where that is the same memory
	get   func() error         // brings the result to problem.c
	close func()               // may be nil
}

// openLibraries loads what is installed. Those that are not loaded have neither functions nor
// anything to close.
func openLibraries(device backend.Info, threads int) []*library {
	list := []*library{openBLAS(threads), gonumBLAS(), openNumPy()}
	switch device.Driver {
	case "opencl":
		list = append(list, openCLBlast(device))
	case "cuda":
		list = append(list, openCUBLAS(device))
	}
	return list
}

// absent is a library that cannot be used, and why.
func absent(name string, err error) *library {
	return &library{info: PeerInfo{Name: name, Detail: err.Error()}}
}

// prepare makes a product ready on a library; nil where it has none of the type.
func prepare[T linalg.Element](l *library, p problem[T]) (*job, error) {
	switch p := any(p).(type) {
	case problem[float32]:
		if l.float32 != nil {
			return l.float32(p)
		}
	case problem[float64]:
		if l.float64 != nil {
			return l.float64(p)
		}
	case problem[int32]:
		if l.int32 != nil {
			return l.int32(p)
		}
	}
	return nil, nil
}

// queued is a contender's run by a function that enqueues, after which wait waits for all.
func queued(enqueue, wait func() error) func(int) error {
	return func(runs int) error {
		for range runs {
			if err := enqueue(); err != nil {
				wait()
				return err
			}
		}
		return wait()
	}
}

// repeat is a job's run by a function that computes the product once.
func repeat(once func()) func(int) error {
	return func(runs int) error {
		for range runs {
			once()
		}
		return nil
	}
}
