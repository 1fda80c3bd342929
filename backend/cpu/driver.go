// Package cpu is the driver "cpu": the machine's own processor, in Go. It is always there and needs
// nothing installed.
//
// A kernel runs as its Go implementation, Source.Go, over the memory of its buffers, on all cores;
// where it has machine code for the processor, Source.Native, that runs in its place.
// Commands run in the goroutine that issues them: a call of Queue.Launch returns when the kernel is
// done, with the error that it failed with, if any; Queue.Wait has nothing left to report. A kernel
// must not issue commands to the queue that it runs on.
package cpu

import (
	"cmp"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
)

const driverName = "cpu"

func init() { backend.Register(driver{}) }

type driver struct{}

func (driver) Name() string { return driverName }

func (driver) Devices() ([]backend.Info, error) {
	levels, err := chosenLevels()
	if err != nil {
		return nil, err
	}
	return []backend.Info{info(levels)}, nil
}

func (driver) Open(i int) (*backend.Device, error) {
	if i != 0 {
		return nil, backend.Failure(driverName, "Driver.Open", backend.ErrNoDevice,
			"device %d: there is one, with index 0", i)
	}
	levels, err := chosenLevels()
	if err != nil {
		return nil, err
	}
	return backend.NewDevice(&device{info(levels), levels}), nil
}

// info describes the processor, whose kernels have levels of machine code.
func info(levels []string) backend.Info {
	m := machine()
	return backend.Info{
		Driver:        driverName,
		Platform:      "Go",
		Vendor:        m.vendor,
		Name:          m.name,
		Arch:          runtime.GOARCH,
		Version:       runtime.Version(),
		UnifiedMemory: true,
		Host:          true,
		Float32:       true,
		Float64:       true,
		ComputeUnits:  runtime.GOMAXPROCS(0),
		Memory:        m.memory,
		MaxAlloc:      min(cmp.Or(m.memory, 64<<30), math.MaxInt-alignment),
		// A Go kernel loops over its work-items and has no limits of its own. These are CUDA's, so
		// that a launch that works here does not fail there for its shape.
		LocalMemory:  48 << 10,
		MaxGroup:     1024,
		MaxGroupDims: [3]int{1024, 1024, 64},
		// The size of the smallest element: a buffer argument is a slice of elements, which must be
		// aligned.
		OffsetAlign:   4,
		VectorFloat32: 1,
		VectorFloat64: 1,
		VectorInt32:   1,
		Note:          note(host.InstructionSet(), levels),
	}
}

// note tells how fast products and kernels will be, which have chosen levels of machine code.
func note(instructionSet string, chosen []string) string {
	text := "products in " + instructionSet + " assembly, kernels in "
	if instructionSet == "go" {
		text = "products in portable Go: exact, but slow; kernels in "
	}
	if len(chosen) > 0 {
		return text + chosen[0] + " code"
	}
	if os.Getenv(EnvNative) != "off" && len(levels()) > 0 {
		return text + "Go, as the system refuses executable memory: " + refused().Error()
	}
	return text + "Go"
}

// hardware is what the operating system tells about the machine.
type hardware struct {
	vendor, name string
	memory       int64 // bytes that the process may use; 0 where it is not known
}

// machine asks once: the answer does not change while the process runs.
var machine = sync.OnceValue(func() hardware {
	m := detect()
	m.name = cmp.Or(m.name, runtime.GOARCH+" CPU, "+strconv.Itoa(runtime.NumCPU())+" cores")
	m.memory = min(m.memory, math.MaxInt) // a program of 32 bits has 2 to 4 GiB of addresses
	return m
})

// fail is an error of a device, which names its driver.
func fail(op string, kind error, format string, v ...any) error {
	return backend.Failure("", op, kind, format, v...)
}
