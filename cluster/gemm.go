package cluster

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// MatMul is the product a*b of matrices on one grid. s is the rank's device. A function given by
// linalg.WithProgress learns how far it is.
func MatMul[T linalg.Element](ctx context.Context, s *linalg.Session, a, b *Matrix[T]) (*Matrix[T], error) {
	if err := check("MatMul", s, a, b); err != nil {
		return nil, err
	}
	c, err := New[T](a.g, a.rows, b.cols)
	if err != nil {
		return nil, err
	}
	return c, Gemm(ctx, s, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c)
}

// Gemm makes c = alpha*op(a)*op(b) + beta*c, where op is the matrix or, with blas.Trans or
// blas.ConjTrans, its transpose, for matrices on one grid. c is neither a nor b. s is the rank's
// device. A function given by linalg.WithProgress learns how far it is. After an error the elements
// of c are undefined.
func Gemm[T linalg.Element](
	ctx context.Context, s *linalg.Session, alpha T, tA blas.Transpose, a *Matrix[T], tB blas.Transpose, b *Matrix[T],
	beta T, c *Matrix[T],
) error {
	if err := check("Gemm", s, a, b, c); err != nil {
		return err
	}
	for _, t := range []blas.Transpose{tA, tB} {
		if t != blas.NoTrans && t != blas.Trans && t != blas.ConjTrans {
			return c.g.c.alike("%w", shapeError("%q is no transposition: use blas.NoTrans or blas.Trans", byte(t)))
		}
	}
	m, k := transposedDims(a, tA)
	kb, n := transposedDims(b, tB)
	switch {
	case a.g != b.g || a.g != c.g || k != kb || c.rows != m || c.cols != n:
		return c.g.c.alike("%w", shapeError("Gemm of %s and %s into %s", a, b, c))
	case c == a || c == b:
		return c.g.c.alike("%w: Gemm", linalg.ErrOverlap)
	}
	if err := c.begin(ctx, "Gemm", k, tA, tB, alpha, beta); err != nil {
		return err
	}
	if alpha == 0 || k == 0 { // neither a nor b is read
		return c.g.c.Agree(ctx, c.scaleBy(ctx, s, beta))
	}
	var err error
	if tA != blas.NoTrans {
		if a, err = Transpose(ctx, a); err != nil {
			return err
		}
	}
	if tB != blas.NoTrans {
		if b, err = Transpose(ctx, b); err != nil {
			return err
		}
	}
	chains := c
	if alpha != 1 || beta != 0 {
		if chains, err = New[T](c.g, c.rows, c.cols); err != nil {
			return err
		}
	} else {
		clear(c.local.Data)
	}
	if err := chains.accumulate(ctx, s, a, b); err != nil {
		return err
	}
	if chains != c {
		p, l := chains.local, c.local
		host.Finish(l.Rows, l.Cols, alpha, p.Data, p.Stride, beta, l.Data, l.Stride)
	}
	return nil
}

func transposedDims[T linalg.Element](m *Matrix[T], t blas.Transpose) (rows, cols int) {
	if t == blas.NoTrans {
		return m.rows, m.cols
	}
	return m.cols, m.rows
}

// scaleBy makes c beta*c, and zero where beta is.
func (m *Matrix[T]) scaleBy(ctx context.Context, s *linalg.Session, beta T) error {
	switch beta {
	case 0:
		clear(m.local.Data)
	case 1:
	default:
		local, err := linalg.Scale(beta, m.local, linalg.On(s), linalg.WithContext(ctx))
		if err != nil {
			return err
		}
		copyMatrix(m.local, local)
	}
	return nil
}

// accumulate makes m, which is zero, the chains of the product of a and b.
func (m *Matrix[T]) accumulate(ctx context.Context, s *linalg.Session, a, b *Matrix[T]) error {
	comm := m.g.c
	p := &product[T]{m: m, s: s, a: a, b: b, width: min(m.g.block, a.cols)}
	defer p.release()
	if err := comm.Agree(ctx, p.prepare()); err != nil {
		return err
	}
	if err := p.run(ctx); err != nil {
		return comm.fail(err)
	}
	for i := range p.panels {
		comm.free(p.panels[i].memory)
	}
	return nil
}
