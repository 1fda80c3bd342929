package backendtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

var launchCases = []testCase{
	{
		"Launch/Grids", valid, launchGrids,
		"A Grid is a launch: Groups work-groups in x, y, z, each of Local work-items in x, y, z.",
	},
	{"Launch/AnyGroup", valid, launchAnyGroup, "Source.Group zero: the kernel takes any group size."},
	{"Launch/Empty", refused, launchEmpty, "A grid with a zero component is a no-op, once the arguments are checked."},
	{"Launch/Scalars", valid, launchScalars, "An Arg is a buffer with an offset, or a scalar of fixed width."},
	{"Launch/Doubles", valid, launchDoubles, "Float64 passes a double."},
	{"Launch/Offsets", valid, launchOffsets, "At passes the address of b plus off bytes."},
	{
		"Launch/OffsetRefused", refused, launchOffsetRefused,
		"Offset: bytes into Buffer, a multiple of Info.OffsetAlign.",
	},
	{"Launch/Arguments", refused, launchArguments, "Arguments that do not fit k.Params are ErrLaunch."},
	{"Launch/Types", refused, launchTypes, "Type: an argument that names it has the parameter's kind and width."},
	{"Launch/Group", refused, launchGroup, "A group beyond the device's limits is ErrLaunch."},
	{
		"Launch/GroupMismatch", refused, launchGroupMismatch,
		"Source.Group: the group size that the kernel is written for.",
	},
	{"Launch/Foreign", refused, launchForeign, "Buffers of another device are ErrLaunch."},
	{"Launch/Freed", refused, launchFreed, "ErrClosed: the buffer or kernel was freed or released before."},
	{"Launch/GoFails", refused, launchGoFails, "A GoKernel's error, or a panic, fails the launch."},
}

var localCases = []testCase{
	{
		"Local/Reverse", valid, localReverse,
		"A group shares local memory, and a barrier makes its writes visible to the group.",
	},
	{"Local/Reduce", valid, localReduce, "A barrier in a loop is passed by the whole group each time."},
}

// checkIDs launches the ids kernel over g and checks what each work-item wrote.
func (e *env) checkIDs(k *backend.Kernel, g backend.Grid) {
	n := 16 * g.Count() * g.Items()
	out := make([]int32, n+32) // with room behind
	for i := range out {
		out[i] = -1
	}
	b := upload(e, out)
	e.launch(k, g, backend.Buf(b))
	got := download[int32](e, b)
	// The Go implementation says what must be there; TestIDs checks that one against loops of its
	// own.
	arg := backend.Buf(backend.HostMemory(backend.Bytes(out)))
	e.must("the Go implementation", idsGo(g, 0, g.Count(), []backend.Arg{arg}))
	same(e, fmt.Sprintf("what the work-items of %s wrote (16 words each)", g), got, out)
}

func launchGrids(e *env) {
	e.needGroup(12)
	k := e.compile(idsSource)
	for _, g := range []backend.Grid{
		backend.Grid1(1, 1), backend.Grid1(1, 12), backend.Grid1(131, 12),
		backend.Grid2(3, 5, 4, 3), backend.Grid2(1, 40, 4, 3), backend.Grid2(1, 4, 1, 2),
		backend.Grid3(2, 3, 4, 3, 2, 2), backend.Grid3(1, 1, 7, 3, 2, 2), backend.Grid3(1, 1, 2, 1, 1, 1),
	} {
		e.checkIDs(k, g)
	}
}

func launchAnyGroup(e *env) {
	k := e.compile(idsSource)
	most := min(e.dev.Info().MaxGroup, e.dev.Info().MaxGroupDims[0], 256)
	for _, local := range []int{most, (most + 1) / 2} {
		e.checkIDs(k, backend.Grid1(3, local))
	}
}

func launchEmpty(e *env) {
	k := e.compile(affineSource)
	b := upload(e, garbage(64))
	args := []backend.Arg{backend.Buf(b), backend.Buf(b), backend.Int32(1), backend.Int32(16)}
	for _, g := range []backend.Grid{
		backend.Grid1(0, 16), backend.Grid2(0, 3, 4, 4), backend.Grid2(3, 0, 4, 4),
		backend.Grid3(2, 2, 0, 4, 4, 1), backend.Grid3(0, 0, 0, 1, 1, 1),
	} {
		e.must(fmt.Sprintf("Launch of %s", g), e.q.Launch(k, g, args...))
		e.holds(fmt.Sprintf("the buffer after a launch of %s", g), b, garbage(64))
		e.refused(fmt.Sprintf("Launch of %s without arguments", g), e.q.Launch(k, g), backend.ErrLaunch)
	}
	e.wait()
}

func launchScalars(e *env) {
	k := e.compile(wordsSource)
	for _, c := range []struct {
		a int32
		b uint64
		c uint32
		d uint32 // a float's bits
		e int64
		f int32
	}{
		{1, 2, 3, math.Float32bits(4), 5, 6},
		{-1, math.MaxUint64, math.MaxUint32, 0x80000000, -1, math.MinInt32},
		{math.MinInt32, 1 << 63, 1 << 31, 0x7fc12345, math.MinInt64, -1},     // a quiet NaN with a payload
		{math.MaxInt32, 0x0123456789abcdef, 0xdeadbeef, 1, math.MaxInt64, 1}, // the smallest subnormal
		// -Inf; values in the upper half alone
		{0, 1 << 32, 0, 0xff800000, -1 << 32, 0x7eadbeef},
		{-2, 0xffffffff, 0x80000001, 0x807fffff, -0x123456789, math.MinInt32 + 1}, // the largest subnormal, negative
	} {
		b := upload(e, garbage(10*4))
		want := append([]uint32{
			uint32(c.a), uint32(c.b), uint32(c.b >> 32), c.c, c.d, uint32(c.e), uint32(uint64(c.e) >> 32), uint32(c.f),
		}, backend.Elems[uint32](garbage(40))[8:]...)
		e.launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Int32(c.a), backend.Uint64(c.b), backend.Uint32(c.c),
			backend.Float32(math.Float32frombits(c.d)), backend.Int64(c.e), backend.Int32(c.f))
		same(e, fmt.Sprintf("words of %+v", c), download[uint32](e, b), want)
	}
}

func launchDoubles(e *env) {
	if !e.dev.Info().Float64 {
		e.skipf("the device has no float64")
	}
	k := e.compile(doublesSource)
	for _, c := range [][2]uint64{
		{math.Float64bits(math.Pi), math.Float64bits(-1)},
		{1 << 63, 1}, // -0 and the smallest subnormal
		{0x7ff8000012345678, 0xfff0000000000000},
	} {
		b := upload(e, garbage(24))
		e.launch(k, backend.Grid1(1, 1), backend.Buf(b),
			backend.Float64(math.Float64frombits(c[0])), backend.Int32(7), backend.Float64(math.Float64frombits(c[1])))
		same(e, fmt.Sprintf("the bits of %x", c), download[uint64](e, b)[:2], c[:])
		e.sameBytes("memory behind", download[byte](e, b)[16:], garbage(24)[16:])
	}
}

func launchOffsets(e *env) {
	align := e.dev.Info().OffsetAlign
	step := max(align, 4)
	k := e.compile(affineSource)
	const n = 5
	for _, c := range [][2]int{{0, 1}, {1, 0}, {3, 2}, {2, 7}} {
		dstOff, srcOff := c[0]*step, c[1]*step
		dst, src := garbage(8*step+4*n), randomBytes(random(21), 8*step+4*n)
		d, s := upload(e, dst), upload(e, src)
		e.launch(k, backend.Grid1(2, 16), backend.At(d, int64(dstOff)), backend.At(s, int64(srcOff)),
			backend.Int32(-3), backend.Int32(n))
		for i := range n {
			backend.Elems[int32](dst)[dstOff/4+i] = backend.Elems[int32](src)[srcOff/4+i] - 3
		}
		e.holds(fmt.Sprintf("dst after a launch with offsets %d and %d", dstOff, srcOff), d, dst)
	}
	b := e.alloc(4 * step)
	// the very end
	e.launch(k, backend.Grid1(2, 16), backend.At(b, int64(4*step)), backend.At(b, int64(4*step)),
		backend.Int32(1), backend.Int32(0))
	e.holds("a buffer whose end was passed", b, make([]byte, 4*step))
}

func launchOffsetRefused(e *env) {
	k, align := e.compile(affineSource), int64(e.dev.Info().OffsetAlign)
	b := upload(e, garbage(64))
	offsets := []int64{-align, 64 + align, math.MinInt64, math.MaxInt64 &^ (align - 1)}
	if align > 1 {
		offsets = append(offsets, 1, align/2, -1)
	}
	for _, off := range offsets {
		what := fmt.Sprintf("Launch with offset %d (OffsetAlign %d)", off, align)
		g, one := backend.Grid1(1, 16), backend.Int32(1)
		e.refused(what, e.q.Launch(k, g, backend.At(b, off), backend.Buf(b), one, one), backend.ErrLaunch)
		e.refused(what, e.q.Launch(k, g, backend.Buf(b), backend.At(b, off), one, one), backend.ErrLaunch)
	}
	e.wait()
	e.holds("the buffer after refused launches", b, garbage(64))
}

func launchArguments(e *env) {
	k := e.compile(affineSource)
	b := upload(e, garbage(64))
	buf, one, n := backend.Buf(b), backend.Int32(1), backend.Int32(16)
	for name, args := range map[string][]backend.Arg{
		"no arguments":           nil,
		"one too few":            {buf, buf, one},
		"one too many":           {buf, buf, one, n, n},
		"a scalar for a buffer":  {buf, backend.Uint64(1 << 20), one, n},
		"a buffer for a scalar":  {buf, buf, buf, n},
		"an int64 for an int":    {buf, buf, backend.Int64(1), n},
		"a float64 for an int":   {buf, buf, one, backend.Float64(16)},
		"no buffer":              {buf, backend.Buf(nil), one, n},
		"no buffer, first":       {backend.Buf(nil), buf, one, n},
		"no scalar":              {buf, buf, {}, n},
		"arguments swapped":      {one, n, buf, buf},
		"a scalar of odd width":  {buf, buf, {Bits: 1, Size: 3}, n},
		"a scalar of no reality": {buf, buf, {Bits: 1, Size: -4}, n},
	} {
		e.refused("Launch with "+name, e.q.Launch(k, backend.Grid1(1, 16), args...), backend.ErrLaunch)
	}
	e.refused("Launch of no kernel", e.q.Launch(nil, backend.Grid1(1, 16), buf, buf, one, n), backend.ErrLaunch)
	e.wait()
	e.holds("the buffer after refused launches", b, garbage(64))

	words := e.compile(wordsSource)
	i64 := backend.Int64(1)
	out := upload(e, garbage(64))
	good := []backend.Arg{backend.Buf(out), one, i64, one, backend.Float32(1), i64, one}
	e.must("Launch", e.q.Launch(words, backend.Grid1(1, 1), good...))
	for i := 1; i < len(good); i++ {
		bad := append([]backend.Arg(nil), good...)
		bad[i] = backend.Arg{Bits: 1, Size: 12 - bad[i].Size} // 8 for 4 and 4 for 8
		e.refused(fmt.Sprintf("Launch with a scalar of %d bytes as argument %d", bad[i].Size, i),
			e.q.Launch(words, backend.Grid1(1, 1), bad...), backend.ErrLaunch)
	}
	e.wait()
}

// launchTypes passes to each parameter of the typed kernel elements and numbers of all types.
func launchTypes(e *env) {
	k := e.compile(typedSource)
	ran, other := upload(e, []int32{0}), upload(e, garbage(64))
	good := []backend.Arg{backend.Buf(ran)}
	for range 6 {
		good = append(good, backend.Buf(other))
	}
	good = append(good, backend.Float32(1), backend.Uint32(1), backend.Uint64(1))
	scalars := []backend.Arg{
		backend.Int32(1), backend.Uint32(1), backend.Int64(1), backend.Uint64(1),
		backend.Float32(1), backend.Float64(1),
	}
	launches := int32(0)
	for i, takes := range []string{
		"int32 uint32", "float32", "float32", "float32", "", "int64 uint64",
		"int32 uint32 int64 uint64 float32 float64", "float32", "int32 uint32", "int64 uint64",
	} {
		for _, a := range scalars {
			if good[i].Buffer != nil {
				a = backend.Arg{Buffer: good[i].Buffer, Type: a.Type}
			}
			args := slices.Clone(good)
			args[i] = a
			err := e.q.Launch(k, backend.Grid1(1, 1), args...)
			if slices.Contains(strings.Fields(takes), a.Type) {
				e.must("Launch with "+a.Type+" for "+k.Params()[i].String(), err)
				launches++
			} else {
				e.refused("Launch with "+a.Type+" for "+k.Params()[i].String(), err, backend.ErrLaunch)
			}
		}
	}
	e.launch(k, backend.Grid1(1, 1), good...)
	same(e, "launches that ran", download[int32](e, ran), []int32{launches + 1})
}

func launchGroup(e *env) {
	k, info := e.compile(affineSource), e.dev.Info()
	b := upload(e, garbage(64))
	bad := []backend.Grid{
		backend.Grid1(1, 0), backend.Grid1(1, -1), backend.Grid1(-1, 16),
		backend.Grid3(1, 1, 1, 16, 0, 1), backend.Grid3(1, 1, -1, 16, 1, 1),
		backend.Grid1(1, info.MaxGroup+1), backend.Grid2(1, 1, info.MaxGroup, 2), backend.Grid1(1, math.MaxInt32),
		backend.Grid3(1, 1, 1, 1<<11, 1<<11, 1<<11), backend.Grid3(1, 1, 1, 1, 1, info.MaxGroupDims[2]+1),
		{},
	}
	for d, most := range info.MaxGroups {
		if most > 0 && most < math.MaxInt {
			g := backend.Grid1(1, 1)
			g.Groups[d] = most + 1
			bad = append(bad, g)
		}
	}
	for _, g := range bad {
		err := e.q.Launch(k, g, backend.Buf(b), backend.Buf(b), backend.Int32(1), backend.Int32(16))
		e.refused(fmt.Sprintf("Launch of %s", g), err, backend.ErrLaunch)
	}
	e.wait()
	e.holds("the buffer after refused launches", b, garbage(64))
}

func launchGroupMismatch(e *env) {
	e.needGroup(64)
	k := e.compile(reverseSource)
	in, out := upload(e, make([]int32, 128)), upload(e, garbage(512))
	for _, g := range []backend.Grid{
		backend.Grid1(1, 64), backend.Grid2(1, 1, 4, 16), backend.Grid2(1, 1, 16, 2),
		backend.Grid2(1, 1, 1, 1), backend.Grid3(1, 1, 1, 8, 4, 2),
	} {
		e.refused(fmt.Sprintf("Launch of %s, for a kernel with WG_SIZE(16, 4, 1)", g),
			e.q.Launch(k, g, backend.Buf(out), backend.Buf(in)), backend.ErrLaunch)
	}
	e.wait()
	e.holds("the output after refused launches", out, garbage(512))
}

func launchForeign(e *env) {
	other := e.open()
	foreign, foreignKernel := other.alloc(64), other.compile(affineSource)
	k, b := e.compile(affineSource), upload(e, garbage(64))
	e.refused("Launch that writes to a buffer of another device",
		e.affine(e.q, k, foreign, b, 1, 16), backend.ErrLaunch)
	e.refused("Launch that reads a buffer of another device", e.affine(e.q, k, b, foreign, 1, 16), backend.ErrLaunch)
	e.refused("Launch with a buffer of no device",
		e.affine(e.q, k, b, backend.HostMemory(make([]byte, 64)), 1, 16), backend.ErrLaunch)
	e.refused("Launch of a kernel of another device", e.affine(e.q, foreignKernel, b, b, 1, 16), backend.ErrLaunch)
	e.wait()
	e.holds("the buffer after refused launches", b, garbage(64))
}

func launchFreed(e *env) {
	k, b, freed := e.compile(affineSource), upload(e, garbage(64)), e.alloc(64)
	e.must("Free", freed.Free())
	e.refused("Launch that writes to a freed buffer", e.affine(e.q, k, freed, b, 1, 16), backend.ErrClosed)
	e.refused("Launch that reads a freed buffer", e.affine(e.q, k, b, freed, 1, 16), backend.ErrClosed)
	e.must("Release", k.Release())
	e.refused("Launch of a released kernel", e.affine(e.q, k, b, b, 1, 16), backend.ErrClosed)
	e.wait()
	e.holds("the buffer after refused launches", b, garbage(64))
}

// launchGoFails runs a kernel whose Go implementation fails. Where the device compiles the text
// instead, there is nothing to see.
func launchGoFails(e *env) {
	for name, f := range map[string]backend.GoKernel{
		"an error": func(backend.Grid, int, int, []backend.Arg) error { return fmt.Errorf("on purpose") },
		"a panic":  func(backend.Grid, int, int, []backend.Arg) error { panic("on purpose") },
	} {
		ran := false
		s := *affineSource
		s.Go = func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			ran = true
			return f(g, lo, hi, args)
		}
		b := upload(e, []int32{1})
		err := e.q.Launch(e.compile(&s), backend.Grid1(1, 1), backend.Buf(b), backend.Buf(b),
			backend.Int32(1), backend.Int32(1))
		err = cmp.Or(err, e.q.Wait())
		if !ran {
			e.must("Launch", err)
			e.skipf("the device does not run Source.Go")
		}
		e.refused("Launch or Wait after "+name+" in the kernel", err, backend.ErrLaunch)
		e.must("the next Wait", e.q.Wait())
	}
}

func localReverse(e *env) {
	e.needGroup(64)
	k := e.compile(reverseSource)
	for _, groups := range [][2]int{{1, 1}, {5, 3}} {
		n := 64 * groups[0] * groups[1]
		in, want := make([]int32, n), make([]int32, n+8)
		for i := range in {
			in[i] = int32(i * 7)
		}
		copy(backend.Bytes(want), garbage(4*len(want)))
		out := upload(e, want)
		for i := range in {
			want[i] = in[i/64*64+63-i%64]
		}
		e.launch(k, backend.Grid2(groups[0], groups[1], 16, 4), backend.Buf(out), backend.Buf(upload(e, in)))
		same(e, fmt.Sprintf("%dx%d groups reversed", groups[0], groups[1]), download[int32](e, out), want)
	}
}

func localReduce(e *env) {
	e.needGroup(64)
	const groups = 37
	in := backend.Elems[uint32](randomBytes(random(31), 4*64*groups))
	want := make([]uint32, groups)
	for i, x := range in {
		want[i/64] += x
	}
	out := upload(e, garbage(4*groups))
	e.launch(e.compile(reduceSource), backend.Grid1(groups, 64), backend.Buf(out), backend.Buf(upload(e, in)))
	same(e, "sums of groups", download[uint32](e, out), want)
}
