package dltest

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
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

// A table has functions with both ways to return a status.
type table struct {
	Create  func(h uintptr, status *int32) uintptr `sym:"libCreate_v2,libCreate"`
	Open    func(h *uintptr) int32                 `sym:"libOpen"`
	Release func(h uintptr) int32                  `sym:"libRelease"`
	Missing func() int32                           `sym:"libMissing"`
}

// library is a table of functions in Go, which give out the handle that they are given.
func library() *atomic.Pointer[table] {
	api := new(atomic.Pointer[table])
	api.Store(&table{
		Create:  func(h uintptr, _ *int32) uintptr { return h },
		Open:    func(*uintptr) int32 { return 0 },
		Release: func(uintptr) int32 { return 0 },
	})
	return api
}

// handle is the Handle of such tables.
func handle(c *Call, results []reflect.Value) (string, int) {
	switch {
	case c.Name == "libRelease" && results == nil:
		return fmt.Sprint(c.Args[0].Uint()), -1
	case c.Name == "libCreate" && results != nil:
		return fmt.Sprint(results[0].Uint()), 1
	case c.Name == "libOpen" && results != nil:
		return fmt.Sprint(c.Args[0].Elem().Uint()), 1
	}
	return "", 0
}

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		use    func(l *table)
		errors int
	}{
		"clean": {func(l *table) {
			var status int32
			h := uintptr(8)
			l.Release(l.Create(7, &status))
			l.Release(l.Create(7, &status)) // the same address again
			l.Open(&h)
			l.Open(&h)
			l.Release(h)
			l.Release(h)
		}, 0},
		"older handle": {func(l *table) { l.Release(99) }, 0},
		"released too often": {func(l *table) {
			var status int32
			h := l.Create(7, &status)
			l.Release(h)
			l.Release(h)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			api := library()
			r := &recorder{TB: t}
			live := Watch(r, api, handle)
			c.use(api.Load())
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
		api := library()
		live := Watch(&recorder{TB: t}, api, handle)
		api.Load().Open(new(uintptr))
		if live.Count() != 1 {
			t.Errorf("%d handles are alive, not 1", live.Count())
		}
	})
}

func TestWrap(t *testing.T) {
	api := library()
	plain := api.Load()
	var names []string
	restore := Wrap(api, func(c *Call) []reflect.Value {
		names = append(names, c.Name)
		if c.Name == "libRelease" {
			return c.Run()
		}
		return c.Fail(-5)
	})
	var status int32
	if h := api.Load().Create(7, &status); h != 0 || status != -5 {
		t.Errorf("handle %d, status %d", h, status)
	}
	if got := api.Load().Open(new(uintptr)); got != -5 {
		t.Errorf("status %d", got)
	}
	if got := api.Load().Release(7); got != 0 {
		t.Errorf("status %d", got)
	}
	if api.Load().Missing != nil {
		t.Error("a function that is missing was wrapped")
	}
	restore()
	if want := []string{"libCreate", "libOpen", "libRelease"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if api.Load() != plain {
		t.Error("the table was not restored")
	}
}
