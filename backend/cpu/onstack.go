//go:build !purego && (amd64 || arm64) && (!(linux || darwin || netbsd || (freebsd && cgo)) || tandem_nolibs)

package cpu

// onStack runs machine code on the goroutine's own stack, which it makes large enough. Nothing
// preempts the code.
//
//go:noescape
func onStack(entry uintptr, c *nativeCall)
