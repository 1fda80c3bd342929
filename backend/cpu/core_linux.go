package cpu

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// core is the number of the core that runs the caller, which worker w of a launch is.
func core(w int) int {
	var n uint32
	if _, _, no := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&n)), 0, 0); no != 0 {
		return w
	}
	return int(n)
}
