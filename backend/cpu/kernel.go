package cpu

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/internal/host"
)

type kernel struct {
	dev      *device
	sig      driverkit.Signature
	run      backend.GoKernel
	released atomic.Bool
}

func (k *kernel) Name() string            { return k.sig.Name }
func (k *kernel) Params() []backend.Param { return k.sig.Params }

func (k *kernel) Release() error {
	k.released.Store(true)
	return nil
}

// soon is how long the caller's goroutine works alone on a launch: waking another core takes
// longer. Tests change it.
var soon = 20 * time.Microsecond

// launch runs all groups of g and waits for them. A single group runs in the caller's goroutine, as
// its kernel may use the cores itself, and so do several that are done soon. What is left is split
// into a few ranges for each core, so that cores that finish early take more.
func (k *kernel) launch(g backend.Grid, args []backend.Arg) error {
	n := g.Count()
	if n == 1 {
		return k.failure(k.call(g, 0, 1, args))
	}
	cores, done := runtime.GOMAXPROCS(0), 0
	var err error
	for start, size := time.Now(), 1; done < n && time.Since(start) < soon; size = min(2*size, max(n/(16*cores), 1)) {
		hi := min(done+size, n)
		err = cmp.Or(err, k.call(g, done, hi, args))
		done = hi
	}
	ranges := min(n-done, 4*cores)
	if ranges == 0 {
		return k.failure(err)
	}
	size, rest := (n-done)/ranges, (n-done)%ranges // the first rest ranges have one group more
	errs := make([]error, ranges)
	host.Parallel(ranges, func(i int) {
		lo := done + i*size + min(i, rest)
		hi := lo + size
		if i < rest {
			hi++
		}
		errs[i] = k.call(g, lo, hi, args)
	})
	return k.failure(cmp.Or(err, cmp.Or(errs...)))
}

// failure is the launch's error for that of some groups.
func (k *kernel) failure(err error) error {
	if err == nil {
		return nil
	}
	return fail("Queue.Launch", backend.ErrLaunch, "kernel %s: %v", k.sig.Name, err)
}

// call runs some groups. A panic becomes an error.
func (k *kernel) call(g backend.Grid, lo, hi int, args []backend.Arg) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in groups %d to %d of %s%s: %v", lo, hi-1, g, panicSite(), v)
		}
	}()
	if err := k.run(g, lo, hi, args); err != nil {
		return fmt.Errorf("groups %d to %d of %s: %w", lo, hi-1, g, err)
	}
	return nil
}

// panicSite is where the panic that is being recovered happened, as " (file.go:12)".
func panicSite() string {
	var pc [32]uintptr
	// without Callers, panicSite and the deferred function
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
