//go:build unix

package diskcache

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedAlone tells whether a file belongs to this user and nobody else may write it.
func ownedAlone(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
