package tuning

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lock waits for the lock of a file, whichever process has it. Closing f gives it back.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}

// patiently calls f again for up to a second while another process has the file: one that reads it
// and one that replaces it are in each other's way.
func patiently(f func() error) error {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		err := f()
		busy := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !busy || time.Since(start) > time.Second {
			return err
		}
	}
}
