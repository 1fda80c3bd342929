package backend

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// panics runs f and returns what it panics with; "" if it does not.
func panics(f func()) (msg string) {
	defer func() {
		if v := recover(); v != nil {
			msg = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func TestRegisterPanics(t *testing.T) {
	before := Names()
	if msg := panics(func() { Register(nil) }); !strings.Contains(msg, "nil") {
		t.Errorf("Register(nil) panics with %q", msg)
	}
	if msg := panics(func() { Register(&fakeDriver{name: "opencl"}) }); !strings.Contains(msg, "twice") ||
		!strings.Contains(msg, "opencl") {
		t.Errorf("Register of a name that is taken panics with %q", msg)
	}
	if after := Names(); !slices.Equal(before, after) {
		t.Errorf("names %q, before %q", after, before)
	}
	if Lookup("opencl") != Driver(fakes["opencl"]) {
		t.Error("the second driver took the place of the first")
	}
}

func TestNames(t *testing.T) {
	want := []string{"cpu", "cuda", "cudasim", "metal", "opencl"}
	got := Names()
	if !slices.Equal(got, want) {
		t.Errorf("Names is %q, want %q", got, want)
	}
	for i, d := range Drivers() {
		if d.Name() != want[i] {
			t.Errorf("driver %d is %s, want %s", i, d.Name(), want[i])
		}
	}
	got[0] = "overwritten"
	Drivers()[1] = nil
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("Names is %q after a caller wrote to the list", got)
	}
	for _, name := range []string{"", "CPU", "cp", "cpu "} {
		if d := Lookup(name); d != nil {
			t.Errorf("Lookup(%q) is %s", name, d.Name())
		}
	}
}

// Run with -race. The registry is put back afterwards.
func TestRegisterConcurrently(t *testing.T) {
	before := Drivers()
	defer func() {
		registry.Lock()
		registry.drivers = before
		registry.Unlock()
	}()
	const n = 50
	var wg sync.WaitGroup
	twice := make([]string, n)
	for i := range n {
		wg.Go(func() {
			twice[i] = panics(func() { Register(&fakeDriver{name: fmt.Sprintf("extra%02d", i/2)}) })
			Lookup("cpu")
			if !slices.IsSorted(Names()) {
				t.Error("Names is not sorted")
			}
		})
	}
	wg.Wait()
	if got, want := len(Names()), len(before)+n/2; got != want {
		t.Errorf("%d drivers, want %d", got, want)
	}
	panicked := 0
	for _, msg := range twice {
		if msg != "" {
			panicked++
		}
	}
	if panicked != n/2 {
		t.Errorf("%d of %d registrations panicked, want one of each pair", panicked, n)
	}
}
