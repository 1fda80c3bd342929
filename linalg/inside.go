package linalg

import (
	"cmp"
	"context"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside/hooks"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/kernels"
)

// What packages beside this one need, and no program, goes to them through package hooks.
func init() {
	hooks.Progress = progress
	hooks.Sharer = func(s any) *outofcore.Device { return s.(*Session).sharer }
	hooks.Kernel = func(s any, src *backend.Source) (*backend.Kernel, error) { return s.(*Session).kernelOf(src) }
	hooks.Solver = func(s any) solve.Solver[float64] {
		return solver[float64](context.Background(), s.(*Session), 1)
	}
	hooks.Launch = func(s any, k *backend.Kernel, g backend.Grid, args []backend.Arg) error {
		return s.(*Session).launchArgs(k, g, args)
	}
	hooks.Scratch = func(s any, rows, cols int, elem reflect.Type, x any, f func() error) error {
		return s.(*Session).withScratch(rows, cols, elem, x.(arrayArg).untyped(), f)
	}
	hooks.Fail = func(x any, elem reflect.Type, err error) {
		s := &Session{core: &core{failed: cmp.Or(err, errArgument("Failed without an error"))}}
		*x.(arrayArg).untyped() = array{s: s, view: true, elem: elem}
	}
	hooks.CheckInputs = checkInputs
	hooks.Into = func(ctx context.Context, s any, op *kernels.Elementwise, alpha float64, matrices any) error {
		switch m := matrices.(type) {
		case *[3]Matrix[float32]:
			return into(ctx, s.(*Session), op, alpha, m)
		case *[3]Matrix[float64]:
			return into(ctx, s.(*Session), op, alpha, m)
		case *[3]Matrix[int32]:
			return into(ctx, s.(*Session), op, alpha, m)
		}
		panic("unreachable")
	}
}

// into makes m[0] what op gives of the others: the transpose of m[1] where op is nil.
func into[T Element](ctx context.Context, s *Session, op *kernels.Elementwise, alpha float64, m *[3]Matrix[T]) error {
	r := request[T]{kernel: transposeKernel{}, update: update{alpha: alpha}, n: 2, matrices: *m}
	if op != nil {
		r.kernel, r.n = elementwiseKernel{op}, 1+op.Inputs
	}
	return runRequest(ctx, s, &r)
}
