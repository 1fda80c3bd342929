//go:build !((linux && !(mips || mipsle || mips64 || mips64le || ppc64 || s390x)) || darwin || windows || netbsd || (freebsd && cgo)) || tandem_nolibs

package dl

import (
	"errors"
	"runtime"
)

// errNone is why nothing loads here: purego, which calls C without cgo, does not know the system,
// or the tag left it out.
var errNone = errors.New("this program was built to load no libraries (on " + runtime.GOOS + "/" + runtime.GOARCH +
	"; the tag tandem_nolibs, or a system without purego)")

func open(string, bool) (uintptr, error) { return 0, errNone }

func symbol(uintptr, string) (uintptr, error) { return 0, errNone }

// Without a library there is no address to call.

func register(any, uintptr) { panic(errNone) }

func call(uintptr, []uintptr) uintptr { panic(errNone) }
