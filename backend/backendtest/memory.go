package backendtest

import (
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/backend"
)

var memoryCases = []testCase{
	{"Memory/Zero", valid, allocZero, "Alloc makes a buffer of n bytes, all zero."},
	{
		"Memory/Fresh", valid, allocFresh,
		"Alloc makes a buffer of n bytes, all zero: nothing of what another caller has freed.",
	},
	{"Memory/Empty", valid, allocEmpty, "Alloc: n == 0 is a buffer of no bytes."},
	{"Memory/TooLarge", refused, allocTooLarge, "Alloc: too large a size is ErrOutOfMemory."},
	{
		"Memory/Negative", refused, allocNegative,
		"ErrArgument: a size, range or object that makes no sense for the call.",
	},
	{
		"Memory/WriteRead", valid, writeRead,
		"Write copies src to dst at byte off; Read copies from src at byte off into dst: these bytes and no other.",
	},
	{"Memory/SourceReusable", valid, sourceReusable, "Write blocks until src may be reused."},
	{
		"Memory/Copy", valid, copyBuffers,
		"Copy copies n bytes between two buffers of the device: these bytes and no other.",
	},
	{
		"Memory/CopyWithin", refused, copyWithin,
		"Overlapping ranges of one buffer are ErrArgument; ranges that only touch are copied.",
	},
	{"Memory/Ranges", refused, rangesOutside, "ErrArgument: a range outside its buffer."},
	{
		"Memory/Foreign", refused, foreignBuffers,
		"ErrArgument: an object that makes no sense for the call: a buffer of another device, or none.",
	},
	{"Memory/Random", valid, randomCommands, "The commands of one queue run in the order of the calls."},
}

func allocZero(e *env) {
	for _, n := range []int{1, 2, 3, 7, 8, 24, 64, 100, 4099, 1 << 20, 1<<20 + 1, 1<<20 + 48} {
		for range 3 { // dirty memory comes back
			b := e.alloc(n)
			if b.Len() != int64(n) {
				e.errorf("Alloc(%d): Len is %d", n, b.Len())
			}
			if d := e.dev.Info().Driver; b.Bytes() != nil && (d == "cuda" || d == "opencl") {
				e.errorf("Alloc(%d): memory of a device is in this process", n)
			}
			e.holds(fmt.Sprintf("Alloc(%d)", n), b, make([]byte, n))
			e.must("Write", e.q.Write(b, 0, garbage(n)))
			e.must("Free", b.Free())
		}
	}
}

// allocFresh fills many buffers, frees them all, and looks for what they held in new ones of other
// sizes, also of a second device.
func allocFresh(e *env) {
	sizes := []int{5, 16, 100, 256, 1000, 4096, 5000, 65536, 300_000}
	other := e.open()
	for range 2 {
		var bufs []*backend.Buffer
		for _, n := range sizes {
			bufs = append(bufs, upload(e, garbage(n)), upload(e, garbage(n)))
		}
		for _, b := range bufs {
			e.must("Free", b.Free())
		}
		for i, n := range sizes {
			n -= i % 3
			e.holds(fmt.Sprintf("a new buffer of %d bytes", n), e.alloc(n), make([]byte, n))
			other.holds(fmt.Sprintf("%d new bytes of the second device", n), other.alloc(n), make([]byte, n))
		}
	}
}

func allocEmpty(e *env) {
	b, other := e.alloc(0), e.alloc(8)
	if b.Len() != 0 {
		e.errorf("Len is %d", b.Len())
	}
	e.must("Write of nothing", e.q.Write(b, 0, nil))
	e.must("Read of nothing", e.q.Read(nil, b, 0))
	e.must("Copy of nothing to it", e.q.Copy(b, 0, other, 8, 0))
	e.must("Copy of nothing from it", e.q.Copy(other, 8, b, 0, 0))
	e.must("Launch with it", e.affine(e.q, e.compile(affineSource), b, b, 1, 0))
	e.wait()
	e.must("Free", b.Free())
}

func allocTooLarge(e *env) {
	sizes := []int64{math.MaxInt64, math.MaxInt64 - 63, 1 << 60}
	if most := e.dev.Info().MaxAlloc; most < math.MaxInt64 {
		sizes = append(sizes, most+1)
	}
	for _, n := range sizes {
		b, err := e.dev.Alloc(n)
		e.refused(fmt.Sprintf("Alloc(%d)", n), err, backend.ErrOutOfMemory)
		if err == nil {
			b.Free()
		}
		h, err := e.dev.AllocHost(n)
		e.refused(fmt.Sprintf("AllocHost(%d)", n), err, backend.ErrOutOfMemory)
		if err == nil {
			h.Free()
		}
	}
	e.holds("a buffer after these", upload(e, garbage(100)), garbage(100))
}

func allocNegative(e *env) {
	for _, n := range []int64{-1, math.MinInt64} {
		_, err := e.dev.Alloc(n)
		e.refused(fmt.Sprintf("Alloc(%d)", n), err, backend.ErrArgument)
		_, err = e.dev.AllocHost(n)
		e.refused(fmt.Sprintf("AllocHost(%d)", n), err, backend.ErrArgument)
	}
}

// ranges are offsets and lengths within 64 bytes, even and odd, on edges and across words.
var ranges = [][2]int{
	{0, 0}, {0, 1}, {0, 64}, {1, 1}, {1, 63}, {3, 4}, {4, 3}, {5, 17}, {8, 8}, {31, 2}, {63, 1}, {64, 0}, {17, 0},
}

func writeRead(e *env) {
	model := garbage(64)
	b := upload(e, model)
	r := random(1)
	for _, rg := range ranges {
		off, n := rg[0], rg[1]
		part := randomBytes(r, n+1)[1:] // not aligned on the host either
		copy(model[off:], part)
		e.must("Write", e.q.Write(b, int64(off), part))
		e.holds(fmt.Sprintf("the buffer after Write of %d bytes at %d", n, off), b, model)

		host := garbage(n + 9)
		e.must("Read", e.q.Read(host[5:5+n], b, int64(off)))
		want := garbage(n + 9)
		copy(want[5:], model[off:off+n])
		e.sameBytes(fmt.Sprintf("host memory around Read of %d bytes at %d", n, off), host, want)
	}
}

func sourceReusable(e *env) {
	const n = 1 << 20
	src, want := randomBytes(random(2), n), randomBytes(random(2), n)
	b, busy := e.alloc(n), upload(e, []uint32{1})
	e.launch(e.compile(chainSource), backend.Grid1(1, 1), backend.Buf(busy), backend.Uint32(slow))
	e.must("Write", e.q.Write(b, 0, src))
	clear(src)
	e.holds("what was written before src was cleared", b, want)
}

func copyBuffers(e *env) {
	r := random(3)
	from, model := randomBytes(r, 64), garbage(64)
	src, dst := upload(e, from), upload(e, model)
	for i, rg := range ranges {
		srcOff, n := rg[0], rg[1]
		dstOff := (i * 7) % (64 - n + 1)
		copy(model[dstOff:], from[srcOff:srcOff+n])
		e.must("Copy", e.q.Copy(dst, int64(dstOff), src, int64(srcOff), int64(n)))
		e.holds(fmt.Sprintf("dst after Copy of %d bytes from %d to %d", n, srcOff, dstOff), dst, model)
	}
	e.holds("src after all", src, from)
}

func copyWithin(e *env) {
	model := randomBytes(random(4), 64)
	b := upload(e, model)
	for _, c := range []struct{ dst, src, n int }{
		{32, 0, 32}, {0, 32, 32}, {5, 1, 4}, {1, 5, 4}, {63, 0, 1}, {10, 10, 0}, {64, 64, 0},
	} {
		copy(model[c.dst:c.dst+c.n], model[c.src:c.src+c.n])
		e.must(fmt.Sprintf("Copy of %d bytes from %d to %d of one buffer", c.n, c.src, c.dst),
			e.q.Copy(b, int64(c.dst), b, int64(c.src), int64(c.n)))
		e.holds("the buffer after Copy between ranges that touch", b, model)
	}
	for _, c := range []struct{ dst, src, n int64 }{
		{0, 0, 1}, {0, 0, 64}, {31, 0, 32}, {0, 31, 32}, {5, 2, 4}, {1, 0, 63},
	} {
		err := e.q.Copy(b, c.dst, b, c.src, c.n)
		what := fmt.Sprintf("Copy of %d bytes from %d to %d of one buffer", c.n, c.src, c.dst)
		e.refused(what, err, backend.ErrArgument)
	}
	e.holds("the buffer after refused copies", b, model)
}

func rangesOutside(e *env) {
	model := garbage(64)
	b, other, host := upload(e, model), e.alloc(1000), e.allocHost(1000)
	check := func(what string, err error) {
		e.refused(what, err, backend.ErrArgument)
	}
	for _, c := range []struct{ off, n int64 }{
		{0, 65},
		{1, 64},
		{64, 1},
		{65, 0},
		{-1, 1},
		{-1, 0},
		{-8, 16},
		{1 << 40, 4},
		{math.MaxInt64, 1},
		{math.MaxInt64, 2},
		{math.MinInt64, 1},
	} {
		at := fmt.Sprintf("of %d bytes at %d of 64", c.n, c.off)
		check("Write "+at, e.q.Write(b, c.off, make([]byte, c.n)))
		check("Read "+at, e.q.Read(make([]byte, c.n), b, c.off))
		check("Copy to "+at, e.q.Copy(b, c.off, other, 0, c.n))
		check("Copy from "+at, e.q.Copy(other, 0, b, c.off, c.n))
		check("WriteAsync "+at, e.q.WriteAsync(b, c.off, host, 0, c.n))
		check("ReadAsync "+at, e.q.ReadAsync(host, 0, b, c.off, c.n))
	}
	for _, n := range []int64{-1, math.MinInt64, math.MaxInt64} {
		what := fmt.Sprintf(" of %d bytes", n)
		check("Copy"+what, e.q.Copy(b, 1, other, 1, n))
		check("WriteAsync"+what, e.q.WriteAsync(b, 1, host, 1, n))
		check("ReadAsync"+what, e.q.ReadAsync(host, 1, b, 1, n))
	}
	check("WriteAsync beyond the host memory", e.q.WriteAsync(b, 0, host, 999, 2))
	check("WriteAsync before the host memory", e.q.WriteAsync(b, 0, host, -1, 2))
	check("ReadAsync beyond the host memory", e.q.ReadAsync(host, 999, b, 0, 2))
	check("ReadAsync before the host memory", e.q.ReadAsync(host, -1, b, 0, 2))
	e.must("Wait after refused commands", e.q.Wait())
	e.holds("the buffer after refused commands", b, model)
	e.holds("the other buffer after refused commands", other, make([]byte, 1000))
	e.sameBytes("the host memory after refused commands", host.Bytes(), make([]byte, 1000))
}

func foreignBuffers(e *env) {
	other := e.open()
	foreign, foreignHost := other.alloc(64), other.allocHost(64)
	own, host := upload(e, garbage(64)), e.allocHost(64)
	e.buffersRefused("of another device", foreign, foreignHost, own, host, backend.ErrArgument)
	e.buffersRefused("that is nil", nil, nil, own, host, backend.ErrArgument)
	e.wait()
	e.holds("the buffer after refused commands", own, garbage(64))
}

// buffersRefused checks that want is the error of every copy from or to buffer b and host memory h,
// which says what they are. own and host are in order.
func (e *env) buffersRefused(which string, b, h, own, host *backend.Buffer, want error) {
	e.refused("Write to a buffer "+which, e.q.Write(b, 0, make([]byte, 8)), want)
	e.refused("Read from a buffer "+which, e.q.Read(make([]byte, 8), b, 0), want)
	e.refused("Copy to a buffer "+which, e.q.Copy(b, 0, own, 0, 8), want)
	e.refused("Copy from a buffer "+which, e.q.Copy(own, 0, b, 0, 8), want)
	e.refused("WriteAsync to a buffer "+which, e.q.WriteAsync(b, 0, host, 0, 8), want)
	e.refused("ReadAsync from a buffer "+which, e.q.ReadAsync(host, 0, b, 0, 8), want)
	e.refused("WriteAsync from host memory "+which, e.q.WriteAsync(own, 0, h, 0, 8), want)
	e.refused("ReadAsync to host memory "+which, e.q.ReadAsync(h, 0, own, 0, 8), want)
}

// randomCommands runs a few hundred commands on three buffers and on plain memory alike.
func randomCommands(e *env) {
	const n = 257
	r := random(5)
	var model [3][]byte
	var bufs [3]*backend.Buffer
	for i := range bufs {
		model[i] = randomBytes(r, n)
		bufs[i] = upload(e, model[i])
	}
	host := e.allocHost(n)
	for range 300 {
		i, j := r.IntN(3), r.IntN(3)
		size := r.IntN(n)
		off, from := r.IntN(n-size+1), r.IntN(n-size+1)
		dst := model[i][off : off+size]
		switch op := r.IntN(4); {
		case op == 0:
			src := randomBytes(r, size)
			e.must("Write", e.q.Write(bufs[i], int64(off), src))
			copy(dst, src)
		case op == 1 && i != j:
			e.must("Copy", e.q.Copy(bufs[i], int64(off), bufs[j], int64(from), int64(size)))
			copy(dst, model[j][from:])
		case op == 2:
			e.wait()
			copy(host.Bytes(), randomBytes(r, n))
			e.must("WriteAsync", e.q.WriteAsync(bufs[i], int64(off), host, int64(from), int64(size)))
			copy(dst, host.Bytes()[from:])
		case op == 3:
			got := make([]byte, size)
			e.must("Read", e.q.Read(got, bufs[i], int64(off)))
			e.sameBytes("what Read found", got, dst)
		}
	}
	for i := range bufs {
		e.holds(fmt.Sprintf("buffer %d after all", i), bufs[i], model[i])
	}
}
