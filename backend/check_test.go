package backend

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestCheckLaunch(t *testing.T) {
	info := &Info{
		Driver: "opencl", OffsetAlign: 16, MaxGroup: 256, MaxGroupDims: [3]int{256, 128, 64},
		MaxGroups: [3]int{0, 65535, 65535},
	}
	params := []Param{
		{Name: "c", Type: "float*", Buffer: true},
		{Name: "n", Type: "int", Size: 4},
		{Name: "off", Type: "ulong", Size: 8},
		{Name: "s", Type: "struct s"},
	}
	b := Buf(HostMemory(make([]byte, 64)))
	good := []Arg{b, Int32(1), Uint64(2), Float32(3)}
	with := func(i int, a Arg) []Arg {
		args := slices.Clone(good)
		args[i] = a
		return args
	}
	typed := func(a Arg, elem string) Arg {
		a.Type = elem
		return a
	}
	grid := Grid1(4, 64)
	for _, c := range []struct {
		name  string
		fixed [3]int
		grid  Grid
		args  []Arg
		want  string // "" if it is fine
	}{
		{"good", [3]int{}, grid, good, ""},
		{"a uint for an int", [3]int{}, grid, with(1, Uint32(1)), ""},
		{"any 4 bytes for an int", [3]int{}, grid, with(1, Arg{Size: 4}), ""},
		{"floats", [3]int{}, grid, with(0, typed(b, "float32")), ""},
		{"unknown size", [3]int{}, grid, with(3, Float64(1)), ""},
		{"offset", [3]int{}, grid, with(0, At(b.Buffer, 48)), ""},
		{"offset at the end", [3]int{}, grid, with(0, At(b.Buffer, 64)), ""},
		{"fixed group", [3]int{64, 1, 1}, grid, good, ""},
		{"empty grid", [3]int{}, Grid2(0, 3, 8, 8), good, ""},
		{"largest grid", [3]int{}, Grid3(1<<20, 65535, 65535, 4, 1, 64), good, ""},

		{"too few", [3]int{}, grid, good[:3], "takes 4 arguments (buffer (float*) c, int n, ulong off, struct s s), " +
			"not 3"},
		{"too many", [3]int{}, grid, append(slices.Clone(good), b), "not 5"},
		{"nil", [3]int{}, grid, with(0, Buf(nil)), "argument 0 (buffer (float*) c) is nil"},
		{"empty", [3]int{}, grid, with(1, Arg{}), "argument 1 (int n) is nil"},
		{
			"scalar for buffer",
			[3]int{},
			grid, with(0, Uint64(7)),
			"argument 0 is buffer (float*) c, not a scalar of 8 bytes",
		},
		{"buffer for scalar", [3]int{}, grid, with(1, b), "argument 1 is int n, not a buffer"},
		{"buffer for unknown", [3]int{}, grid, with(3, b), "argument 3"},
		{"too wide", [3]int{}, grid, with(1, Int64(1)), "argument 1 (int n) takes int32, not int64"},
		{"too narrow", [3]int{}, grid, with(2, Int32(1)), "argument 2 (ulong off) takes uint64, not int32"},
		{"8 bytes for 4", [3]int{}, grid, with(1, Arg{Size: 8}), "argument 1 is int n, not a scalar of 8"},
		{"a float for an int", [3]int{}, grid, with(1, Float32(1)), "1 (int n) takes int32, not float32"},
		{
			"doubles for floats",
			[3]int{},
			grid, with(0, typed(b, "float64")),
			"argument 0 (buffer (float*) c) holds float32, not float64",
		},
		{
			"negative offset",
			[3]int{},
			grid, with(0, At(b.Buffer, -16)),
			"offset -16 is outside its buffer of 64 bytes",
		},
		{"offset beyond", [3]int{}, grid, with(0, At(b.Buffer, 80)), "offset 80 is outside"},
		{"huge offset", [3]int{}, grid, with(0, At(b.Buffer, math.MaxInt64)), "outside"},
		{
			"odd offset",
			[3]int{},
			grid, with(0, At(b.Buffer, 8)),
			"offset 8 is not a multiple of the device's 16 bytes",
		},

		{"no work-items", [3]int{}, Grid1(4, 0), good, "at least 1"},
		{"negative groups", [3]int{}, Grid1(-1, 64), good, "must not be negative"},
		{"zero grid", [3]int{}, Grid{}, good, "at least 1"},
		{
			"group too large",
			[3]int{},
			Grid2(1, 1, 32, 16), good,
			"512 work-items a group, the device takes at most 256",
		},
		{"group too wide in x", [3]int{}, Grid1(1, 257), good, "at most 256 work-items a group in x"},
		{"group too wide in y", [3]int{}, Grid2(1, 1, 1, 129), good, "at most 128 work-items a group in y"},
		{"group too wide in z", [3]int{}, Grid3(1, 1, 1, 1, 1, 65), good, "at most 64 work-items a group in z"},
		{"too many groups in y", [3]int{}, Grid2(1, 65536, 1, 1), good, "at most 65535 groups in y"},
		{"nearly overflowing groups", [3]int{}, Grid1(math.MaxInt, 1), good, "too many groups"},
		{"overflowing groups", [3]int{}, Grid3(math.MaxInt, 2, 1, 1, 1, 1), good, "too many groups"},
		{"overflowing groups in z", [3]int{}, Grid3(math.MaxInt/4, 2, 3, 1, 1, 1), good, "too many groups"},
		{"overflowing work-items", [3]int{}, Grid1(math.MaxInt/2+1, 4), good, "too many work-items in x"},
		{"another group", [3]int{16, 16, 1}, grid, good, "compiled for groups of 16x16"},
		{"another shape", [3]int{8, 8, 1}, grid, good, "compiled for groups of 8x8"},
		{"empty grid, bad argument", [3]int{}, Grid1(0, 64), good[:1], "takes 4 arguments"},
		{"empty grid, bad group", [3]int{}, Grid1(0, 512), good, "at most 256"},
	} {
		if c.name == "largest grid" && math.MaxInt == math.MaxInt32 {
			c.want = "too many groups"
		}
		err := (&Signature{Name: "scale", Params: params, Group: c.fixed}).Check(info, c.grid, c.args)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var e *Error
		if !errors.Is(err, ErrLaunch) || !errors.As(err, &e) || e.Driver != "opencl" || e.Op != "Queue.Launch" {
			t.Errorf("%s: %v, want an ErrLaunch of opencl's Queue.Launch", c.name, err)
		} else if !strings.Contains(e.Detail, c.want) || !strings.Contains(e.Detail, "kernel scale") {
			t.Errorf("%s: %v, want the kernel's name and %q", c.name, err, c.want)
		}
	}
}

// Without limits in Info only what cannot be counted is refused.
func TestCheckLaunchNoLimits(t *testing.T) {
	many := Grid3(math.MaxInt>>23, 1, 1, 1024, 1024, 64)
	if err := new(Signature).Check(&Info{}, many, nil); err != nil {
		t.Error(err)
	}
	for _, g := range []Grid{
		Grid3(1, 1, 1, 1<<16, 1<<16, 1), Grid3(1, 1, 1, math.MaxInt, 1, 1),
		Grid3(1, 1, 1, math.MaxInt, math.MaxInt, math.MaxInt),
	} {
		if math.MaxInt == math.MaxInt32 && g == Grid3(1, 1, 1, math.MaxInt, 1, 1) {
			continue // it can be counted
		}
		if err := new(Signature).Check(&Info{}, g, nil); !errors.Is(err, ErrLaunch) {
			t.Errorf("%s: %v, want ErrLaunch", g, err)
		}
	}
	b := HostMemory(make([]byte, 10))
	sig := Signature{Params: []Param{{Buffer: true}}}
	if err := sig.Check(&Info{}, Grid1(1, 1), []Arg{At(b, 3)}); err != nil {
		t.Errorf("an odd offset on a device that takes any: %v", err)
	}
}

func TestCheckRange(t *testing.T) {
	d := &device{info: &Info{Driver: "cuda"}}
	const big = math.MaxInt64
	for _, c := range []struct {
		off, n, size int64
		ok           bool
	}{
		{0, 0, 0, true},
		{0, 10, 10, true},
		{10, 0, 10, true},
		{3, 7, 10, true},
		{0, big, big, true},
		{big, 0, big, true},
		{1, big - 1, big, true},
		{0, 11, 10, false},
		{3, 8, 10, false},
		{11, 0, 10, false},
		{-1, 1, 10, false},
		{-1, 0, 10, false},
		{0, -1, 10, false},
		{1, big, 10, false},
		{big, 1, 10, false},
		{big, big, 10, false},
		{big, 1, big, false},
		{1, big, big, false},
		{math.MinInt64, 1, 10, false},
		{math.MinInt64, math.MinInt64, 10, false},
		{5, math.MinInt64, 10, false},
		{0, 1, 0, false},
	} {
		err := d.checkRange("Queue.Write", c.off, c.n, c.size)
		if (err == nil) != c.ok {
			t.Errorf("%d bytes at %d of %d: %v, want ok %t", c.n, c.off, c.size, err, c.ok)
		}
		var e *Error
		if err != nil && (!errors.Is(err, ErrArgument) || !errors.As(err, &e) || e.Driver != "cuda" ||
			e.Op != "Queue.Write") {
			t.Errorf("%d bytes at %d of %d: %v, want an ErrArgument of cuda's Queue.Write", c.n, c.off, c.size, err)
		}
	}
}

func TestCheckOverlap(t *testing.T) {
	x := newThings(newNoted())
	b := must(x.d.Alloc(1000))
	for _, c := range []struct {
		dst, src, n int64
		ok          bool
	}{
		{0, 0, 0, true},
		{5, 5, 0, true},
		{0, 5, 5, true},
		{5, 0, 5, true},
		{0, 100, 5, true},
		{0, 0, 1, false},
		{0, 4, 5, false},
		{4, 0, 5, false},
		{0, 1, 5, false},
		{1, 0, 100, false},
	} {
		err := x.q.Copy(b, c.dst, b, c.src, c.n)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrArgument)) {
			t.Errorf("%d bytes from %d to %d: %v, want ok %t", c.n, c.src, c.dst, err, c.ok)
		}
	}
}
