package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance"
)

// A watched device counts what is alive on it, and what it compiles. compiling, if there is one, is called before and may fail.
type watched struct {
	backend.Device
	compiling func(s *backend.Source) error

	live     atomic.Int64
	mu       sync.Mutex
	compiled []string
}

func watch(t *testing.T, dev backend.Device, compiling func(s *backend.Source) error) *watched {
	w := &watched{Device: dev, compiling: compiling}
	t.Cleanup(func() {
		if n := w.live.Load(); n != 0 {
			t.Errorf("%d buffers, kernels and queues are left", n)
		}
	})
	return w
}

func (w *watched) Compile(s *backend.Source) (backend.Kernel, error) {
	w.mu.Lock()
	w.compiled = append(w.compiled, fmt.Sprint(s.Name, s.Defines()))
	w.mu.Unlock()
	if w.compiling != nil {
		if err := w.compiling(s); err != nil {
			return nil, err
		}
	}
	k, err := w.Device.Compile(s)
	w.live.Add(1)
	return &watchedKernel{k, w}, err
}

func (w *watched) Alloc(n int64) (backend.Buffer, error) {
	b, err := w.Device.Alloc(n)
	w.live.Add(1)
	return &watchedBuffer{b, w}, err
}

func (w *watched) NewQueue() (backend.Queue, error) {
	q, err := w.Device.NewQueue()
	w.live.Add(1)
	return &watchedQueue{q, w}, err
}

type watchedKernel struct {
	backend.Kernel
	w *watched
}

func (k *watchedKernel) Release() error {
	k.w.live.Add(-1)
	return k.Kernel.Release()
}

type watchedBuffer struct {
	backend.Buffer
	w *watched
}

func (b *watchedBuffer) Free() error {
	b.w.live.Add(-1)
	return b.Buffer.Free()
}

type watchedQueue struct {
	backend.Queue
	w *watched
}

func (q *watchedQueue) Close() error {
	q.w.live.Add(-1)
	return q.Queue.Close()
}

func (q *watchedQueue) Write(dst backend.Buffer, off int64, src []byte) error {
	return q.Queue.Write(dst.(*watchedBuffer).Buffer, off, src)
}

func (q *watchedQueue) Read(dst []byte, src backend.Buffer, off int64) error {
	return q.Queue.Read(dst, src.(*watchedBuffer).Buffer, off)
}

func (q *watchedQueue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	for i := range args {
		if b, ok := args[i].Buffer.(*watchedBuffer); ok {
			args[i].Buffer = b.Buffer
		}
	}
	return q.Queue.Launch(k.(*watchedKernel).Kernel, g, args...)
}

// help makes a helper in a goroutine of this process, and gives the connection to it. failed is the error of Serve; the test waits for the goroutine.
func help(t *testing.T, dev backend.Device, o conformance.Options, failed func(error)) io.ReadWriteCloser {
	near, far := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		defer far.Close()
		if err := conformance.Serve(context.Background(), dev, o, far); err != nil {
			failed(err)
		}
	})
	t.Cleanup(func() {
		near.Close()
		served.Wait()
	})
	return near
}

// A meeting is where n parties wait for each other, once.
type meeting struct {
	sync.WaitGroup
	came sync.Map
}

func meet(n int) *meeting {
	m := new(meeting)
	m.Add(n)
	return m
}

func (m *meeting) attend(party any) {
	if _, again := m.came.LoadOrStore(party, true); !again {
		m.Done()
		m.Wait()
	}
}

// Helpers do a share of the work, each kernel is compiled by one alone, and the report is the same as without: digests, differences and errors, in the same order.
func TestHelpers(t *testing.T) {
	faulty := func() backend.Device { // gives other bits in scale, and does not compile add
		return brokenDevice{open(t, "cpu"), "scale", func(_ backend.Grid, args []backend.Arg) {
			if m := backend.Mem[byte](lastBuffer(args)); len(m) > 0 {
				m[0] ^= 1
			}
		}}
	}
	noAdd := func(s *backend.Source) error {
		if s.Name == "add" {
			return &backend.Error{Driver: "test", Op: "Device.Compile", Err: backend.ErrBuild, Detail: "no \"add\"\n"}
		}
		return nil
	}
	o := conformance.Options{Match: func(c *conformance.Case) bool { return c.M*c.N <= 33*31 }}
	alone := watch(t, faulty(), noAdd)
	want := run(t, alone, o)
	if want.Passed() || len(want.Failures) == want.Variants {
		t.Fatalf("%d of %d fail", len(want.Failures), want.Variants)
	}

	const parties = 3
	m := meet(parties)
	var devs []*watched
	for i := range parties {
		devs = append(devs, watch(t, faulty(), func(s *backend.Source) error {
			m.attend(i)
			return noAdd(s)
		}))
	}
	shared := o
	for _, dev := range devs[1:] {
		shared.Helpers = append(shared.Helpers, help(t, dev, o, func(err error) { t.Error(err) }))
	}
	behind, total := -1, 0
	shared.Progress = func(done, of int) {
		if done <= behind || behind < 0 && done != 0 {
			t.Errorf("progress from %d to %d", behind, done)
		}
		behind, total = done, of
	}
	got := run(t, devs[0], shared)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d failures with helpers, %d without; digests %s and %s", len(got.Failures), len(want.Failures), got.Digest, want.Digest)
	}
	if behind != want.Variants || total != want.Variants {
		t.Errorf("progress to %d of %d, want %d", behind, total, want.Variants)
	}
	times := map[string]int{}
	for _, dev := range devs {
		for _, s := range dev.compiled {
			times[s]++
		}
	}
	if len(times) != len(alone.compiled) {
		t.Errorf("%d kernels compiled, want %d", len(times), len(alone.compiled))
	}
	for s, n := range times {
		if n != 1 {
			t.Errorf("%s is compiled %d times", s, n)
		}
	}
}

// A helper that ends too early ends the run, with an error that says so.
func TestHelperFails(t *testing.T) {
	m := meet(2)
	dev := watch(t, open(t, "cpu"), func(*backend.Source) error { m.attend("run"); return nil })
	lost := watch(t, open(t, "cpu"), func(*backend.Source) error { m.attend("helper"); return backend.ErrDeviceLost })
	o := conformance.Options{Quick: true}
	var served error
	o.Helpers = []io.ReadWriteCloser{help(t, lost, o, func(err error) { served = err })}
	r, err := conformance.Run(context.Background(), dev, o)
	if r != nil || err == nil || !strings.Contains(err.Error(), "a helper ended before its work was done") {
		t.Errorf("%v, %v", r, err)
	}
	if !errors.Is(served, backend.ErrDeviceLost) {
		t.Errorf("the helper's error is %v", served)
	}
	if len(dev.compiled) == 24 {
		t.Error("the run went on to the end")
	}
}

// Without a device of its own a run does not wait for helpers.
func TestHelperOfClosedDevice(t *testing.T) {
	dev := open(t, "cpu")
	dev.Close()
	near, far := net.Pipe()
	defer far.Close()
	if _, err := conformance.Run(context.Background(), dev, conformance.Options{Helpers: []io.ReadWriteCloser{near}}); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
	if _, err := far.Write([]byte("x")); err == nil {
		t.Error("the connection is open")
	}
}

// Helpers that do not come, end at once, have another plan or talk nonsense are done without.
func TestUselessHelpers(t *testing.T) {
	o := conformance.Options{Match: func(c *conformance.Case) bool { return c.M*c.N <= 5*23 }}
	want := run(t, open(t, "cpu"), o)
	for name, say := range map[string]func(far net.Conn){
		"silence": func(net.Conn) {},
		"the end": func(far net.Conn) { far.Close() },
		"a plan":  func(far net.Conn) { io.WriteString(far, "\"another plan\"\n") },
		"no plan": func(far net.Conn) { io.WriteString(far, "usage:\n") },
		"another": func(far net.Conn) {
			conformance.Serve(context.Background(), open(t, "cpu"), conformance.Options{}, far)
		},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			var said sync.WaitGroup
			said.Go(func() { say(far) })
			o := o
			o.Helpers = []io.ReadWriteCloser{near}
			if got := run(t, open(t, "cpu"), o); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
			said.Wait()
			far.Close()
		})
	}
}

// An answer that is not whole is an error, and never a result.
func TestWrongAnswers(t *testing.T) {
	for _, answers := range []string{"[]\n", "[{\"Digest\": \"0\"}", "5\n", ""} {
		plan, far := planner(t)
		m := meet(2)
		dev := watch(t, open(t, "cpu"), func(*backend.Source) error { m.attend("run"); return nil })
		near := net.Conn(plan)
		var said sync.WaitGroup
		said.Go(func() {
			defer far.Close()
			var number [8]byte
			far.Read(number[:])
			m.attend("helper")
			io.WriteString(far, answers)
		})
		_, err := conformance.Run(context.Background(), dev, conformance.Options{Quick: true, Helpers: []io.ReadWriteCloser{near}})
		if err == nil || !strings.Contains(err.Error(), "a helper ended") {
			t.Errorf("%q: %v", answers, err)
		}
		said.Wait()
	}
}

// planner is a connection to a quick helper on the cpu device that has said its plan, and what answers in its place.
func planner(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, speaker := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		conformance.Serve(context.Background(), open(t, "cpu"), conformance.Options{Quick: true}, speaker)
	})
	plan := make([]byte, 128)
	n, err := listener.Read(plan)
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	served.Wait()
	near, far = net.Pipe()
	return &prefixed{near, io.MultiReader(strings.NewReader(string(plan[:n])+"\n"), near)}, far
}

type prefixed struct {
	net.Conn
	r io.Reader
}

func (p *prefixed) Read(b []byte) (int, error) { return p.r.Read(b) }

// Cancelling ends the run at once, though a helper is in the middle of something.
func TestCancelHelpers(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	busy, free := make(chan bool), make(chan bool)
	slow := watch(t, open(t, "cpu"), func(*backend.Source) error {
		close(busy)
		<-free
		return nil
	})
	o := conformance.Options{Quick: true}
	o.Helpers = []io.ReadWriteCloser{help(t, slow, o, func(error) {})}
	dev := watch(t, open(t, "cpu"), func(*backend.Source) error {
		<-busy
		cancel()
		return nil
	})
	if _, err := conformance.Run(ctx, dev, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
	if len(dev.compiled) != 1 {
		t.Errorf("%d kernels compiled after it", len(dev.compiled)-1)
	}
	close(free)
}
