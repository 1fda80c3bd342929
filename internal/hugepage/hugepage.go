// Package hugepage asks the system for large pages. A processor finds the pages that it used last in a table of some thousand entries, and a matrix that is
// walked across its rows needs another page for each: with pages of 2 MiB instead of 4 KiB the table holds all of them.
package hugepage

// MinBytes is the memory below which [Advise] does nothing.
const MinBytes = 4 << 20

// Advise asks that b, which nobody has touched yet, be given large pages as far as it covers whole ones. It is advice: the contents and what b may be used
// for stay the same, and where the system has no large pages, nothing happens.
func Advise(b []byte) {
	if len(b) >= MinBytes {
		advise(b)
	}
}
