package capitest

import (
	"reflect"
	"testing"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A recorder is a test that only keeps what it was told.
type recorder struct {
	testing.TB
	cleanups []func()
	errors   int
}

func (r *recorder) Helper()               {}
func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(...any)          { r.errors++ }
func (r *recorder) Errorf(string, ...any) { r.errors++ }

// library is a table of functions in Go.
func library(t *testing.T) {
	old := capi.API.Swap(&capi.Table{
		CreateUserEvent: func(c capi.Context, status *int32) capi.Event { return capi.Event(c) + 1 },
		ReleaseEvent:    func(capi.Event) int32 { return 0 },
		EnqueueTask: func(_ capi.Queue, k capi.Kernel, _ uint32, _, ev *capi.Event) int32 {
			*ev = capi.Event(k)
			return 0
		},
	})
	t.Cleanup(func() { capi.API.Swap(old) })
}

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		use    func(l *capi.Table)
		errors int
	}{
		"clean": {func(l *capi.Table) {
			var status int32
			var ev capi.Event
			l.ReleaseEvent(l.CreateUserEvent(7, &status))
			l.ReleaseEvent(l.CreateUserEvent(7, &status)) // the same address again
			l.EnqueueTask(1, 2, 0, nil, &ev)
			l.ReleaseEvent(ev)
		}, 0},
		"older handle": {func(l *capi.Table) { l.ReleaseEvent(99) }, 0},
		"released too often": {func(l *capi.Table) {
			var status int32
			ev := l.CreateUserEvent(7, &status)
			l.ReleaseEvent(ev)
			l.ReleaseEvent(ev)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			library(t)
			r := &recorder{TB: t}
			live := Watch(r)
			c.use(capi.Current())
			if live.Count() != 0 {
				t.Errorf("%d handles are alive", live.Count())
			}
			for _, f := range r.cleanups {
				f()
			}
			if r.errors != c.errors {
				t.Errorf("%d errors, want %d", r.errors, c.errors)
			}
		})
	}
	t.Run("alive", func(t *testing.T) {
		library(t)
		live := Watch(&recorder{TB: t})
		var ev capi.Event
		capi.Current().EnqueueTask(1, 2, 0, nil, &ev)
		if live.Count() != 1 {
			t.Errorf("%d handles are alive, not 1", live.Count())
		}
	})
}

func TestWrap(t *testing.T) {
	library(t)
	plain := capi.Current()
	var names []string
	restore := Wrap(func(c *Call) []reflect.Value {
		names = append(names, c.Name)
		return c.Fail(-5)
	})
	var status int32
	var ev capi.Event
	if h := capi.Current().CreateUserEvent(7, &status); h != 0 || status != -5 {
		t.Errorf("handle %d, status %d", h, status)
	}
	if got := capi.Current().EnqueueTask(1, 2, 0, nil, &ev); got != -5 || ev != 0 {
		t.Errorf("status %d, event %d", got, ev)
	}
	if capi.Current().Finish != nil {
		t.Error("a function that is missing was wrapped")
	}
	restore()
	if want := []string{"clCreateUserEvent", "clEnqueueTask"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if capi.Current() != plain {
		t.Error("the table was not restored")
	}
}
