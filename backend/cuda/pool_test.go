package cuda

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// Memory goes back behind what each queue has been given, and nothing waits; a queue that cannot be
// marked is waited for.
func TestPoolOrder(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{}))
	first, second := newQueue(t, d), newQueue(t, d)
	gone := newQueue(t, d)
	check(t, gone.Close())
	for _, broken := range []string{"", "cuEventRecord", "cuStreamWaitEvent"} {
		b := alloc(t, d, 64)
		var calls []string
		restore := dltest.Wrap(own(d).api, func(c *dltest.Call) []reflect.Value {
			switch c.Name {
			case "cuStreamSynchronize":
				calls = append(calls, fmt.Sprint("wait for ", c.Args[0].Uint()))
			case "cuEventRecord":
				calls = append(calls, fmt.Sprint("mark ", c.Args[1].Uint()))
			case "cuStreamWaitEvent", "cuMemFreeAsync":
				calls = append(calls, c.Name)
			}
			if c.Name == broken {
				return c.Fail(capi.OutOfMemory)
			}
			return c.Run()
		})
		check(t, b.Free())
		restore()
		var want []string
		for stream := range own(d).pool.streams {
			want = append(want, fmt.Sprint("mark ", stream))
			if broken != "cuEventRecord" {
				want = append(want, "cuStreamWaitEvent")
			}
			if broken != "" {
				want = append(want, fmt.Sprint("wait for ", stream))
			}
		}
		want = append(want, "cuMemFreeAsync")
		last := calls[len(calls)-1]
		slices.Sort(calls) // a map has no order
		slices.Sort(want)
		if !slices.Equal(calls, want) || last != "cuMemFreeAsync" {
			t.Errorf("without %q: %v, %s last, want %v", broken, calls, last, want)
		}
	}
	if n := len(own(d).pool.streams); n != 2 {
		t.Errorf("%d streams are minded, want those of 2 queues", n)
	}
	check(t, first.Close())
	check(t, second.Close())
}

// Where the driver has no pools, or the device none, memory is allocated and freed as before CUDA
// 11.2.
func TestWithoutPool(t *testing.T) {
	for name, disturb := range map[string]func(c *dltest.Call) []reflect.Value{
		"unknown": func(c *dltest.Call) []reflect.Value { return c.Fail(capi.InvalidValue) },
		"none": func(c *dltest.Call) []reflect.Value {
			*c.Args[0].Interface().(*int32) = 0
			return c.Fail(capi.Success)
		},
	} {
		t.Run(name, func(t *testing.T) {
			drv := simulator(ptxsim.Config{})
			api := must[*capi.API](t)(drv.load())
			var n dltest.Counter
			defer dltest.Wrap(api, func(c *dltest.Call) []reflect.Value {
				if c.Name == "cuDeviceGetAttribute" && int32(c.Args[1].Int()) == capi.AttributeMemoryPools {
					return disturb(c)
				}
				return n.Count(c)
			})()
			d := openSim(t, drv)
			check(t, useAll(d))
			check(t, alloc(t, d, 64).Free())
			if all := n.All(); all["cuMemAlloc"] == 0 || all["cuMemFree"] == 0 || all["cuMemAllocAsync"] != 0 {
				t.Errorf("calls: %v", all)
			}
		})
	}
}

// A device that is full waits for memory on its way back.
func TestPoolFull(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{Memory: 1 << 20}))
	half := alloc(t, d, 1<<19)
	var flushed []string
	defer dltest.Wrap(own(d).api, func(c *dltest.Call) []reflect.Value {
		if c.Name == "cuMemPoolTrimTo" ||
			c.Name == "cuStreamSynchronize" && capi.Stream(c.Args[0].Uint()) == own(d).pool.freeing {
			flushed = append(flushed, c.Name)
		}
		return c.Run()
	})()
	_, err := d.Alloc(1<<19 + 1)
	wantSimError(t, err, backend.ErrOutOfMemory, "cuMemAllocAsync")
	once := []string{"cuStreamSynchronize", "cuMemPoolTrimTo"}
	if want := append(once, once...); !slices.Equal(flushed, want) { // before and after the collection of garbage
		t.Errorf("%v, want %v", flushed, want)
	}
	check(t, half.Free())
}
