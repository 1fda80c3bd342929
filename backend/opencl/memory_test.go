package opencl

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// Free of staging memory waits for the copies that use it, which have no more than its address.
func TestFreeWaitsForCopies(t *testing.T) {
	d := open(t)
	own(d).info.UnifiedMemory = false
	q, b := newQueue(t, d), alloc(t, d, 1<<20)
	h := must[*backend.Buffer](t)(d.AllocHost(1 << 20))
	check(t, q.ReadAsync(h, 0, b, 0, 1<<20))
	if n := callCounts(func() { check(t, h.Free()) })["clFinish"]; n == 0 {
		t.Error("Free did not wait")
	}
}

// modes runs test with host memory in each of the three ways, of which a device has one of its own.
func modes(t *testing.T, test func(t *testing.T, d *backend.Device)) {
	t.Run("direct", func(t *testing.T) {
		d := open(t)
		if !d.Info().UnifiedMemory || own(d).mapped {
			t.Skip("the device does not share the host's memory")
		}
		test(t, d)
	})
	t.Run("mapped", func(t *testing.T) {
		d := open(t)
		if !d.Info().UnifiedMemory {
			t.Skip("the device does not share the host's memory")
		}
		own(d).mapped = true
		test(t, d)
	})
	t.Run("staging", func(t *testing.T) {
		d := open(t)
		own(d).info.UnifiedMemory = false
		test(t, d)
	})
}

func TestAllocHost(t *testing.T) {
	modes(t, func(t *testing.T, d *backend.Device) {
		q, b := newQueue(t, d), alloc(t, d, 1000)
		for _, n := range []int64{0, 1, 1000} {
			h := must[*backend.Buffer](t)(d.AllocHost(n))
			if h.Len() != n || int64(len(h.Bytes())) != n || !bytes.Equal(h.Bytes(), make([]byte, n)) {
				t.Fatalf("%d bytes of host memory: Len %d, bytes %v", n, h.Len(), h.Bytes())
			}
			check(t, h.Free())
			check(t, h.Free())
			if h.Bytes() != nil {
				t.Error("Bytes after Free")
			}
		}
		src, dst := must[*backend.Buffer](t)(d.AllocHost(300)), must[*backend.Buffer](t)(d.AllocHost(300))
		for round := range 3 {
			for i := range src.Bytes() {
				src.Bytes()[i] = byte(i*7 + round)
			}
			clear(dst.Bytes())
			check(t, q.WriteAsync(b, 100, src, 50, 200))
			check(t, q.ReadAsync(dst, 10, b, 150, 100))
			check(t, q.WriteAsync(b, 0, src, 0, 0))
			check(t, q.Wait())
			want := make([]byte, 300)
			copy(want[10:], src.Bytes()[100:200])
			if !bytes.Equal(dst.Bytes(), want) {
				t.Fatalf("round %d: %v, want %v", round, dst.Bytes(), want)
			}
		}
		k := must[*backend.Kernel](t)(d.Compile(fillSource))
		err := q.Launch(k, backend.Grid1(1, 1), backend.Buf(src), backend.Int32(1), backend.Int32(1))
		_, regErr := d.Register(make([]byte, 8))
		if d.Info().UnifiedMemory {
			check(t, err)
			check(t, regErr)
		} else {
			wantError(t, err, backend.ErrUnsupported, "WriteAsync")
			wantError(t, q.Write(src, 0, []byte{1}), backend.ErrUnsupported, "WriteAsync")
			wantError(t, q.Copy(src, 0, b, 0, 1), backend.ErrUnsupported, "WriteAsync")
			wantError(t, regErr, backend.ErrUnsupported, "AllocHost", d.Info().Name)
		}
		// Freed with a copy in flight.
		check(t, q.WriteAsync(b, 0, src, 0, 300))
		check(t, src.Free())
	})
}

// incSource adds v to n elements.
var incSource = &backend.Source{Name: "inc", Text: `
__kernel void inc(__global int *a, const int n, const int v)
{
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) a[i] += v;
}
`}

// Host and device take turns on registered memory, which is aligned to its elements alone, between
// guards.
func TestRegister(t *testing.T) {
	modes(t, func(t *testing.T, d *backend.Device) {
		if !d.Info().UnifiedMemory {
			t.Skip("nothing to register")
		}
		q, other := newQueue(t, d), newQueue(t, d)
		k := must[*backend.Kernel](t)(d.Compile(incSource))
		for _, n := range []int{0, 1, 3, 100, 5000} {
			guarded := make([]int32, n+2)
			for i := range guarded {
				guarded[i] = -7
			}
			mem := guarded[1 : n+1]
			h := must[*backend.Buffer](t)(d.Register(backend.Bytes(mem)))
			if n > 0 && unsafe.Pointer(&h.Bytes()[0]) != unsafe.Pointer(&mem[0]) {
				t.Fatal("Bytes is not the registered memory")
			}
			want := int32(0)
			for round := range int32(4) {
				for i := range mem {
					mem[i] = int32(i) + 100*round // the host's turn
				}
				check(t, q.Launch(k, backend.Grid1(3, 5), backend.Buf(h), backend.Int32(int32(n)), backend.Int32(1)))
				ev := must[*backend.Event](t)(q.Record())
				check(t, other.WaitEvent(ev))
				check(t, other.Launch(k, backend.Grid1(2, 4), backend.Buf(h), backend.Int32(int32(n)),
					backend.Int32(2)))
				check(t, other.Wait())
				want = 3 + 100*round
				for i, v := range mem {
					if v != int32(i)+want {
						t.Fatalf("n %d, round %d: element %d is %d, want %d", n, round, i, v, int32(i)+want)
					}
				}
				check(t, ev.Release())
			}
			check(t, q.Launch(k, backend.Grid1(3, 5), backend.Buf(h), backend.Int32(int32(n)), backend.Int32(10)))
			check(t, h.Free()) // waits, and leaves the memory to the host
			for i, v := range mem {
				if v != int32(i)+want+10 {
					t.Fatalf("n %d, after Free: element %d is %d, want %d", n, i, v, int32(i)+want+10)
				}
			}
			if guarded[0] != -7 || guarded[n+1] != -7 {
				t.Errorf("n %d: guards are %d and %d", n, guarded[0], guarded[n+1])
			}
		}
	})
}

// addressSource writes the address that the kernel sees.
var addressSource = &backend.Source{Name: "address", Text: `
__kernel void address(__global ulong *a) { a[0] = (ulong)a; }
`}

// On a CPU device the kernel works at the address of the Go slice: nothing is copied. The same is
// so for a part of it.
func TestRegisterCopiesNothing(t *testing.T) {
	d := open(t)
	if !d.Info().UnifiedMemory || own(d).mapped {
		t.Skip("not a CPU device")
	}
	q, k := newQueue(t, d), must[*backend.Kernel](t)(d.Compile(addressSource))
	mem := make([]uint64, 1001)[1:]
	h := must[*backend.Buffer](t)(d.Register(backend.Bytes(mem)))
	for _, i := range []int{0, d.Info().OffsetAlign / 8, d.Info().OffsetAlign} {
		check(t, q.Launch(k, backend.Grid1(1, 1), backend.At(h, int64(8*i))))
		check(t, q.Wait())
		if want := uint64(uintptr(unsafe.Pointer(&mem[i]))); mem[i] != want {
			t.Errorf("element %d: the kernel sees %#x, the host %#x", i, mem[i], want)
		}
	}
}

// A buffer freed while commands use it stays until they are done, and so does a part of it.
func TestFreeInFlight(t *testing.T) {
	d := open(t)
	q := newQueue(t, d)
	k := must[*backend.Kernel](t)(d.Compile(incSource))
	const n = 100000
	sum := alloc(t, d, 4*n)
	for i := range int64(20) {
		b := alloc(t, d, 8*n)
		off := i % 2 * 4 * n / int64(d.Info().OffsetAlign) * int64(d.Info().OffsetAlign)
		for range 3 {
			check(t, q.Launch(k, backend.Grid1(4, 8), backend.At(b, off), backend.Int32(n), backend.Int32(int32(i))))
		}
		check(t, q.Copy(sum, 0, b, off, 4*n))
		check(t, b.Free())
		alloc(t, d, 8*n).Free()
	}
	got := make([]int32, n)
	check(t, q.Read(backend.Bytes(got), sum, 0))
	for i, v := range got {
		if v != 57 {
			t.Fatalf("element %d is %d, want 57", i, v)
		}
	}
}
