package linalg

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/kernels"
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
// each device, which such calls take in turn. A session keeps up to a 64th of the device's memory,
// or an eighth of a GPU's, and 64 MiB at least, for what operations on arrays need for themselves.
// Close releases all that.
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
	checked, err := environment()
	if err != nil {
		return nil, err
	}
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
	c.checked.Store(checked)
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

// environment says whether a session begins in the checked mode, and refuses values that mean
// nothing.
func environment() (checked bool, err error) {
	if _, err := host.UsesMatrix(); err != nil {
		return false, errArgument(err.Error())
	}
	switch value := os.Getenv(EnvCheck); value {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, errArgument(fmt.Sprintf("%s is %q, and must be 1, 0 or nothing", EnvCheck, value))
	}
}

// Info describes the device.
func (s *Session) Info() backend.Info { return s.info }

// Device is the device itself, for what Session does not offer. It belongs to the session.
func (s *Session) Device() *backend.Device { return s.device }

// Queue is the queue that the commands of arrays, and Launch, go through: for events, and for
// copies of one's own.
func (s *Session) Queue() *backend.Queue { return s.queue }

// A DeviceUse is what a device of a session has done of the calls on host matrices that are shared
// out.
type DeviceUse struct {
	Info     backend.Info
	Elements int64 // of results
	// Err is why the device failed in a call that another one finished, nil where its last call
	// went well.
	Err error
}

// Devices are the devices of the session, the one that arrays live on first, and what each has
// done. Where a device fails in the middle of a call on host matrices the others do its part; the
// call succeeds, and Err tells of the failure.
func (s *Session) Devices() []DeviceUse {
	var list []DeviceUse
	for _, d := range s.devices() {
		elements, err := d.sharer.Use()
		list = append(list, DeviceUse{d.info, elements, err})
	}
	return list
}

// devices are sessions on each device.
func (s *Session) devices() []*Session { return append([]*Session{s}, s.others...) }

// Sessions are sessions on each device, the session itself first, for work that a program shares
// out by itself. They end with the session.
func (s *Session) Sessions() []*Session { return s.devices() }

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
	err = cmp.Or(err, s.device.Close())
	for _, o := range s.others {
		err = cmp.Or(err, o.Close())
	}
	return err
}

// registersFreely tells whether the device reaches any memory of the host without being told of it:
// the cpu device does.
func (s *Session) registersFreely() bool { return s.info.Host && s.sharesMemory() }

// sharesMemory tells whether the device is a processor that works on the host's memory.
func (s *Session) sharesMemory() bool { return s.sharer.SharesMemory() }

// canHold says whether a result of rows by cols elements has room in the host's memory: Go does not
// return from a make that is too large.
func (s *Session) canHold(rows, cols int, t reflect.Type) error {
	n, err := elements(rows, cols)
	if err != nil {
		return err
	}
	if limit := hostMemory(); limit > 0 && int64(n) > limit/int64(t.Size()) {
		return backend.Failure(s.info.Driver, "linalg", backend.ErrOutOfMemory,
			"a result of %dx%d %v; this machine has %d bytes of memory", rows, cols, t, limit)
	}
	return nil
}

// supports says whether the device keeps the numerics contract in t.
func (s *Session) supports(t element.Type) error {
	if !kernels.Supports(&s.info, t) {
		return backend.Failure(s.info.Driver, "linalg", backend.ErrUnsupported,
			"%s does not keep the numerics contract in %s (%s); TANDEM_BACKEND=cpu does", s.info.Name, t, s.info.Note)
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

var defaultSession struct {
	sync.Mutex // while one is opened
	s          atomic.Pointer[Session]
}

// orDefault is s, which must be open, or where that is nil the default session.
func orDefault(s *Session) (*Session, error) {
	if s != nil {
		return s, s.open()
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
