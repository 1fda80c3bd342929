package cuda

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi/capitest"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// incSource adds v to n elements.
var incSource = &backend.Source{Name: "inc", PTX: []byte(testPTX), Text: `
__kernel void inc(__global int *a, const int n, const int v)
{
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) a[i] += v;
}
`}

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
	restore := dltest.Wrap(table(t), func(c *dltest.Call) []reflect.Value {
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

// The whole suite on a device that shares the host's memory, of which nothing is left.
func TestSuiteIntegrated(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	capitest.Watch(t, table(t))
	backendtest.Run(t, withAttribute(t, capi.AttributeIntegrated, true), backendtest.Again(),
		backendtest.Skip("Close/Abandon", "it leaves handles behind; TestAbandoned has it"))
}

func TestCannotMap(t *testing.T) {
	d := must[*backend.Device](t)(withAttribute(t, capi.AttributeCanMapHostMemory, false).Open(0))
	defer d.Close()
	_, err := d.Register(make([]byte, 8))
	wantError(t, err, backend.ErrUnsupported, "AllocHost", d.Info().Name)
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

// CUDA keeps nothing for commands that use it: each release comes after a wait for the queue.
func TestReleaseWaits(t *testing.T) {
	d := open(t)
	var stream capi.Stream
	restore := dltest.Wrap(own(d).api, func(c *dltest.Call) []reflect.Value {
		results := c.Run()
		if c.Name == "cuStreamCreate" {
			stream = *c.Args[0].Interface().(*capi.Stream)
		}
		return results
	})
	q := newQueue(t, d)
	restore()
	k := must[*backend.Kernel](t)(d.Compile(incSource))
	h := must[*backend.Buffer](t)(d.AllocHost(64))
	r := must[*backend.Buffer](t)(d.Register(make([]byte, 64)))
	busy := true
	var released []string
	defer dltest.Wrap(own(d).api, func(c *dltest.Call) []reflect.Value {
		switch c.Name {
		case "cuStreamSynchronize":
			if capi.Stream(c.Args[0].Uint()) == stream {
				busy = false
			}
		case "cuMemFreeHost", "cuMemHostUnregister", "cuModuleUnload", "cuStreamDestroy":
			if released = append(released, c.Name); busy {
				t.Errorf("%s while the queue may be busy", c.Name)
			}
		}
		return c.Run()
	})()
	for _, release := range []func() error{h.Free, r.Free, k.Release, q.Close} {
		busy = true // as after a launch
		check(t, release())
	}
	if want := []string{
		"cuMemFreeHost", "cuMemHostUnregister", "cuModuleUnload", "cuStreamDestroy",
	}; !slices.Equal(released, want) {
		t.Errorf("released %v, want %v", released, want)
	}
}
