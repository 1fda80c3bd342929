package backendtest

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// brokenDriver is a driver with one fault; without any it is as good as the driver that it wraps,
// but lazy: a launch of the chain kernel, and what its queue gets after that, waits until somebody
// waits for it. So a driver looks whose commands run while the host goes on, and what goes wrong
// goes wrong each time.
type brokenDriver struct {
	backend.Driver
	fault string
	list  []backend.Info
	leak  chan struct{} // ends the goroutines that a fault leaves behind
}

func (d *brokenDriver) Devices() ([]backend.Info, error) {
	if d.fault != "listing shared with the caller" {
		return d.Driver.Devices()
	}
	if d.list == nil {
		d.list, _ = d.Driver.Devices()
	}
	return d.list, nil
}

func (d *brokenDriver) Open(i int) (backend.Device, error) {
	dev, err := d.Driver.Open(i)
	if err != nil {
		return nil, err
	}
	return &brokenDevice{
		Device: dev, driver: d, fault: d.fault,
		freed: map[int64]bool{}, compiled: map[string]*backend.Source{},
	}, nil
}

type brokenDevice struct {
	backend.Device
	driver *brokenDriver
	fault  string

	mu       sync.Mutex // of what follows, and of what its queues have put off
	queues   []*brokenQueue
	freed    map[int64]bool             // sizes of freed buffers
	compiled map[string]*backend.Source // by name
}

func (d *brokenDevice) Info() backend.Info {
	i := d.Device.Info()
	if d.fault == "open Info differs" {
		i.Version += " (open)"
	}
	return i
}

func (d *brokenDevice) Alloc(n int64) (backend.Buffer, error) {
	if d.fault == "Alloc(0) panics" && n == 0 {
		panic("no bytes")
	}
	b, err := d.Device.Alloc(n)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == "Alloc not zeroed" && d.freed[n] {
		copy(b.(backend.HostBuffer).Bytes(), garbage(int(n)))
	}
	return &brokenBuffer{HostBuffer: b.(backend.HostBuffer), dev: d}, nil
}

func (d *brokenDevice) AllocHost(n int64) (backend.HostBuffer, error) {
	b, err := d.Device.AllocHost(n)
	if err != nil {
		return nil, err
	}
	return &brokenBuffer{HostBuffer: b, dev: d}, nil
}

func (d *brokenDevice) Register(mem []byte) (backend.HostBuffer, error) {
	if d.fault == "Register copies" {
		mem = append([]byte(nil), mem...)
	}
	b, err := d.Device.Register(mem)
	if err != nil {
		return nil, err
	}
	return &brokenBuffer{HostBuffer: b, dev: d}, nil
}

func (d *brokenDevice) Compile(s *backend.Source) (backend.Kernel, error) {
	c := *s
	switch {
	case d.fault == "compile cache ignores macros":
		d.mu.Lock()
		defer d.mu.Unlock()
		if old := d.compiled[s.Name]; old != nil && len(old.Macros) != len(s.Macros) {
			c = *old
		}
		d.compiled[s.Name] = &c
	case d.fault == "group size ignored" && s.Name == "reverse":
		c.Params = []backend.Param{{Buffer: true}, {Buffer: true}}
	case d.fault == "last group dropped" && s.Name == "ids":
		c.Go = func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			if g.Groups[2] > 1 {
				hi = min(hi, g.Count()-1)
			}
			return s.Go(g, lo, hi, args)
		}
	default:
		if f := wrongOps[d.fault]; f != nil && f().Name == s.Name {
			c.Go = f().Go
		}
	}
	parseOnce(&c)
	k, err := d.Device.Compile(&c)
	if d.fault == "ErrBuild without the name" && errors.Is(err, backend.ErrBuild) {
		err = &backend.Error{Driver: d.driver.Name(), Op: "Device.Compile", Err: backend.ErrBuild}
	}
	if err != nil {
		return nil, err
	}
	return &brokenKernel{Kernel: k, dev: d}, nil
}

// parsed holds what ParseParams found, by the source's Key: reading the suite's text in each of the
// many runs would take most of the time.
var parsed sync.Map

// parseOnce declares the parameters of s, unless it has an error that the device is to find.
func parseOnce(s *backend.Source) {
	if s.Params != nil || s.Go == nil {
		return
	}
	type head struct {
		params []backend.Param
		group  [3]int
	}
	h, ok := parsed.Load(s.Key())
	if !ok {
		params, group, err := driverkit.ParseParams(s)
		if err != nil {
			return
		}
		h, _ = parsed.LoadOrStore(s.Key(), head{params, group})
	}
	s.Params, s.Group = h.(head).params, h.(head).group
}

// wrongOps are faults of arithmetic: the source has another Go implementation.
var wrongOps = map[string]func() *backend.Source{
	"float32 fma in float64": func() *backend.Source {
		return opsSource(func(a, b, c float32) [numOps]float32 {
			r := floatOps(a, b, c)
			r[opFMA] = float32(math.FMA(float64(a), float64(b), float64(c)))
			return r
		})
	},
	"a*b + c contracted": func() *backend.Source {
		return opsSource(func(a, b, c float64) [numOps]float64 {
			r := floatOps(a, b, c)
			r[opMulAdd] = r[opFMA]
			return r
		})
	},
	"subnormal products flushed": func() *backend.Source {
		return opsSource(func(a, b, c float32) [numOps]float32 {
			r := floatOps(a, b, c)
			if p := r[opMul]; p > -0x1p-126 && p < 0x1p-126 {
				r[opMul] = 0 * p
			}
			return r
		})
	},
	"-0 lost in sums": func() *backend.Source {
		return opsSource(func(a, b, c float64) [numOps]float64 {
			r := floatOps(a, b, c)
			if r[opAdd] == 0 {
				r[opAdd] = 0
			}
			return r
		})
	},
	"int32 saturates": func() *backend.Source {
		return opsSource(func(a, b, c int32) [numOps]int32 {
			r := intOps(a, b, c)
			r[opAdd] = int32(max(math.MinInt32, min(math.MaxInt32, int64(a)+int64(c))))
			return r
		})
	},
}

func (d *brokenDevice) NewQueue() (backend.Queue, error) {
	q, err := d.Device.NewQueue()
	if d.fault == "a closed device is ErrArgument" && errors.Is(err, backend.ErrClosed) {
		err = &backend.Error{Driver: d.Info().Driver, Op: "Device.NewQueue", Err: backend.ErrArgument}
	}
	if err != nil {
		return nil, err
	}
	if d.fault == "NewQueue leaks a goroutine" {
		go func() { <-d.driver.leak }()
	}
	w := &brokenQueue{Queue: q, dev: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues = append(d.queues, w)
	return w, nil
}

func (d *brokenDevice) Abandon() {
	if d.fault != "Abandon does nothing" {
		d.Device.Abandon()
	}
}

func (d *brokenDevice) Close() error {
	if d.fault != "Device.Close does not wait" {
		d.flush()
	}
	return d.Device.Close()
}

// lazy tells whether queues put work off. The faults about waiting, and no fault at all, need that.
func (d *brokenDevice) lazy() bool { return lazyFaults[d.fault] }

var lazyFaults = map[string]bool{
	"": true, "Event.Wait returns early": true, "WaitEvent ignored": true, "Queue.Wait returns early": true,
	"Queue.Close does not wait":  true,
	"Device.Close does not wait": true, "Free while in use": true, "Write overtakes": true,
	"Since without its order": true,
}

// flush runs what the queues have put off.
func (d *brokenDevice) flush() {
	d.mu.Lock()
	queues := slices.Clone(d.queues)
	d.mu.Unlock()
	for _, q := range queues {
		q.flush()
	}
}

type brokenBuffer struct {
	backend.HostBuffer
	dev  *brokenDevice
	once atomic.Bool
}

func (b *brokenBuffer) Free() error {
	if b.dev.fault != "Free while in use" {
		b.dev.flush()
	}
	if b.once.Swap(true) && b.dev.fault == "Free not idempotent" {
		return &backend.Error{Driver: b.dev.driver.Name(), Op: "Buffer.Free", Err: backend.ErrClosed}
	}
	b.dev.mu.Lock()
	b.dev.freed[b.Len()] = true
	b.dev.mu.Unlock()
	return b.HostBuffer.Free()
}

// inner is the wrapped driver's own buffer.
func inner(b backend.Buffer) backend.Buffer {
	if w, ok := b.(*brokenBuffer); ok {
		if w == nil {
			return nil
		}
		return w.HostBuffer
	}
	return b
}

func innerHost(b backend.HostBuffer) backend.HostBuffer {
	h, _ := inner(b).(backend.HostBuffer)
	return h
}

type brokenKernel struct {
	backend.Kernel
	dev *brokenDevice
}

func (k *brokenKernel) Release() error {
	k.dev.flush()
	return k.Kernel.Release()
}

type brokenEvent struct {
	backend.Event
	q *brokenQueue
}

func (e *brokenEvent) Wait() error {
	if e.q.dev.fault != "Event.Wait returns early" {
		e.q.flush()
	}
	return e.event().Wait()
}

// event is the wrapped driver's event, once it is recorded.
func (e *brokenEvent) event() backend.Event {
	if e.Event == nil {
		return &doneEvent{}
	}
	return e.Event
}

// doneEvent stands for one that a lazy queue has not recorded yet.
type doneEvent struct{ backend.Event }

func (*doneEvent) Wait() error { return nil }

func (e *brokenEvent) Since(earlier backend.Event) (int64, error) {
	e.q.flush()
	if w, ok := earlier.(*brokenEvent); ok && w != nil {
		w.q.flush()
		earlier = w.Event
	}
	ns, err := e.Event.Since(earlier)
	if e.q.dev.fault == "Since without its order" {
		ns = -ns
	}
	return ns, err
}

func (e *brokenEvent) Release() error {
	if e.Event == nil {
		return nil // recorded later, and then of no use
	}
	return e.Event.Release()
}

type brokenQueue struct {
	backend.Queue
	dev     *brokenDevice
	args    atomic.Pointer[[]backend.Arg] // of the launch that is being made
	pending []func() error
	err     atomic.Pointer[error] // of a command that was put off
}

// later runs f at once, or after what was put off before.
func (q *brokenQueue) later(lazy bool, f func() error) error {
	q.dev.mu.Lock()
	if q.dev.lazy() && (len(q.pending) > 0 || lazy) {
		q.pending = append(q.pending, f)
		q.dev.mu.Unlock()
		return nil
	}
	q.dev.mu.Unlock()
	return f()
}

func (q *brokenQueue) flush() {
	q.dev.mu.Lock()
	todo := q.pending
	q.pending = nil
	q.dev.mu.Unlock()
	for _, f := range todo {
		if err := f(); err != nil {
			q.err.CompareAndSwap(nil, &err)
		}
	}
}

func (q *brokenQueue) Write(dst backend.Buffer, off int64, src []byte) error {
	if q.dev.fault == "nil pointers crash" && dst != nil {
		dst.Len()
	}
	if q.dev.fault == "ranges are ErrLaunch" &&
		driverkit.CheckRange("", "", off, int64(len(src)), math.MaxInt64) != nil {
		return &backend.Error{Driver: q.dev.driver.Name(), Op: "Queue.Write", Err: backend.ErrLaunch}
	}
	if q.dev.fault != "Write overtakes" {
		q.flush()
	}
	return q.Queue.Write(inner(dst), off, src)
}

func (q *brokenQueue) Read(dst []byte, src backend.Buffer, off int64) error {
	q.flush()
	return q.Queue.Read(dst, inner(src), off)
}

func (q *brokenQueue) WriteAsync(dst backend.Buffer, off int64, src backend.HostBuffer, srcOff, n int64) error {
	if q.dev.fault == "WriteAsync ignores its host offset" && n > 0 {
		srcOff = 0
	}
	return q.later(false, func() error { return q.Queue.WriteAsync(inner(dst), off, innerHost(src), srcOff, n) })
}

func (q *brokenQueue) ReadAsync(dst backend.HostBuffer, dstOff int64, src backend.Buffer, off, n int64) error {
	return q.later(false, func() error { return q.Queue.ReadAsync(innerHost(dst), dstOff, inner(src), off, n) })
}

func (q *brokenQueue) Copy(dst backend.Buffer, dstOff int64, src backend.Buffer, srcOff, n int64) error {
	if q.dev.fault == "Copy in words" && n > 4 {
		n &^= 3
	}
	err := q.later(false, func() error { return q.Queue.Copy(inner(dst), dstOff, inner(src), srcOff, n) })
	if q.dev.fault == "Copy of overlapping ranges" && dst == src && n > 0 && errors.Is(err, backend.ErrArgument) {
		return nil
	}
	return err
}

func (q *brokenQueue) Launch(k backend.Kernel, g backend.Grid, args ...backend.Arg) error {
	w, ok := k.(*brokenKernel)
	if !ok || w == nil {
		return q.Queue.Launch(k, g, args...)
	}
	args = append([]backend.Arg(nil), args...)
	params := w.Params()
	for i := range args {
		a := &args[i]
		a.Buffer = inner(a.Buffer)
		switch q.dev.fault {
		case "offsets dropped":
			if a.Offset > 0 && a.Buffer != nil && a.Offset <= a.Buffer.Len() && a.Offset%4 == 0 {
				a.Offset = 0
			}
		case "upper half of scalars lost":
			a.Bits = uint64(uint32(a.Bits))
		case "types not checked":
			a.Type = ""
		case "scalar width not checked":
			a.Type = ""
			if i < len(params) && a.Buffer == nil && a.Size > 0 && !params[i].Buffer {
				a.Size = params[i].Size
			}
		}
	}
	if q.dev.fault == "surplus arguments dropped" && len(args) > len(params) {
		args = args[:len(params)]
	}
	if q.dev.fault == "empty grid runs" {
		for d := range g.Groups {
			if g.Groups[d] == 0 {
				g.Groups[d] = 1
			}
		}
	}
	if q.dev.fault == "arguments of concurrent launches mixed" {
		mine := slices.Clone(args)
		q.args.Store(&mine)
		time.Sleep(50 * time.Microsecond)
		args = *q.args.Load()
	}
	return q.later(w.Name() == "chain", func() error { return q.Queue.Launch(w.Kernel, g, args...) })
}

func (q *brokenQueue) Record() (backend.Event, error) {
	e := &brokenEvent{q: q}
	err := q.later(false, func() (err error) {
		e.Event, err = q.Queue.Record()
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (q *brokenQueue) WaitEvent(e backend.Event) error {
	w, ok := e.(*brokenEvent)
	if !ok || w == nil {
		return q.Queue.WaitEvent(e)
	}
	if q.dev.fault == "WaitEvent ignored" && w.Event == nil {
		return nil
	}
	w.q.flush()
	err := q.Queue.WaitEvent(w.Event)
	if q.dev.fault == "foreign event taken" && errors.Is(err, backend.ErrArgument) {
		return nil
	}
	if q.dev.fault == "errors without a driver" && errors.Is(err, backend.ErrArgument) {
		return backend.ErrArgument
	}
	return err
}

func (q *brokenQueue) Wait() error {
	if q.dev.fault != "Queue.Wait returns early" {
		q.flush()
	}
	if err := q.err.Swap(nil); err != nil {
		return *err
	}
	return q.Queue.Wait()
}

func (q *brokenQueue) Close() error {
	if q.dev.fault != "Queue.Close does not wait" {
		q.flush()
	}
	return q.Queue.Close()
}
