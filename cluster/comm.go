package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cluster/internal/mpi"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Comm is the ranks of a job, as one of them sees it.
type Comm struct {
	*engine
	rank, size     int
	local, locals  int
	data, control  mpi.Handle // communicators: of operations, and of what ranks tell each other about failures
	square         Grid       // the one that is made when no other is asked for
	job            uint64     // a number that no other job has
	files          int        // written so far
	cancel         context.CancelCauseFunc
	alarm          *request
	mu             sync.Mutex
	err            error // the job has failed
	alarmsUnderway []*request
}

var started atomic.Bool

// Run starts MPI, calls f on this rank, and ends MPI. It returns when every rank has come to its
// end: nil, or the same [Error] on every rank. MPI can be started once in the life of a process.
//
// The context that f gets is done when ctx is, and when another rank fails. What f returns is the
// rank's error; the other ranks then return it too, whatever they are waiting for. After a failure
// rank 0 returns at once, and the others a few seconds later: rank 0 prints the error and ends the
// program with a code that is not 0, upon which the launcher ends the others.
func Run(ctx context.Context, f func(ctx context.Context, c *Comm) error) error {
	if started.Swap(true) {
		return errors.New("cluster: MPI can be started once in a process")
	}
	lib, err := mpi.Load()
	if err != nil {
		return giveWay(fmt.Errorf("cluster: %w", err))
	}
	return run(ctx, lib, f)
}

// Exit ends the program. One that has called Run must end this way and not by returning from main
// or by os.Exit: some MPI libraries take leave of their launcher when C's exit is called, and a
// launcher that hears nothing of it ends the job as failed.
func Exit(code int) {
	if lib := finished.Load(); lib != nil {
		lib.Exit(code)
	}
	os.Exit(code)
}

// finished is the library once it has been ended; while it is nil there is nothing to take leave
// of.
var finished atomic.Pointer[mpi.Library]

// Library names the MPI library that Run would use, and its version, without starting it.
func Library() (string, error) {
	lib, err := mpi.Load()
	if err != nil {
		return "", err
	}
	return lib.String(), nil
}

// patience is how long a rank that is not the first waits for the end that its launcher makes to
// the job, before it returns an error. Tests make it short.
var patience = 3 * time.Second

// giveWay is err, once rank 0 has had the time to print its own.
func giveWay(err error) error {
	if mpi.LaunchedAs() > 0 {
		time.Sleep(patience)
	}
	return err
}

// run is Run with a loaded library.
func run(ctx context.Context, lib *mpi.Library, f func(context.Context, *Comm) error) error {
	c := &Comm{engine: startEngine(lib)}
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	switch err := c.begin(ctx); {
	case c.failure() != nil:
		return c.desert()
	case isAgreed(err):
		c.end()
		return err
	case err != nil:
		c.leave()
		return giveWay(err)
	}
	err := f(ctx, c)
	if err != nil && !isAgreed(err) {
		err = c.fail(err)
	}
	if c.failure() == nil {
		return c.settle(ctx, err)
	}
	return c.desert()
}

// settle ends MPI when f has ended with err on this rank, and with an error or none on the others.
func (c *Comm) settle(ctx context.Context, err error) error {
	for meet := true; meet; { // again where another rank is not at its end yet
		e := c.agree(ctx, ending, err)
		meet = isAstray(e)
		err = cmp.Or(err, e)
	}
	if c.failure() != nil {
		return c.desert()
	}
	return cmp.Or(err, c.end())
}

// desert leaves MPI as it is, since operations of a job that has failed cannot be ended.
func (c *Comm) desert() error {
	var underway []*request
	_ = c.do(func() { underway = slices.Clone(c.alarmsUnderway) }) // none if the engine has ended
	for _, r := range underway {
		select {
		case <-r.done:
		case <-time.After(time.Second / 2):
		}
	}
	c.leave()
	if c.rank > 0 {
		time.Sleep(patience)
	} else {
		time.Sleep(patience / 10) // others may be reading from this process, which ends them with MPICH
	}
	return c.failure()
}

// begin starts MPI and finds out about the job.
func (c *Comm) begin(ctx context.Context) error {
	var rank, size, local, locals int32
	var node mpi.Handle
	lib := c.lib
	for _, call := range []struct {
		name string
		f    func() int32
	}{
		{"MPI_Initialized", c.initialized},
		{"MPI_Init_thread", c.lib.Start},
		{"MPI_Comm_set_errhandler", func() int32 { return lib.CommSetErrhandler(lib.World, lib.ErrorsReturn) }},
		{"MPI_Comm_rank", func() int32 { return lib.CommRank(lib.World, &rank) }},
		{"MPI_Comm_size", func() int32 { return lib.CommSize(lib.World, &size) }},
		{"MPI_Comm_dup", func() int32 { return lib.CommDup(lib.World, &c.data) }},
		{"MPI_Comm_dup", func() int32 { return lib.CommDup(lib.World, &c.control) }},
		{"MPI_Comm_split_type", func() int32 {
			return lib.CommSplitType(lib.World, lib.Shared, rank, lib.InfoNull, &node)
		}},
		{"MPI_Comm_rank", func() int32 { return lib.CommRank(node, &local) }},
		{"MPI_Comm_size", func() int32 { return lib.CommSize(node, &locals) }},
		{"MPI_Comm_free", func() int32 { return lib.CommFree(&node) }},
	} {
		if err := c.blocking(call.name, call.f); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
		if call.name == "MPI_Comm_size" && size == 1 && mpi.Launched() > 1 {
			return fmt.Errorf("cluster: the program was started as one of %d processes, but %s knows of this one "+
				"alone: it is not the library of the mpirun that was used; start the program with that of the "+
				"library, or name the library of that mpirun in %s", mpi.Launched(), lib, mpi.EnvLibrary)
		}
	}
	c.rank, c.size, c.local, c.locals = int(rank), int(size), int(local), int(locals)
	c.square = Grid{c: c, rows: nearSquare(c.size)}
	if err := c.square.split(); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := c.listen(); err != nil {
		return err
	}
	if err := c.Same(ctx, "another build of the program", []byte(identity())); err != nil {
		return err
	}
	id := binary.LittleEndian.AppendUint64(nil, rand.Uint64())
	if err := c.tell(ctx, 0, id); err != nil {
		return err
	}
	c.job = binary.LittleEndian.Uint64(id)
	return nil
}

// initialized fails where another part of the program has started MPI.
func (c *Comm) initialized() int32 {
	flag := new(int32)
	if code := c.lib.Initialized(flag); code != 0 || *flag == 0 {
		return code
	}
	return alreadyStarted
}

// alreadyStarted is a code that no library knows.
const alreadyStarted = -12345

// identity is the digest of this program's file, as the ranks must agree on what they tell each
// other; where it cannot be read, it is how the program was built.
var identity = sync.OnceValue(func() string {
	sum := sha256.New()
	name, err := os.Executable()
	if err == nil {
		err = addFile(sum, name)
	}
	if err != nil {
		info, _ := debug.ReadBuildInfo()
		return fmt.Sprint(info)
	}
	return string(sum.Sum(nil))
})

func addFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// end ends MPI, on all ranks together.
func (c *Comm) end() error {
	c.do(func() {
		r := c.alarm
		c.pending = slices.DeleteFunc(c.pending, func(p *request) bool { return p == r })
		if c.lib.Cancel(r.handle) == 0 {
			c.lib.Wait(r.handle, c.lib.StatusIgnore)
		}
	})
	err := c.blocking("MPI_Finalize", c.lib.Finalize)
	c.leave()
	if err == nil {
		finished.Store(c.lib)
	}
	return err
}

// Rank is the number of this process among those of the job, from 0.
func (c *Comm) Rank() int { return c.rank }

// Size is the number of processes of the job.
func (c *Comm) Size() int { return c.size }

// Local is the number of this process among those of the job on the same machine, and their number.
func (c *Comm) Local() (rank, size int) { return c.local, c.locals }

// Library names the MPI library and its version.
func (c *Comm) Library() string { return c.lib.String() }

// Open opens the rank's device, as linalg.Open does. Where spec leaves open which of several equal
// GPUs is meant ("", "auto", "cuda"), the ranks of one machine take them in turn.
func (c *Comm) Open(spec string) (*linalg.Session, error) {
	e := backend.Explain(spec)
	if len(e.Specs) == 1 && e.Specs[0].Device == "" && len(e.Chosen) == 1 && e.Chosen[0].GPU {
		equal := equals(&e)
		d := equal[c.local%len(equal)]
		spec = fmt.Sprintf("%s:%d", d.Driver, d.Index)
	}
	return linalg.Open(spec)
}

// equals are the devices of the same driver and name as the chosen one.
func equals(e *backend.Explanation) (list []backend.Info) {
	for _, d := range e.Drivers {
		for _, i := range d.Devices {
			if i.Driver == e.Chosen[0].Driver && i.Name == e.Chosen[0].Name {
				list = append(list, i)
			}
		}
	}
	return list
}

// A message about a failure has the rank, whether it was canceled, and the text, cut off.
const (
	alarmBytes = 1024
	alarmHead  = 5
	alarmTag   = 1
)

// listen waits, from here on, for the failure of another rank.
func (c *Comm) listen() error {
	m, err := c.memory(alarmBytes)
	if err != nil {
		return err
	}
	c.alarm = newRequest("MPI_Irecv")
	c.alarm.quiet = true
	c.alarm.finally = func() {
		if c.alarm.err != nil {
			c.raise(c.alarm.err)
			return
		}
		err := errors.New(cString(m[alarmHead:]))
		if m[4] != 0 {
			err = context.Canceled
		}
		c.breakDown(c.errorOf(int(binary.LittleEndian.Uint32(m)), err, false))
	}
	var begun error
	e := c.do(func() {
		c.add(c.alarm, func(r *mpi.Request) int32 {
			return c.lib.Irecv(unsafe.Pointer(&m[0]), alarmBytes, c.lib.Byte, c.lib.AnySource, alarmTag, c.control, r)
		})
		begun = c.alarm.err
	})
	return cmp.Or(e, begun)
}

// failure is why the job has failed, or nil.
func (c *Comm) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail tells all ranks about err, with which the job fails here unless it has before. It returns
// the job's error.
func (c *Comm) fail(err error) error {
	if failed := c.failure(); failed != nil {
		return failed
	}
	if e := c.do(func() { c.raise(err) }); e != nil {
		return err
	}
	return c.failure()
}

// raise is fail on the engine's goroutine.
func (c *Comm) raise(err error) {
	if !c.breakDown(c.errorOf(c.rank, err, false)) {
		return
	}
	p := new(unsafe.Pointer)
	if c.lib.AllocMem(alarmBytes, c.lib.InfoNull, p) != 0 {
		return // the launcher will end the others
	}
	m := unsafe.Slice((*byte)(*p), alarmBytes)
	clear(m)
	binary.LittleEndian.PutUint32(m, uint32(c.rank))
	if errors.Is(err, context.Canceled) {
		m[4] = 1
	}
	copy(m[alarmHead:], err.Error())
	for to := range c.size {
		if to == c.rank {
			continue
		}
		r := newRequest("MPI_Isend")
		r.quiet = true
		c.add(r, func(r *mpi.Request) int32 {
			return c.lib.Isend(*p, alarmBytes, c.lib.Byte, int32(to), alarmTag, c.control, r)
		})
		c.alarmsUnderway = append(c.alarmsUnderway, r)
	}
}

// breakDown makes err the job's error, unless it has one, and ends every wait. Only the engine's
// goroutine may call it.
func (c *Comm) breakDown(err error) bool {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
	}
	c.mu.Unlock()
	if first {
		c.abandon(err)
		c.cancel(err)
	}
	return first
}

// Agree returns nil on every rank where err is nil on every rank, and else, on every rank, the
// error of the first that has one. It is how ranks go on together after what can go wrong on one of
// them.
func (c *Comm) Agree(ctx context.Context, err error) error { return c.agree(ctx, agreeing, err) }

func (c *Comm) agree(ctx context.Context, why purpose, err error) error {
	if isAgreed(err) {
		err = errors.Unwrap(err)
	}
	var mine, none digest
	if err != nil {
		mine = sha256.Sum256([]byte(err.Error()))
	}
	all, e := c.gather(ctx, why, mine)
	if e != nil {
		return e
	}
	first := slices.IndexFunc(all, func(d digest) bool { return d != none })
	if first < 0 {
		return nil
	}
	if !slices.ContainsFunc(all, func(d digest) bool { return d != mine }) {
		return &Error{Rank: c.rank, Here: c.rank, Err: err, agreed: true}
	}
	text := make([]byte, alarmBytes)
	if first == c.rank {
		copy(text, err.Error())
	}
	if e := c.tell(ctx, first, text); e != nil {
		return e
	}
	if first != c.rank {
		err = errors.New(cString(text))
	}
	return c.errorOf(first, err, true)
}

// cString is the text that a zero byte ends.
func cString(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// Same returns nil on every rank where key is the same on all, and else, on every rank, an error
// that names the first rank with another one than rank 0: it has what, as in "other options", than
// rank 0. It is for what the ranks got on different ways, and would do different things with.
func (c *Comm) Same(ctx context.Context, what string, key []byte) error {
	all, err := c.gather(ctx, comparing, sha256.Sum256(key))
	if err != nil {
		return err
	}
	if rank := slices.IndexFunc(all, func(d digest) bool { return d != all[0] }); rank >= 0 {
		return c.errorOf(rank, fmt.Errorf("it has %s than rank 0", what), true)
	}
	return nil
}

// AllGather gives every rank what all have, in the order of the ranks: part, of one length on all.
// It is for what a program shares that is no matrix: numbers, or bytes, as an exact.Acc has them by
// MarshalBinary. It waits for the other ranks.
func AllGather[T linalg.Element | byte](ctx context.Context, c *Comm, part []T) ([]T, error) {
	if err := c.Same(ctx, otherCall, fmt.Appendf(nil, "AllGather %T %d", part, len(part))); err != nil {
		return nil, err
	}
	all := slices.Repeat(part, c.size)
	for rank := range c.size {
		if err := c.tell(ctx, rank, backend.Bytes(all[rank*len(part):][:len(part)])); err != nil {
			return nil, err
		}
	}
	return all, nil
}

type digest = [sha256.Size]byte

// A purpose is why ranks meet. It goes along with what they give, so that ranks at different calls
// find out before one of them waits for what the others never send.
type purpose byte

const (
	agreeing purpose = iota
	comparing
	ending
)

const otherCall = "another call of package cluster, or other arguments,"

// gather is what all ranks give, in their order.
func (c *Comm) gather(ctx context.Context, why purpose, mine digest) (all []digest, err error) {
	if ctx.Err() != nil { // before the others take it that this rank goes on
		return nil, c.fail(context.Cause(ctx))
	}
	const n = 1 + sha256.Size
	m, err := c.memory(n * (c.size + 1))
	if err != nil {
		return nil, c.fail(err)
	}
	got, own := m[:n*c.size], m[n*c.size:]
	own[0] = byte(why)
	copy(own[1:], mine[:])
	r := c.start("MPI_Iallgather", func(r *mpi.Request) int32 {
		return c.lib.Iallgather(unsafe.Pointer(&own[0]), n, c.lib.Byte, unsafe.Pointer(&got[0]), n, c.lib.Byte,
			c.control, r)
	})
	if err := c.wait(ctx, r); err != nil {
		return nil, err
	}
	defer c.free(m)
	for rank := range c.size {
		part := got[rank*n:][:n]
		if part[0] != got[0] {
			e := c.errorOf(rank, fmt.Errorf("it has %s than rank 0", otherCall), true)
			e.astray = true
			return nil, e
		}
		all = append(all, digest(part[1:]))
	}
	return all, nil
}

// tell gives all ranks the message of one.
func (c *Comm) tell(ctx context.Context, from int, message []byte) error {
	m, err := c.memory(len(message))
	if err != nil {
		return c.fail(err)
	}
	copy(m, message)
	if err := c.wait(ctx, c.broadcast(c.control, from, m)...); err != nil {
		return err
	}
	defer c.free(m)
	copy(message, m)
	return nil
}

// maxMessage is how many bytes one call of MPI moves: counts are C's int. Tests make it small.
var maxMessage = 1 << 30

// broadcast starts to send m, of MPI's memory, from a rank of a communicator to the others.
func (c *Comm) broadcast(comm mpi.Handle, from int, m []byte) (list []*request) {
	for part := range slices.Chunk(m, maxMessage) {
		list = append(list, c.start("MPI_Ibcast", func(r *mpi.Request) int32 {
			return c.lib.Ibcast(unsafe.Pointer(&part[0]), int32(len(part)), c.lib.Byte, int32(from), comm, r)
		}))
	}
	return list
}

// send starts to send m, of MPI's memory, to another rank.
func (c *Comm) send(to int, m []byte) (list []*request) {
	for part := range slices.Chunk(m, maxMessage) {
		list = append(list, c.start("MPI_Isend", func(r *mpi.Request) int32 {
			return c.lib.Isend(unsafe.Pointer(&part[0]), int32(len(part)), c.lib.Byte, int32(to), 0, c.data, r)
		}))
	}
	return list
}

// receive starts to receive m, of MPI's memory, from another rank.
func (c *Comm) receive(from int, m []byte) (list []*request) {
	for part := range slices.Chunk(m, maxMessage) {
		list = append(list, c.start("MPI_Irecv", func(r *mpi.Request) int32 {
			return c.lib.Irecv(unsafe.Pointer(&part[0]), int32(len(part)), c.lib.Byte, int32(from), 0, c.data, r)
		}))
	}
	return list
}
