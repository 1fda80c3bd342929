package backend

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// hostMemory is plain memory as a buffer.
type hostMemory []byte

func (m hostMemory) Len() int64    { return int64(len(m)) }
func (m hostMemory) Bytes() []byte { return m }
func (m hostMemory) Free() error   { return nil }

func TestGrid(t *testing.T) {
	if g, want := Grid1(5, 7), (Grid{[3]int{5, 1, 1}, [3]int{7, 1, 1}}); g != want {
		t.Errorf("Grid1 is %+v, want %+v", g, want)
	}
	if g, want := Grid2(5, 6, 7, 8), (Grid{[3]int{5, 6, 1}, [3]int{7, 8, 1}}); g != want {
		t.Errorf("Grid2 is %+v, want %+v", g, want)
	}
	g := Grid3(4, 3, 2, 7, 8, 9)
	if want := (Grid{[3]int{4, 3, 2}, [3]int{7, 8, 9}}); g != want {
		t.Errorf("Grid3 is %+v, want %+v", g, want)
	}
	if g.Count() != 24 || g.Items() != 7*8*9 || g.Empty() {
		t.Errorf("%s: %d groups of %d, empty %t", g, g.Count(), g.Items(), g.Empty())
	}
	i := 0
	for z := range 2 {
		for y := range 3 {
			for x := range 4 {
				if gx, gy, gz := g.Group(i); gx != x || gy != y || gz != z {
					t.Errorf("group %d is %d,%d,%d, want %d,%d,%d", i, gx, gy, gz, x, y, z)
				}
				i++
			}
		}
	}
	for _, empty := range []Grid{Grid1(0, 1), Grid2(0, 1, 1, 1), Grid2(1, 0, 1, 1), Grid3(1, 1, 0, 1, 1, 1), {}} {
		if !empty.Empty() || empty.Count() != 0 {
			t.Errorf("%+v: empty %t, %d groups", empty, empty.Empty(), empty.Count())
		}
	}
	for g, want := range map[Grid]string{
		Grid1(6, 36):              "6 groups of 36",
		Grid2(6, 7, 8, 9):         "6x7 groups of 8x9",
		Grid3(1, 2, 3, 4, 5, 1):   "1x2x3 groups of 4x5",
		Grid2(6, 1, 16, 1):        "6 groups of 16",
		Grid3(1, 1, 1, 1, 1, 1):   "1 groups of 1",
		Grid3(0, 1, -1, 4, 0, 10): "0x1x-1 groups of 4x0x10",
	} {
		if g.String() != want {
			t.Errorf("%+v is %q, want %q", g, g, want)
		}
	}
}

func TestArg(t *testing.T) {
	nan32, nan64 := uint32(0xffc12345), uint64(0xfff8123456789abc)
	for name, ok := range map[string]bool{
		"int32":   Int32(math.MinInt32).Int32() == math.MinInt32 && Int32(-1).Size == 4 && Int32(-1).Bits == 0xffffffff,
		"uint32":  Uint32(math.MaxUint32).Uint32() == math.MaxUint32 && Uint32(1).Size == 4,
		"int64":   Int64(math.MinInt64).Int64() == math.MinInt64 && Int64(-1).Size == 8 && Int64(-1).Bits == math.MaxUint64,
		"uint64":  Uint64(math.MaxUint64).Uint64() == math.MaxUint64 && Uint64(1).Size == 8,
		"float32": math.Float32bits(Float32(math.Float32frombits(nan32)).Float32()) == nan32 && Float32(1).Size == 4 && Float32(-1).Bits == 0xbf800000,
		"float64": math.Float64bits(Float64(math.Float64frombits(nan64)).Float64()) == nan64 && Float64(1).Size == 8,
		"-0":      math.Signbit(float64(Float32(float32(math.Copysign(0, -1))).Float32())) && math.Signbit(Float64(math.Copysign(0, -1)).Float64()),
	} {
		if !ok {
			t.Errorf("%s does not come back as it was, or has another size", name)
		}
	}
	b := make(hostMemory, 8)
	if a := Buf(b); a.Buffer == nil || a.Offset != 0 || a.Size != 0 {
		t.Errorf("Buf is %+v", a)
	}
	if a := At(b, 4); a.Buffer == nil || a.Offset != 4 || a.Size != 0 {
		t.Errorf("At is %+v", a)
	}
}

func TestMem(t *testing.T) {
	x := []int32{1, 2, 3, 4}
	b := hostMemory(Bytes(x))
	m := Mem[int32](At(b, 8))
	if !slices.Equal(m, []int32{3, 4}) {
		t.Errorf("Mem at 8 is %v, want 3, 4", m)
	}
	m[0] = 7
	if x[2] != 7 {
		t.Error("Mem copied")
	}
	if m := Mem[int32](At(b, 16)); len(m) != 0 {
		t.Errorf("Mem at the end is %v", m)
	}
	if m := Mem[float64](At(b[:14], 0)); len(m) != 1 {
		t.Errorf("Mem of 14 bytes has %d float64, want 1", len(m))
	}
}

func TestBytesElems(t *testing.T) {
	x := []float64{1, math.Copysign(0, -1), math.NaN()}
	b := Bytes(x)
	if len(b) != 24 || unsafe.Pointer(&b[0]) != unsafe.Pointer(&x[0]) {
		t.Errorf("Bytes has %d bytes, or is not the same memory", len(b))
	}
	if e := Elems[float64](b); len(e) != 3 || &e[0] != &x[0] {
		t.Errorf("Elems has %d elements, or is not the same memory", len(e))
	}
	if e := Elems[float64](b[:23]); len(e) != 2 {
		t.Errorf("Elems of 23 bytes has %d float64, want 2", len(e))
	}
	if e := Elems[float64](b[:7]); e != nil {
		t.Errorf("Elems of 7 bytes is %v, want nil", e)
	}
	if Bytes([]int32{}) != nil || Bytes[int32](nil) != nil || Elems[int32](nil) != nil {
		t.Error("nothing is not nil")
	}
	if b := Bytes([]struct{}{{}, {}}); len(b) != 0 {
		t.Errorf("Bytes of elements without a size has %d bytes", len(b))
	}
}

func TestCheckLaunch(t *testing.T) {
	info := &Info{Driver: "opencl", OffsetAlign: 16, MaxGroup: 256, MaxGroupDims: [3]int{256, 128, 64}, MaxGroups: [3]int{0, 65535, 65535}}
	params := []Param{{Name: "c", Type: "float*", Buffer: true}, {Name: "n", Type: "int", Size: 4}, {Name: "off", Type: "ulong", Size: 8}, {Name: "s", Type: "struct s"}}
	b := Buf(make(hostMemory, 64))
	good := []Arg{b, Int32(1), Uint64(2), Float32(3)}
	with := func(i int, a Arg) []Arg {
		args := slices.Clone(good)
		args[i] = a
		return args
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
		{"a float for an int", [3]int{}, grid, with(1, Float32(1)), ""}, // of the same width: the check is on widths
		{"unknown size", [3]int{}, grid, with(3, Float64(1)), ""},
		{"offset", [3]int{}, grid, with(0, At(b.Buffer, 48)), ""},
		{"offset at the end", [3]int{}, grid, with(0, At(b.Buffer, 64)), ""},
		{"fixed group", [3]int{64, 1, 1}, grid, good, ""},
		{"empty grid", [3]int{}, Grid2(0, 3, 8, 8), good, ""},
		{"largest grid", [3]int{}, Grid3(1<<20, 65535, 65535, 4, 1, 64), good, ""},

		{"too few", [3]int{}, grid, good[:3], "takes 4 arguments (buffer (float*) c, int n, ulong off, struct s s), not 3"},
		{"too many", [3]int{}, grid, append(slices.Clone(good), b), "not 5"},
		{"nil", [3]int{}, grid, with(0, Buf(nil)), "argument 0 (buffer (float*) c) is nil"},
		{"nil pointer", [3]int{}, grid, with(0, Buf((*typedBuffer)(nil))), "argument 0 (buffer (float*) c) is nil"},
		{"empty", [3]int{}, grid, with(1, Arg{}), "argument 1 (int n) is nil"},
		{"nil pointer for scalar", [3]int{}, grid, with(1, Buf((*typedBuffer)(nil))), "argument 1 (int n) is nil"},
		{"scalar for buffer", [3]int{}, grid, with(0, Uint64(7)), "argument 0 is buffer (float*) c, not a scalar of 8 bytes"},
		{"buffer for scalar", [3]int{}, grid, with(1, b), "argument 1 is int n, not a buffer"},
		{"buffer for unknown", [3]int{}, grid, with(3, b), "argument 3"},
		{"too wide", [3]int{}, grid, with(1, Int64(1)), "argument 1 is int n, not a scalar of 8 bytes"},
		{"too narrow", [3]int{}, grid, with(2, Int32(1)), "argument 2 is ulong off, not a scalar of 4 bytes"},
		{"negative offset", [3]int{}, grid, with(0, At(b.Buffer, -16)), "offset -16 is outside its buffer of 64 bytes"},
		{"offset beyond", [3]int{}, grid, with(0, At(b.Buffer, 80)), "offset 80 is outside"},
		{"huge offset", [3]int{}, grid, with(0, At(b.Buffer, math.MaxInt64)), "outside"},
		{"odd offset", [3]int{}, grid, with(0, At(b.Buffer, 8)), "offset 8 is not a multiple of the device's 16 bytes"},

		{"no work-items", [3]int{}, Grid1(4, 0), good, "at least 1"},
		{"negative groups", [3]int{}, Grid1(-1, 64), good, "must not be negative"},
		{"zero grid", [3]int{}, Grid{}, good, "at least 1"},
		{"group too large", [3]int{}, Grid2(1, 1, 32, 16), good, "512 work-items a group, the device takes at most 256"},
		{"group too wide in x", [3]int{}, Grid1(1, 257), good, "at most 256 work-items a group in x"},
		{"group too wide in y", [3]int{}, Grid2(1, 1, 1, 129), good, "at most 128 work-items a group in y"},
		{"group too wide in z", [3]int{}, Grid3(1, 1, 1, 1, 1, 65), good, "at most 64 work-items a group in z"},
		{"too many groups in y", [3]int{}, Grid2(1, 65536, 1, 1), good, "at most 65535 groups in y"},
		{"overflowing groups", [3]int{}, Grid3(math.MaxInt, 2, 1, 1, 1, 1), good, "too many groups"},
		{"overflowing groups in z", [3]int{}, Grid3(math.MaxInt/4, 2, 3, 1, 1, 1), good, "too many groups"},
		{"another group", [3]int{16, 16, 1}, grid, good, "compiled for groups of 16x16"},
		{"another shape", [3]int{8, 8, 1}, grid, good, "compiled for groups of 8x8"},
		{"empty grid, bad argument", [3]int{}, Grid1(0, 64), good[:1], "takes 4 arguments"},
		{"empty grid, bad group", [3]int{}, Grid1(0, 512), good, "at most 256"},
	} {
		err := CheckLaunch(info, "scale", params, c.fixed, c.grid, c.args)
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
	if err := CheckLaunch(&Info{}, "k", nil, [3]int{}, Grid3(math.MaxInt>>23, 1, 1, 1024, 1024, 64), nil); err != nil {
		t.Error(err)
	}
	for _, g := range []Grid{Grid3(1, 1, 1, 1<<16, 1<<16, 1), Grid3(1, 1, 1, math.MaxInt, 1, 1), Grid3(1, 1, 1, math.MaxInt, math.MaxInt, math.MaxInt)} {
		if err := CheckLaunch(&Info{}, "k", nil, [3]int{}, g, nil); !errors.Is(err, ErrLaunch) {
			t.Errorf("%s: %v, want ErrLaunch", g, err)
		}
	}
	b := make(hostMemory, 10)
	if err := CheckLaunch(&Info{}, "k", []Param{{Buffer: true}}, [3]int{}, Grid1(1, 1), []Arg{At(b, 3)}); err != nil {
		t.Errorf("an odd offset on a device that takes any: %v", err)
	}
}

func TestCheckRange(t *testing.T) {
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
		err := CheckRange("cuda", "Queue.Write", c.off, c.n, c.size)
		if (err == nil) != c.ok {
			t.Errorf("%d bytes at %d of %d: %v, want ok %t", c.n, c.off, c.size, err, c.ok)
		}
		var e *Error
		if err != nil && (!errors.Is(err, ErrArgument) || !errors.As(err, &e) || e.Driver != "cuda" || e.Op != "Queue.Write") {
			t.Errorf("%d bytes at %d of %d: %v, want an ErrArgument of cuda's Queue.Write", c.n, c.off, c.size, err)
		}
	}
}

func TestCheckOverlap(t *testing.T) {
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
		err := CheckOverlap("cuda", "Queue.Copy", c.dst, c.src, c.n)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrArgument)) {
			t.Errorf("%d bytes from %d to %d: %v, want ok %t", c.n, c.src, c.dst, err, c.ok)
		}
	}
}

// typedBuffer is a buffer whose methods need a pointer that is not nil, as most drivers' are.
type typedBuffer struct{ size int64 }

func (b *typedBuffer) Len() int64  { return b.size }
func (b *typedBuffer) Free() error { return nil }

func TestIsNil(t *testing.T) {
	for _, b := range []Buffer{nil, (*typedBuffer)(nil)} {
		if !IsNil(b) {
			t.Errorf("%T(nil) is not nil", b)
		}
	}
	for _, b := range []Buffer{&typedBuffer{}, make(hostMemory, 0), hostMemory(nil)} { // a nil slice has its methods
		if IsNil(b) {
			t.Errorf("%T is nil", b)
		}
	}
}
