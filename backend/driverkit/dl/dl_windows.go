//go:build !tandem_nolibs

package dl

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// open searches the system directory, the program's own, and directories that the program added:
// never the working directory or PATH. The libraries beside an absolute path are found too, as
// NVRTC needs its builtins.
func open(name string, _ bool) (uintptr, error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_SYSTEM32 | windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	if filepath.IsAbs(name) {
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	h, err := windows.LoadLibraryEx(name, 0, flags)
	return uintptr(h), err
}

func symbol(handle uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), name)
}
