//go:build unix && !purego

package cpu

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// executable is the address of a copy of code in memory of its own, which is never writable and
// executable at once. The system keeps the processor's caches of instructions in step when it
// changes what the memory is for.
func executable(code []byte) (uintptr, error) {
	mem, err := unix.Mmap(-1, 0, len(code), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0, fmt.Errorf("mmap: %w", err)
	}
	copy(mem, code)
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		unix.Munmap(mem)
		return 0, fmt.Errorf("mprotect: %w", err)
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(mem))), nil
}
