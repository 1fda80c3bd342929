package hugepage

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func advise(b []byte) {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (page - 1)
	whole := (len(b) - skip) / page * page
	_ = unix.Madvise(b[skip:skip+whole], unix.MADV_HUGEPAGE) // an error means that there are none
}
