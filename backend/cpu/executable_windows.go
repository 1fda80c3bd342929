//go:build !purego

package cpu

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

var flushInstructionCache = windows.NewLazySystemDLL("kernel32.dll").NewProc("FlushInstructionCache")

// executable is the address of a copy of code in memory of its own, which is never writable and
// executable at once.
func executable(code []byte) (uintptr, error) {
	size := uintptr(len(code))
	mem, err := windows.VirtualAlloc(0, size, windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return 0, fmt.Errorf("VirtualAlloc: %w", err)
	}
	// The address is one of no Go object.
	copy(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&mem))), size), code)
	var old uint32
	if err := windows.VirtualProtect(mem, size, windows.PAGE_EXECUTE_READ, &old); err != nil {
		windows.VirtualFree(mem, 0, windows.MEM_RELEASE)
		return 0, fmt.Errorf("VirtualProtect: %w", err)
	}
	if ok, _, err := flushInstructionCache.Call(uintptr(windows.CurrentProcess()), mem, size); ok == 0 {
		return 0, fmt.Errorf("FlushInstructionCache: %w", err)
	}
	return mem, nil
}
