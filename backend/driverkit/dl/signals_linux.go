//go:build !tandem_nolibs

package dl

import "syscall"

// sigaction is the system call: what the C library's function gives for one of Go's handlers and
// takes again returns to address 0 on 386.
func sigaction() func(signal int, action, old uintptr) {
	return func(signal int, action, old uintptr) {
		const maskBytes = 8
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), action, old, maskBytes, 0, 0)
	}
}
