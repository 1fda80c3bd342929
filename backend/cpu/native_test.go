package cpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// What machine code fails with reads as Go's own panics do.
func TestMistake(t *testing.T) {
	x := make([]int, 3, 5)
	index := func(i int) func() { return func() { x[i]++ } }
	for _, c := range []struct {
		bad   [4]int64
		panic func()
	}{
		{[4]int64{1, 0, 3, 3}, index(3)},
		{[4]int64{1, 0, -2, 3}, index(-2)},
		{[4]int64{2}, func() { x[0] /= x[1] }},
		{[4]int64{3, 0, 6, 5}, func() { x = x[:x[2]+6] }},
		{[4]int64{3, 0, -1, 5}, func() { x = x[:x[2]-1] }},
		{[4]int64{5, 0, 3, 2}, func() { x = x[x[2]+3 : 2] }},
		{[4]int64{5, 0, -3, 2}, func() { x = x[x[2]-3 : 2] }},
		{[4]int64{4}, func() { x[0] <<= x[2] - 1 }},
	} {
		func() {
			defer func() {
				got, want := "runtime error: "+mistake(c.bad), fmt.Sprint(recover())
				if got != want {
					t.Errorf("%v is %q, want %q", c.bad, got, want)
				}
			}()
			c.panic()
		}()
	}
}

// Machine code is not run where an argument speaks of memory that is not its buffer's.
func TestFits(t *testing.T) {
	const huge = math.MaxInt64
	for _, c := range []struct {
		matrix bool
		offset int64 // in bytes
		args   []int64
		want   bool
	}{
		{false, 0, []int64{0, 10}, true},
		{false, 0, []int64{0, 11}, false},
		{false, 0, []int64{4, 6}, true},
		{false, 0, []int64{4, 7}, false},
		{false, 8, []int64{4, 4}, true},
		{false, 8, []int64{4, 5}, false},
		{false, 0, []int64{10, 0}, true},
		{false, 0, []int64{11, 0}, false},
		{false, 0, []int64{-1, 1}, false},
		{false, 0, []int64{0, -1}, false},
		{false, 0, []int64{huge, 1}, false},
		{false, 0, []int64{1, huge}, false},
		{true, 0, []int64{0, 2, 5, 5}, true},
		{true, 0, []int64{1, 2, 5, 5}, false},
		{true, 0, []int64{0, 2, 3, 7}, true},
		{true, 0, []int64{0, 2, 3, 8}, false},
		{true, 0, []int64{0, 1, 10, huge}, true},
		{true, 0, []int64{0, huge, 0, huge}, true},
		{true, 0, []int64{0, 0, huge, huge}, true},
		{true, 0, []int64{0, huge, 1, 0}, true}, // one element, again and again
		{true, 0, []int64{0, huge, 1, 1}, false},
		{true, 0, []int64{0, 3, 1, 1 << 62}, false},
		{true, 0, []int64{0, -1, 2, 2}, false},
		{true, 0, []int64{0, 2, -1, 2}, false},
		{true, 0, []int64{0, 2, 2, -1}, false},
	} {
		mem := backend.Memory{Size: 42} // a rest of two bytes
		b := call{args: []backend.Arg{{Offset: c.offset}}, mems: []*backend.Memory{&mem}}
		for _, x := range c.args {
			b.args = append(b.args, backend.Int64(x))
		}
		if got := (operand{0, 4, c.matrix}).fits(&b); got != c.want {
			t.Errorf("matrix %t, offset %d, %v: %t, want %t", c.matrix, c.offset, c.args, got, c.want)
		}
	}
}

// The environment chooses among what the processor has.
func TestChosenLevels(t *testing.T) {
	all := levels()
	check := func(choice string, want []string) {
		t.Helper()
		t.Setenv(EnvNative, choice)
		got, err := chosenLevels()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s=%q: %q, %v, want %q", EnvNative, choice, got, err, want)
		}
		d := openDevice(t)
		code := "Go"
		if len(want) > 0 {
			code = want[0] + " code"
		}
		if note := d.Info().Note; !strings.HasSuffix(note, " kernels in "+code) {
			t.Errorf("%s=%q: the device says %q", EnvNative, choice, note)
		}
	}
	check("", all)
	check("off", nil)
	for i, level := range all {
		check(level, all[i:])
	}
	t.Setenv(EnvNative, "sse9")
	_, err := driver{}.Open(0)
	want(t, err, backend.ErrArgument, EnvNative, "sse9", "off")
	if _, err := (driver{}).Devices(); err == nil {
		t.Error("Devices takes a level that there is not")
	}
}

// Scratch memory lies in pages of its own.
func TestScratch(t *testing.T) {
	pages := map[uintptr]*frame{}
	for i := range 400 {
		f, size := new(frame), 8+37*i
		f.reserve(size)
		start := uintptr(f.scratch)
		for at := start; at < start+uintptr(size); at += 8 {
			if other := pages[at/page]; start%page != 0 || other != nil && other != f {
				t.Fatalf("%d bytes at %#x share a page", size, start)
			}
			pages[at/page] = f // which keeps its memory
		}
	}
}
