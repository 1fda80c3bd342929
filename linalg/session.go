package linalg

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
	"weak"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/outofcore"
)

// EnvMemory is the environment variable that limits the memory of each device that a call on host
// matrices uses at a time: bytes ("1000000"), KiB, MiB or GiB ("512MiB"), or a share of the
// device's memory ("50%"). A session reads it when it is opened.
const EnvMemory = outofcore.EnvMemory

// A Session is an open device with a queue: its commands run in the order of the calls. It is safe
// for concurrent use. Close it after use; its arrays and kernels end with it.
//
// A session may have several devices. Arrays, kernels and the queue are of the first. Calls on host
// matrices that have more than a megabyte in all are shared out to all: each device computes tiles
// of the result, as large as its speed suggests, with the bits that any of them would give alone.
// A device that fails in the middle leaves its part to the others; see [Session.Devices].
//
// Calls from host memory to host memory, such as [MatMul], do not use that queue. Each has one of
// its own while it runs: calls of several goroutines may overlap, and none returns the error
// of another. They keep a few queues, and up to 2 MiB of memory with each, for later calls; where
// matrices go through a device in parts, also three queues and 64 MiB of page-locked memory for
// each device, which such calls take in turn. A session keeps up to 64 MiB of the device's memory,
// or an eighth of a GPU's, for what operations on arrays need for themselves. Close
// releases all that.
type Session struct {
	*core
	queue  *backend.Queue
	spares *spares
}

// core is what the queues of a session share.
type core struct {
	device   *backend.Device
	info     backend.Info
	sharer   *outofcore.Device // the same device, for calls on host matrices that are done by tiles
	others   []*Session        // on the other devices
	direct   bool              // the device is this processor, and there are no others
	failed   error             // of an array that could not be made, whose session this is
	checked  atomic.Bool
	checks   sync.Map    // of the kernels whose launches check: *checks by weak.Pointer[backend.Kernel]
	checking atomic.Bool // there is a kernel in checks, or was

	mu         sync.RWMutex
	kernels    map[kernelKey]*backend.Kernel // built-in kernels, and those written in Go
	plans      map[planKey]plan
	callQueues []*callQueue // that no call uses
	closed     atomic.Bool  // set with mu
}

// Open opens the devices that spec names, as [backend.OpenAll] does: "" for TANDEM_BACKEND,
// "cuda:0", "opencl:pocl", "cpu", "auto"; several by a plus sign, "cuda:0+cuda:1+cpu", and "gpus"
// for all GPUs. TANDEM_MEMORY limits the memory of each, as [EnvMemory] says.
func Open(spec string) (*Session, error) {
	devices, err := backend.OpenAll(spec)
	if err != nil {
		return nil, err
	}
	s, err := NewSession(devices[0], devices[1:]...)
	if err != nil {
		for _, d := range devices {
			d.Close()
		}
		return nil, err
	}
	return s, nil
}

// NewSession makes a session on an open device, and others that take part in calls on host
// matrices. It owns them from then on: Close closes them. After an error they stay the caller's.
func NewSession(device *backend.Device, others ...*backend.Device) (*Session, error) {
	sharer, err := outofcore.NewDevice(device)
	if err != nil {
		return nil, err
	}
	queue, err := device.NewQueue()
	if err != nil {
		return nil, err
	}
	c := &core{
		device: device, info: device.Info(), sharer: sharer, direct: isProcessor(device) && len(others) == 0,
		kernels: map[kernelKey]*backend.Kernel{}, plans: map[planKey]plan{},
	}
	c.checked.Store(os.Getenv(EnvCheck) == "1")
	for _, d := range others {
		o, err := NewSession(d)
		if err != nil {
			queue.Close()
			for _, o := range c.others {
				o.queue.Close()
			}
			return nil, err
		}
		c.others = append(c.others, o)
	}
	s := &Session{core: c, queue: queue, spares: newSpares(&c.info)}
	kept := weak.Make(s.spares) // whose buffers hold on to the device
	device.WhenFull(func() {
		if p := kept.Value(); p != nil {
			p.close() // an error is of a lost device, and the call's own, too
		}
	})
	return s, nil
}

// Info describes the device.
func (s *Session) Info() backend.Info { return s.info }

// Device is the device itself, for what Session does not offer. It belongs to the session.
func (s *Session) Device() *backend.Device { return s.device }

// Queue is the queue that the commands of arrays, and Launch, go through: for events, and for
// copies of one's own.
func (s *Session) Queue() *backend.Queue { return s.queue }

// Wait blocks until everything enqueued is done, and returns what went wrong since the last wait.
func (s *Session) Wait(opts ...Option) error {
	o, err := settingsOf("Session.Wait", withContext, opts)
	if err := cmp.Or(err, s.open()); err != nil {
		return err
	}
	if !o.waits {
		return s.queue.Wait()
	}
	return s.orAbandon(o.ctx, s.queue.Wait)
}

// orAbandon is f, which waits for the device, or gives the device up at the end of ctx.
func (s *Session) orAbandon(ctx context.Context, f func() error) error {
	if ctx.Done() == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return cmp.Or(err, context.Cause(ctx)) // whichever of the two the select saw
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return cmp.Or(err, context.Cause(ctx))
	case <-time.After(lastChance):
	}
	s.device.Abandon()
	return context.Cause(ctx)
}

// lastChance is what a device that is about to be given up has left, so that one that was idle is
// not lost.
const lastChance = 20 * time.Millisecond

// Close waits for the queue, then releases the device, its arrays and its kernels. It is
// idempotent. Of a nil session it is backend.ErrArgument.
func (s *Session) Close() error {
	if s == nil || s.core == nil || s.failed != nil {
		return s.open()
	}
	s.mu.Lock()
	closed := s.closed.Swap(true)
	s.kernels, s.plans, s.callQueues = nil, nil, nil // the device releases what they hold
	s.mu.Unlock()
	if closed {
		return nil
	}
	err := s.queue.Close()
	if e := s.device.Close(); err == nil {
		err = e
	}
	for _, o := range s.others {
		if e := o.Close(); err == nil {
			err = e
		}
	}
	return err
}

// canHold says whether a result of rows by cols elements has room in the host's memory: Go does not
// return from a make that is too large.
func (s *Session) canHold(rows, cols int, t element.Type) error {
	n, err := elements(rows, cols)
	if err != nil {
		return err
	}
	if limit := hostMemory(); limit > 0 && int64(n) > limit/int64(t.Size()) {
		return &backend.Error{
			Driver: s.info.Driver, Op: "linalg", Err: backend.ErrOutOfMemory,
			Detail: fmt.Sprintf("a result of %dx%d %s; this machine has %d bytes of memory", rows, cols, t, limit),
		}
	}
	return nil
}

// hostMemory is the largest buffer of the host in bytes, 0 where that is not known.
var hostMemory = sync.OnceValue(func() int64 { return backend.HostInfo().MaxAlloc })

// open is nil where there is a session that takes commands.
func (s *Session) open() error {
	if s == nil || s.core == nil {
		return errArgument("there is no session; Open makes one")
	}
	return s.core.open()
}

func (s *core) open() error {
	if s.failed != nil {
		return s.failed
	}
	if s.closed.Load() {
		return errClosed("the session is closed")
	}
	return nil
}

// CompileSource makes a kernel of the user's own: src has the name of its entry point and text in
// the portable dialect, and where the kernel has them, macros, a file name for messages, and a Go
// implementation, without which the cpu device is backend.ErrUnsupported. An error that matches
// backend.ErrBuild carries the compiler's log. The kernel ends with the session; Release ends it
// earlier.
func (s *Session) CompileSource(src *backend.Source, opts ...Option) (*backend.Kernel, error) {
	o, err := settingsOf("Session.CompileSource", withContext, opts)
	if err := cmp.Or(err, s.open(), context.Cause(o.ctx)); err != nil {
		return nil, err
	}
	var k *backend.Kernel
	err = s.orAbandon(o.ctx, func() (err error) {
		k, err = s.compile(src, s.checked.Load())
		return err
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// kernelOf is src compiled, once in a session.
func (s *Session) kernelOf(src *backend.Source) (*backend.Kernel, error) {
	if err := fresh(src); err != nil { // a variable that it uses may have changed since the last launch
		return nil, err
	}
	return s.kernel(kernelKey{src, s.checked.Load()})
}

// Launch runs k over g: CUDA's kernel[grid, block](args). An argument is
//
//   - an [Array], a backend.Buffer, a backend.Arg, or a []backend.Arg, which stands for all its
//     elements;
//   - an int32, uint32, int64, uint64, float32 or float64 (an int is an error: its width is the
//     host's);
//   - a slice of int32, uint32, int64, uint64, float32, float64 or byte, or a [Matrix], in host
//     memory. It is copied to the device before and back after the launch, or used in place where
//     the device shares the host's memory. Slices may be the same, but must not overlap otherwise;
//   - [WithContext]: Launch waits for the kernel then, and where ctx ends before, host memory among
//     the arguments belongs to the kernel: it may still be written.
//
// With host memory among the arguments Launch blocks until the kernel is done; otherwise it may
// return before. A wrong number of arguments, or a wrong kind or width of one or of its elements,
// is backend.ErrLaunch, a nil array or one of another session backend.ErrArgument, and nothing
// runs; the sign of integers does not matter. Bytes, buffers and what backend.Buf makes have
// elements of any type.
func (s *Session) Launch(k *backend.Kernel, g backend.Grid, args ...any) (err error) {
	if err := s.open(); err != nil {
		return err
	}
	if k == nil {
		return fmt.Errorf("linalg: %w: the kernel is nil", backend.ErrLaunch)
	}
	if i := slices.IndexFunc(args, isOption); i >= 0 {
		return s.launchUntil(args[i].(Option), k, g, slices.Delete(slices.Clone(args), i, i+1))
	}
	var l launch
	defer func() {
		if e := l.free(); err == nil {
			err = e
		}
	}()
	list := make([]backend.Arg, 0, len(args))
	params := k.Params()
	for _, a := range args {
		if several, ok := a.([]backend.Arg); ok {
			list = append(list, several...)
			continue
		}
		readOnly := len(list) < len(params) && params[len(list)].ReadOnly
		arg, err := l.arg(s, a, readOnly)
		if err != nil {
			return fmt.Errorf("linalg: %s: %w", argumentName(k, len(list)), err)
		}
		list = append(list, arg)
	}
	if err := s.launchArgs(k, g, list); err != nil {
		return err
	}
	return l.finish(s)
}

func isOption(arg any) bool { _, is := arg.(Option); return is }

// launchUntil is Launch that waits for the kernel, or gives the device up.
func (s *Session) launchUntil(o Option, k *backend.Kernel, g backend.Grid, args []any) error {
	x, err := settingsOf("Session.Launch", withContext, []Option{o})
	if err := cmp.Or(err, context.Cause(x.ctx)); err != nil {
		return err
	}
	return s.orAbandon(x.ctx, func() error {
		if err := s.Launch(k, g, args...); err != nil {
			return err
		}
		return s.Wait()
	})
}

// argumentName is argument i of kernel k in messages, with its name where the kernel tells it.
func argumentName(k *backend.Kernel, i int) string {
	name := ""
	if params := k.Params(); i < len(params) && params[i].Name != "" {
		name = " (" + params[i].Name + ")"
	}
	return fmt.Sprintf("argument %d%s of kernel %s", i, name, k.Name())
}

// launch holds the host memory among the arguments of one launch.
type launch struct{ hosts []hostArg }

// hostArg is host memory and the buffer that stands for it on the device.
type hostArg struct {
	mem    []byte
	buf    *backend.Buffer
	shared bool // the buffer is the memory itself
	read   bool // is all that the kernel does with it
}

// arrayArg is what every *Array[T] is.
type arrayArg interface{ untyped() *array }

// matrixArg is what every Matrix[T] is.
type matrixArg interface {
	check(name string) error
	bytes() []byte
	elem() string
}

// arg is a as an argument; readOnly is said of memory that the kernel does not write.
func (l *launch) arg(s *Session, a any, readOnly bool) (backend.Arg, error) {
	switch a := a.(type) {
	case backend.Arg:
		return a, nil
	case arrayArg:
		return a.untyped().arg(s)
	case *backend.Buffer:
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
		return l.host(s, a.bytes(), a.elem(), readOnly)
	case []byte:
		return l.host(s, a, "", readOnly)
	case []int32:
		return l.host(s, backend.Bytes(a), "int32", readOnly)
	case []uint32:
		return l.host(s, backend.Bytes(a), "uint32", readOnly)
	case []int64:
		return l.host(s, backend.Bytes(a), "int64", readOnly)
	case []uint64:
		return l.host(s, backend.Bytes(a), "uint64", readOnly)
	case []float32:
		return l.host(s, backend.Bytes(a), "float32", readOnly)
	case []float64:
		return l.host(s, backend.Bytes(a), "float64", readOnly)
	case nil:
		return backend.Arg{}, fmt.Errorf("%w: it is nil", backend.ErrLaunch)
	case int, uint:
		return backend.Arg{}, fmt.Errorf("%w: a kernel has no %T: use int32 or int64, as the kernel declares it",
			backend.ErrLaunch, a)
	}
	return backend.Arg{}, fmt.Errorf("%w: cannot pass a %T", backend.ErrLaunch, a)
}

// host brings mem, elements of the type that Go calls elem, to the device, or registers it where
// the device shares the host's memory.
func (l *launch) host(s *Session, mem []byte, elem string, readOnly bool) (backend.Arg, error) {
	for i, h := range l.hosts {
		if len(mem) == len(h.mem) && unsafe.SliceData(mem) == unsafe.SliceData(h.mem) {
			l.hosts[i].read = h.read && readOnly
			return backend.Arg{Buffer: h.buf, Type: elem}, nil
		}
		if bytesOverlap(mem, h.mem) {
			return backend.Arg{}, fmt.Errorf("%w: two host slices overlap", ErrOverlap)
		}
	}
	h := hostArg{mem: mem, shared: s.sharesMemory() && len(mem) > 0, read: readOnly}
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
	return backend.Arg{Buffer: h.buf, Type: elem}, err
}

// finish waits for the kernel and copies host memory back that it may have written.
func (l *launch) finish(s *Session) error {
	if len(l.hosts) == 0 {
		return nil
	}
	for _, h := range l.hosts {
		if !h.shared && !h.read {
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
	sync.Mutex // while one is opened
	s          atomic.Pointer[Session]
}

// orDefault is s, or where that is nil the default session.
func orDefault(s *Session) (*Session, error) {
	if s != nil {
		return s, nil
	}
	return Default()
}

// Default is the session that MatMul, Transpose, Add and Scale use. It is opened at the first call,
// on the device that TANDEM_BACKEND names then, and stays open; if it was closed or its opening
// failed, the next call opens it anew.
func Default() (*Session, error) {
	if s := defaultSession.s.Load(); s != nil && s.open() == nil {
		return s, nil
	}
	defaultSession.Lock()
	defer defaultSession.Unlock()
	if s := defaultSession.s.Load(); s != nil && s.open() == nil {
		return s, nil // another goroutine was faster
	}
	s, err := Open("")
	if err != nil {
		return nil, err
	}
	defaultSession.s.Store(s)
	return s, nil
}
