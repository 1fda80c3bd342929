// Package simapi is the CUDA driver API over a simulated device: a table of Go functions, which run
// PTX on the CPU by package ptxsim. Streams run each command before the call returns. What the
// simulator finds fails the launch: what would break a real device too is a status code of
// CUDA's, after which the context is dead until all who have the device open have closed it, as on
// hardware; what a real device would let pass, such as a data race, is a code of the simulator's
// own, and the device goes on.
package simapi

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// New is the interface to a simulated device of its own.
func New(c ptxsim.Config) *capi.API {
	api := new(capi.API)
	api.Store(newDevice(c).table())
	return api
}

// A device is a simulated device and what was made on it.
type device struct {
	config ptxsim.Config

	mu    sync.Mutex
	users int            // of the primary context
	dev   *ptxsim.Device // new with the context
	dead  int32          // the status code that the context died of
	faults
	handle  uintptr // the last that was given out
	streams map[capi.Stream]*sync.Mutex
	events  map[capi.Event]time.Duration // by package clock; 0: not recorded
	modules map[capi.Module]*ptxsim.Module
	kernels map[capi.Function]kernel
	host    map[uintptr]*hostMemory // page-locked memory by address
}

// A kernel is a kernel of a module.
type kernel struct {
	module capi.Module
	fn     *ptxsim.Function
}

// A hostMemory is page-locked host memory and where kernels see it.
type hostMemory struct {
	mem        []byte
	device     uint64
	registered bool
}

func newDevice(c ptxsim.Config) *device {
	c = ptxsim.New(c).Config() // with the defaults
	return &device{config: c, faults: faults{names: map[int32]string{}, texts: map[int32]string{}}}
}

// retain makes the context, or shares it.
func (s *device) retain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users++; s.users > 1 {
		return
	}
	s.dev, s.dead = ptxsim.New(s.config), capi.Success
	s.streams, s.events = map[capi.Stream]*sync.Mutex{}, map[capi.Event]time.Duration{}
	s.modules, s.kernels = map[capi.Module]*ptxsim.Module{}, map[capi.Function]kernel{}
	s.host = map[uintptr]*hostMemory{}
}

// release gives the context up. With the last user it ends, and all that was made in it.
func (s *device) release() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return capi.InvalidValue
	}
	if s.users--; s.users == 0 {
		s.dev = nil
	}
	return capi.Success
}

// in calls f in the context, unless that is dead.
func (s *device) in(f func(d *ptxsim.Device) int32) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.users == 0:
		return invalidContext
	case s.dead != capi.Success:
		return s.dead
	}
	return f(s.dev)
}

const invalidContext = 201

// queued runs the command f on a stream, after the stream's earlier commands.
func (s *device) queued(stream capi.Stream, f func(d *ptxsim.Device) error) int32 {
	var order *sync.Mutex
	var dev *ptxsim.Device
	if code := s.in(func(d *ptxsim.Device) int32 {
		dev, order = d, s.streams[stream]
		return valid(order != nil)
	}); code != capi.Success {
		return code
	}
	order.Lock()
	err := f(dev)
	order.Unlock()
	if err == nil {
		return capi.Success
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed(err)
}

// failed is the status code of what a command failed with.
func (s *device) failed(err error) int32 {
	var f *ptxsim.Fault
	switch {
	case errors.Is(err, ptxsim.ErrOutOfMemory):
		return capi.OutOfMemory
	case !errors.As(err, &f):
		return capi.InvalidValue
	}
	fatal := map[ptxsim.Kind]int32{
		ptxsim.OutOfBounds: capi.IllegalAddress, ptxsim.Misaligned: capi.MisalignedAddress,
		ptxsim.Trap:    capi.LaunchFailed,
		ptxsim.Timeout: capi.LaunchTimeout,
	}
	code, ok := fatal[f.Kind]
	if !ok {
		return s.note(f)
	}
	if s.dead == capi.Success {
		s.dead, s.texts[code] = code, f.Error()
	}
	return s.dead
}

// faults are what the simulator found in kernels, by status code.
type faults struct {
	count        int32
	names, texts map[int32]string
}

// maxFaults is how many the simulator remembers: a caller asks for the text at once.
const maxFaults = 1024

// note gives a fault that a real device would not notice a status code of its own.
func (n *faults) note(f *ptxsim.Fault) int32 {
	code := capi.KernelFault + n.count%maxFaults
	n.count++
	n.names[code] = "CUDASIM_" + strings.ToUpper(strings.ReplaceAll(f.Kind.String(), " ", "_"))
	n.texts[code] = f.Error()
	return code
}

// newHandle is a handle that nothing else has. s.mu is locked.
func (s *device) newHandle() uintptr {
	s.handle += 16
	return s.handle
}

// valid is the status of a call with a handle that is known, or is not.
func valid(known bool) int32 {
	if known {
		return capi.Success
	}
	return capi.InvalidHandle
}

// overlaps tells whether n bytes at p are page-locked, or some of them. s.mu is locked.
func (s *device) overlaps(p, n uintptr) bool {
	for at, h := range s.host {
		if p < at+uintptr(len(h.mem)) && at < p+n {
			return true
		}
	}
	return false
}

// unload forgets a module and its kernels. s.mu is locked.
func (s *device) unload(m capi.Module) *ptxsim.Module {
	mod := s.modules[m]
	delete(s.modules, m)
	maps.DeleteFunc(s.kernels, func(_ capi.Function, k kernel) bool { return k.module == m })
	return mod
}
