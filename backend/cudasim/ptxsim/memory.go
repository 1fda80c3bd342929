package ptxsim

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Device addresses are handed out in slots of 1<<slotShift bytes, so that the allocation of an
// address is found by one look into a table. An allocation starts a little behind the
// start of its first slot and leaves a gap behind its end; freed slots are reused as late as
// possible.
const (
	slotShift = 20
	slots     = 1 << 18 // 256 GiB of addresses
	slotStart = 256     // of an allocation in its first slot: aligned to 256 bytes and to no more
	guardGap  = 256
)

// Errors of the memory functions; texts say more.
var (
	ErrOutOfMemory = errors.New("out of memory")
	ErrAddress     = errors.New("invalid device address")
)

// An allocation is a range of device memory.
type allocation struct {
	addr     uint64
	mem      []byte
	valid    []byte      // for each byte 1 where it has been written; not used once complete
	complete atomic.Bool // all of it has been written
	host     bool        // mem is the caller's
	owned    bool        // belongs to a module: Free refuses it
	// what a kernel has done to it, by the logarithm of the bytes of a word
	pages [4]atomic.Pointer[[]atomic.Pointer[page]]
}

// memory is the device memory. Kernels only look up; the device's lock covers all the rest.
type memory struct {
	table []atomic.Pointer[allocation] // by slot
	next  int                          // where the search for free slots goes on
	used  uint64
	limit uint64
}

// find is the allocation that covers n bytes at addr, and the offset there; nil if there is none.
func (m *memory) find(addr, n uint64) (*allocation, uint64) {
	slot := (addr - globalStart) >> slotShift
	if slot >= uint64(len(m.table)) {
		return nil, 0
	}
	a := m.table[slot].Load()
	if a == nil {
		return nil, 0
	}
	off := addr - a.addr // wraps below the start
	if size := uint64(len(a.mem)); n > size || off > size-n {
		return nil, 0
	}
	return a, off
}

// place finds addresses for a and enters it into the table.
func (m *memory) place(a *allocation) error {
	n := (slotStart+len(a.mem)+guardGap-1)>>slotShift + 1
	start, ok := m.free(m.next, n)
	if !ok {
		if start, ok = m.free(0, n); !ok {
			return fmt.Errorf("%w: no %d bytes of addresses left", ErrOutOfMemory, len(a.mem))
		}
	}
	a.addr = globalStart + uint64(start)<<slotShift + slotStart
	for i := range n {
		m.table[start+i].Store(a)
	}
	m.next = start + n
	return nil
}

// free finds n free slots in a row, from slot from on.
func (m *memory) free(from, n int) (start int, ok bool) {
	run := 0
	for i := from; i < len(m.table); i++ {
		if m.table[i].Load() != nil {
			run = 0
		} else if run++; run == n {
			return i - n + 1, true
		}
	}
	return 0, false
}

// remove takes a out of the table.
func (m *memory) remove(a *allocation) {
	for i := (a.addr - globalStart) >> slotShift; i < uint64(len(m.table)) && m.table[i].Load() == a; i++ {
		m.table[i].Store(nil)
	}
	if !a.host {
		m.used -= uint64(len(a.mem))
	}
}

// at is the allocation that starts at addr.
func (m *memory) at(addr uint64) (*allocation, error) {
	a, off := m.find(addr, 0)
	if a == nil || off != 0 {
		return nil, fmt.Errorf("%w: %#x is not the start of an allocation", ErrAddress, addr)
	}
	return a, nil
}

// bytes is n bytes at addr, for the host.
func (m *memory) bytes(addr uint64, n int) (*allocation, uint64, error) {
	a, off := m.find(addr, uint64(n))
	if a == nil {
		return nil, 0, fmt.Errorf("%w: %d bytes at %#x: %s", ErrAddress, n, addr, m.describe(addr, n))
	}
	return a, off, nil
}

// describe says where addr lies with respect to the allocations.
func (m *memory) describe(addr uint64, n int) string {
	slot := (addr - globalStart) >> slotShift
	if slot >= uint64(len(m.table)) {
		if addr < 1<<16 {
			return "a null pointer"
		}
		return "no device memory is there"
	}
	a := m.table[slot].Load()
	switch end := uint64(0); {
	case a == nil:
		return "no allocation is there, or it was freed"
	case addr < a.addr:
		return fmt.Sprintf("%d bytes before an allocation of %d bytes", a.addr-addr, len(a.mem))
	default:
		end = a.addr + uint64(len(a.mem))
		if addr < end {
			return fmt.Sprintf("%d bytes past the end of an allocation of %d bytes", addr+uint64(n)-end, len(a.mem))
		}
		return fmt.Sprintf("%d bytes behind the end of an allocation of %d bytes", addr-end, len(a.mem))
	}
}

// written notes that the host has written n bytes at off.
func (a *allocation) written(off uint64, n int) {
	switch {
	case a.complete.Load():
	case n == len(a.mem):
		a.complete.Store(true)
	default:
		fill(a.valid[off:][:n], validByte)
	}
}
