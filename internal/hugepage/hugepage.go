// Package hugepage asks the system for large pages. A processor finds the pages that it used last
// in a table of some thousand entries, and a matrix that is walked across its rows needs another
// page for each: with pages of 2 MiB instead of 4 KiB the table holds all of them.
package hugepage

import (
	"strings"
	"unsafe"
)

// MinBytes is the memory below which [Advise] does nothing.
const MinBytes = 4 << 20

// Advise asks that b, which nobody has touched yet, be given large pages as far as it covers whole
// ones. It is advice: the contents and what b may be used for stay the same, and where the system
// has no large pages, nothing happens.
func Advise(b []byte) {
	if len(b) >= MinBytes {
		advise(b)
	}
}

// Make is n zero bytes of Go's memory, advised, whose first is at a multiple of align, a power of
// 2.
func Make(n, align int) []byte {
	if n == 0 {
		return []byte{}
	}
	b := make([]byte, n+align-1)
	Advise(b)
	skip := before(b, align)
	return b[skip : skip+n : skip+n]
}

// Dirty is n bytes of Go's memory, advised, of any values, for who writes all of them: Go's make
// would write zeros first, which takes as long as many an operation. strings.Builder alone has
// memory that it leaves as it is; nobody else sees the string.
func Dirty(n int) []byte {
	var b strings.Builder
	b.Grow(max(n, 1))
	b.WriteByte(0) // an empty string need not be anywhere
	d := unsafe.Slice(unsafe.StringData(b.String()), n)
	Advise(d)
	return d
}

// before is how many bytes come before the first at a multiple of align.
func before(b []byte, align int) int {
	return -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (align - 1)
}
