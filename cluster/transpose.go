package cluster

import (
	"context"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// Transpose is a', on a's grid. Every rank sends each other one the blocks that it will have,
// transposed: in round d to the rank d further on, so that each sends one message and receives one.
func Transpose[T linalg.Element](ctx context.Context, a *Matrix[T]) (*Matrix[T], error) {
	if err := a.check("Transpose"); err != nil {
		return nil, err
	}
	c := a.g.c
	t, err := New[T](a.g, a.cols, a.rows)
	if err != nil {
		return nil, err
	}
	if err := a.begin(ctx, "Transpose"); err != nil {
		return nil, err
	}
	most := a.largest() // of a or t; a message is a part of both
	memory, err := c.memory(2 * most)
	if err != nil {
		return nil, c.fail(err)
	}
	out, in := memory[:most], memory[most:]
	for d := range c.size {
		to, from := (c.rank+d)%c.size, (c.rank-d+c.size)%c.size
		sent, received := out[:a.pack(to, out)], in[:a.shared(from)]
		if to == c.rank {
			received = sent
		} else if err := c.wait(ctx, append(c.send(to, sent), c.receive(from, received)...)...); err != nil {
			return nil, err
		}
		t.unpack(a, from, received)
	}
	c.free(memory)
	return t, nil
}

// pack puts the blocks of a that are to's in its transpose into memory, transposed, in the
// order of a's rows of blocks. It returns their number of bytes.
func (a *Matrix[T]) pack(to int, memory []byte) (n int) {
	dst := backend.Elems[T](memory)
	size := element.TypeOf[T]().Size()
	a.eachShared(a.g.c.rank, to, func(r, c span) {
		block := a.local.Slice(r.local, r.local+r.n, c.local, c.local+c.n)
		host.Transpose(r.n, c.n, block.Data, block.Stride, dst[n:], r.n)
		n += r.n * c.n
	})
	return n * size
}

// unpack is the other side of pack: t has the blocks, and from sent them.
func (t *Matrix[T]) unpack(a *Matrix[T], from int, memory []byte) {
	src := backend.Elems[T](memory)
	a.eachShared(from, t.g.c.rank, func(r, c span) {
		// the block's rows in a are its columns in t
		at := t.local.Slice(localAt(c, t.g.block, t.g.rows), localAt(c, t.g.block, t.g.rows)+c.n,
			localAt(r, t.g.block, t.g.cols), localAt(r, t.g.block, t.g.cols)+r.n)
		copyMatrix(at, linalg.NewMatrix(c.n, r.n, src[:r.n*c.n]))
		src = src[r.n*c.n:]
	})
}

// localAt is where a block of the matrix lies among those of the part that has it.
func localAt(s span, block, parts int) int { return s.from / block / parts * block }

// shared is the number of bytes that from has of a and this rank of its transpose.
func (a *Matrix[T]) shared(from int) (n int) {
	a.eachShared(from, a.g.c.rank, func(r, c span) { n += r.n * c.n })
	return n * element.TypeOf[T]().Size()
}

// eachShared calls f for the blocks that from has of a and to of its transpose.
func (a *Matrix[T]) eachShared(from, to int, f func(rows, cols span)) {
	row, col := a.g.place(to)
	a.eachBlock(from, func(r, c span) {
		if c.from/a.g.block%a.g.rows == row && r.from/a.g.block%a.g.cols == col {
			f(r, c)
		}
	})
}
