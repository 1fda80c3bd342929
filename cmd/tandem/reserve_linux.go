package main

import (
	"errors"
	"os"
	"syscall"
)

// reserve makes room on the disk, so that a full one is told before the work, not hours later.
func reserve(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return err
	}
	return nil // others mean that the file system cannot do it
}
