// Package fault is for tests in which calls of a library fail: it says which are to, and ends what
// they fail in.
package fault

import (
	"runtime"
	"strings"
	"sync"
)

// A Fault is the failure of a C function at its nth use. Where that is in an allocation, which is
// tried a second time, the function fails there again.
type Fault struct {
	Name string
	Nth  int64

	mu    sync.Mutex
	uses  int64
	where string
	again string // who allocates, and is to fail in the second attempt: others may allocate meanwhile
}

// Due counts a use of the C function name, and tells whether it is to fail.
func (f *Fault) Due(name string) bool {
	if name != f.Name {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uses++
	switch {
	case f.uses == f.Nth:
		f.where = callers()
		f.again = allocates(f.where)
		return true
	case f.again != "" && allocates(callers()) == f.again:
		f.again = ""
		return true
	}
	return false
}

// Uses is how often the C function has been used.
func (f *Fault) Uses() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.uses
}

// Fired names the functions of Go that made the call, one a line, once it has failed.
func (f *Fault) Fired() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.where
}

// allocates is the callers of the function that tries allocations again, "" where it is not called,
// or frees memory in between.
func allocates(callers string) string {
	attempt, by, _ := strings.Cut(callers, "backend.(*device).allocate")
	if strings.Contains(attempt, "backend.(*device).freeKept") {
		return ""
	}
	return by
}

// callers names the functions of Go that are being called, one a line.
func callers() string {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		b.WriteString(f.Function + "\n")
		if !more {
			return b.String()
		}
	}
}
