// Package faulttest runs all that linalg does with a device while calls of the device's library
// fail, one after the other. The tests of the drivers, which can reach their function tables, call
// it.
package faulttest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/faulttest/fault"
	"github.com/tandem-gpu/tandem/linalg"
)

// every makes each call fail at each of its uses, and not at a few of them.
var every = flag.Bool("every", false,
	"let each call of a library fail at each of its uses: minutes in place of seconds")

// A Call is one call of a C function.
type Call interface {
	// Run makes the call.
	Run() []reflect.Value
	// Fail gives the results of a call that failed with code.
	Fail(code int32) []reflect.Value
}

// A Hook runs the call of the C function name, or fails it, or does both.
type Hook func(name string, c Call) []reflect.Value

// A Library is a function table, as a test can disturb it.
type Library struct {
	Driver func() backend.Driver         // a driver that has listed no devices yet
	Wrap   func(h Hook) (restore func()) // puts h before every call
	Live   func() int                    // handles that are not released
	Memory int32                         // the code of a lack of memory
	Lost   int32                         // the code of a device that is lost; 0: there is none
	// C functions, and functions of Go that call C, whose failures need not be told, and why
	Quiet   map[string]string
	Allocs  []string               // the C functions that allocate memory
	Only    func(name string) bool // whether to let a C function fail; nil: all of them
	Forgets bool                   // the driver does not know by itself that its device is lost
	Use     []Operation            // what to do with the device; nil: Operations
}

// open opens a session on the first device.
func (l *Library) open() (*linalg.Session, error) {
	d, err := l.Driver().Open(0)
	if err != nil {
		return nil, err
	}
	s, err := linalg.NewSession(d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return s, nil
}

// A libraryFault is a fault with its code. A sticky one is that of a lost device: all calls after
// it fail as well.
type libraryFault struct {
	fault.Fault
	code   int32
	sticky atomic.Bool
}

func (f *libraryFault) hook(name string, c Call) []reflect.Value {
	after := f.sticky.Load() && f.Fired() != "" && !isText(name)
	if !f.Due(name) && !after {
		return c.Run()
	}
	if isRelease(name) {
		c.Run() // what C keeps would be a leak of the test's making
	}
	return c.Fail(f.code)
}

// isRelease tells whether a C function releases something.
func isRelease(name string) bool {
	for _, word := range []string{
		"Release", "Free", "Unregister", "StreamDestroy", "EventDestroy", "ModuleUnload", "DestroyProgram",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// isText tells whether a C function explains codes, which works when nothing else does.
func isText(name string) bool { return name == "cuGetErrorName" || name == "cuGetErrorString" }

// quiet is why a failure of f need not be told, "" where it must.
func (l *Library) quiet(f *libraryFault) string {
	if why := l.Quiet[f.Name]; why != "" {
		return why
	}
	for function, why := range l.Quiet {
		if strings.Contains(f.Fired(), function) {
			return why
		}
	}
	return ""
}

// Run lets every C function that linalg's operations use fail: once with a lack of memory, after
// which everything works again, and once with the loss of the device, after which nothing does
// until it is opened anew.
func Run(t *testing.T, l *Library) {
	// what is released is released by the code, not by the garbage collector
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := newRunner(t, l)
	r.count(t) // fills the disk cache
	var err error
	if r.bystander, err = l.open(); err != nil {
		t.Fatal(err)
	}
	defer r.bystander.Close()
	if err := r.again(r.bystander); err != nil { // compiles its kernels
		t.Fatal(err)
	}
	r.others = r.Live()
	uses, total := r.count(t), int64(0)
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		n := uses[name]
		total += n
		if l.Only != nil && !l.Only(name) {
			continue
		}
		for _, nth := range r.uses(name, n) {
			r.check(t, name, nth, l.Memory, false)
		}
		for _, nth := range slices.Compact([]int64{1, n/2 + 1, n}) {
			if l.Lost == 0 {
				break
			}
			r.check(t, name, nth, l.Lost, true)
		}
	}
	if r.missed > r.faults/20 {
		t.Errorf("%d calls were made less often than before", r.missed)
	}
	t.Logf("%d C functions, used %d times: %d faults, %d of them a lost device; %d were told, %d need not be",
		len(uses), total, r.faults, r.lost, r.told, r.faults-r.told)
}

// Functions names the C functions that the operations use.
func Functions(t *testing.T, l *Library) []string {
	t.Helper()
	r := newRunner(t, l)
	r.count(t) // fills the disk cache
	return slices.Sorted(maps.Keys(r.count(t)))
}

// Cycles opens a session, multiplies on it and closes it, again and again: 100 times, or 10,000
// with -every. Each time all handles are released.
func Cycles(t *testing.T, l *Library) {
	t.Helper()
	r, driver := newRunner(t, l), l.Driver()
	l.Driver = func() backend.Driver { return driver }
	n := 100
	if *every {
		n = 10_000
	}
	for i := range n {
		s, err := l.open()
		if err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
		err = r.again(s)
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
		if live := r.drained(); live != 0 {
			t.Fatalf("session %d: %d handles are left", i, live)
		}
	}
	t.Logf("%d sessions, no handle left after any", n)
}

type runner struct {
	*Library
	operations         []Operation
	want               [][]float32     // of the operations
	bystander          *linalg.Session // another session on the same device, which no fault of the first may harm
	others             int             // its handles
	faults, lost, told int
	missed             int // faults that did not come to pass
}

func newRunner(t *testing.T, l *Library) *runner {
	t.Helper()
	r := &runner{Library: l, operations: l.Use}
	if r.operations == nil {
		r.operations = Operations
	}
	var err error
	if r.want, err = Results(r.operations); err != nil {
		t.Fatal(err)
	}
	return r
}

// uses are the uses at which a function that is used n times is to fail: all of them, or the first,
// the second, the middle one and the last. An allocation fails at all of them, unless the tests are
// short.
func (r *runner) uses(name string, n int64) (list []int64) {
	if testing.Short() {
		return slices.Compact([]int64{1, n})
	}
	if !*every && !slices.Contains(r.Allocs, name) {
		return slices.Compact([]int64{1, min(2, n), (n + 1) / 2, n})
	}
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// count is how often each C function is used.
func (r *runner) count(t *testing.T) map[string]int64 {
	t.Helper()
	var mu sync.Mutex
	n := map[string]int64{}
	defer r.Wrap(func(name string, c Call) []reflect.Value {
		mu.Lock()
		n[name]++
		mu.Unlock()
		return c.Run()
	})()
	if err := r.all(nil); err != nil {
		t.Fatal(err)
	}
	r.drained()
	return n
}

// all opens a session, uses it, and closes it. After an error, afterwards sees the session.
func (r *runner) all(afterwards func(s *linalg.Session, err error)) (err error) {
	s, err := r.open()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && afterwards != nil {
			afterwards(s, err)
		}
		err = errors.Join(err, s.Close())
		if again := s.Close(); again != nil {
			err = errors.Join(err, fmt.Errorf("a second Close: %w", again))
		}
	}()
	if _, err := linalg.NewArray[float32](s, 2, 2); err != nil { // for Close to free
		return err
	}
	for i, o := range r.operations {
		got, err := o.Run(s)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
		if !slices.Equal(got, r.want[i]) {
			return fmt.Errorf("%s: a wrong result", o.Name)
		}
	}
	return s.Wait()
}

// patience is how long one run may take before it is taken for one that hangs.
const patience = 2 * time.Minute

// check runs the operations with a fault. What is done in the background differs from run to run:
// where the call was made less often than before, it tries again with the last use of that run.
func (r *runner) check(t *testing.T, name string, nth int64, code int32, sticky bool) {
	const attempts = 3
	for range attempts {
		f := &libraryFault{Fault: fault.Fault{Name: name, Nth: nth}, code: code}
		f.sticky.Store(sticky)
		if r.happens(t, f) {
			return
		}
		nth = max(1, min(nth, f.Uses()))
	}
	r.missed++
}

// happens is one run of check. It tells whether the fault came to pass, as one at the first use
// must.
func (r *runner) happens(t *testing.T, f *libraryFault) bool {
	sticky, title := f.sticky.Load(), fmt.Sprintf("%s %d", f.Name, f.Nth)
	if sticky {
		title += " lost"
	}
	defer time.AfterFunc(patience, func() { panic(t.Name() + ": " + title + ": hangs") }).Stop()
	errorf := func(format string, v ...any) {
		t.Helper()
		t.Errorf("%s: %s", title, fmt.Sprintf(format, v...))
	}
	restore := r.Wrap(f.hook)
	err := r.all(func(s *linalg.Session, err error) {
		if !sticky {
			if err := r.again(s); err != nil {
				errorf("%v; afterwards: %v", err, err)
			}
			return
		}
		during := r.again(s)
		after := during
		if !r.Forgets {
			f.sticky.Store(false) // C works again, and the driver has not forgotten
			after = r.again(s)
			f.sticky.Store(true)
		}
		if !errors.Is(during, backend.ErrDeviceLost) || !errors.Is(after, backend.ErrDeviceLost) {
			errorf("%v; afterwards %v and %v, want a lost device", err, during, after)
		}
	})
	if f.Fired() == "" {
		r.drained() // what is released in the background may come to it yet
	}
	restore()
	if f.Fired() == "" && f.Nth > 1 {
		if err != nil {
			errorf("it did not come to pass, and yet: %v", err)
		}
		return false
	}
	r.faults++
	if sticky {
		r.lost++
	}
	why := r.quiet(f)
	switch {
	case f.Fired() == "":
		errorf("it was not used")
	case err != nil && strings.Contains(err.Error(), f.Name):
		r.told++
		var e *backend.Error
		if !errors.As(err, &e) || e.Driver == "" || e.Op == "" {
			errorf("%v is no error of a driver", err)
		}
	case why == "":
		errorf("%v, want an error of this call, made by\n%s", err, f.Fired())
	case err != nil && !sticky && !expected(err):
		errorf("%v, which is not named, because %s", err, why)
	}
	if n := r.drained(); n != r.others {
		t.Fatalf("%s: %d handles are left", title, n-r.others)
	}
	if err := r.again(r.bystander); err != nil {
		errorf("another session: %v", err)
	}
	if r.faults%20 == 0 {
		runtime.GC()
	}
	return true
}

// expected are the errors of a session that lacks what a quiet call would have told or made.
func expected(err error) bool {
	return errors.Is(err, backend.ErrUnsupported) || errors.Is(err, backend.ErrOutOfMemory)
}

// again uses a session after an error. Nothing of the error must be left.
func (r *runner) again(s *linalg.Session) error {
	got, err := r.operations[0].Run(s)
	if err == nil && !slices.Equal(got, r.want[0]) {
		err = errors.New("a wrong result")
	}
	return errors.Join(err, s.Wait())
}

// drained is the number of live handles, once what is released in the background is.
func (r *runner) drained() int {
	for range 2000 {
		if r.Live() == r.others {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return r.Live()
}
