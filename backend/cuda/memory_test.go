package cuda

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi/capitest"
)

// incSource adds v to n elements.
var incSource = &backend.Source{Name: "inc", PTX: []byte(testPTX), Text: `
__kernel void inc(__global int *a, const int n, const int v)
{
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) a[i] += v;
}
`}

func TestAllocIsNotHostMemory(t *testing.T) {
	if alloc(t, open(t), 1).Bytes() != nil {
		t.Error("a device buffer claims to be host memory")
	}
}

// Registered memory works wherever the device can map it; AllocHost's is for copies alone unless
// the device shares the host's memory.
func TestHostMemory(t *testing.T) {
	for _, integrated := range []bool{false, true} {
		t.Run(fmt.Sprintf("integrated=%v", integrated), func(t *testing.T) {
			capitest.Watch(t, table(t))
			drv := withAttribute(t, capi.AttributeIntegrated, integrated)
			d := must[*backend.Device](t)(drv.Open(0))
			defer d.Close()
			if d.Info().UnifiedMemory != integrated {
				t.Fatalf("UnifiedMemory is %v", d.Info().UnifiedMemory)
			}
			q, b := newQueue(t, d), alloc(t, d, 64)
			k := must[*backend.Kernel](t)(d.Compile(incSource))
			h := must[*backend.Buffer](t)(d.AllocHost(16))
			mem := make([]int32, 4)
			r := must[*backend.Buffer](t)(d.Register(backend.Bytes(mem)))
			inc := func(b *backend.Buffer) error {
				return q.Launch(k, backend.Grid1(1, 4), backend.Buf(b), backend.Int32(4), backend.Int32(3))
			}
			check(t, inc(r))
			check(t, q.WriteAsync(b, 16, r, 0, 16))
			check(t, q.Copy(r, 4, b, 16, 8))
			check(t, q.Wait())
			if !slices.Equal(mem, []int32{3, 3, 3, 3}) {
				t.Errorf("registered memory: %v", mem)
			}
			if !integrated {
				wantError(t, inc(h), backend.ErrUnsupported, "WriteAsync")
				wantError(t, q.Write(h, 0, []byte{1}), backend.ErrUnsupported, "WriteAsync")
				wantError(t, q.Copy(h, 0, b, 0, 1), backend.ErrUnsupported, "WriteAsync")
				return
			}
			check(t, inc(h))
			check(t, q.Copy(b, 0, h, 0, 16))
			check(t, q.Wait())
			if h.Bytes()[0] != 3 {
				t.Errorf("host memory: %v", h.Bytes())
			}
		})
	}
}

// withAttribute is a driver whose devices have an attribute or have it not.
func withAttribute(t *testing.T, attribute int32, has bool) *driver {
	restore := capitest.Wrap(table(t), func(c *capitest.Call) []reflect.Value {
		results := c.Run()
		if c.Name == "cuDeviceGetAttribute" && int32(c.Args[1].Int()) == attribute {
			v := c.Args[0].Interface().(*int32)
			if *v = 0; has {
				*v = 1
			}
		}
		return results
	})
	t.Cleanup(restore)
	return fresh(t)
}

// The whole suite on a device that shares the host's memory.
func TestSuiteIntegrated(t *testing.T) {
	backendtest.Run(t, withAttribute(t, capi.AttributeIntegrated, true), backendtest.Again())
}

func TestCannotMap(t *testing.T) {
	d := must[*backend.Device](t)(withAttribute(t, capi.AttributeCanMapHostMemory, false).Open(0))
	defer d.Close()
	_, err := d.Register(make([]byte, 8))
	wantError(t, err, backend.ErrUnsupported, "AllocHost", d.Info().Name)
}

// Host and device take turns on registered memory, which is aligned to its elements alone, between
// guards.
func TestRegister(t *testing.T) {
	d := open(t)
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
			check(t, other.Launch(k, backend.Grid1(2, 4), backend.Buf(h), backend.Int32(int32(n)), backend.Int32(2)))
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
}

func TestRegisterTwice(t *testing.T) {
	d := open(t)
	mem := make([]byte, 1<<16)
	h := must[*backend.Buffer](t)(d.Register(mem))
	_, err := d.Register(mem[1<<14 : 1<<15])
	wantError(t, err, backend.ErrArgument, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "registered already")
	check(t, h.Free())
	check(t, must[*backend.Buffer](t)(d.Register(mem[1<<14:1<<15])).Free())
}

// Registered memory that the program forgets, or frees at once, stays until the device is done with
// it.
func TestRegisterStaysPinned(t *testing.T) {
	d := open(t)
	q := newQueue(t, d)
	k := must[*backend.Kernel](t)(d.Compile(incSource))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for round := range 20 {
				mem := make([]int32, 10000)
				h, err := d.Register(backend.Bytes(mem))
				if err != nil {
					t.Error(err)
					return
				}
				if err := q.Launch(k, backend.Grid1(4, 8), backend.Buf(h), backend.Int32(10000),
					backend.Int32(1)); err != nil {
					t.Error(err)
					return
				}
				if round%2 == 0 {
					h.Free()
				}
				h, mem = nil, nil //nolint:ineffassign // so that the collector may take them
				runtime.GC()
				for range 10 { // memory that a freed slice's place would be reused for
					garbage := make([]int32, 10000)
					if slices.ContainsFunc(garbage, func(v int32) bool { return v != 0 }) {
						t.Error("the device wrote into other memory")
					}
				}
			}
		})
	}
	wg.Wait()
	check(t, q.Wait())
}

// A buffer freed while commands use it stays until they are done, whether its queue is open or
// being closed.
func TestFreeInFlight(t *testing.T) {
	d := open(t)
	k := must[*backend.Kernel](t)(d.Compile(incSource))
	const n = 10000
	for i := range int32(20) {
		q, sum := newQueue(t, d), alloc(t, d, 4*n)
		b := alloc(t, d, 4*n)
		for range 3 {
			check(t, q.Launch(k, backend.Grid1(4, 8), backend.Buf(b), backend.Int32(n), backend.Int32(i)))
		}
		check(t, q.Copy(sum, 0, b, 0, 4*n))
		check(t, b.Free())
		other := alloc(t, d, 4*n)
		got := make([]int32, n)
		check(t, q.Read(backend.Bytes(got), sum, 0))
		if slices.ContainsFunc(got, func(v int32) bool { return v != 3*i }) {
			t.Fatalf("not all elements are %d: %v", 3*i, got[:10])
		}
		check(t, other.Free())
		check(t, q.Close())
	}
}

func TestOffsets(t *testing.T) {
	d := open(t)
	q := newQueue(t, d)
	k := must[*backend.Kernel](t)(d.Compile(incSource))
	b := alloc(t, d, 16)
	for i := range int64(4) {
		check(t, q.Launch(k, backend.Grid1(1, 4), backend.At(b, 4*i), backend.Int32(1), backend.Int32(int32(i)+1)))
	}
	// at the very end, of which nothing is used
	check(t, q.Launch(k, backend.Grid1(1, 4), backend.At(b, 16), backend.Int32(0), backend.Int32(9)))
	got := make([]int32, 4)
	check(t, q.Read(backend.Bytes(got), b, 0))
	if !slices.Equal(got, []int32{1, 2, 3, 4}) {
		t.Errorf("%v, want 1 2 3 4", got)
	}
}

// CUDA keeps nothing for commands that use it: each release comes after a wait for the queue.
func TestReleaseWaits(t *testing.T) {
	d := open(t)
	var stream capi.Stream
	restore := capitest.Wrap(own(d).api, func(c *capitest.Call) []reflect.Value {
		results := c.Run()
		if c.Name == "cuStreamCreate" {
			stream = *c.Args[0].Interface().(*capi.Stream)
		}
		return results
	})
	q, b := newQueue(t, d), alloc(t, d, 64)
	restore()
	k := must[*backend.Kernel](t)(d.Compile(incSource))
	h := must[*backend.Buffer](t)(d.AllocHost(64))
	r := must[*backend.Buffer](t)(d.Register(make([]byte, 64)))
	busy := true
	var released []string
	defer capitest.Wrap(own(d).api, func(c *capitest.Call) []reflect.Value {
		switch c.Name {
		case "cuStreamSynchronize":
			if capi.Stream(c.Args[0].Uint()) == stream {
				busy = false
			}
		case "cuMemFree", "cuMemFreeHost", "cuMemHostUnregister", "cuModuleUnload", "cuStreamDestroy":
			if released = append(released, c.Name); busy {
				t.Errorf("%s while the queue may be busy", c.Name)
			}
		}
		return c.Run()
	})()
	for _, release := range []func() error{b.Free, h.Free, r.Free, k.Release, q.Close} {
		busy = true // as after a launch
		check(t, release())
	}
	if want := []string{
		"cuMemFree", "cuMemFreeHost", "cuMemHostUnregister", "cuModuleUnload",
		"cuStreamDestroy",
	}; !slices.Equal(released, want) {
		t.Errorf("released %v, want %v", released, want)
	}
}
