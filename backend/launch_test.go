package backend

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

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
		"int32":  Int32(math.MinInt32).Int32() == math.MinInt32 && Int32(-1).Size == 4 && Int32(-1).Bits == 0xffffffff,
		"uint32": Uint32(math.MaxUint32).Uint32() == math.MaxUint32 && Uint32(1).Size == 4,
		"int64": Int64(math.MinInt64).Int64() == math.MinInt64 && Int64(-1).Size == 8 &&
			Int64(-1).Bits == math.MaxUint64,
		"uint64": Uint64(math.MaxUint64).Uint64() == math.MaxUint64 && Uint64(1).Size == 8,
		"float32": math.Float32bits(Float32(math.Float32frombits(nan32)).Float32()) == nan32 && Float32(1).Size == 4 &&
			Float32(-1).Bits == 0xbf800000,
		"float64": math.Float64bits(Float64(math.Float64frombits(nan64)).Float64()) == nan64 && Float64(1).Size == 8,
		"-0": math.Signbit(float64(Float32(float32(math.Copysign(0, -1))).Float32())) &&
			math.Signbit(Float64(math.Copysign(0, -1)).Float64()),
	} {
		if !ok {
			t.Errorf("%s does not come back as it was, or has another size", name)
		}
	}
	b := HostMemory(make([]byte, 8))
	if a := Buf(b); a.Buffer == nil || a.Offset != 0 || a.Size != 0 {
		t.Errorf("Buf is %+v", a)
	}
	if a := At(b, 4); a.Buffer == nil || a.Offset != 4 || a.Size != 0 {
		t.Errorf("At is %+v", a)
	}
}

func TestMem(t *testing.T) {
	x := []int32{1, 2, 3, 4}
	b := HostMemory(Bytes(x))
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
	if m := Mem[float64](Buf(HostMemory(Bytes(x)[:14]))); len(m) != 1 {
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

func TestGridFor(t *testing.T) {
	square := &Source{Group: [3]int{16, 8, 1}}
	for _, c := range []struct{ got, want Grid }{
		{GridFor(1000), Grid1(4, 256)},
		{GridFor(1024), Grid1(4, 256)},
		{GridFor(1025), Grid1(5, 256)},
		{GridFor(0), Grid1(0, 256)},
		{GridFor(math.MaxInt), Grid1(math.MaxInt/256+1, 256)},
		{GridFor(17, 16), Grid2(2, 1, 16, 16)},
		{GridFor(9, 8, 5), Grid3(2, 1, 2, 8, 8, 4)},
		{square.GridFor(100), Grid2(7, 1, 16, 8)},
		{square.GridFor(100, 100), Grid2(7, 13, 16, 8)},
		{square.GridFor(1, 1, 3), Grid3(1, 1, 3, 16, 8, 1)},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	for _, n := range [][]int{nil, {1, 2, 3, 4}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d sizes make a grid", len(n))
				}
			}()
			square.GridFor(n...)
		}()
	}
}
