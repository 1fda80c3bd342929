//go:build (linux || darwin || netbsd || (freebsd && cgo)) && !tandem_nolibs

package cpu

import (
	"runtime"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// enter runs machine code on the thread's own stack. For the scheduler, and the garbage collector,
// the goroutine is in a system call: neither waits for a kernel, which nothing preempts.
func enter(entry uintptr, c *nativeCall) {
	dl.Call(entry, uintptr(unsafe.Pointer(c)))
	runtime.KeepAlive(c)
}
