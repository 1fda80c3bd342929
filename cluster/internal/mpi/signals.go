package mpi

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// Of the signals of a crash, SIGILL is the first on every system, and SIGSEGV the last.
const (
	firstCrash    = 4
	lastCrash     = 11
	sigactionSize = 256 // more than any system's struct sigaction has
)

// libc is the C library, by the names that systems give it.
var libc = []string{"libc.so.6", "/usr/lib/libSystem.B.dylib", "libc.so.7", "libc.so"}

// KeepSignals notes what happens on the signals of a crash; restore makes it so again. MPI
// libraries, and the network libraries that they load, set handlers of their own when they are
// loaded or started, which print a stack: a nil pointer in Go would then end in these and not in a
// panic.
func KeepSignals() (restore func()) {
	var c struct {
		Sigaction func(signal int32, set, old unsafe.Pointer) int32 `sym:"sigaction"`
	}
	lib, err := dl.Open(libc...)
	if err != nil || dl.Bind(lib, &c) != nil {
		return func() {} // a system without
	}
	kept := new([lastCrash + 1][sigactionSize]byte)
	for i := firstCrash; i <= lastCrash; i++ {
		c.Sigaction(int32(i), nil, unsafe.Pointer(&kept[i]))
	}
	return func() {
		for i := firstCrash; i <= lastCrash; i++ {
			c.Sigaction(int32(i), unsafe.Pointer(&kept[i]), nil)
		}
	}
}
