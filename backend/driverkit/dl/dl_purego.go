//go:build ((linux && !(mips || mipsle || mips64 || mips64le || ppc64 || s390x)) || darwin || windows || netbsd || (freebsd && cgo)) && !tandem_nolibs

package dl

import (
	"sync"

	"github.com/ebitengine/purego"
)

// register makes the func variable at function call the C function at addr.
func register(function any, addr uintptr) { purego.RegisterFunc(function, addr) }

// argLists are argument lists for Call: purego wants them on the heap.
var argLists = sync.Pool{New: func() any { return new([16]uintptr) }}

func call(fn uintptr, args []uintptr) uintptr {
	list := argLists.Get().(*[16]uintptr)
	defer argLists.Put(list)
	n := copy(list[:len(args)], args)
	r, _, _ := purego.SyscallN(fn, list[:n]...)
	return r
}
