package files

import (
	"errors"
	"os"
	"syscall"
)

// reserve makes room on the disk, so that a full one is told before the work, not hours later. It
// asks first: ext4 takes all that there is before it refuses, and meanwhile other programs have a
// full disk.
func reserve(f *os.File, size int64) error {
	var s syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &s); err == nil {
		if free := s.Bavail * uint64(s.Bsize); uint64(size) > free || free-uint64(size) < spare(size) {
			return syscall.ENOSPC
		}
	}
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return err
	}
	return nil // others mean that the file system cannot do it
}

// spare is what is left to others beside a file of size bytes, and to what the file system notes of
// it.
func spare(size int64) uint64 { return uint64(min(size/16, 256<<20)) }
