package hugepage

import (
	"os"

	"golang.org/x/sys/unix"
)

func advise(b []byte) {
	page := os.Getpagesize()
	skip := before(b, page)
	whole := (len(b) - skip) / page * page
	_ = unix.Madvise(b[skip:skip+whole], unix.MADV_HUGEPAGE) // an error means that there are none
}
