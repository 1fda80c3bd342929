package backendtest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

var hostCases = []testCase{
	{
		"Host/Alloc", valid, hostAlloc,
		"AllocHost makes page-locked host memory of n zero bytes, for asynchronous copies.",
	},
	{
		"Host/Async", valid, hostAsync,
		"WriteAsync and ReadAsync copy n bytes between page-locked memory and a buffer, at their offsets: these " +
			"bytes and no other.",
	},
	{
		"Host/AsDeviceMemory", valid, hostAsDevice,
		"A buffer of AllocHost can stand wherever a buffer can only on devices with Info.UnifiedMemory.",
	},
	{
		"Host/Register", valid, hostRegister,
		"Register makes a buffer of host memory without copying it, where the device can, and is ErrUnsupported " +
			"where it cannot.",
	},
	{"Host/RegisterAlignment", valid, hostRegisterAlignment, "Register: the element type's alignment suffices."},
	{
		"Host/RegisterCopies", valid, hostRegisterCopies,
		"Queue.Wait returns when the device is done and makes its writes visible.",
	},
	{
		"Host/RegisterPinned", valid, hostRegisterPinned,
		"mem stays pinned until Free, which waits for the commands that use it, or until the program has forgotten " +
			"the buffer and they are done.",
	},
	{"Host/RegisterEmpty", refused, hostRegisterEmpty, "ErrArgument: a size that makes no sense for the call."},
}

func hostAlloc(e *env) {
	for _, n := range []int{0, 1, 100, 4097, 1 << 16} {
		for range 2 {
			h := e.allocHost(n)
			e.sameBytes(fmt.Sprintf("AllocHost(%d)", n), h.Bytes(), make([]byte, n))
			copy(h.Bytes(), garbage(n))
			e.must("Free", h.Free())
		}
	}
}

func hostAsync(e *env) {
	model := garbage(64)
	b, in, out := upload(e, model), e.allocHost(100), e.allocHost(100)
	copy(in.Bytes(), randomBytes(random(11), 100))
	want := garbage(100)
	copy(out.Bytes(), want)
	for i, rg := range ranges {
		off, n := rg[0], rg[1]
		srcOff, dstOff := (i*13)%(100-n), (i*29)%(100-n)
		copy(model[off:off+n], in.Bytes()[srcOff:])
		copy(want[dstOff:dstOff+n], model[off:])
		e.must("WriteAsync", e.q.WriteAsync(b, int64(off), in, int64(srcOff), int64(n)))
		e.must("ReadAsync", e.q.ReadAsync(out, int64(dstOff), b, int64(off), int64(n)))
		e.wait()
		what := fmt.Sprintf("after async copies of %d bytes: %d -> %d -> %d", n, srcOff, off, dstOff)
		e.holds("the buffer "+what, b, model)
		e.sameBytes("the host memory "+what, out.Bytes(), want)
	}
}

func hostAsDevice(e *env) {
	k, b := e.compile(affineSource), upload(e, []int32{1, 2, 3})
	h := e.allocHost(12)
	copy(h.Bytes(), garbage(12))
	if !e.dev.Info().UnifiedMemory {
		e.refused("Launch with host memory", e.affine(e.q, k, h, b, 7, 3), backend.ErrLaunch, backend.ErrUnsupported)
		e.sameBytes("the host memory", h.Bytes(), garbage(12))
		return
	}
	e.must("Launch to host memory", e.affine(e.q, k, h, b, 7, 3))
	e.wait()
	same(e, "host memory after the launch", backend.Elems[int32](h.Bytes()), []int32{8, 9, 10})
	e.must("Write to host memory", e.q.Write(h, 4, backend.Bytes([]int32{-5})))
	e.must("Copy from host memory", e.q.Copy(b, 0, h, 4, 8))
	same(e, "what was copied from host memory", download[int32](e, b), []int32{-5, 10, 3})
}

// register registers mem; it skips the case where the device has no need to.
func (e *env) register(mem []byte) *backend.Buffer {
	h, err := e.dev.Register(mem)
	if err != nil && !e.dev.Info().UnifiedMemory {
		e.refused("Register", err, backend.ErrUnsupported)
		if errors.Is(err, backend.ErrUnsupported) {
			e.skipf("the device cannot: %v", err)
		}
	}
	e.must("Register", err)
	return h
}

func hostRegister(e *env) {
	const n = 1000
	mem, want := make([]int32, n), make([]int32, n)
	for i := range mem {
		mem[i], want[i] = int32(i), int32(i)+5
	}
	h := e.register(backend.Bytes(mem))
	if h.Len() != 4*n || unsafe.Pointer(&h.Bytes()[0]) != unsafe.Pointer(&mem[0]) {
		e.errorf("the buffer has %d bytes at %p, the memory %d bytes at %p", h.Len(), &h.Bytes()[0], 4*n, &mem[0])
	}
	k := e.compile(affineSource)
	e.must("Launch in place", e.affine(e.q, k, h, h, 5, n))
	e.wait()
	same(e, "registered memory after a launch", mem, want)

	// The host's turn, then the device's again.
	for i := range mem {
		mem[i], want[i] = -int32(i), -int32(i)+5
	}
	e.must("Launch in place", e.affine(e.q, k, h, h, 5, n))
	e.wait()
	same(e, "registered memory after the host wrote and the device added", mem, want)
	e.must("Free", h.Free())
	same(e, "registered memory after Free", mem, want)

	h, err := e.dev.Register(backend.Bytes(mem))
	e.must("Register once more", err)
	e.must("Free", h.Free())
}

func hostRegisterAlignment(e *env) {
	const n = 100
	k := e.compile(affineSource)
	for first := 1; first < 20; first += 3 { // every 4-byte alignment of a cache line comes up, and none is a page's
		mem := make([]int32, n+2*first)
		copy(backend.Bytes(mem), garbage(4*len(mem)))
		want := append([]int32(nil), mem...)
		for i := first; i < first+n; i++ {
			want[i]++
		}
		h := e.register(backend.Bytes(mem[first : first+n]))
		e.must("Launch in place", e.affine(e.q, k, h, h, 1, n))
		e.wait()
		same(e, fmt.Sprintf("memory registered from element %d on, and its surroundings", first), mem, want)
		e.must("Free", h.Free())
	}
}

// hostRegisterPinned frees or forgets registered memory of which a command is in the queue, and
// looks at memory that takes its place.
func hostRegisterPinned(e *env) {
	const n = 10000
	k := e.compile(affineSource)
	e.register(backend.Bytes(make([]int32, n)))
	e.parallel(4, func(int) {
		q := e.newQueue()
		defer q.Close()
		for round := range 10 {
			mem := make([]int32, n)
			h, err := e.dev.Register(backend.Bytes(mem))
			e.must("Register", err)
			e.must("Launch", e.affine(q, k, h, h, 1, n))
			if round%2 == 0 {
				e.must("Free", h.Free())
				if i := slices.IndexFunc(mem, func(v int32) bool { return v != 1 }); i >= 0 {
					e.fatalf("after Free element %d is %d, want 1", i, mem[i])
				}
			}
			h, mem = nil, nil //nolint:ineffassign // so that the collector may take them
			runtime.GC()
			for range 10 {
				if slices.ContainsFunc(make([]int32, n), func(v int32) bool { return v != 0 }) {
					e.fatalf("the device wrote into other memory")
				}
			}
		}
		e.must("Wait", q.Wait())
	})
}

func hostRegisterCopies(e *env) {
	mem, model := randomBytes(random(12), 1000), randomBytes(random(12), 1000)
	h := e.register(mem)
	b := upload(e, model)
	e.must("Write to registered memory", e.q.Write(h, 3, garbage(50)))
	e.must("Copy to registered memory", e.q.Copy(h, 501, b, 100, 33))
	e.wait()
	copy(model[3:], garbage(50))
	copy(model[501:534], model[100:133])
	e.sameBytes("registered memory after Write and Copy", mem, model)
	mem[7], model[7] = 1, 1
	got := make([]byte, 1000)
	e.must("Read of registered memory", e.q.Read(got, h, 0))
	e.sameBytes("what Read found in registered memory", got, model)
}

func hostRegisterEmpty(e *env) {
	h, err := e.dev.Register(nil)
	if err != nil {
		e.refused("Register(nil)", err, backend.ErrArgument, backend.ErrUnsupported)
		return
	}
	if h.Len() != 0 {
		e.errorf("Register(nil): Len is %d", h.Len())
	}
	e.must("Free", h.Free())
}
