package cluster

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/cluster/internal/mpi"
)

// A fake is an MPI library whose ranks are goroutines of this process, as strict as the real ones
// are lax: it fails what other libraries would do something with.
type fake struct {
	size int

	mu       sync.Mutex
	changed  *sync.Cond
	killed   bool // the job: nothing waits any more
	comms    int
	messages map[letter][][]byte
	meetings map[meeting]*gathering
	memory   map[unsafe.Pointer][]uint64
	delay    func(bytes, ranks int) time.Duration // of a broadcast; nil for none
}

// A letter is the address of a message.
type letter struct {
	comm          int
	from, to, tag int32
}

// A meeting is a collective operation: the number of the operation on its communicator.
type meeting struct{ comm, number int }

type gathering struct {
	op    string
	parts map[int32][]byte
	ready time.Time
	made  map[int32]int // communicators, by color
	left  int           // ranks that have not taken theirs
}

// A fakeComm is a communicator as one rank has it.
type fakeComm struct {
	id      int
	members []int32 // in the world
	me      int32
	number  int // of collective operations
}

// A fakeRank is a rank's library.
type fakeRank struct {
	f *fake
	mpi.Library
	comms    map[mpi.Handle]*fakeComm
	requests map[mpi.Request]func() (bool, int32)
	next     uintptr
	finished bool
}

const (
	fakeWorld = 0x10
	fakeByte  = 0x20
	fakeCode  = 77
)

func newFake(size int) *fake {
	f := &fake{
		size: size, comms: 1, messages: map[letter][][]byte{}, meetings: map[meeting]*gathering{},
		memory: map[unsafe.Pointer][]uint64{},
	}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// kill ends the job, as a launcher does.
func (f *fake) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killed = true
	f.changed.Broadcast()
}

func (f *fake) rank(me int) *fakeRank {
	r := &fakeRank{
		f: f, comms: map[mpi.Handle]*fakeComm{}, requests: map[mpi.Request]func() (bool, int32){}, next: 0x100,
	}
	all := make([]int32, f.size)
	for i := range all {
		all[i] = int32(i)
	}
	r.comms[fakeWorld] = &fakeComm{id: 0, members: all, me: int32(me)}
	r.Library = mpi.Library{
		ABI:  mpi.ABI{World: fakeWorld, Byte: fakeByte, InfoNull: 0x30, ErrorsReturn: 0x40, AnySource: -3, Funneled: 2},
		Name: "libfake.so", Version: "Fake 1.0",
	}
	r.Table = &mpi.Table{
		InitThread: func(argc, argv unsafe.Pointer, required int32, provided *int32) int32 {
			return wrong(required != 2)
		},
		Initialized: func(flag *int32) int32 { return 0 },
		Finalize: func() int32 {
			r.finished = true
			return wrong(len(r.requests) > 0)
		},
		ErrorString: func(code int32, text *byte, n *int32) int32 {
			*n = int32(copy(unsafe.Slice(text, 256), "a fault"))
			return 0
		},
		CommSetErrhandler: func(c, h mpi.Handle) int32 { return wrong(r.comms[c] == nil || h != 0x40) },
		CommRank:          func(c mpi.Handle, rank *int32) int32 { *rank = r.comms[c].me; return 0 },
		CommSize:          func(c mpi.Handle, size *int32) int32 { *size = int32(len(r.comms[c].members)); return 0 },
		CommDup:           func(c mpi.Handle, made *mpi.Handle) int32 { return r.split(c, 0, r.comms[c].me, made) },
		CommSplit:         r.split,
		CommSplitType: func(c mpi.Handle, kind, key int32, info mpi.Handle, made *mpi.Handle) int32 {
			return r.split(c, 0, key, made)
		},
		CommFree: func(c *mpi.Handle) int32 { delete(r.comms, *c); *c = 0; return 0 },
		AllocMem: func(size uintptr, info mpi.Handle, p *unsafe.Pointer) int32 {
			m := make([]uint64, size/8+1)
			for i := range m {
				m[i] = 0xdeadbeefdeadbeef
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			*p = unsafe.Pointer(&m[0])
			f.memory[*p] = m
			return 0
		},
		FreeMem: func(p unsafe.Pointer) int32 {
			f.mu.Lock()
			defer f.mu.Unlock()
			bad := f.memory[p] == nil
			delete(f.memory, p)
			return wrong(bad)
		},
		Ibcast: r.broadcast, Iallgather: r.gather, Isend: r.send, Irecv: r.receive,
		Test: func(q *mpi.Request, done *int32, status uintptr) int32 {
			ask := r.requests[*q]
			if ask == nil {
				return fakeCode
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.killed {
				return fakeCode
			}
			ended, code := ask()
			if ended {
				*done = 1
				delete(r.requests, *q)
			}
			return code
		},
		Cancel: func(q *mpi.Request) int32 { return wrong(r.requests[*q] == nil) },
		Wait:   func(q *mpi.Request, status uintptr) int32 { delete(r.requests, *q); return 0 },
	}
	return r
}

func wrong(bad bool) int32 {
	if bad {
		return fakeCode
	}
	return 0
}

// meet finds the gathering of a communicator's next collective operation. f.mu is held.
func (r *fakeRank) meet(c *fakeComm, op string) *gathering {
	key := meeting{c.id, c.number}
	c.number++
	g := r.f.meetings[key]
	if g == nil {
		g = &gathering{op: op, parts: map[int32][]byte{}, made: map[int32]int{}, left: len(c.members)}
		r.f.meetings[key] = g
	}
	if g.op != op {
		panic("the ranks call " + op + " and " + g.op)
	}
	return g
}

func (r *fakeRank) split(h mpi.Handle, color, key int32, made *mpi.Handle) int32 {
	f, c := r.f, r.comms[h]
	f.mu.Lock()
	defer f.mu.Unlock()
	g := r.meet(c, "split")
	g.parts[c.me] = []byte{byte(color), byte(key)}
	f.changed.Broadcast()
	for len(g.parts) < len(c.members) {
		if f.killed {
			return fakeCode
		}
		f.changed.Wait()
	}
	if g.made[color] == 0 {
		g.made[color] = f.comms
		f.comms++
	}
	n := &fakeComm{id: g.made[color]}
	for k := range 256 { // by their keys
		for i := range c.members {
			if p := g.parts[int32(i)]; p[0] == byte(color) && p[1] == byte(k) {
				if int32(i) == c.me {
					n.me = int32(len(n.members))
				}
				n.members = append(n.members, c.members[i])
			}
		}
	}
	r.next++
	*made = mpi.Handle(r.next)
	r.comms[*made] = n
	return 0
}

// begin makes a request of a question for its end, which is asked with f.mu held.
func (r *fakeRank) begin(q *mpi.Request, ask func() (bool, int32)) int32 {
	r.next++
	*q = mpi.Request(r.next)
	r.requests[*q] = ask
	return 0
}

func (r *fakeRank) broadcast(
	p unsafe.Pointer, n int32, kind mpi.Handle, root int32, h mpi.Handle, q *mpi.Request,
) int32 {
	f, c, m := r.f, r.comms[h], unsafe.Slice((*byte)(p), n)
	f.mu.Lock()
	defer f.mu.Unlock()
	g := r.meet(c, "broadcast")
	if c.me == root {
		g.parts[root] = slices.Clone(m)
		g.ready = time.Now()
		if f.delay != nil {
			g.ready = g.ready.Add(f.delay(len(m), len(c.members)))
		}
	}
	return r.begin(q, func() (bool, int32) {
		sent, ok := g.parts[root]
		if !ok || time.Now().Before(g.ready) {
			return false, 0
		}
		if c.me != root {
			copy(m, sent)
		}
		return true, wrong(len(sent) != len(m) || kind != fakeByte)
	})
}

func (r *fakeRank) gather(send unsafe.Pointer, n int32, kind mpi.Handle, recv unsafe.Pointer, recvN int32,
	recvKind mpi.Handle, h mpi.Handle, q *mpi.Request,
) int32 {
	f, c := r.f, r.comms[h]
	all := unsafe.Slice((*byte)(recv), int(recvN)*len(c.members))
	f.mu.Lock()
	defer f.mu.Unlock()
	g := r.meet(c, "gather")
	g.parts[c.me] = slices.Clone(unsafe.Slice((*byte)(send), n))
	return r.begin(q, func() (bool, int32) {
		if len(g.parts) < len(c.members) {
			return false, 0
		}
		for i := range c.members {
			if copy(all[i*int(recvN):][:recvN], g.parts[int32(i)]) != len(g.parts[int32(i)]) {
				return true, fakeCode
			}
		}
		return true, wrong(kind != fakeByte || recvKind != fakeByte)
	})
}

func (r *fakeRank) send(p unsafe.Pointer, n int32, kind mpi.Handle, to, tag int32, h mpi.Handle, q *mpi.Request) int32 {
	f, c := r.f, r.comms[h]
	f.mu.Lock()
	defer f.mu.Unlock()
	at := letter{c.id, c.me, to, tag}
	f.messages[at] = append(f.messages[at], slices.Clone(unsafe.Slice((*byte)(p), n)))
	return r.begin(q, func() (bool, int32) { return true, wrong(kind != fakeByte) })
}

func (r *fakeRank) receive(
	p unsafe.Pointer, n int32, kind mpi.Handle, from, tag int32, h mpi.Handle, q *mpi.Request,
) int32 {
	f, c, m := r.f, r.comms[h], unsafe.Slice((*byte)(p), n)
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.begin(q, func() (bool, int32) {
		for i := range c.members {
			at := letter{c.id, int32(i), c.me, tag}
			if list := f.messages[at]; (from == -3 || from == int32(i)) && len(list) > 0 {
				f.messages[at] = list[1:]
				return true, wrong(copy(m, list[0]) != len(m) || len(list[0]) != len(m))
			}
		}
		return false, 0
	})
}

// job runs f on ranks that are goroutines, and returns what Run returns on each.
func (f *fake) job(ctx context.Context, disturb func(rank int, t *mpi.Table),
	work func(context.Context, *Comm) error,
) []error {
	errs := make([]error, f.size)
	var wg sync.WaitGroup
	for me := range f.size {
		r := f.rank(me)
		if disturb != nil {
			disturb(me, r.Table)
		}
		wg.Go(func() {
			errs[me] = run(ctx, &r.Library, work)
			if e := errs[me]; e != nil && !isAgreed(e) {
				time.AfterFunc(100*time.Millisecond, f.kill) // as a launcher does
			}
		})
	}
	wg.Wait()
	return errs
}

// onRanks runs work on size ranks, which must succeed and give all memory back.
func onRanks(t *testing.T, size int, work func(ctx context.Context, c *Comm) error) {
	t.Helper()
	f := newFake(size)
	for rank, err := range f.job(t.Context(), nil, work) {
		if err != nil {
			t.Fatalf("rank %d of %d: %v", rank, size, err)
		}
	}
	if n := len(f.memory); n != size { // that of the alarm lives as long as the process
		t.Errorf("%d ranks left %d pieces of memory", size, n)
	}
}

// failing makes call number n of the function of one name fail, of a table; n counts from 0. It
// returns how many calls there were.
func failing(table *mpi.Table, name string, n int) *int {
	calls := new(int)
	field := reflect.ValueOf(table).Elem().FieldByName(name)
	whole := reflect.ValueOf(field.Interface())
	field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
		*calls++
		if *calls-1 == n {
			return []reflect.Value{reflect.ValueOf(int32(fakeCode))}
		}
		return whole.Call(args)
	}))
	return calls
}

var errTest = errors.New("planted")
