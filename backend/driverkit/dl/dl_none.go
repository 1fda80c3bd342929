//go:build !((linux && !(mips || mipsle || mips64 || mips64le || ppc64 || s390x)) || darwin || windows || netbsd || (freebsd && cgo)) || tandem_nolibs

package dl

// Purego, which calls C without cgo, does not know the system, or the tag left it out.

func open(string, bool) (uintptr, error) { return 0, ErrNone }

func symbol(uintptr, string) (uintptr, error) { return 0, ErrNone }

// Without a library there is no address to call.

func register(any, uintptr) { panic(ErrNone) }

func call(uintptr, []uintptr) uintptr { panic(ErrNone) }
