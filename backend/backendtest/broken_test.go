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

func (d *brokenDriver) Open(i int) (*backend.Device, error) {
	dev, err := d.Driver.Open(i)
	if err != nil {
		return nil, err
	}
	broken := &brokenDevice{
		DriverDevice: dev.Driver(), inner: dev, driver: d, fault: d.fault, info: dev.Info(),
		freed: map[int64]bool{}, compiled: map[string]*backend.Source{},
	}
	if d.fault == "open Info differs" {
		broken.info.Version += " (open)"
	}
	return backend.NewDevice(broken), nil
}

type brokenDevice struct {
	backend.DriverDevice
	inner  *backend.Device
	driver *brokenDriver
	fault  string
	info   backend.Info

	mu       sync.Mutex // of what follows, and of what its queues have put off
	queues   []*brokenQueue
	freed    map[int64]bool             // sizes of freed buffers
	compiled map[string]*backend.Source // by name
}

func (d *brokenDevice) Info() *backend.Info { return &d.info }

func (d *brokenDevice) Release() { d.inner.Close() }

func (d *brokenDevice) Alloc(n int64) (backend.Memory, error) {
	if d.fault == "Alloc(0) panics" && n == 0 {
		panic("no bytes")
	}
	m, err := d.DriverDevice.Alloc(n)
	if err != nil {
		return m, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == "Alloc not zeroed" && d.freed[n] {
		copy(m.Bytes, garbage(int(n)))
	}
	m.Handle = brokenMemory{d, m}
	return m, nil
}

func (d *brokenDevice) Register(mem []byte) (backend.Memory, error) {
	if d.fault == "Register copies" {
		mem = append([]byte(nil), mem...)
	}
	return d.DriverDevice.Register(mem)
}

func (d *brokenDevice) Compile(s *backend.Source) (backend.DriverKernel, error) {
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
	k, err := d.DriverDevice.Compile(&c)
	switch {
	case d.fault == "ErrBuild without the name" && errors.Is(err, backend.ErrBuild):
		err = &backend.Error{Driver: d.driver.Name(), Op: "Device.Compile", Err: backend.ErrBuild}
	case d.fault == "scalar widths not told" && err == nil:
		params := slices.Clone(k.Signature().Params)
		for i := range params {
			params[i].Size, params[i].Type = 0, ""
		}
		k.Signature().Params = params
	case d.fault == "types not told" && err == nil:
		params := slices.Clone(k.Signature().Params)
		for i := range params {
			params[i].Type = ""
		}
		k.Signature().Params = params
	}
	return k, err
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

func (d *brokenDevice) NewQueue() (backend.DriverQueue, error) {
	q, err := d.DriverDevice.NewQueue()
	if err != nil {
		return nil, err
	}
	if d.fault == "NewQueue leaks a goroutine" {
		go func() { <-d.driver.leak }()
	}
	w := &brokenQueue{DriverQueue: q, dev: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues = append(d.queues, w)
	return w, nil
}

// lazy tells whether queues put work off. The faults about waiting, and no fault at all, need that.
func (d *brokenDevice) lazy() bool { return lazyFaults[d.fault] }

var lazyFaults = map[string]bool{
	"": true, "Event.Wait returns early": true, "WaitEvent ignored": true, "Finish returns early": true,
	"Release while in use": true, "Write overtakes": true, "Since without its order": true,
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

// brokenMemory is memory whose release waits for what the queues have put off.
type brokenMemory struct {
	dev   *brokenDevice
	inner backend.Memory
}

func (m brokenMemory) Release() {
	if m.dev.fault == "Release while in use" {
		clear(m.inner.Bytes)
	} else {
		m.dev.flush()
	}
	m.dev.mu.Lock()
	m.dev.freed[m.inner.Size] = true
	m.dev.mu.Unlock()
	m.inner.Handle.(interface{ Release() }).Release()
}

type brokenEvent struct {
	q        *brokenQueue
	recorded backend.DriverEvent // nil until the queue gets to it
}

func (e *brokenEvent) Wait() error {
	if e.q.dev.fault != "Event.Wait returns early" {
		e.q.flush()
	}
	return nil
}

func (e *brokenEvent) Since(earlier backend.DriverEvent) (int64, error) {
	from := earlier.(*brokenEvent)
	e.q.flush()
	from.q.flush()
	ns, err := e.recorded.Since(from.recorded)
	if e.q.dev.fault == "Since without its order" {
		ns = -ns
	}
	return ns, err
}

type brokenQueue struct {
	backend.DriverQueue
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

func (q *brokenQueue) Write(dst *backend.Memory, off int64, src []byte) error {
	if q.dev.fault != "Write overtakes" {
		q.flush()
	}
	return q.DriverQueue.Write(dst, off, src)
}

func (q *brokenQueue) Read(dst []byte, src *backend.Memory, off int64) error {
	q.flush()
	return q.DriverQueue.Read(dst, src, off)
}

func (q *brokenQueue) WriteAsync(dst *backend.Memory, off int64, src *backend.Memory, srcOff, n int64) error {
	if q.dev.fault == "WriteAsync ignores its host offset" {
		srcOff = 0
	}
	to, from := *dst, *src
	return q.later(false, func() error { return q.DriverQueue.WriteAsync(&to, off, &from, srcOff, n) })
}

func (q *brokenQueue) ReadAsync(dst *backend.Memory, dstOff int64, src *backend.Memory, off, n int64) error {
	to, from := *dst, *src
	return q.later(false, func() error { return q.DriverQueue.ReadAsync(&to, dstOff, &from, off, n) })
}

func (q *brokenQueue) Copy(dst *backend.Memory, dstOff int64, src *backend.Memory, srcOff, n int64) error {
	if q.dev.fault == "Copy in words" && n > 4 {
		n &^= 3
	}
	to, from := *dst, *src
	return q.later(false, func() error { return q.DriverQueue.Copy(&to, dstOff, &from, srcOff, n) })
}

// Launch keeps copies of the arguments, which are plain memory, until the kernel runs.
func (q *brokenQueue) Launch(k backend.DriverKernel, g backend.Grid, args []backend.Arg, mems []*backend.Memory) error {
	args = slices.Clone(args)
	own := make([]*backend.Memory, len(mems))
	for i := range args {
		a := &args[i]
		if mems[i] != nil {
			m := *mems[i]
			own[i], a.Buffer = &m, backend.HostMemory(m.Bytes)
		}
		switch q.dev.fault {
		case "offsets dropped":
			a.Offset = 0
		case "upper half of scalars lost":
			a.Bits = uint64(uint32(a.Bits))
		}
	}
	if q.dev.fault == "arguments of concurrent launches mixed" {
		q.args.Store(&args)
		time.Sleep(50 * time.Microsecond)
		if q.args.Load() != &args { // it would do once more, in a race, what the other launch does
			return nil
		}
	}
	return q.later(k.Signature().Name == "chain", func() error { return q.DriverQueue.Launch(k, g, args, own) })
}

func (q *brokenQueue) Record() (backend.DriverEvent, error) {
	e := &brokenEvent{q: q}
	return e, q.later(false, func() (err error) {
		e.recorded, err = q.DriverQueue.Record()
		return err
	})
}

func (q *brokenQueue) WaitEvent(e backend.DriverEvent) error {
	if q.dev.fault != "WaitEvent ignored" {
		e.(*brokenEvent).q.flush()
	}
	return nil
}

func (q *brokenQueue) Finish() error {
	if q.dev.fault != "Finish returns early" {
		q.flush()
	}
	if err := q.err.Swap(nil); err != nil {
		return *err
	}
	return q.DriverQueue.Finish()
}
