//go:build !purego

package host

import "syscall"

// mayUseTiles asks Linux for the registers of AMX, where UsesMatrix allows them. Linux gives them
// to the whole process: from then on a thread that has used them has larger frames of signals. It
// refuses where a thread's stack for signals is too small for that.
func mayUseTiles() bool {
	const requestPermission, tileData = 0x1023, 18
	if uses, _ := UsesMatrix(); !uses {
		return false
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
