package linalg

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// A Session is an open device with a queue: its commands run in the order of the calls. It is safe for concurrent use. Close it
// after use; its arrays and kernels end with it.
//
// Calls from host memory to host memory, such as [MatMulContext], do not use that queue. Each has one of its own while it runs: calls of several goroutines may
// overlap, and none returns the error of another. They keep a few queues, and up to 2 MiB of memory with each, for later calls; Close releases them.
type Session struct {
	*core
	queue backend.Queue
}

// core is what the queues of a session share.
type core struct {
	device backend.Device
	info   backend.Info

	mu      sync.RWMutex
	kernels map[*backend.Source]backend.Kernel // built-in kernels
	plans   map[planKey]plan
	lanes   []*lane // that no call uses
	closed  bool
}

// Open opens the device that spec names, as [backend.Open] does: "" for TANDEM_BACKEND, "cuda:0", "opencl:pocl", "cpu", "auto".
func Open(spec string) (*Session, error) {
	device, err := backend.Open(spec)
	if err != nil {
		return nil, err
	}
	s, err := NewSession(device)
	if err != nil {
		device.Close()
		return nil, err
	}
	return s, nil
}

// NewSession makes a session on an open device, which it owns from then on: Close closes it. After an error the device stays the caller's.
func NewSession(device backend.Device) (*Session, error) {
	queue, err := device.NewQueue()
	if err != nil {
		return nil, err
	}
	c := &core{device: device, info: device.Info(), kernels: map[*backend.Source]backend.Kernel{}, plans: map[planKey]plan{}}
	return &Session{core: c, queue: queue}, nil
}

// Info describes the device.
func (s *Session) Info() backend.Info { return s.info }

// Device is the device itself, for what Session does not offer. It belongs to the session.
func (s *Session) Device() backend.Device { return s.device }

// Queue is the queue that the commands of arrays, and Launch, go through: for events, and for copies of one's own.
func (s *Session) Queue() backend.Queue { return s.queue }

// Wait blocks until everything enqueued is done, and returns what went wrong since the last wait.
func (s *Session) Wait() error {
	if err := s.open(); err != nil {
		return err
	}
	return s.queue.Wait()
}

// Close waits for the queue, then releases the device, its arrays and its kernels. It is idempotent.
func (s *Session) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.kernels, s.plans, s.lanes = nil, nil, nil // the device releases what they hold
	s.mu.Unlock()
	if closed {
		return nil
	}
	err := s.queue.Close()
	if e := s.device.Close(); err == nil {
		err = e
	}
	return err
}

func (s *core) open() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed("the session is closed")
	}
	return nil
}

// Compile makes a kernel of the user's own from text in the portable dialect; name is its entry point. The error matches
// backend.ErrBuild and carries the compiler's log, or backend.ErrUnsupported where the device needs something else:
// the cpu device a Go implementation, which [Session.CompileSource] takes. The kernel ends with the session; Release ends it earlier.
func (s *Session) Compile(text, name string) (backend.Kernel, error) {
	return s.CompileSource(&backend.Source{Name: name, Text: text})
}

// CompileSource is Compile with all that a Source can hold: macros, a file name for messages, a Go implementation for the cpu device.
func (s *Session) CompileSource(src *backend.Source) (backend.Kernel, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	return s.device.Compile(src)
}

// Launch runs k over g: CUDA's kernel[grid, block](args). An argument is
//
//   - an [Array], a backend.Buffer, a backend.Arg, or a []backend.Arg, which stands for all its elements;
//   - an int32, uint32, int64, uint64, float32 or float64 (an int is an error: its width is the host's);
//   - a slice of int32, uint32, int64, uint64, float32, float64 or byte, or a [Matrix], in host memory. It is copied to the device before and back
//     after the launch, or used in place where the device shares the host's memory. Slices may be the same, but must not overlap otherwise.
//
// With host memory among the arguments Launch blocks until the kernel is done; otherwise it may return before. A wrong number or width
// of arguments is backend.ErrLaunch, and nothing runs.
func (s *Session) Launch(k backend.Kernel, g backend.Grid, args ...any) (err error) {
	if err := s.open(); err != nil {
		return err
	}
	var l launch
	defer func() {
		if e := l.free(); err == nil {
			err = e
		}
	}()
	list := make([]backend.Arg, 0, len(args))
	for _, a := range args {
		if several, ok := a.([]backend.Arg); ok {
			list = append(list, several...)
			continue
		}
		arg, err := l.arg(s, a)
		if err != nil {
			return fmt.Errorf("linalg: argument %d of kernel %s: %w", len(list), k.Name(), err)
		}
		list = append(list, arg)
	}
	if err := s.queue.Launch(k, g, list...); err != nil {
		return err
	}
	return l.finish(s)
}

// launch holds the host memory among the arguments of one launch.
type launch struct{ hosts []hostArg }

// hostArg is host memory and the buffer that stands for it on the device.
type hostArg struct {
	mem    []byte
	buf    backend.Buffer
	shared bool // the buffer is the memory itself
}

// arrayArg is what every *Array[T] is.
type arrayArg interface {
	launchArg(*Session) (backend.Arg, error)
}

// matrixArg is what every Matrix[T] is.
type matrixArg interface {
	check(name string) error
	bytes() []byte
}

func (m Matrix[T]) bytes() []byte { return backend.Bytes(m.Data[:span(m.Rows, m.Cols, m.Stride)]) }

func (l *launch) arg(s *Session, a any) (backend.Arg, error) {
	switch a := a.(type) {
	case backend.Arg:
		return a, nil
	case arrayArg:
		return a.launchArg(s)
	case backend.Buffer:
		return backend.Buf(a), nil
	case int32:
		return backend.Int32(a), nil
	case uint32:
		return backend.Uint32(a), nil
	case int64:
		return backend.Int64(a), nil
	case uint64:
		return backend.Uint64(a), nil
	case float32:
		return backend.Float32(a), nil
	case float64:
		return backend.Float64(a), nil
	case matrixArg:
		if err := a.check("matrix"); err != nil {
			return backend.Arg{}, err
		}
		return l.host(s, a.bytes())
	case []byte:
		return l.host(s, a)
	case []int32:
		return l.host(s, backend.Bytes(a))
	case []uint32:
		return l.host(s, backend.Bytes(a))
	case []int64:
		return l.host(s, backend.Bytes(a))
	case []uint64:
		return l.host(s, backend.Bytes(a))
	case []float32:
		return l.host(s, backend.Bytes(a))
	case []float64:
		return l.host(s, backend.Bytes(a))
	case nil:
		return backend.Arg{}, fmt.Errorf("%w: it is nil", backend.ErrLaunch)
	case int, uint:
		return backend.Arg{}, fmt.Errorf("%w: a kernel has no %T: use int32 or int64, as the kernel declares it", backend.ErrLaunch, a)
	}
	return backend.Arg{}, fmt.Errorf("%w: cannot pass a %T", backend.ErrLaunch, a)
}

// host brings mem to the device, or registers it where the device shares the host's memory.
func (l *launch) host(s *Session, mem []byte) (backend.Arg, error) {
	for _, h := range l.hosts {
		if len(mem) == len(h.mem) && unsafe.SliceData(mem) == unsafe.SliceData(h.mem) {
			return backend.Buf(h.buf), nil
		}
		if bytesOverlap(mem, h.mem) {
			return backend.Arg{}, fmt.Errorf("%w: two host slices overlap", ErrOverlap)
		}
	}
	h := hostArg{mem: mem, shared: s.sharesMemory() && len(mem) > 0}
	var err error
	if h.shared {
		h.buf, err = s.device.Register(mem)
	} else {
		h.buf, err = s.device.Alloc(int64(len(mem)))
	}
	if err != nil {
		return backend.Arg{}, err
	}
	l.hosts = append(l.hosts, h)
	if !h.shared {
		err = s.queue.Write(h.buf, 0, mem)
	}
	return backend.Buf(h.buf), err
}

func bytesOverlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	a0, b0 := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return a0 < b0+uintptr(len(b)) && b0 < a0+uintptr(len(a))
}

// finish waits for the kernel and copies host memory back.
func (l *launch) finish(s *Session) error {
	if len(l.hosts) == 0 {
		return nil
	}
	for _, h := range l.hosts {
		if !h.shared {
			if err := s.queue.Read(h.mem, h.buf, 0); err != nil {
				return err
			}
		}
	}
	return s.queue.Wait()
}

func (l *launch) free() (err error) {
	for _, h := range slices.Backward(l.hosts) {
		if e := h.buf.Free(); err == nil {
			err = e
		}
	}
	return err
}

var defaultSession struct {
	sync.Mutex
	s *Session
}

// Default is the session that MatMul, Transpose, Add and Scale use. It is opened at the first call, on the device that TANDEM_BACKEND
// names then, and stays open; if it was closed or its opening failed, the next call opens it anew.
func Default() (*Session, error) {
	defaultSession.Lock()
	defer defaultSession.Unlock()
	if s := defaultSession.s; s != nil && s.open() == nil {
		return s, nil
	}
	s, err := Open("")
	if err != nil {
		return nil, err
	}
	defaultSession.s = s
	return s, nil
}
