package ptxsim

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Config says what a device can do.
type Config struct {
	Arch     int    // compute capability times 10, as in sm_75; 0 is 75
	Memory   uint64 // bytes of device memory; 0 is 4 GiB
	Workers  int    // goroutines of a launch; 0 is GOMAXPROCS
	MaxSteps uint64 // instructions of one block, after which the launch ends in a Timeout; 0 is 2^31

	// Diagnose, if set, is told of what is suspicious but does not fail a launch: DivByZero, once
	// for each instruction and launch. It is called after the launch, in the order of the PTX
	// lines.
	Diagnose func(*Fault)
}

// What every device has: the limits of common hardware.
const (
	MaxThreads      = 1024     // of a block
	SharedMemory    = 48 << 10 // bytes of a block, static and dynamic
	Multiprocessors = 16       // what %nsmid says
)

// The most blocks of a grid, and threads of a block, in x, y and z.
var (
	MaxGrid  = [3]int{1<<31 - 1, 65535, 65535}
	MaxBlock = [3]int{1024, 1024, 64}
)

// A Device is a simulated CUDA device: memory, and processors that run the functions of loaded
// modules. Its methods are safe for concurrent use; launches run one at a time, while the host may
// go on using memory that the kernel does not.
type Device struct {
	config Config
	mu     sync.Mutex // of mem
	mem    memory
	launch sync.Mutex
	idle   []*cta // under launch
	blocks uint64 // that were numbered, for traces; under launch
	steps  atomic.Uint64
	atomic [64]sync.Mutex // of atomic operations on global memory, by address
}

// New makes a device.
func New(c Config) *Device {
	c.Arch, c.Workers = cmp.Or(c.Arch, 75), cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	c.Memory, c.MaxSteps = cmp.Or(c.Memory, 4<<30), cmp.Or(c.MaxSteps, 1<<31)
	return &Device{config: c, mem: memory{table: make([]atomic.Pointer[allocation], slots), limit: c.Memory}}
}

// Config is the device's configuration, with the defaults filled in.
func (d *Device) Config() Config { return d.config }

// Steps is the number of instructions that the device has run.
func (d *Device) Steps() uint64 { return d.steps.Load() }

// Alloc allocates n bytes, aligned to 256, whose contents are undefined: a kernel that reads them
// before anything is written is at fault. It fails with ErrOutOfMemory.
func (d *Device) Alloc(n uint64) (addr uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n == 0 {
		return 0, fmt.Errorf("%w: allocation of 0 bytes", ErrAddress)
	}
	a, err := d.alloc(n)
	if err != nil {
		return 0, err
	}
	return a.addr, nil
}

// alloc makes an allocation, with d.mu locked.
func (d *Device) alloc(n uint64) (*allocation, error) {
	if n > d.mem.limit-d.mem.used {
		return nil, fmt.Errorf("%w: %d bytes asked for, %d of %d free", ErrOutOfMemory, n, d.mem.limit-d.mem.used,
			d.mem.limit)
	}
	a := &allocation{mem: make([]byte, n), valid: make([]byte, n)}
	if err := d.mem.place(a); err != nil {
		return nil, err
	}
	d.mem.used += n
	return a, nil
}

// Free frees what Alloc returned. Kernels that still use it are at fault.
func (d *Device) Free(addr uint64) error { return d.release(addr, false, "allocated by Alloc") }

// release takes away the memory at addr, which is of the host or not.
func (d *Device) release(addr uint64, host bool, origin string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, err := d.mem.at(addr)
	if err != nil {
		return err
	}
	if a.host != host || a.owned {
		return fmt.Errorf("%w: %#x was not %s", ErrAddress, addr, origin)
	}
	d.mem.remove(a)
	return nil
}

// MapHost makes host memory visible to kernels, without a copy, until Unmap. Its contents count as
// written.
func (d *Device) MapHost(mem []byte) (addr uint64, err error) {
	if len(mem) == 0 {
		return 0, fmt.Errorf("%w: mapping of 0 bytes", ErrAddress)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &allocation{mem: mem, host: true}
	a.complete.Store(true)
	if err := d.mem.place(a); err != nil {
		return 0, err
	}
	return a.addr, nil
}

// Unmap ends what MapHost began.
func (d *Device) Unmap(addr uint64) error { return d.release(addr, true, "mapped by MapHost") }

// Write copies p to the device.
func (d *Device) Write(addr uint64, p []byte) error {
	return d.access(addr, len(p), func(a *allocation, off uint64) error {
		copy(a.mem[off:], p)
		a.written(off, len(p))
		return nil
	})
}

// Read copies from the device to p. Memory that nothing has written reads as anything.
func (d *Device) Read(p []byte, addr uint64) error {
	return d.access(addr, len(p), func(a *allocation, off uint64) error {
		copy(p, a.mem[off:])
		return nil
	})
}

// Fill writes pattern n times in a row, from addr on.
func (d *Device) Fill(addr uint64, pattern []byte, n int) error {
	size := len(pattern) * n
	return d.access(addr, size, func(a *allocation, off uint64) error {
		to := a.mem[off:][:size]
		for i := 0; i < size; {
			i += copy(to[i:], pattern)
		}
		a.written(off, size)
		return nil
	})
}

// Copy copies n bytes on the device; the ranges may overlap. Bytes that were not written stay so.
func (d *Device) Copy(dst, src uint64, n int) error {
	return d.access(dst, n, func(to *allocation, toOff uint64) error {
		from, fromOff, err := d.mem.bytes(src, n)
		if err != nil {
			return err
		}
		copy(to.mem[toOff:][:n], from.mem[fromOff:])
		switch {
		case from.complete.Load():
			to.written(toOff, n)
		case !to.complete.Load():
			copy(to.valid[toOff:][:n], from.valid[fromOff:])
		}
		return nil
	})
}

// access calls f with the allocation of n bytes at addr, and where they are in it. Of no bytes
// there is nothing to do.
func (d *Device) access(addr uint64, n int, f func(a *allocation, off uint64) error) error {
	if n <= 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a, off, err := d.mem.bytes(addr, n)
	if err != nil {
		return err
	}
	return f(a, off)
}
