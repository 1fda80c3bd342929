package backendtest

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/faulttest/fault"
)

// Use does a little with d, and releases all that it made. fill is a kernel of a buffer a and two
// int32 n and v, which makes n elements a[i] = i + v; with register it is launched on registered
// memory, too.
func Use(d *backend.Device, fill *backend.Source, register bool) error {
	return fault.Try(func(u *fault.Use) {
		q, k := parts(u, d, fill)
		b := fault.Keep(u, fault.Must(d.Alloc(400)))
		bufs, mem := []*backend.Buffer{b}, make([]int32, 100)
		if register {
			bufs = append(bufs, fault.Keep(u, fault.Must(d.Register(backend.Bytes(mem)))))
		}
		for _, buf := range bufs {
			fault.Check(q.Launch(k, backend.Grid1(10, 10), backend.Buf(buf), backend.Int32(100), backend.Int32(7)))
		}
		record(u, q)
		got := make([]int32, 100)
		fault.Check(q.Read(backend.Bytes(got), b, 0))
		fault.Check(q.Wait())
		for i := range got {
			if got[i] != int32(i)+7 || register && mem[i] != int32(i)+7 {
				fault.Check(fmt.Errorf("element %d is %d in the buffer, %d in host memory, want %d", i, got[i], mem[i],
					i+7))
			}
		}
	})
}

// parts is a queue of d and a kernel.
func parts(u *fault.Use, d *backend.Device, s *backend.Source) (*backend.Queue, *backend.Kernel) {
	q := fault.Must(d.NewQueue())
	u.Later(q.Close)
	k := fault.Must(d.Compile(s))
	u.Later(k.Release)
	return q, k
}

func record(u *fault.Use, q *backend.Queue) *backend.Event {
	ev := fault.Must(q.Record())
	u.Later(ev.Release)
	return ev
}

// UseMore makes the calls that [Use] does not. inc is a kernel of the same parameters, which makes
// a[i] += v.
func UseMore(d *backend.Device, inc *backend.Source) error {
	return fault.Try(func(u *fault.Use) {
		q, k := parts(u, d, inc)
		off := int64(d.Info().OffsetAlign)
		b, h := fault.Keep(u, fault.Must(d.Alloc(2*off))), fault.Keep(u, fault.Must(d.AllocHost(4)))
		h.Bytes()[0] = 5
		first := record(u, q)
		fault.Check(q.Write(b, off, []byte{1, 0, 0, 0}))
		fault.Check(q.WriteAsync(b, off, h, 0, 4))
		fault.Check(q.Launch(k, backend.Grid1(1, 1), backend.At(b, off), backend.Int32(1), backend.Int32(2)))
		fault.Check(q.Copy(b, 0, b, off, 4))
		fault.Check(q.ReadAsync(h, 0, b, 0, 4))
		fault.Check(q.WaitEvent(first))
		fault.Must(record(u, q).Since(first))
		fault.Check(q.Wait())
		if got := h.Bytes()[0]; got != 7 {
			fault.Check(fmt.Errorf("the sum is %d, want 7", got))
		}
	})
}

// UseOfLost makes every call that a lost device refuses, and returns the errors.
func UseOfLost(d *backend.Device, q *backend.Queue, b, h *backend.Buffer, k *backend.Kernel, ev *backend.Event,
) []error {
	_, err1 := d.Alloc(1)
	_, err2 := d.AllocHost(1)
	_, err3 := d.Register(make([]byte, 1))
	_, err4 := d.Compile(&backend.Source{Name: "k", Text: "k"})
	_, err5 := d.NewQueue()
	_, err6 := q.Record()
	_, err7 := ev.Since(ev)
	return []error{
		err1, err2, err3, err4, err5, err6, err7, ev.Wait(), q.Wait(), q.WaitEvent(ev), q.Write(b, 0, []byte{1}),
		q.Read([]byte{1}, b, 0),
		q.WriteAsync(b, 0, h, 0, 1), q.ReadAsync(h, 0, b, 0, 1), q.Copy(b, 0, b, 8, 1),
		q.Launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Int32(1), backend.Int32(1)),
	}
}
