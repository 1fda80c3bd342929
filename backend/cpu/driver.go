// Package cpu is the driver "cpu": the machine's own processor, in Go. It is always there and needs
// nothing installed.
//
// A kernel runs as its Go implementation, Source.Go, over the memory of its buffers, on all cores.
// Commands run in the goroutine that issues them: a call of Queue.Launch returns when the kernel is
// done, with the error that it failed with, if any; Queue.Wait has nothing left to report. A kernel
// must not issue commands to the queue that it runs on.
package cpu

import (
	"math"
	"runtime"
	"strconv"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/internal/host"
)

const driverName = "cpu"

func init() { backend.Register(driver{}) }

type driver struct{}

func (driver) Name() string { return driverName }

func (driver) Devices() ([]backend.Info, error) { return []backend.Info{info()}, nil }

func (driver) Open(i int) (backend.Device, error) {
	if i != 0 {
		return nil, fail("Driver.Open", backend.ErrNoDevice, "device %d: there is one, with index 0", i)
	}
	return &device{info: info(), queues: map[*queue]struct{}{}, memory: map[*memory]struct{}{}}, nil
}

// info describes the processor.
func info() backend.Info {
	m := machine()
	maxAlloc := m.memory
	if maxAlloc == 0 {
		maxAlloc = 64 << 30
	}
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
		MaxAlloc:      min(maxAlloc, math.MaxInt-alignment),
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
		Note:          note(host.InstructionSet()),
	}
}

// note tells how fast a product will be.
func note(instructionSet string) string {
	if instructionSet == "go" {
		return "products in portable Go: exact, but slow"
	}
	return "products in " + instructionSet + " assembly"
}

// hardware is what the operating system tells about the machine.
type hardware struct {
	vendor, name string
	memory       int64 // bytes that the process may use; 0 where it is not known
}

// machine asks once: the answer does not change while the process runs.
var machine = sync.OnceValue(func() hardware {
	m := detect()
	if m.name == "" {
		m.name = runtime.GOARCH + " CPU, " + strconv.Itoa(runtime.NumCPU()) + " cores"
	}
	return m
})

// fail is a failed check.
func fail(op string, kind error, format string, v ...any) error {
	return driverkit.Failure(driverName, op, kind, format, v...)
}
