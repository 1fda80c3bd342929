package files

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Of a file that the disk has no room for, nothing is taken; of one that it has, all is.
func TestReserve(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	taken := func() int64 {
		var s syscall.Stat_t
		if err := syscall.Fstat(int(f.Fd()), &s); err != nil {
			t.Fatal(err)
		}
		return s.Blocks * 512
	}
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &disk); err != nil {
		t.Fatal(err)
	}
	free := int64(disk.Bavail * uint64(disk.Bsize))
	for _, size := range []int64{free, free + 1<<20, 1 << 42} {
		if err := reserve(f, size); !errors.Is(err, syscall.ENOSPC) || taken() > 0 {
			t.Errorf("%d bytes of %d: %v, and %d are taken", size, free, err, taken())
		}
	}
	if err := reserve(f, 1<<20); err != nil || taken() != 0 && taken() < 1<<20 {
		t.Errorf("%v, and %d bytes are taken", err, taken())
	}
}
