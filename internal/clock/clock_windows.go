package clock

import (
	"math/bits"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32  = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel32.NewProc("QueryPerformanceCounter")
	perSecond = call(kernel32.NewProc("QueryPerformanceFrequency"))
)

// Now is the time since some moment before the first call.
func Now() time.Duration {
	hi, lo := bits.Mul64(call(counter), uint64(time.Second))
	ns, _ := bits.Div64(hi, lo, perSecond)
	return time.Duration(ns)
}

// call gives the number that a function writes, and which since Windows XP it always has.
func call(f *windows.LazyProc) (n uint64) {
	_, _, _ = syscall.SyscallN(f.Addr(), uintptr(unsafe.Pointer(&n)))
	return n
}
