package mpi

import (
	"os"
	"runtime"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// Exit ends the program as C's exit does, and not as Go's: newer MPICH (seen in 5.0) says good-bye
// to its launcher in a handler of that, and a launcher that hears nothing ends the whole job as
// failed.
func (l *Library) Exit(code int) {
	var c struct {
		Exit func(code int32) `sym:"exit"`
	}
	if l.lib != nil && dl.Bind(l.lib, &c) == nil {
		runtime.LockOSThread()
		c.Exit(int32(code))
	}
	os.Exit(code)
}
