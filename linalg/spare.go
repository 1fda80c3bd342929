package linalg

import (
	"cmp"
	"reflect"
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// spares is memory of the device that operations on arrays have used for themselves, kept for later
// ones of the same queue: a new buffer is written before its first use, and a processor finds its
// pages anew. Commands of a queue run in order, so that a buffer may be used again as soon as the
// commands of the operation are enqueued.
type spares struct {
	most    int64 // bytes that are kept
	mu      sync.Mutex
	buffers []*backend.Buffer // the one that was given last is the last
	bytes   int64
}

// newSpares keeps 64 MiB, or more where that is a 64th of the device's memory; on a GPU with memory
// of its own, where a buffer costs more, an eighth.
func newSpares(i *backend.Info) *spares {
	part := int64(64)
	if i.GPU && !i.UnifiedMemory {
		part = 8
	}
	return &spares{most: max(64<<20, i.Memory/part)}
}

// take is a buffer of at least n bytes of any values: the smallest that is there, nil where none
// is.
func (p *spares) take(n int64) *backend.Buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := -1
	for i, b := range p.buffers {
		if b.Len() >= n && (at < 0 || b.Len() < p.buffers[at].Len()) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	b := p.buffers[at]
	p.buffers = slices.Delete(p.buffers, at, at+1)
	p.bytes -= b.Len()
	return b
}

// scratch is a spare buffer of at least n bytes, or a new one.
func (s *Session) scratch(n int64) (*backend.Buffer, error) {
	if b := s.spares.take(n); b != nil {
		return b, nil
	}
	return s.device.Alloc(n)
}

// give keeps b, in the place of those that have waited the longest where there is not room for all.
func (p *spares) give(b *backend.Buffer) error {
	if b.Len() > p.most { // nor are the others to make room for it
		return b.Free()
	}
	p.mu.Lock()
	p.buffers = append(p.buffers, b)
	p.bytes += b.Len()
	var old []*backend.Buffer
	for p.bytes > p.most {
		old = append(old, p.buffers[0])
		p.bytes -= p.buffers[0].Len()
		p.buffers = slices.Delete(p.buffers, 0, 1)
	}
	p.mu.Unlock()
	return freeAll(old)
}

// spare keeps the memory of what an operation made for itself. Its error is the operation's where
// that has none.
func (a *array) spare(err *error) {
	if e := a.s.spares.give(a.buf); *err == nil {
		*err = e
	}
}

// close frees all.
func (p *spares) close() error {
	p.mu.Lock()
	old := p.buffers
	p.buffers, p.bytes = nil, 0
	p.mu.Unlock()
	return freeAll(old)
}

// withScratch makes x a packed array of spare memory, which ends with f.
func (s *Session) withScratch(rows, cols int, elem reflect.Type, x *array, f func() error) error {
	size, err := arraySize(s, rows, cols, elem)
	if err != nil {
		return err
	}
	buf, err := s.scratch(size)
	if err != nil {
		return err
	}
	*x = array{s: s, buf: buf, rows: rows, cols: cols, stride: cols, view: true, elem: elem}
	err = f()
	return cmp.Or(err, s.spares.give(buf))
}

// freeAll frees what there is of buffers. The error is the first.
func freeAll(buffers []*backend.Buffer) (err error) {
	for _, b := range buffers {
		if b != nil {
			err = cmp.Or(err, b.Free())
		}
	}
	return err
}
