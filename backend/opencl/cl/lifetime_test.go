package cl_test

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
)

// scenario uses a bit of everything, and gives the first error. It releases what it made.
func scenario(device *cl.Device) (err error) {
	var made []interface{ Release() }
	defer func() {
		for _, m := range made {
			m.Release()
		}
	}()
	check := func(object interface{ Release() }, e error) bool {
		if e != nil {
			err = e
			return false
		}
		made = append(made, object)
		return true
	}
	context, e := cl.CreateContext([]*cl.Device{device})
	if !check(context, e) {
		return err
	}
	queue, e := context.CreateCommandQueue(device, cl.CommandQueueProfilingEnable)
	if !check(queue, e) {
		return err
	}
	program, e := context.CreateProgramWithSource([]string{squareSource})
	if !check(program, e) {
		return err
	}
	if err := program.BuildProgram(nil, ""); err != nil {
		return err
	}
	if _, err := program.Binaries(); err != nil {
		return err
	}
	kernel, e := program.CreateKernel("square")
	if !check(kernel, e) {
		return err
	}
	data := []float32{1, 2, 3, 4}
	in, e := context.CreateBufferFloat32(cl.MemReadWrite|cl.MemUseHostPtr, data)
	if !check(in, e) {
		return err
	}
	out, e := context.CreateEmptyBuffer(cl.MemReadWrite, 16)
	if !check(out, e) {
		return err
	}
	sub, e := out.CreateSubBuffer(cl.MemReadWrite, 0, 16)
	if !check(sub, e) {
		return err
	}
	if err := kernel.SetArgs(in, sub, uint32(4)); err != nil {
		return err
	}
	if err := queue.LaunchNDRange(kernel, 1, [3]int{4}, [3]int{4}); err != nil {
		return err
	}
	ev, e := queue.EnqueueNDRangeKernel(kernel, nil, []int{4}, nil, nil)
	if !check(ev, e) {
		return err
	}
	if err := cl.WaitForEvents([]*cl.Event{ev}); err != nil {
		return err
	}
	if _, err := ev.GetEventProfilingInfo(cl.ProfilingInfoCommandEnd); err != nil {
		return err
	}
	if _, err := ev.Status(); err != nil {
		return err
	}
	mapped, ev2, e := queue.EnqueueMapBuffer(in, true, cl.MapFlagRead, 0, 16, []*cl.Event{ev})
	if !check(ev2, e) {
		return err
	}
	ev3, e := queue.EnqueueUnmapMemObject(in, mapped, nil)
	if !check(ev3, e) {
		return err
	}
	got := make([]float32, 4)
	ev4, e := queue.EnqueueReadBufferFloat32(out, false, 0, got, nil)
	if !check(ev4, e) {
		return err
	}
	return queue.Finish()
}

// Each call of the scenario fails once. The error comes out, nothing crashes, and nothing is left
// behind.
func TestEveryCallFailsOnce(t *testing.T) {
	device, _ := firstDevice(t)
	failing, calls := -1, 0
	var failed string
	var mu sync.Mutex // a transfer's end is awaited in another goroutine
	defer capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		mu.Lock()
		fail := calls == failing
		calls++
		if fail {
			failed = c.Name
		}
		mu.Unlock()
		switch {
		case !fail:
			return c.Run()
		case strings.HasPrefix(c.Name, "clRelease"):
			c.Run() // the object is gone, and the call says otherwise
		}
		return c.Fail(-5)
	})()
	run := func(n int) (name string, total int, err error) {
		mu.Lock()
		failing, calls, failed = n, 0, ""
		mu.Unlock()
		t.Run("", func(t *testing.T) {
			capitest.Watch(t)
			err = scenario(device)
		})
		mu.Lock()
		defer mu.Unlock()
		return failed, calls, err
	}
	_, total, err := run(-1)
	if err != nil || total < 30 {
		t.Fatalf("%d calls, %v", total, err)
	}
	seen := map[string]bool{}
	for n := range total {
		name, _, err := run(n)
		seen[name] = true
		background := name == "clWaitForEvents" || name == "clFinish" || name == "" // also called after the scenario
		switch {
		case strings.HasPrefix(name, "clRelease"):
			if err != nil {
				t.Errorf("call %d, %s: %v", n, name, err)
			}
		case err != cl.ErrOutOfResources && !(background && err == nil):
			t.Errorf("call %d, %s: %v", n, name, err)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d functions failed: %v", len(seen), seen)
	}
}

// Release is one C call, however often and from however many goroutines it comes, and also when C
// refuses.
func TestReleaseOnce(t *testing.T) {
	f := setUp(t)
	releases := map[string]int{}
	var mu sync.Mutex
	refused := capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		if !strings.HasPrefix(c.Name, "clRelease") {
			return c.Run()
		}
		mu.Lock()
		defer mu.Unlock()
		releases[c.Name]++
		c.Run()
		return c.Fail(-5)
	})
	defer refused()
	context, err := cl.CreateContext([]*cl.Device{f.device})
	f.ok(err)
	queue, err := context.CreateCommandQueue(f.device, 0)
	f.ok(err)
	program, err := context.CreateProgramWithSource([]string{squareSource})
	f.ok(err)
	f.ok(program.BuildProgram(nil, ""))
	kernel, err := program.CreateKernel("square")
	f.ok(err)
	buffer, err := context.CreateEmptyBuffer(cl.MemReadWrite, 64)
	f.ok(err)
	event, err := context.CreateUserEvent()
	f.ok(err)
	objects := []interface{ Release() }{context, queue, program, kernel, buffer, event}
	var wg sync.WaitGroup
	for range 8 {
		for _, o := range objects {
			wg.Go(o.Release)
		}
	}
	wg.Wait()
	for _, name := range []string{
		"clReleaseContext", "clReleaseCommandQueue", "clReleaseProgram", "clReleaseKernel", "clReleaseMemObject",
		"clReleaseEvent",
	} {
		if releases[name] != 1 {
			t.Errorf("%s was called %d times", name, releases[name])
		}
	}
}

// Objects may be released while others use them: a use either works or is an error.
func TestReleaseDuringUse(t *testing.T) {
	f := setUp(t)
	program := f.build(squareSource, "")
	for range 30 {
		queue, err := f.CreateCommandQueue(f.device, 0)
		f.ok(err)
		kernel, err := program.CreateKernel("square")
		f.ok(err)
		m, err := f.CreateEmptyBuffer(cl.MemReadWrite, 64)
		f.ok(err)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				<-start
				var zero [4]byte
				for {
					ev, err := queue.EnqueueFillBuffer(m, unsafe.Pointer(&zero), 4, 0, 64, nil)
					if err == cl.ErrInvalidCommandQueue || err == cl.ErrInvalidMemObject {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					ev.Release()
				}
			})
			wg.Go(func() {
				<-start
				for {
					err := kernel.SetArgs(m, m, uint32(16))
					if err == nil {
						err = queue.LaunchNDRange(kernel, 1, [3]int{16}, [3]int{16})
					}
					if err == cl.ErrInvalidKernel || err == cl.ErrInvalidMemObject || err == cl.ErrInvalidCommandQueue {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		close(start)
		time.Sleep(time.Millisecond)
		m.Release()
		kernel.Release()
		queue.Release()
		wg.Wait()
	}
}

// What is forgotten is released by the garbage collector.
func TestForgottenObjects(t *testing.T) {
	device, _ := firstDevice(t)
	live := capitest.Watch(t)
	forget := func() {
		context, err := cl.CreateContext([]*cl.Device{device})
		if err != nil {
			t.Fatal(err)
		}
		queue, err := context.CreateCommandQueue(device, 0)
		if err != nil {
			t.Fatal(err)
		}
		program, err := context.CreateProgramWithSource([]string{squareSource})
		if err != nil {
			t.Fatal(err)
		}
		if err := program.BuildProgram(nil, ""); err != nil {
			t.Fatal(err)
		}
		kernel, err := program.CreateKernel("square")
		if err != nil {
			t.Fatal(err)
		}
		in, err := context.CreateBufferFloat32(cl.MemReadWrite|cl.MemUseHostPtr, []float32{1, 2, 3, 4})
		if err != nil {
			t.Fatal(err)
		}
		if err := kernel.SetArgs(in, in, uint32(4)); err != nil {
			t.Fatal(err)
		}
		if _, err := queue.EnqueueTask(kernel, nil); err != nil {
			t.Fatal(err)
		}
	}
	forget()
	if live.Count() == 0 {
		t.Error("nothing was made")
	}
	// Watch collects garbage and waits at the end of the test.
}

// A buffer that is an argument is not collected before the launch.
func TestArgumentsStayAlive(t *testing.T) {
	f := setUp(t)
	k := f.kernel(`__kernel void copy(__global const int *from, __global int *to) { to[0] = from[0]; }`, "copy")
	to := f.buffer(make([]byte, 4))
	set := func() {
		from, err := f.CreateBuffer(cl.MemReadOnly|cl.MemCopyHostPtr, []byte{1, 2, 3, 4})
		f.ok(err)
		f.ok(k.SetArgs(from, to))
	}
	set()
	for range 3 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	f.ok(f.queue.LaunchNDRange(k, 1, [3]int{1}, [3]int{1}))
	if got := f.read(to); got[3] != 4 {
		t.Errorf("%v", got)
	}
}

// The device's driver and its objects are used from many goroutines at once.
func TestConcurrentUse(t *testing.T) {
	f := setUp(t)
	program := f.build(squareSource, "")
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			kernel, err := program.CreateKernel("square")
			if err != nil {
				t.Error(err)
				return
			}
			defer kernel.Release()
			data := []float32{float32(g), 1, 2, 3}
			in, err1 := f.CreateBufferFloat32(cl.MemReadOnly|cl.MemCopyHostPtr, data)
			out, err2 := f.CreateEmptyBuffer(cl.MemReadWrite, 16)
			if err1 != nil || err2 != nil {
				t.Error(err1, err2)
				return
			}
			defer in.Release()
			defer out.Release()
			for range 5 {
				if err := kernel.SetArgs(in, out, uint32(4)); err != nil {
					t.Error(err)
				}
				if err := f.queue.LaunchNDRange(kernel, 1, [3]int{4}, [3]int{4}); err != nil {
					t.Error(err)
				}
				got := make([]float32, 4)
				ev, err := f.queue.EnqueueReadBufferFloat32(out, g%2 == 0, 0, got, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := cl.WaitForEvents([]*cl.Event{ev}); err != nil {
					t.Error(err)
				}
				ev.Release()
				if got[0] != float32(g*g) || got[3] != 9 {
					t.Errorf("goroutine %d: %v", g, got)
				}
			}
		})
	}
	wg.Wait()
}
