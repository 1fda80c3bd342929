//go:build !unix

package diskcache

import "io/fs"

// ownedAlone is always true: the user's cache folder is private to the user on Windows, and there
// are no Unix modes to look at.
func ownedAlone(fs.FileInfo) bool { return true }
