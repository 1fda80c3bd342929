package cpu

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

func openDevice(t *testing.T) *backend.Device {
	t.Helper()
	d, err := driver{}.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func newQueue(t *testing.T, d *backend.Device) *backend.Queue {
	t.Helper()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func alloc(t *testing.T, d *backend.Device, n int64) *backend.Buffer {
	t.Helper()
	b, err := d.AllocHost(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compile(t *testing.T, d *backend.Device, params []backend.Param, run backend.GoKernel) *backend.Kernel {
	t.Helper()
	k, err := d.Compile(&backend.Source{Name: "test", Params: params, Go: run})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// want checks that err matches kind and that its text has every one of the words.
func want(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var e *backend.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) || e.Driver != "cpu" {
		t.Errorf("error is %v, want one of driver cpu that matches %q", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not mention %q", err, w)
		}
	}
}

var (
	none  = []backend.Param{}
	bufs1 = []backend.Param{{Name: "x", Type: "float*", Buffer: true}}
)

func TestRegistered(t *testing.T) {
	if backend.Lookup("cpu") == nil {
		t.Fatal("driver cpu is not registered")
	}
	infos, err := backend.Lookup("cpu").Devices()
	if err != nil || len(infos) != 1 {
		t.Fatalf("Devices() = %v, %v; want one device", infos, err)
	}
	d := openDevice(t)
	i := d.Info()
	if i != infos[0] {
		t.Errorf("Info of the open device is %+v, Devices says %+v", i, infos[0])
	}
	if i.Driver != "cpu" || i.Platform != "Go" || i.Name == "" || i.Arch != runtime.GOARCH ||
		i.Version != runtime.Version() {
		t.Errorf("Info = %+v", i)
	}
	if !i.UnifiedMemory || !i.Float32 || !i.Float64 || i.GPU || i.ComputeUnits < 1 || i.MaxAlloc < 1<<20 ||
		i.MaxGroup != 1024 || i.OffsetAlign != 4 {
		t.Errorf("Info = %+v", i)
	}
	if !strings.HasPrefix(i.Note, "products in ") {
		t.Errorf("Note = %q", i.Note)
	}
	if runtime.GOOS == "linux" && i.Memory < 1<<20 {
		t.Errorf("Memory = %d", i.Memory)
	}
	if int64(int(i.Memory)) != i.Memory {
		t.Errorf("Memory = %d, more than a program of %d bits has", i.Memory, strconv.IntSize)
	}
	_, err = driver{}.Open(1)
	want(t, err, backend.ErrNoDevice, "device 1")
	_, err = driver{}.Open(-1)
	want(t, err, backend.ErrNoDevice, "device -1")
}

func TestAlloc(t *testing.T) {
	d := openDevice(t)
	for _, n := range []int64{0, 1, 5, 12, 63, 64, 65, 1 << 20} {
		b := alloc(t, d, n)
		if b.Len() != n || int64(len(b.Bytes())) != n || cap(b.Bytes()) != len(b.Bytes()) {
			t.Errorf("a buffer of %d bytes: Len %d, len %d, cap %d", n, b.Len(), len(b.Bytes()), cap(b.Bytes()))
		}
		if slices.ContainsFunc(b.Bytes(), func(x byte) bool { return x != 0 }) {
			t.Errorf("a buffer of %d bytes is not zero", n)
		}
		if n > 0 {
			if at := uintptr(unsafe.Pointer(&b.Bytes()[0])); at%alignment != 0 {
				t.Errorf("a buffer of %d bytes starts at %#x", n, at)
			}
		}
		for range 2 {
			if err := b.Free(); err != nil {
				t.Error(err)
			}
		}
		if b.Len() != n || b.Bytes() != nil {
			t.Errorf("after Free: Len %d, want %d; Bytes %d, want none", b.Len(), n, len(b.Bytes()))
		}
	}
	_, err := d.Alloc(-1)
	want(t, err, backend.ErrArgument, "-1")
	for _, n := range []int64{d.Info().MaxAlloc + 1, math.MaxInt64, math.MaxInt64 - 7} {
		_, err = d.Alloc(n)
		want(t, err, backend.ErrOutOfMemory, fmt.Sprint(n), fmt.Sprint(d.Info().MaxAlloc))
		_, err = d.AllocHost(n)
		want(t, err, backend.ErrOutOfMemory, fmt.Sprint(n))
	}
}

// Buffers share the machine's memory: one that fits alone may not fit beside others.
func TestAllocBesideOthers(t *testing.T) {
	d := openDevice(t)
	d.Driver().(*device).info.Memory = inUse.Load() + 1000
	a := alloc(t, d, 600)
	_, err := d.Alloc(500)
	want(t, err, backend.ErrOutOfMemory, "500 bytes", "free some")
	a.Free()
	a.Free() // counts once
	b := alloc(t, d, 900)
	_, err = d.Alloc(200)
	want(t, err, backend.ErrOutOfMemory)
	runtime.KeepAlive(b)
}

// One that is forgotten makes room.
func TestAllocBesideForgotten(t *testing.T) {
	d := openDevice(t)
	d.Driver().(*device).info.Memory = inUse.Load() + 3<<20
	alloc(t, d, 2<<20)
	alloc(t, d, 2<<20)
}

// A buffer that is forgotten gives its memory back; so does everything that a device holds when it
// is closed.
func TestNothingLeaks(t *testing.T) {
	d := openDevice(t)
	before := inUse.Load()
	for range 10 {
		alloc(t, d, 1<<20)
	}
	for i := 0; inUse.Load() > before && i < 100; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run in a goroutine of their own
	}
	if n := inUse.Load() - before; n != 0 {
		t.Errorf("%d bytes of forgotten buffers are still counted", n)
	}
	kept := alloc(t, d, 100)
	d.Close()
	if n := inUse.Load() - before; n != 0 {
		t.Errorf("%d bytes are still counted after Close", n)
	}
	if kept.Bytes() != nil {
		t.Error("a buffer of a closed device still has its memory")
	}
	runtime.KeepAlive(kept)
}

func TestRegister(t *testing.T) {
	d := openDevice(t)
	q := newQueue(t, d)
	mem := make([]byte, 100, 200)
	b, err := d.Register(mem)
	if err != nil {
		t.Fatal(err)
	}
	if &b.Bytes()[0] != &mem[0] || b.Len() != 100 || cap(b.Bytes()) != 100 {
		t.Error("Register copied, or shows more than it was given")
	}
	if err := q.Write(b, 10, []byte{1, 2, 3}); err != nil || mem[12] != 3 {
		t.Errorf("Write to registered memory: %v, %v", err, mem[10:13])
	}
	// The ends of a copy may be the same memory.
	if err := q.Write(b, 11, mem[10:13]); err != nil || !slices.Equal(mem[10:14], []byte{1, 1, 2, 3}) {
		t.Errorf("Write of the buffer's own memory: %v, %v", err, mem[10:14])
	}
	if err := q.Read(mem[10:13], b, 11); err != nil || !slices.Equal(mem[10:14], []byte{1, 2, 3, 3}) {
		t.Errorf("Read into the buffer's own memory: %v, %v", err, mem[10:14])
	}
	b.Free()
	if mem[11] != 2 {
		t.Error("Free changed the memory")
	}
	for _, mem := range [][]byte{nil, {}, mem[1:2]} {
		if b, err := d.Register(mem); err != nil || b.Len() != int64(len(mem)) {
			t.Errorf("Register of %d bytes: %v", len(mem), err)
		}
	}
}

func TestCopies(t *testing.T) {
	d, other := openDevice(t), openDevice(t)
	q := newQueue(t, d)
	a, b, foreign := alloc(t, d, 8), alloc(t, d, 8), alloc(t, other, 8)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	ok(q.Write(a, 0, []byte{1, 2, 3, 4, 5, 6, 7, 8}))
	ok(q.Copy(b, 1, a, 2, 3))
	ok(q.Copy(a, 0, a, 4, 4)) // neighbours do not overlap
	ok(q.WriteAsync(b, 6, a, 1, 2))
	ok(q.ReadAsync(a, 4, b, 2, 1))
	ok(q.Write(a, 8, nil))
	ok(q.Read(nil, a, 8))
	ok(q.Copy(a, 8, a, 8, 0))
	got := make([]byte, 8)
	ok(q.Read(got, a, 0))
	if !slices.Equal(got, []byte{5, 6, 7, 8, 4, 6, 7, 8}) {
		t.Errorf("a = %v", got)
	}
	ok(q.Read(got, b, 0))
	if !slices.Equal(got, []byte{0, 3, 4, 5, 0, 0, 6, 7}) {
		t.Errorf("b = %v", got)
	}
	for _, r := range [][2]int64{{-1, 1}, {0, 9}, {8, 1}, {9, 0}, {math.MaxInt64, 8}, {1, math.MaxInt64}, {0, -1}} {
		off, n := r[0], r[1]
		want(t, q.Copy(a, off, b, 0, n), backend.ErrArgument, fmt.Sprint(off))
		want(t, q.Copy(a, 0, b, off, n), backend.ErrArgument)
		want(t, q.WriteAsync(a, off, b, 0, n), backend.ErrArgument)
		want(t, q.ReadAsync(a, off, b, 0, n), backend.ErrArgument)
		if n >= 0 && n < 10 {
			want(t, q.Write(a, off, make([]byte, n)), backend.ErrArgument)
			want(t, q.Read(make([]byte, n), a, off), backend.ErrArgument)
		}
	}
	want(t, q.Copy(a, 0, a, 3, 4), backend.ErrArgument, "overlap")
	for _, b := range []*backend.Buffer{foreign, nil} {
		want(t, q.Write(b, 0, got), backend.ErrArgument, "buffer")
		want(t, q.Read(got, b, 0), backend.ErrArgument)
		want(t, q.Copy(a, 0, b, 0, 1), backend.ErrArgument)
		want(t, q.Copy(b, 0, a, 0, 1), backend.ErrArgument)
		want(t, q.WriteAsync(a, 0, b, 0, 1), backend.ErrArgument)
		want(t, q.ReadAsync(b, 0, a, 0, 1), backend.ErrArgument)
	}
	b.Free()
	want(t, q.Write(b, 0, got), backend.ErrClosed, "the buffer was closed")
	want(t, q.Read(got, b, 0), backend.ErrClosed)
	want(t, q.Copy(a, 0, b, 0, 1), backend.ErrClosed)
}

func TestCompile(t *testing.T) {
	d := openDevice(t)
	_, err := d.Compile(nil)
	want(t, err, backend.ErrArgument)
	_, err = d.Compile(&backend.Source{Name: "mine", Text: "__kernel void mine() {}"})
	want(t, err, backend.ErrUnsupported, "mine", "Source.Go", "TANDEM_BACKEND=opencl")

	k, err := d.Compile(&backend.Source{
		Name: "mine", Text: "__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void mine(__global float *x, " +
			"int n) {}",
		Go: func(backend.Grid, int, int, []backend.Arg) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := k.Params(); k.Name() != "mine" || len(p) != 2 || !p[0].Buffer || p[1].Size != 4 {
		t.Errorf("%s takes %v", k.Name(), k.Params())
	}
	q := newQueue(t, d)
	b := alloc(t, d, 4)
	if err := q.Launch(k, backend.Grid1(1, 4), backend.Buf(b), backend.Int32(1)); err != nil {
		t.Error(err)
	}
	want(t, q.Launch(k, backend.Grid1(1, 5), backend.Buf(b), backend.Int32(1)), backend.ErrLaunch, "groups of 4")
	want(t, q.Launch(k, backend.Grid1(1, 4), backend.Buf(b), backend.Int64(1)), backend.ErrLaunch, "int n", "not int64")

	_, err = d.Compile(&backend.Source{
		Name: "absent", Text: "__kernel void mine() {}",
		Go: func(backend.Grid, int, int, []backend.Arg) error { return nil },
	})
	want(t, err, backend.ErrBuild, "absent", "Device.Compile")
}

// Every group runs once, whatever their number, and a single one in the caller's goroutine.
func TestLaunchRunsEveryGroup(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	defer func(old time.Duration) { soon = old }(soon)
	for _, soon = range []time.Duration{0, time.Microsecond, soon, time.Hour} {
		t.Run(soon.String(), testLaunchRunsEveryGroup)
	}
}

func testLaunchRunsEveryGroup(t *testing.T) {
	d := openDevice(t)
	q := newQueue(t, d)
	for _, g := range []backend.Grid{
		backend.Grid1(1, 1), backend.Grid1(2, 1), backend.Grid1(15, 1), backend.Grid1(16, 1), backend.Grid1(17, 1),
		backend.Grid1(1000, 1024),
		backend.Grid3(3, 5, 7, 2, 3, 4), backend.Grid2(1, 70_000, 1, 1),
	} {
		b := alloc(t, d, int64(4*g.Count()+8))
		count := compile(t, d, bufs1, func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			x := backend.Mem[int32](args[0])
			for i := lo; i < hi; i++ {
				x[i]++
			}
			return nil
		})
		if err := q.Launch(count, g, backend.At(b, 4)); err != nil {
			t.Fatal(err)
		}
		x := backend.Elems[int32](b.Bytes())
		if x[0] != 0 || x[len(x)-1] != 0 || slices.ContainsFunc(x[1:len(x)-1], func(n int32) bool { return n != 1 }) {
			t.Errorf("%s: groups ran %v times", g, x)
		}
	}
	for _, g := range []backend.Grid{
		backend.Grid1(0, 1), backend.Grid3(2, 0, 2, 1, 1, 1), backend.Grid3(2, 2, 0, 1, 1, 1),
	} {
		k := compile(t, d, none, func(backend.Grid, int, int, []backend.Arg) error { return errors.New("ran") })
		if err := q.Launch(k, g); err != nil {
			t.Errorf("%s: %v", g, err)
		}
		want(t, q.Launch(k, g, backend.Int32(1)), backend.ErrLaunch, "0 arguments") // checked all the same
	}
}

// Groups that are done soon run in the caller's goroutine: a core takes longer to wake.
func TestShortLaunchStaysInItsGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	defer func(old time.Duration) { soon = old }(soon)
	soon = time.Hour // this machine may have other work
	d := openDevice(t)
	ran := map[string]int{} // by goroutine; a race where there are several
	k := compile(t, d, none, func(_ backend.Grid, lo, hi int, _ []backend.Arg) error {
		stack := make([]byte, 64)
		id, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), "[")
		ran[id] += hi - lo
		time.Sleep(100 * time.Microsecond) // time enough for others to come
		return nil
	})
	if err := newQueue(t, d).Launch(k, backend.Grid1(200, 1)); err != nil {
		t.Fatal(err)
	}
	if len(ran) != 1 {
		t.Errorf("groups by goroutine: %v", ran)
	}
}

func TestLaunchChecks(t *testing.T) {
	d, other := openDevice(t), openDevice(t)
	q := newQueue(t, d)
	ran := false
	k := compile(t, d, bufs1, func(backend.Grid, int, int, []backend.Arg) error { ran = true; return nil })
	theirs := compile(t, other, bufs1, func(backend.Grid, int, int, []backend.Arg) error { ran = true; return nil })
	a, foreign := alloc(t, d, 16), alloc(t, other, 16)
	g := backend.Grid1(1, 1)
	want(t, q.Launch(k, g), backend.ErrLaunch, "takes 1 arguments", "not 0")
	want(t, q.Launch(k, g, backend.Int32(1)), backend.ErrLaunch, "scalar of 4 bytes")
	want(t, q.Launch(k, g, backend.Buf(nil)), backend.ErrLaunch, "nil")
	want(t, q.Launch(k, g, backend.At(a, 17)), backend.ErrLaunch, "17")
	want(t, q.Launch(k, g, backend.At(a, -4)), backend.ErrLaunch, "-4")
	want(t, q.Launch(k, g, backend.At(a, 2)), backend.ErrLaunch, "multiple of")
	want(t, q.Launch(k, g, backend.Buf(foreign)), backend.ErrLaunch, "argument 0", "another device")
	want(t, q.Launch(theirs, g, backend.Buf(a)), backend.ErrLaunch, "compile it here")
	want(t, q.Launch(nil, g, backend.Buf(a)), backend.ErrLaunch)
	want(t, q.Launch(k, backend.Grid1(1, 1025), backend.Buf(a)), backend.ErrLaunch, "1024")
	want(t, q.Launch(k, backend.Grid1(-1, 1), backend.Buf(a)), backend.ErrLaunch)
	want(t, q.Launch(k, backend.Grid3(math.MaxInt, 2, 1, 1, 1, 1), backend.Buf(a)), backend.ErrLaunch, "too many")
	a.Free()
	want(t, q.Launch(k, g, backend.Buf(a)), backend.ErrClosed, "argument 0", "the buffer was closed")
	k.Release()
	k.Release()
	want(t, q.Launch(k, g, backend.Buf(alloc(t, d, 4))), backend.ErrClosed, "test")
	if ran {
		t.Error("a refused launch ran")
	}
}

func TestKernelFails(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	d := openDevice(t)
	q := newQueue(t, d)
	for _, groups := range []int{1, 100} {
		k := compile(t, d, none, func(g backend.Grid, lo, hi int, _ []backend.Arg) error {
			if lo <= groups/2 && groups/2 < hi {
				return errors.New("no luck")
			}
			return nil
		})
		want(t, q.Launch(k, backend.Grid1(groups, 1)), backend.ErrLaunch, "test", "no luck")

		k = compile(t, d, none, func(g backend.Grid, lo, hi int, _ []backend.Arg) error {
			if lo <= groups/2 && groups/2 < hi {
				return fmt.Errorf("%d", []int{}[groups])
			}
			return nil
		})
		want(t, q.Launch(k, backend.Grid1(groups, 1)), backend.ErrLaunch, "test", "panic", "index out of range",
			"cpu_test.go:")

		k = compile(t, d, none, func(backend.Grid, int, int, []backend.Arg) error { panic("a word") })
		want(t, q.Launch(k, backend.Grid1(groups, 1)), backend.ErrLaunch, "a word", "cpu_test.go:")
	}
	// Failures are reported once, by Launch, and the queue goes on.
	if err := q.Wait(); err != nil {
		t.Errorf("Wait after failed launches: %v", err)
	}
	if err := q.Launch(compile(t, d, none, func(backend.Grid, int, int, []backend.Arg) error { return nil }),
		backend.Grid1(100, 1)); err != nil {
		t.Errorf("a launch after failed ones: %v", err)
	}
	// A kernel that ends its goroutine, as testing's FailNow does, ends the caller's and leaves the
	// queue usable.
	done := make(chan bool)
	go func() {
		returned := false
		defer func() { done <- returned }()
		q.Launch(compile(t, d, none,
			func(backend.Grid, int, int, []backend.Arg) error { runtime.Goexit(); return nil }), backend.Grid1(100, 1))
		returned = true
	}()
	if <-done {
		t.Error("Launch returned after Goexit")
	}
	if err := q.Wait(); err != nil {
		t.Error(err)
	}
}

func TestEvents(t *testing.T) {
	d, other := openDevice(t), openDevice(t)
	q, q2 := newQueue(t, d), newQueue(t, d)
	record := func(q *backend.Queue) *backend.Event {
		t.Helper()
		e, err := q.Record()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	start := record(q)
	pause := 2 * time.Millisecond
	if err := q.Launch(compile(t, d, none,
		func(backend.Grid, int, int, []backend.Arg) error { time.Sleep(pause); return nil }),
		backend.Grid1(1, 1)); err != nil {
		t.Fatal(err)
	}
	end := record(q)
	if err := q2.WaitEvent(end); err != nil {
		t.Error(err)
	}
	if ns, err := end.Since(start); err != nil || ns < pause.Nanoseconds() {
		t.Errorf("Since = %d ns, %v; the kernel slept %v", ns, err, pause)
	}
	if ns, err := start.Since(end); err != nil || ns >= 0 {
		t.Errorf("Since a later event = %d ns, %v", ns, err)
	}
	if err := end.Wait(); err != nil {
		t.Error(err)
	}
	foreign := record(newQueue(t, other))
	_, err := end.Since(foreign)
	want(t, err, backend.ErrArgument)
	_, err = end.Since(nil)
	want(t, err, backend.ErrArgument)
	want(t, q.WaitEvent(foreign), backend.ErrArgument)
	want(t, q.WaitEvent(nil), backend.ErrArgument)
	q.Close() // events outlive their queue
	if err := end.Wait(); err != nil {
		t.Error(err)
	}
	start.Release()
	start.Release()
	want(t, start.Wait(), backend.ErrClosed)
	_, err = end.Since(start)
	want(t, err, backend.ErrClosed)
	want(t, q2.WaitEvent(start), backend.ErrClosed)
	d.Close()
	want(t, end.Wait(), backend.ErrClosed, "or its device")
}

func TestClosed(t *testing.T) {
	d := openDevice(t)
	a, b := alloc(t, d, 8), alloc(t, d, 8)
	k := compile(t, d, bufs1, func(backend.Grid, int, int, []backend.Arg) error { return nil })
	q, alone := newQueue(t, d), newQueue(t, d)
	commands := func(q *backend.Queue, word string) {
		t.Helper()
		buf := make([]byte, 8)
		want(t, q.Write(a, 0, buf), backend.ErrClosed, word)
		want(t, q.Read(buf, a, 0), backend.ErrClosed, word)
		want(t, q.WriteAsync(a, 0, b, 0, 8), backend.ErrClosed, word)
		want(t, q.ReadAsync(a, 0, b, 0, 8), backend.ErrClosed, word)
		want(t, q.Copy(a, 0, b, 0, 8), backend.ErrClosed, word)
		want(t, q.Launch(k, backend.Grid1(1, 1), backend.Buf(a)), backend.ErrClosed, word)
		_, err := q.Record()
		want(t, err, backend.ErrClosed, word)
		want(t, q.WaitEvent(nil), backend.ErrClosed, word)
		want(t, q.Wait(), backend.ErrClosed, word)
	}
	closeTwice := func(c interface{ Close() error }) {
		t.Helper()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	closeTwice(alone)
	commands(alone, "the queue was closed")
	closeTwice(d)
	commands(q, "or its device")
	_, err := d.Alloc(1)
	want(t, err, backend.ErrClosed)
	_, err = d.AllocHost(1)
	want(t, err, backend.ErrClosed)
	_, err = d.Register(make([]byte, 1))
	want(t, err, backend.ErrClosed)
	_, err = d.Compile(&backend.Source{
		Name: "x", Params: none, Go: func(backend.Grid, int, int, []backend.Arg) error { return nil },
	})
	want(t, err, backend.ErrClosed)
	_, err = d.NewQueue()
	want(t, err, backend.ErrClosed)
	closeTwice(q)
	for range 2 {
		if err := errors.Join(a.Free(), k.Release()); err != nil {
			t.Error(err)
		}
	}
}

// A buffer may be freed, and a kernel released, while a launch uses them; Close of queue and device
// wait for it.
func TestFreeAndCloseDuringLaunch(t *testing.T) {
	d := openDevice(t)
	q := newQueue(t, d)
	b := alloc(t, d, 4<<10)
	running, goOn := make(chan bool), make(chan bool)
	var finished atomic.Bool
	k := compile(t, d, bufs1, func(_ backend.Grid, _, _ int, args []backend.Arg) error {
		running <- true
		<-goOn
		for i := range backend.Mem[int32](args[0]) {
			backend.Mem[int32](args[0])[i] = 7
		}
		finished.Store(true)
		return nil
	})
	result := make(chan error)
	go func() { result <- q.Launch(k, backend.Grid1(1, 1), backend.Buf(b)) }()
	<-running
	b.Free()
	k.Release()
	runtime.GC()
	var wg sync.WaitGroup
	for _, c := range []interface{ Close() error }{q, d, d} {
		wg.Go(func() {
			c.Close()
			if !finished.Load() {
				t.Errorf("Close of a %T returned while a command ran", c)
			}
		})
	}
	goOn <- true
	if err := <-result; err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// Everything at once, for the race detector. Results are of commands in some order, each whole.
func TestConcurrentUse(t *testing.T) {
	d := openDevice(t)
	shared := newQueue(t, d)
	add := compile(t, d, []backend.Param{{Buffer: true}, {Size: 4}},
		func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			x := backend.Mem[int32](args[0])
			for i := lo; i < hi; i++ {
				x[i] += args[1].Int32()
			}
			return nil
		})
	sum := alloc(t, d, 400)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			own, err := d.NewQueue()
			if err != nil {
				t.Error(err)
				return
			}
			defer own.Close()
			for i := range 50 {
				b, err := d.Alloc(400)
				if err != nil {
					t.Error(err)
					return
				}
				x := make([]int32, 100)
				x[w] = int32(i)
				err = errors.Join(
					own.Write(b, 0, backend.Bytes(x)),
					own.Launch(add, backend.Grid1(100, 1), backend.Buf(b), backend.Int32(5)),
					own.Read(backend.Bytes(x), b, 0),
					b.Free(),
					shared.Launch(add, backend.Grid1(100, 1), backend.Buf(sum), backend.Int32(1)))
				if err != nil || x[w] != int32(i)+5 || x[w+1] != 5 {
					t.Errorf("worker %d, turn %d: %v, %v", w, i, x[w], err)
				}
				e, err := own.Record()
				if err := errors.Join(err, shared.WaitEvent(e), e.Release()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := make([]int32, 100)
	if err := shared.Read(backend.Bytes(got), sum, 0); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(got, func(n int32) bool { return n != 400 }) {
		t.Errorf("sums are %v, want 400", got)
	}
}
