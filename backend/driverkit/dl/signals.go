package dl

import (
	"slices"
	"sync"
	"unsafe"
)

const (
	signals       = 31
	profiling     = 27  // SIGPROF, which Go itself takes and gives back with each profile
	sigactionSize = 256 // more than the struct of any system has
)

// actions is what happens on each signal, as it was before the first of those that are inside now.
var actions struct {
	sync.Mutex
	inside int
	kept   [signals + 1][sigactionSize]byte
}

// KeepSignals notes what happens on signals; restore makes it so again, but on those that guests
// may have. Drivers, the compilers that they bring along, and MPI libraries set handlers of their
// own when they are loaded or started, which print a stack: a nil pointer in Go would then end in
// these and not in a panic.
func KeepSignals(guests ...int) (restore func()) {
	f, a := sigaction(), &actions
	if f == nil {
		return func() {}
	}
	each := func(call func(signal int, action uintptr)) {
		for i := 1; i <= signals; i++ {
			if i != profiling {
				call(i, uintptr(unsafe.Pointer(&a.kept[i])))
			}
		}
	}
	a.Lock()
	defer a.Unlock()
	if a.inside++; a.inside == 1 {
		each(func(signal int, action uintptr) { f(signal, 0, action) })
	}
	return func() {
		a.Lock()
		defer a.Unlock()
		a.inside--
		each(func(signal int, action uintptr) {
			if slices.Contains(guests, signal) {
				f(signal, 0, action) // which those who are inside keep
			} else {
				f(signal, action, 0)
			}
		})
	}
}
