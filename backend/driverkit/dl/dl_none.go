//go:build !((linux && (!386 || cgo)) || darwin || windows || netbsd || (freebsd && cgo)) || tandem_nolibs

package dl

import (
	"errors"
	"runtime"
)

// errNone is why nothing loads here: purego, which calls C without cgo, does not know the system,
// or the tag left it out. On linux/386 even kernels of the cpu device ended in a segmentation fault
// when purego v0.11.3 was linked and several threads worked; why is not known.
var errNone = errors.New("this program was built to load no libraries (on " + runtime.GOOS + "/" + runtime.GOARCH +
	"; the tag tandem_nolibs, or a system without purego)")

func open(string, bool) (uintptr, error) { return 0, errNone }

func symbol(uintptr, string) (uintptr, error) { return 0, errNone }

// Without a library there is no address to call.

func register(any, uintptr) { panic(errNone) }

func call(uintptr, []uintptr) uintptr { panic(errNone) }
