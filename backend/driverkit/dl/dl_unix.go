//go:build ((linux && !(mips || mipsle || mips64 || mips64le || ppc64 || s390x)) || darwin || netbsd || (freebsd && cgo)) && !tandem_nolibs

package dl

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

// open resolves every symbol at once, so that a broken library fails here and not in the middle of
// a call. The symbols stay local to the library unless it is asked for otherwise: GPU drivers bring
// along whole compilers, whose names must not shadow those of another driver.
func open(name string, global bool) (uintptr, error) {
	if runtime.GOOS == "darwin" && !filepath.IsAbs(name) {
		return 0, errors.New("dyld would look in the working directory; give an absolute path")
	}
	spareThreads()
	// dlerror's text belongs to the thread that failed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	scope := purego.RTLD_LOCAL
	if global {
		scope = purego.RTLD_GLOBAL
	}
	return purego.Dlopen(name, purego.RTLD_NOW|scope)
}

// spareThreads makes threads for Go to have: while a library is being loaded the C library starts
// none, and Go waits for one with all goroutines. A driver that hangs when it is loaded must not
// keep the program from hearing of Ctrl-C.
var spareThreads = sync.OnceFunc(func() {
	var locked, all sync.WaitGroup
	n := min(runtime.GOMAXPROCS(0), 4) + 4
	locked.Add(n)
	for range n {
		all.Go(func() {
			runtime.LockOSThread() // each has a thread of its own until all have
			defer runtime.UnlockOSThread()
			locked.Done()
			locked.Wait()
		})
	}
	all.Wait()
})

func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}
