package cl_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
)

func firstDevice(t testing.TB) (*cl.Device, *cl.Platform) {
	t.Helper()
	platforms, err := cl.GetPlatforms()
	backendtest.Require(t, "opencl", err)
	for _, p := range platforms {
		if devices, err := p.GetDevices(cl.DeviceTypeAll); err == nil {
			backendtest.RequirePlatform(t, p.Name())
			return devices[0], p
		}
	}
	backendtest.Require(t, "opencl", cl.ErrDeviceNotFound)
	return nil, nil
}

// A fixture is a context with a queue on the first device. What the test creates must be gone at
// its end.
type fixture struct {
	testing.TB
	*cl.Context
	device *cl.Device
	queue  *cl.CommandQueue
}

func setUp(t testing.TB) *fixture {
	t.Helper()
	device, _ := firstDevice(t)
	capitest.Watch(t)
	f := &fixture{TB: t, device: device}
	var err error
	f.Context, err = cl.CreateContext([]*cl.Device{device})
	f.ok(err)
	t.Cleanup(f.Release)
	f.queue, err = f.CreateCommandQueue(device, cl.CommandQueueProfilingEnable)
	f.ok(err)
	t.Cleanup(f.queue.Release)
	return f
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// done releases the event of a call that must succeed.
func (f *fixture) done(ev *cl.Event, err error) {
	f.Helper()
	f.ok(err)
	ev.Release()
}

// refuse checks the error of a call that must fail and give no event.
func (f *fixture) refuse(want error) func(ev *cl.Event, err error) {
	return func(ev *cl.Event, err error) {
		f.Helper()
		if err != want || ev != nil {
			f.Errorf("event %v, error %v; want %v", ev, err, want)
		}
	}
}

// bytes makes a buffer of bytes.
func (f *fixture) buffer(data []byte) *cl.MemObject {
	f.Helper()
	m, err := f.CreateBuffer(cl.MemReadWrite|cl.MemCopyHostPtr, data)
	f.ok(err)
	f.Cleanup(m.Release)
	return m
}

func (f *fixture) read(m *cl.MemObject) []byte {
	f.Helper()
	data := make([]byte, m.Size())
	f.done(f.queue.EnqueueReadBuffer(m, true, 0, len(data), unsafe.Pointer(&data[0]), nil))
	return data
}

func (f *fixture) build(source, options string) *cl.Program {
	f.Helper()
	p, err := f.CreateProgramWithSource([]string{source})
	f.ok(err)
	f.Cleanup(p.Release)
	f.ok(p.BuildProgram(nil, options))
	return p
}

func (f *fixture) kernel(source, name string) *cl.Kernel {
	f.Helper()
	k, err := f.build(source, "-cl-kernel-arg-info").CreateKernel(name)
	f.ok(err)
	f.Cleanup(k.Release)
	return k
}

// numbers are n bytes that differ from their neighbours.
func numbers(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i/256 + 1)
	}
	return b
}

func TestBufferCopies(t *testing.T) {
	f := setUp(t)
	data := numbers(4096)
	m := f.buffer(data)
	if m.Size() != 4096 || !slices.Equal(f.read(m), data) {
		t.Fatal("CreateBuffer did not copy")
	}

	part := []byte{0xA0, 0xA1, 0xA2, 0xA3}
	f.done(f.queue.EnqueueWriteBuffer(m, true, 100, 4, unsafe.Pointer(&part[0]), nil))
	copy(data[100:], part)
	if !slices.Equal(f.read(m), data) {
		t.Fatal("EnqueueWriteBuffer wrote something else")
	}
	got := make([]byte, 4)
	f.done(f.queue.EnqueueReadBuffer(m, true, 101, 2, unsafe.Pointer(&got[1]), nil))
	if !slices.Equal(got, []byte{0, 0xA1, 0xA2, 0}) {
		t.Fatalf("EnqueueReadBuffer read %x", got)
	}

	dst := f.buffer(make([]byte, 4096))
	f.done(f.queue.EnqueueCopyBuffer(m, dst, 96, 8, 16, nil))
	want := make([]byte, 4096)
	copy(want[8:24], data[96:])
	if !slices.Equal(f.read(dst), want) {
		t.Fatal("EnqueueCopyBuffer copied something else")
	}
	pattern := [4]byte{1, 2, 3, 4}
	f.done(f.queue.EnqueueFillBuffer(dst, unsafe.Pointer(&pattern), 4, 4, 8, nil))
	copy(want[4:], []byte{1, 2, 3, 4, 1, 2, 3, 4})
	if !slices.Equal(f.read(dst), want) {
		t.Fatal("EnqueueFillBuffer filled something else")
	}

	f.refuse(cl.ErrInvalidValue)(f.queue.EnqueueReadBuffer(m, true, 4090, 10, unsafe.Pointer(&got[0]), nil))
	f.refuse(cl.ErrInvalidValue)(f.queue.EnqueueReadBuffer(m, true, -1, 2, unsafe.Pointer(&got[0]), nil))
	f.refuse(cl.ErrInvalidValue)(f.queue.EnqueueWriteBuffer(m, true, 0, -2, unsafe.Pointer(&got[0]), nil))
	f.refuse(cl.ErrInvalidValue)(f.queue.EnqueueCopyBuffer(m, dst, 0, -8, 4, nil))
	f.refuse(cl.ErrMemCopyOverlap)(f.queue.EnqueueCopyBuffer(m, m, 0, 8, 16, nil))
	f.refuse(cl.ErrInvalidValue)(f.queue.EnqueueFillBuffer(m, unsafe.Pointer(&pattern), 4, -4, 8, nil))
	f.refuse(cl.ErrInvalidMemObject)(f.queue.EnqueueCopyBuffer(nil, m, 0, 0, 16, nil))
}

func TestBufferFloat32(t *testing.T) {
	f := setUp(t)
	data := []float32{1, -2, 3.5, float32(math.Inf(1))}
	m, err := f.CreateBufferFloat32(cl.MemReadWrite|cl.MemCopyHostPtr, data)
	f.ok(err)
	defer m.Release()
	f.done(f.queue.EnqueueWriteBufferFloat32(m, true, 4, []float32{7}, nil))
	got := make([]float32, 3)
	f.done(f.queue.EnqueueReadBufferFloat32(m, true, 4, got, nil))
	if want := []float32{7, 3.5, float32(math.Inf(1))}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, empty := range [][]float32{nil, {}} {
		// Nothing to copy is an error in OpenCL 1.2 and a command in 2.1.
		if ev, err := f.queue.EnqueueReadBufferFloat32(m, true, 0, empty, nil); err == nil {
			ev.Release()
		} else if err != cl.ErrInvalidValue {
			t.Errorf("read of nothing: %v", err)
		}
		if _, err := f.CreateBufferFloat32(cl.MemCopyHostPtr, empty); err != cl.ErrInvalidBufferSize {
			t.Errorf("buffer of nothing: %v", err)
		}
	}
	if _, err := f.CreateEmptyBuffer(cl.MemReadWrite, -1); err != cl.ErrInvalidBufferSize {
		t.Errorf("buffer of -1 bytes: %v", err)
	}
	if _, err := f.CreateBuffer(cl.MemReadWrite, []byte{1}); err != cl.ErrInvalidHostPtr {
		t.Errorf("host memory without a flag for it: %v", err)
	}
}

// Non-blocking transfers may read and write memory that the program no longer refers to.
func TestNonBlockingTransfersKeepTheirMemory(t *testing.T) {
	f := setUp(t)
	const n, rounds = 1 << 16, 64
	gate, err := f.CreateUserEvent()
	f.ok(err)
	defer gate.Release()
	bufs := make([]*cl.MemObject, rounds)
	for i := range bufs {
		bufs[i] = f.buffer(make([]byte, n))
		data := make([]byte, n)
		for j := range data {
			data[j] = byte(i + j)
		}
		f.done(f.queue.EnqueueWriteBuffer(bufs[i], false, 0, n, unsafe.Pointer(&data[0]), []*cl.Event{gate}))
	}
	for range 3 { // data is garbage now, but for the pins
		runtime.GC()
		junk := make([][]byte, rounds)
		for i := range junk {
			junk[i] = slices.Repeat([]byte{0xEE}, n)
		}
	}
	f.ok(gate.SetUserEventStatus(int(cl.CommmandExecStatusComplete)))
	got := make([]byte, n)
	for i, m := range bufs {
		ev, err := f.queue.EnqueueReadBuffer(m, false, 0, n, unsafe.Pointer(&got[0]), nil)
		f.ok(err)
		f.ok(cl.WaitForEvents([]*cl.Event{ev}))
		ev.Release()
		for j := range got {
			if got[j] != byte(i+j) {
				t.Fatalf("transfer %d: byte %d is %#x, want %#x", i, j, got[j], byte(i+j))
			}
		}
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&got[0])
	clear(got)
	copy(got, "pinned")
	f.done(f.queue.EnqueueWriteBufferPinned(bufs[0], 0, 6, unsafe.Pointer(&got[0]), nil))
	f.done(f.queue.EnqueueReadBufferPinned(bufs[0], 0, 6, unsafe.Pointer(&got[6]), nil))
	f.ok(f.queue.Finish())
	if string(got[:12]) != "pinnedpinned" {
		t.Errorf("pinned transfers: %q", got[:12])
	}
}

func TestMapBuffer(t *testing.T) {
	f := setUp(t)
	data := numbers(256)
	m := f.buffer(data)
	mapped, ev, err := f.queue.EnqueueMapBuffer(m, true, cl.MapFlagRead|cl.MapFlagWrite, 64, 32, nil)
	f.done(ev, err)
	if mapped.Size() != 32 || mapped.RowPitch() != 0 || mapped.SlicePitch() != 0 ||
		mapped.Ptr() != unsafe.Pointer(&mapped.ByteSlice()[0]) {
		t.Errorf("mapped: %+v", mapped)
	}
	if !slices.Equal(mapped.ByteSlice(), data[64:96]) {
		t.Error("the mapped bytes are others")
	}
	copy(mapped.ByteSlice(), "written")
	f.done(f.queue.EnqueueUnmapMemObject(m, mapped, nil))
	copy(data[64:], "written")
	if !slices.Equal(f.read(m), data) {
		t.Error("what was written while mapped is not in the buffer")
	}
	if _, _, err := f.queue.EnqueueMapBuffer(m, true, cl.MapFlagRead, 250, 10, nil); err != cl.ErrInvalidValue {
		t.Errorf("map beyond the end: %v", err)
	}
	f.refuse(cl.ErrInvalidValue)(f.queue.EnqueueUnmapMemObject(m, nil, nil))
}

func TestSubBuffer(t *testing.T) {
	f := setUp(t)
	align := f.device.MemBaseAddrAlign() / 8
	data := numbers(4 * align)
	parent, err := f.CreateBuffer(cl.MemReadWrite|cl.MemCopyHostPtr, data)
	f.ok(err)
	sub, err := parent.CreateSubBuffer(cl.MemReadWrite, align, 2*align)
	f.ok(err)
	defer sub.Release()
	parent.Release() // the memory lives on
	if sub.Size() != 2*align || !slices.Equal(f.read(sub), data[align:3*align]) {
		t.Error("the sub-buffer is another part")
	}
	if _, err := parent.CreateSubBuffer(cl.MemReadWrite, 0, align); err != cl.ErrInvalidMemObject {
		t.Errorf("sub-buffer of a released buffer: %v", err)
	}
	whole := f.buffer(data)
	for _, c := range []struct {
		origin, size int
		want         error
	}{
		{1, align, cl.ErrMisalignedSubBufferOffset},
		{0, 5 * align, cl.ErrInvalidValue},
		{-align, align, cl.ErrInvalidValue},
		{0, -1, cl.ErrInvalidValue},
	} {
		if _, err := whole.CreateSubBuffer(cl.MemReadWrite, c.origin, c.size); err != c.want {
			t.Errorf("sub-buffer %d+%d: %v, want %v", c.origin, c.size, err, c.want)
		}
	}
}

// A kernel works in Go memory, also when the program has released everything before it ran.
func TestUseHostPtr(t *testing.T) {
	f := setUp(t)
	k := f.kernel(`__kernel void inc(__global int *x) { x[get_global_id(0)] += 1; }`, "inc")
	host := make([]int32, 4096)
	for i := range host {
		host[i] = int32(i)
	}
	m, err := f.CreateBufferUnsafe(cl.MemReadWrite|cl.MemUseHostPtr, 4*len(host), unsafe.Pointer(&host[0]))
	f.ok(err)
	sub, err := m.CreateSubBuffer(cl.MemReadWrite, 0, 4*len(host))
	f.ok(err)
	gate, err := f.CreateUserEvent()
	f.ok(err)
	defer gate.Release()
	f.ok(k.SetArgBuffer(0, sub))
	f.done(f.queue.EnqueueNDRangeKernel(k, nil, []int{len(host)}, nil, []*cl.Event{gate}))
	m.Release()
	mapped, ev, err := f.queue.EnqueueMapBuffer(sub, false, cl.MapFlagRead, 0, 4*len(host), nil)
	f.ok(err)
	defer ev.Release()
	f.done(f.queue.EnqueueUnmapMemObject(sub, mapped, []*cl.Event{ev}))
	sub.Release()
	runtime.GC()
	f.ok(gate.SetUserEventStatus(0))
	f.ok(f.queue.Finish())
	for i, v := range host {
		if v != int32(i)+1 {
			t.Fatalf("host[%d] = %d, want %d", i, v, i+1)
		}
	}
}

// Go memory that a released queue still works in stays where it is, also when the queue is released
// before the buffer.
func TestUseHostPtrBeyondQueue(t *testing.T) {
	f := setUp(t)
	gate, err := f.CreateUserEvent()
	f.ok(err)
	defer gate.Release()
	from := f.buffer(make([]byte, 1<<16))
	var collected atomic.Bool
	func() {
		host := make([]byte, 1<<16)
		runtime.AddCleanup(&host[0], func(int) { collected.Store(true) }, 0)
		m, err := f.CreateBuffer(cl.MemReadWrite|cl.MemUseHostPtr, host)
		f.ok(err)
		queue, err := f.CreateCommandQueue(f.device, 0)
		f.ok(err)
		f.done(queue.EnqueueCopyBuffer(from, m, 0, 0, len(host), []*cl.Event{gate}))
		queue.Release()
		m.Release()
	}()
	collect := func() {
		for range 5 {
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
	}
	if collect(); collected.Load() {
		t.Error("the memory was collected before the copy to it")
	}
	f.ok(gate.SetUserEventStatus(0))
	f.ok(f.queue.Finish())
	for start := time.Now(); !collected.Load(); collect() {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the memory stayed after the copy to it")
		}
	}
}

const scalarsSource = `
__kernel void scalars(__global ulong *out, char a, uchar b, int c, uint d, long e, ulong f, float g, __local int *h,
		ulong2 i, ushort j) {
	out[0] = as_uchar(a); out[1] = b; out[2] = as_uint(c); out[3] = d; out[4] = as_ulong(e); out[5] = f;
	out[6] = as_uint(g);
	h[0] = 41; h[1] = 1; out[7] = h[0] + h[1]; out[8] = i.x; out[9] = i.y; out[10] = j;
}`

func TestKernelArguments(t *testing.T) {
	f := setUp(t)
	k := f.kernel(scalarsSource, "scalars")
	out := f.buffer(slices.Repeat([]byte{0xEE}, 88))
	vector := [2]uint64{3, math.MaxUint64}
	f.ok(k.SetArgs(out, int8(-2), uint8(250), int32(-3), uint32(1<<31), int64(-4), uint64(1<<63), float32(1.5),
		cl.LocalBuffer(8)))
	f.ok(k.SetArgUnsafe(9, 16, unsafe.Pointer(&vector)))
	f.ok(k.SetArgScalar(10, 0xFFFF1234, 2))
	f.done(f.queue.EnqueueTask(k, nil))
	got := make([]uint64, 11)
	for i, b := 0, f.read(out); i < len(got); i++ {
		got[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	want := []uint64{
		254, 250, 0xFFFFFFFD, 1 << 31, math.MaxUint64 - 3, 1 << 63, uint64(math.Float32bits(1.5)), 42, 3,
		math.MaxUint64, 0x1234,
	}
	if !slices.Equal(got, want) {
		t.Errorf("arguments arrived as %#x, want %#x", got, want)
	}

	if n, err := k.NumArgs(); n != 11 || err != nil {
		t.Errorf("%d arguments, %v", n, err)
	}
	for _, arg := range []any{1, "text", nil, []byte{1}, map[int]int{}} {
		var unsupported cl.ErrUnsupportedArgumentType
		if err := k.SetArg(3, arg); !errors.As(err, &unsupported) || unsupported.Index != 3 ||
			!strings.Contains(err.Error(), "argument 3") {
			t.Errorf("SetArg(%v): %v", arg, err)
		}
		if cl.Code(k.SetArg(3, arg)) != 0 {
			t.Errorf("SetArg(%v) has a code", arg)
		}
	}
	for _, c := range []struct {
		got, want error
	}{
		{k.SetArgInt32(11, 0), cl.ErrInvalidArgIndex},
		{k.SetArgInt32(-1, 0), cl.ErrInvalidArgIndex},
		{k.SetArgInt32(4, 0), nil},
		{k.SetArgInt64(4, 0), cl.ErrInvalidArgSize},
		{k.SetArgUint64(2, 0), cl.ErrInvalidArgSize},
		{k.SetArgInt8(3, 0), cl.ErrInvalidArgSize},
		{k.SetArgScalar(3, 0, 3), cl.ErrInvalidArgSize},
		{k.SetArgUnsafe(3, -4, nil), cl.ErrInvalidArgSize},
		{k.SetArgBuffer(0, nil), cl.ErrInvalidMemObject},
		{k.SetArgMem(0, &cl.MemObject{}), cl.ErrInvalidMemObject},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

func TestKernelInfo(t *testing.T) {
	f := setUp(t)
	k := f.kernel(`__kernel __attribute__((reqd_work_group_size(8, 4, 1)))
		void k(__global const float *first, __constant int *second, __local double *third, uint fourth) {}`, "k")
	names, types := []string{"first", "second", "third", "fourth"}, []string{"float*", "int*", "double*", "uint"}
	global := []bool{true, true, false, false}
	for i := range names {
		name, err1 := k.ArgName(i)
		kind, err2 := k.ArgTypeName(i)
		isGlobal, err3 := k.ArgIsGlobalPointer(i)
		if err := errors.Join(err1, err2, err3); err != nil || name != names[i] || kind != types[i] ||
			isGlobal != global[i] {
			t.Errorf("argument %d: name %q, type %q, global %v, %v", i, name, kind, isGlobal, err)
		}
	}
	for _, i := range []int{4, -1} {
		// Intel's runtime for CPUs says CL_INVALID_VALUE, where OpenCL has an error of its own.
		if _, err := k.ArgName(i); err != cl.ErrInvalidArgIndex && err != cl.ErrInvalidValue {
			t.Errorf("name of argument %d: %v", i, err)
		}
	}
	if got, err := k.CompileWorkGroupSize(f.device); err != nil || got != [3]int{8, 4, 1} {
		t.Errorf("required group %v, %v", got, err)
	}
	if n, err := k.WorkGroupSize(f.device); err != nil || n < 1 {
		t.Errorf("work-group size %d, %v", n, err)
	}
	if n, err := k.PreferredWorkGroupSizeMultiple(nil); err != nil || n < 1 {
		t.Errorf("multiple %d, %v", n, err)
	}
	f.ok(k.SetArgLocal(2, 1024))
	if n, err := k.LocalMemSize(f.device); err != nil || n < 0 {
		t.Errorf("local memory %d, %v", n, err)
	}
	plain := f.kernel(squareSource, "square")
	if got, err := plain.CompileWorkGroupSize(f.device); err != nil || got != [3]int{} {
		t.Errorf("group required by a kernel that requires none: %v, %v", got, err)
	}
}

const idsSource = `
__kernel void ids(__global int *out) {
	size_t i = get_global_id(0) + 100 * get_global_id(1) + 1000 * get_global_id(2);
	out[i] = get_local_size(0) + 100 * get_local_size(1) + 10000 * get_local_size(2);
}`

func TestLaunch(t *testing.T) {
	f := setUp(t)
	k := f.kernel(idsSource, "ids")
	const n = 4000
	out := f.buffer(make([]byte, 4*n))
	f.ok(k.SetArgMem(0, out))
	run := func(name string, launch func() error, at []int, want int32) {
		t.Helper()
		zero := [1]byte{}
		f.done(f.queue.EnqueueFillBuffer(out, unsafe.Pointer(&zero), 1, 0, 4*n, nil))
		f.ok(launch())
		b := f.read(out)
		for i := range n {
			got := int32(binary.LittleEndian.Uint32(b[4*i:]))
			if slices.Contains(at, i) && want != 0 && got != want || !slices.Contains(at, i) && got != 0 ||
				slices.Contains(at, i) && got == 0 {
				t.Fatalf("%s: element %d is %d, want %d", name, i, got, want)
			}
		}
	}
	enqueue := func(offset, global, local []int) func() error {
		return func() error {
			ev, err := f.queue.EnqueueNDRangeKernel(k, offset, global, local, nil)
			ev.Release()
			return err
		}
	}
	launch := func(dims int, global, local [3]int) func() error {
		return func() error { return f.queue.LaunchNDRange(k, dims, global, local) }
	}
	run("1D", enqueue(nil, []int{4}, []int{2}), []int{0, 1, 2, 3}, 10102)
	run("1D with offset", enqueue([]int{2}, []int{2}, []int{1}), []int{2, 3}, 10101)
	run("1D, any group", enqueue([]int{}, []int{3}, []int{}), []int{0, 1, 2}, 0)
	run("2D", enqueue(nil, []int{2, 3}, []int{2, 1}), []int{0, 1, 100, 101, 200, 201}, 10102)
	run("3D", enqueue(nil, []int{1, 2, 2}, []int{1, 2, 1}), []int{0, 100, 1000, 1100}, 10201)
	run("LaunchNDRange 1D", launch(1, [3]int{4, 77, 77}, [3]int{2, 55, 55}), []int{0, 1, 2, 3}, 10102)
	run("LaunchNDRange 3D", launch(3, [3]int{1, 2, 2}, [3]int{1, 2, 1}), []int{0, 100, 1000, 1100}, 10201)
	run("LaunchNDRange, any group", launch(2, [3]int{2, 2}, [3]int{}), []int{0, 1, 100, 101}, 0)

	for _, c := range []struct {
		got, want error
	}{
		{enqueue(nil, nil, nil)(), cl.ErrInvalidWorkDimension},
		{enqueue(nil, []int{1, 1, 1, 1}, nil)(), cl.ErrInvalidWorkDimension},
		{enqueue([]int{1, 1}, []int{1}, nil)(), cl.ErrInvalidGlobalOffset},
		{enqueue(nil, []int{-1}, nil)(), cl.ErrInvalidGlobalWorkSize},
		{enqueue(nil, []int{4, 4}, []int{2})(), cl.ErrInvalidWorkGroupSize},
		{enqueue(nil, []int{4}, []int{3})(), cl.ErrInvalidWorkGroupSize},
		{launch(0, [3]int{1}, [3]int{1})(), cl.ErrInvalidWorkDimension},
		{launch(4, [3]int{1}, [3]int{1})(), cl.ErrInvalidWorkDimension},
		{launch(1, [3]int{-1}, [3]int{1})(), cl.ErrInvalidGlobalWorkSize},
		{launch(1, [3]int{1}, [3]int{-1})(), cl.ErrInvalidWorkGroupSize},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}

	unset := f.kernel(idsSource, "ids")
	if err := f.queue.LaunchNDRange(unset, 1, [3]int{1}, [3]int{1}); err != cl.ErrInvalidKernelArgs {
		t.Errorf("launch without arguments: %v", err)
	}
	out.Release()
	if err := f.queue.LaunchNDRange(k, 1, [3]int{1}, [3]int{1}); err != cl.ErrInvalidMemObject {
		t.Errorf("launch with a released buffer: %v", err)
	}
	f.refuse(cl.ErrInvalidMemObject)(f.queue.EnqueueTask(k, nil))
	other := f.buffer(make([]byte, 4*n))
	f.ok(k.SetArgMem(0, other)) // and the kernel is usable again
	f.ok(f.queue.LaunchNDRange(k, 1, [3]int{1}, [3]int{1}))
	f.ok(f.queue.Flush())
	f.ok(f.queue.Finish())
}

func TestBuildErrors(t *testing.T) {
	f := setUp(t)
	p, err := f.CreateProgramWithSource([]string{
		"__kernel void k(__global int *x) {\n", "\tx[0] = undeclared_name;\n}",
	})
	f.ok(err)
	defer p.Release()
	err = p.BuildProgram([]*cl.Device{f.device}, "")
	var build cl.BuildError
	if !errors.As(err, &build) || !strings.Contains(string(build), "undeclared_name") {
		t.Fatalf("build of wrong source: %v", err)
	}
	if cl.Code(fmt.Errorf("wrapped: %w", err)) != -11 || cl.CodeName(err) != "CL_BUILD_PROGRAM_FAILURE" {
		t.Errorf("code %d, %s", cl.Code(err), cl.CodeName(err))
	}
	if log, err := p.BuildLog(f.device); err != nil || log != string(build) || strings.ContainsRune(log, 0) {
		t.Errorf("log %q, %v", log, err)
	}
	if _, err := p.CreateKernel("k"); err != cl.ErrInvalidProgramExecutable {
		t.Errorf("kernel of a program that was not built: %v", err)
	}
	good := f.build(squareSource, "-DUNUSED=1")
	if _, err := good.CreateKernel("no_such_kernel"); err != cl.ErrInvalidKernelName {
		t.Errorf("kernel that does not exist: %v", err)
	}
	if err := good.BuildProgram([]*cl.Device{nil}, ""); err != cl.ErrInvalidDevice {
		t.Errorf("build for no device: %v", err)
	}
	if err := p.BuildProgram(nil, "-no-such-option"); err == nil {
		t.Error("a wrong option was taken")
	}
	if empty, err := f.CreateProgramWithSource([]string{}); err != cl.ErrInvalidValue || empty != nil {
		t.Errorf("program of no source: %v", err)
	}
}

func TestProgramBinaries(t *testing.T) {
	f := setUp(t)
	binaries, err := f.build(idsSource, "").Binaries()
	f.ok(err)
	if len(binaries) != 1 || len(binaries[0]) == 0 {
		t.Fatalf("%d binaries", len(binaries))
	}
	p, err := f.CreateProgramWithBinary([]*cl.Device{f.device}, binaries)
	f.ok(err)
	defer p.Release()
	f.ok(p.BuildProgram(nil, ""))
	k, err := p.CreateKernel("ids")
	f.ok(err)
	defer k.Release()
	out := f.buffer(make([]byte, 16))
	f.ok(k.SetArgs(out))
	f.ok(f.queue.LaunchNDRange(k, 1, [3]int{4}, [3]int{4}))
	if b := f.read(out); binary.LittleEndian.Uint32(b[12:]) != 10104 {
		t.Errorf("the kernel from the binary wrote %x", b)
	}

	if fresh, err := f.CreateProgramWithSource([]string{idsSource}); err != nil {
		t.Error(err)
	} else {
		if b, err := fresh.Binaries(); err == nil && (len(b) != 1 || b[0] != nil) {
			t.Errorf("binaries of a program that was not built: %d bytes", len(b[0]))
		}
		fresh.Release()
	}
	for _, c := range []struct {
		devices  []*cl.Device
		binaries [][]byte
		want     error
	}{
		{nil, nil, cl.ErrInvalidValue},
		{[]*cl.Device{f.device}, nil, cl.ErrInvalidValue},
		{[]*cl.Device{nil}, [][]byte{{1}}, cl.ErrInvalidDevice},
		{[]*cl.Device{f.device}, [][]byte{{}}, cl.ErrInvalidBinary},
		{[]*cl.Device{f.device}, [][]byte{[]byte("no program at all")}, cl.ErrInvalidBinary},
	} {
		if _, err := f.CreateProgramWithBinary(c.devices, c.binaries); err != c.want {
			t.Errorf("%d devices, %d binaries: %v, want %v", len(c.devices), len(c.binaries), err, c.want)
		}
	}
}

func TestEvents(t *testing.T) {
	f := setUp(t)
	gate, err := f.CreateUserEvent()
	f.ok(err)
	defer gate.Release()
	if s, err := gate.Status(); s != cl.CommmandExecStatusSubmitted || err != nil {
		t.Errorf("new user event: %v, %v", s, err)
	}
	marker, err := f.queue.EnqueueMarkerWithWaitList([]*cl.Event{gate})
	f.ok(err)
	defer marker.Release()
	barrier, err := f.queue.EnqueueBarrierWithWaitList(nil)
	f.ok(err)
	defer barrier.Release()
	if s, err := marker.Status(); s == cl.CommmandExecStatusComplete || err != nil {
		t.Errorf("marker behind an open event: %v, %v", s, err)
	}
	f.ok(gate.SetUserEventStatus(int(cl.CommmandExecStatusComplete)))
	f.ok(cl.WaitForEvents([]*cl.Event{marker, barrier}))
	for _, ev := range []*cl.Event{gate, marker, barrier} {
		if s, err := ev.Status(); s != cl.CommmandExecStatusComplete || err != nil {
			t.Errorf("after the wait: %v, %v", s, err)
		}
	}
	if err := gate.SetUserEventStatus(0); err != cl.ErrInvalidOperation {
		t.Errorf("second status: %v", err)
	}

	m := f.buffer(make([]byte, 1<<20))
	pattern := [1]byte{1}
	ev, err := f.queue.EnqueueFillBuffer(m, unsafe.Pointer(&pattern), 1, 0, 1<<20, []*cl.Event{marker})
	f.ok(err)
	defer ev.Release()
	f.ok(f.queue.Finish())
	var last int64
	for _, moment := range []cl.ProfilingInfo{
		cl.ProfilingInfoCommandQueued, cl.ProfilingInfoCommandSubmit, cl.ProfilingInfoCommandStart,
		cl.ProfilingInfoCommandEnd,
	} {
		ns, err := ev.GetEventProfilingInfo(moment)
		if err != nil || ns < last || ns == 0 {
			t.Errorf("%v: %d ns after %d ns, %v", moment, ns, last, err)
		}
		last = ns
	}
	if _, err := gate.GetEventProfilingInfo(cl.ProfilingInfoCommandEnd); err != cl.ErrProfilingInfoNotAvailable {
		t.Errorf("times of a user event: %v", err)
	}

	if err := cl.WaitForEvents(nil); err != cl.ErrInvalidValue {
		t.Errorf("wait for nothing: %v", err)
	}
	for _, list := range [][]*cl.Event{{nil}, {{}}, {marker, nil}} {
		if err := cl.WaitForEvents(list); err != cl.ErrInvalidEventWaitList {
			t.Errorf("wait for no event: %v", err)
		}
		f.refuse(cl.ErrInvalidEventWaitList)(f.queue.EnqueueMarkerWithWaitList(list))
	}
}

func TestFailedUserEvent(t *testing.T) {
	f := setUp(t)
	gate, err := f.CreateUserEvent()
	f.ok(err)
	defer gate.Release()
	if err := gate.SetUserEventStatus(math.MinInt); math.MinInt < math.MinInt32 && err != cl.ErrInvalidValue {
		t.Errorf("a status that is no int32: %v", err)
	}
	f.ok(gate.SetUserEventStatus(-5))
	if s, err := gate.Status(); s != -5 || err != cl.ErrOutOfResources {
		t.Errorf("failed event: %v, %v", s, err)
	}
	if err := cl.WaitForEvents([]*cl.Event{gate}); err != cl.ErrExecStatusErrorForEventsInWaitList {
		t.Errorf("wait for a failed event: %v", err)
	}
}

func TestErrors(t *testing.T) {
	if err := error(cl.ErrOther(-1234)); err.Error() != "cl: error -1234" || cl.Code(err) != -1234 ||
		cl.CodeName(err) != "" {
		t.Errorf("%v, %d", err, cl.Code(err))
	}
	if err := error(cl.ErrOther(-1057)); !strings.Contains(err.Error(), "CL_DEVICE_PARTITION_FAILED_EXT") {
		t.Error(err)
	}
	for _, c := range []struct {
		err  error
		code int
		name string
	}{
		{nil, 0, ""},
		{errors.New("other"), 0, ""},
		{cl.ErrUnsupported, 0, ""},
		{cl.ErrInvalidValue, -30, "CL_INVALID_VALUE"},
		{fmt.Errorf("at home: %w", cl.ErrOutOfHostMemory), -6, "CL_OUT_OF_HOST_MEMORY"},
		{errors.Join(errors.New("other"), cl.ErrInvalidValue), -30, "CL_INVALID_VALUE"},
		{fmt.Errorf("%w: %w", cl.ErrOther(-1057), cl.BuildError("log")), -1057, "CL_DEVICE_PARTITION_FAILED_EXT"},
		{cl.ErrInvalidDevicePartitionCount, -68, "CL_INVALID_DEVICE_PARTITION_COUNT"},
		{cl.ErrNoPlatform, -1001, "CL_PLATFORM_NOT_FOUND_KHR"},
		{cl.ErrUnsupportedArgumentType{Index: 1, Value: []int{1}}, 0, ""}, // a value that cannot be compared
	} {
		if cl.Code(c.err) != c.code || cl.CodeName(c.err) != c.name {
			t.Errorf("%v: code %d %q, want %d %q", c.err, cl.Code(c.err), cl.CodeName(c.err), c.code, c.name)
		}
	}
	if cl.BuildError("log").Error() != "cl: build error (log)" {
		t.Error(cl.BuildError("log"))
	}
}

// Objects that are nil, zero or released give errors.
func TestNoObject(t *testing.T) {
	f := setUp(t)
	released, err := f.CreateCommandQueue(f.device, 0)
	f.ok(err)
	released.Release()
	released.Release()
	if name, size := (*cl.Platform)(nil).Name(), (*cl.MemObject)(nil).Size(); name != "" || size != 0 {
		t.Errorf("no platform is %q, no buffer has %d bytes", name, size)
	}
	for _, q := range []*cl.CommandQueue{nil, {}, released} {
		if q.Finish() != cl.ErrInvalidCommandQueue || q.Flush() != cl.ErrInvalidCommandQueue {
			t.Error("a queue that is none finishes")
		}
		f.refuse(cl.ErrInvalidCommandQueue)(q.EnqueueMarkerWithWaitList(nil))
		q.Release()
	}
	for _, c := range []*cl.Context{nil, {}} {
		_, err1 := c.CreateEmptyBuffer(cl.MemReadWrite, 8)
		_, err2 := c.CreateProgramWithSource([]string{""})
		_, err3 := c.CreateCommandQueue(f.device, 0)
		_, err4 := c.CreateUserEvent()
		_, err5 := c.GetSupportedImageFormats(0, cl.MemObjectTypeImage2D)
		for i, err := range []error{err1, err2, err3, err4, err5} {
			if err != cl.ErrInvalidContext {
				t.Errorf("%d: %v", i, err)
			}
		}
		c.Release()
	}
	for _, p := range []*cl.Program{nil, {}} {
		_, err1 := p.CreateKernel("k")
		_, err2 := p.BuildLog(f.device)
		_, err3 := p.Binaries()
		for i, err := range []error{err1, err2, err3, p.BuildProgram(nil, "")} {
			if err != cl.ErrInvalidProgram {
				t.Errorf("%d: %v", i, err)
			}
		}
		p.Release()
	}
	for _, k := range []*cl.Kernel{nil, {}} {
		_, err1 := k.NumArgs()
		_, err2 := k.ArgName(0)
		_, err3 := k.WorkGroupSize(f.device)
		err4 := f.queue.LaunchNDRange(k, 1, [3]int{1}, [3]int{})
		for i, err := range []error{
			err1, err2, err3, err4, k.SetArgInt32(0, 0), k.SetArgMem(0, nil), k.SetArgLocal(0, 8),
		} {
			if err != cl.ErrInvalidKernel {
				t.Errorf("%d: %v", i, err)
			}
		}
		f.refuse(cl.ErrInvalidKernel)(f.queue.EnqueueTask(k, nil))
		k.Release()
	}
	for _, e := range []*cl.Event{nil, {}} {
		_, err1 := e.Status()
		_, err2 := e.GetEventProfilingInfo(cl.ProfilingInfoCommandEnd)
		for i, err := range []error{err1, err2, e.SetUserEventStatus(0)} {
			if err != cl.ErrInvalidEvent {
				t.Errorf("%d: %v", i, err)
			}
		}
		e.Release()
	}
	if _, err := f.CreateCommandQueue(nil, 0); err != cl.ErrInvalidDevice {
		t.Errorf("queue for no device: %v", err)
	}
	for _, devices := range [][]*cl.Device{{nil}, {{}}} {
		if _, err := cl.CreateContext(devices); err != cl.ErrInvalidDevice {
			t.Errorf("context of no device: %v", err)
		}
	}
	if _, err := cl.CreateContext(nil); err != cl.ErrInvalidValue {
		t.Errorf("context of nothing: %v", err)
	}
}

// The example needs OpenCL, and so has no Output comment.
func TestExample(t *testing.T) {
	firstDevice(t)
	capitest.Watch(t) // the events that such a program forgets are collected
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	Example()
	os.Stdout = stdout
	w.Close()
	if out, err := io.ReadAll(r); string(out) != "[0 1 4 9 16 25 36 49]\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

// A function that the library lacks is ErrUnsupported.
func TestOldLibrary(t *testing.T) {
	f := setUp(t)
	k := f.kernel(squareSource, "square")
	m := f.buffer(make([]byte, 64))
	table := *capi.Current()
	v := reflect.ValueOf(&table).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("dl") == "optional" {
			v.Field(i).SetZero()
		}
	}
	defer capi.API.Swap(capi.API.Swap(&table))
	pattern := [4]float32{}
	unsupported := f.refuse(cl.ErrUnsupported)
	unsupported(f.CreateUserEvent())
	unsupported(f.queue.EnqueueFillBuffer(m, unsafe.Pointer(&pattern), 4, 0, 4, nil))
	unsupported(f.queue.EnqueueMarkerWithWaitList(nil))
	unsupported(f.queue.EnqueueBarrierWithWaitList(nil))
	_, err1 := k.ArgName(0)
	_, err2 := m.CreateSubBuffer(0, 0, 64)
	_, err3 := f.CreateImageSimple(cl.MemReadOnly, 1, 1, cl.ChannelOrderRGBA, cl.ChannelDataTypeFloat, nil)
	for i, err := range []error{err1, err2, err3, new(cl.Event).SetUserEventStatus(0)} {
		if err != cl.ErrUnsupported {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestWithoutLibrary(t *testing.T) {
	out := subprocess(t, "TANDEM_OPENCL_LIBRARY=/nonexistent/libOpenCL.so")
	for _, want := range []string{"/nonexistent/libOpenCL.so", "TANDEM_OPENCL_LIBRARY", "same error", "code 0"} {
		if !strings.Contains(out, want) {
			t.Errorf("output does not contain %q: %s", want, out)
		}
	}
	if out := subprocess(t, "TANDEM_OPENCL_LIBRARY=./libOpenCL.so"); !strings.Contains(out, "absolute") {
		t.Errorf("a library of the working directory was not refused: %s", out)
	}
}

func TestWithoutPlatforms(t *testing.T) {
	firstDevice(t)
	if runtime.GOOS != "linux" {
		t.Skip("OCL_ICD_VENDORS is for the Linux loaders")
	}
	dir := t.TempDir()
	out := subprocess(t, "OCL_ICD_VENDORS="+dir, "OCL_ICD_FILENAMES=")
	for _, want := range []string{"no OpenCL platform", "same error", "code -1001"} {
		if !strings.Contains(out, want) {
			t.Errorf("output does not contain %q: %s", want, out)
		}
	}
}

// A loader that counts no platforms instead of failing.
func TestZeroPlatforms(t *testing.T) {
	firstDevice(t)
	defer capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		if c.Name == "clGetPlatformIDs" || c.Name == "clGetDeviceIDs" {
			*c.Args[len(c.Args)-1].Interface().(*uint32) = 0
			return c.Fail(0)
		}
		return c.Run()
	})()
	if p, err := cl.GetPlatforms(); err != cl.ErrNoPlatform || p != nil {
		t.Errorf("%v, %v", p, err)
	}
	if d, err := cl.GetDevices(nil, cl.DeviceTypeAll); err != cl.ErrDeviceNotFound || d != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// subprocess runs TestSubprocess with a changed environment.
func subprocess(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSubprocess$", "-test.v")
	cmd.Env = append(append(os.Environ(), "CL_TEST_SUBPROCESS=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestSubprocess(t *testing.T) {
	if os.Getenv("CL_TEST_SUBPROCESS") == "" {
		t.Skip("run by other tests")
	}
	_, err := cl.GetPlatforms()
	_, again := cl.GetPlatforms()
	if err == nil {
		t.Fatal("there are platforms")
	}
	fmt.Println(err)
	if err.Error() == again.Error() {
		fmt.Println("same error")
	}
	fmt.Println("code", cl.Code(err))
	if _, err := cl.CreateContext([]*cl.Device{{}}); err == nil {
		t.Error("CreateContext succeeded")
	}
	if _, err := cl.GetDevices(nil, cl.DeviceTypeAll); err == nil {
		t.Error("GetDevices succeeded")
	}
	if _, err := new(cl.Context).CreateUserEvent(); err == nil {
		t.Error("CreateUserEvent succeeded")
	}
	if err := cl.WaitForEvents([]*cl.Event{{}}); err == nil {
		t.Error("WaitForEvents succeeded")
	}
}
