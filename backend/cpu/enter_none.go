//go:build !(linux || darwin || netbsd || (freebsd && cgo)) || tandem_nolibs

package cpu

// enter runs machine code where no goroutine can be left to the system: the garbage collector waits
// for it. Windows can, but calls C in another way than the code is compiled for.
func enter(entry uintptr, c *nativeCall) { onStack(entry, c) }
