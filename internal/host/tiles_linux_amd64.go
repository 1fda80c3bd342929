//go:build !purego

package host

import (
	"os"
	"syscall"
)

// mayUseTiles asks Linux for the registers of AMX, unless TANDEM_MATRIX is off. Linux gives them to
// the whole process: from then on a thread that has used them has larger frames of signals. It
// refuses where a thread's stack for signals is too small for that.
func mayUseTiles() bool {
	const requestPermission, tileData = 0x1023, 18
	if os.Getenv("TANDEM_MATRIX") == "off" {
		return false
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
