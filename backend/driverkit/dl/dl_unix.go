//go:build (linux || darwin || netbsd || (freebsd && cgo)) && !tandem_nolibs

package dl

import (
	"errors"
	"path/filepath"
	"runtime"

	"github.com/ebitengine/purego"
)

// open resolves every symbol at once, so that a broken library fails here and not in the middle of
// a call. The symbols stay local to the library unless it is asked for otherwise: GPU drivers bring
// along whole compilers, whose names must not shadow those of another driver.
func open(name string, global bool) (uintptr, error) {
	if runtime.GOOS == "darwin" && !filepath.IsAbs(name) {
		return 0, errors.New("dyld would look in the working directory; give an absolute path")
	}
	// dlerror's text belongs to the thread that failed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	scope := purego.RTLD_LOCAL
	if global {
		scope = purego.RTLD_GLOBAL
	}
	return purego.Dlopen(name, purego.RTLD_NOW|scope)
}

func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}
