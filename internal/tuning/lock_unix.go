//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tuning

import (
	"os"
	"syscall"
)

// lock waits for the lock of a file, whichever process has it. Closing f gives it back.
func lock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}

// patiently calls f, which needs no patience here: a file is replaced under those that read it.
func patiently(f func() error) error { return f() }
