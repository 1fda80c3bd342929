package cluster

import (
	"context"

	"github.com/tandem-gpu/tandem/linalg"
)

// Add is a + b, which have one shape and one grid. s is the rank's device.
func Add[T linalg.Element](ctx context.Context, s *linalg.Session, a, b *Matrix[T]) (*Matrix[T], error) {
	if a.g != b.g || a.rows != b.rows || a.cols != b.cols {
		return nil, a.g.c.alike("%w", shapeError("Add of %s and %s", a, b))
	}
	return a.locally(ctx, "Add", func() (linalg.Matrix[T], error) {
		return linalg.AddContext(ctx, s, a.local, b.local)
	})
}

// Scale is alpha*a. s is the rank's device.
func Scale[T linalg.Element](ctx context.Context, s *linalg.Session, alpha T, a *Matrix[T]) (*Matrix[T], error) {
	return a.locally(ctx, "Scale", func() (linalg.Matrix[T], error) {
		return linalg.ScaleContext(ctx, s, alpha, a.local)
	}, alpha)
}

// locally makes a matrix of m's shape of what each rank computes of its own part.
func (m *Matrix[T]) locally(ctx context.Context, op string, f func() (linalg.Matrix[T], error), arguments ...any,
) (*Matrix[T], error) {
	if err := m.begin(ctx, op, arguments...); err != nil {
		return nil, err
	}
	local, err := f()
	if err := m.g.c.Agree(ctx, err); err != nil {
		return nil, err
	}
	return &Matrix[T]{g: m.g, rows: m.rows, cols: m.cols, local: local}, nil
}
