package backendtest

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
)

// also makes the error of f, a Close or the like, a part of err.
func also(err *error, f func() error) { *err = errors.Join(*err, f()) }

// Use does a little with d, and releases all that it made. fill is a kernel of a buffer a and two
// int32 n and v, which makes n elements a[i] = i + v; with register it is launched on registered
// memory, too.
func Use(d *backend.Device, fill *backend.Source, register bool) (err error) {
	q, err := d.NewQueue()
	if err != nil {
		return err
	}
	defer also(&err, q.Close)
	k, err := d.Compile(fill)
	if err != nil {
		return err
	}
	defer also(&err, k.Release)
	b, err := d.Alloc(400)
	if err != nil {
		return err
	}
	defer also(&err, b.Free)
	bufs, mem := []*backend.Buffer{b}, make([]int32, 100)
	if register {
		h, err := d.Register(backend.Bytes(mem))
		if err != nil {
			return err
		}
		defer also(&err, h.Free)
		bufs = append(bufs, h)
	}
	for _, buf := range bufs {
		if err := q.Launch(k, backend.Grid1(10, 10), backend.Buf(buf), backend.Int32(100),
			backend.Int32(7)); err != nil {
			return err
		}
	}
	e, err := q.Record()
	if err != nil {
		return err
	}
	defer also(&err, e.Release)
	got := make([]int32, 100)
	if err := q.Read(backend.Bytes(got), b, 0); err != nil {
		return err
	}
	if err := q.Wait(); err != nil {
		return err
	}
	for i := range got {
		if got[i] != int32(i)+7 || register && mem[i] != int32(i)+7 {
			return fmt.Errorf("element %d is %d in the buffer, %d in host memory, want %d", i, got[i], mem[i], i+7)
		}
	}
	return nil
}

// UseMore makes the calls that [Use] does not. inc is a kernel of the same parameters, which makes
// a[i] += v.
func UseMore(d *backend.Device, inc *backend.Source) (err error) {
	q, err := d.NewQueue()
	if err != nil {
		return err
	}
	defer also(&err, q.Close)
	k, err := d.Compile(inc)
	if err != nil {
		return err
	}
	defer also(&err, k.Release)
	off := int64(d.Info().OffsetAlign)
	b, err := d.Alloc(2 * off)
	if err != nil {
		return err
	}
	defer also(&err, b.Free)
	h, err := d.AllocHost(4)
	if err != nil {
		return err
	}
	defer also(&err, h.Free)
	h.Bytes()[0] = 5
	first, err := q.Record()
	if err != nil {
		return err
	}
	defer also(&err, first.Release)
	for _, step := range []func() error{
		func() error { return q.Write(b, off, []byte{1, 0, 0, 0}) },
		func() error { return q.WriteAsync(b, off, h, 0, 4) },
		func() error {
			return q.Launch(k, backend.Grid1(1, 1), backend.At(b, off), backend.Int32(1), backend.Int32(2))
		},
		func() error { return q.Copy(b, 0, b, off, 4) },
		func() error { return q.ReadAsync(h, 0, b, 0, 4) },
		func() error { return q.WaitEvent(first) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	last, err := q.Record()
	if err != nil {
		return err
	}
	defer also(&err, last.Release)
	if _, err := last.Since(first); err != nil {
		return err
	}
	if err := q.Wait(); err != nil {
		return err
	}
	if got := h.Bytes()[0]; got != 7 {
		return fmt.Errorf("the sum is %d, want 7", got)
	}
	return nil
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
