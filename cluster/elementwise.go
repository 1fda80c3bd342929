package cluster

import (
	"context"

	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// Add is a + b, which have one shape and one grid. s is the rank's device.
func Add[T linalg.Element](ctx context.Context, s *linalg.Session, a, b *Matrix[T]) (*Matrix[T], error) {
	return Elementwise(ctx, s, kernels.Add, 0, a, b)
}

// Scale is alpha*a. s is the rank's device.
func Scale[T linalg.Element](ctx context.Context, s *linalg.Session, alpha T, a *Matrix[T]) (*Matrix[T], error) {
	return Elementwise(ctx, s, kernels.Scale, alpha, a)
}

// Elementwise is what an operation of package kernels' table gives of matrices of one shape and one
// grid: each rank computes its own part. alpha counts where the operation has it. s is the rank's
// device.
func Elementwise[T linalg.Element](ctx context.Context, s *linalg.Session, op *kernels.Elementwise, alpha T,
	in ...*Matrix[T],
) (*Matrix[T], error) {
	switch {
	case op == nil:
		return nil, alike(errArgument("the operation is nil"), in...)
	case len(in) != op.Inputs:
		return nil, alike(shapeError("%s takes %d matrices, not %d", op.Name, op.Inputs, len(in)), in...)
	}
	if err := check(op.Name, s, in...); err != nil {
		return nil, err
	}
	m := in[0]
	var local []linalg.Matrix[T]
	for _, x := range in {
		if x.g != m.g || x.rows != m.rows || x.cols != m.cols {
			return nil, m.g.c.alike("%w", shapeError("%s of %s and %s", op.Name, m, x))
		}
		local = append(local, x.local)
	}
	if err := m.begin(ctx, op.Name, alpha); err != nil {
		return nil, err
	}
	part, err := linalg.Elementwise(op, alpha, local, linalg.On(s), linalg.WithContext(ctx))
	if err := m.g.c.Agree(ctx, err); err != nil {
		return nil, err
	}
	return &Matrix[T]{g: m.g, rows: m.rows, cols: m.cols, local: part}, nil
}
