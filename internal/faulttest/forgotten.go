package faulttest

import (
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// Forgotten lets the C function alloc fail for lack of memory until free, another, has released
// some: an allocation must find the memory of arrays that the program has forgotten.
func Forgotten(t *testing.T, l *Library, alloc, free string) {
	s, err := l.open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := linalg.NewArray[float32](s, 100, 100); err != nil {
		t.Fatal(err)
	}
	var freed, refused atomic.Bool
	defer l.Wrap(func(name string, c Call) []reflect.Value {
		switch {
		case name == free:
			freed.Store(true)
		case name == alloc && !freed.Load():
			refused.Store(true)
			return c.Fail(l.Memory)
		}
		return c.Run()
	})()
	a, err := linalg.NewArray[float32](s, 100, 100)
	if err != nil {
		t.Fatal(err)
	}
	if !refused.Load() {
		t.Errorf("%s was not called", alloc)
	}
	if err := a.Free(); err != nil {
		t.Error(err)
	}
}

// Many allocates arrays of 4 MB and forgets them, as a loop may. used is the memory in
// use, which must not come near that of all of them.
func Many(t *testing.T, l *Library, used func(s *linalg.Session) int64) {
	const size, limit = 4 << 20, 1 << 30
	s, err := l.open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	most := int64(0)
	for range 400 {
		if _, err := linalg.NewArray[float32](s, 1024, size/4096); err != nil {
			t.Fatal(err)
		}
		most = max(most, used(s))
	}
	if most > limit {
		t.Errorf("%d of 400 arrays of %d bytes were there at once", most/size, size)
	}
}
