// Package hooks is what linalg does for package inside, and for linalg/files: linalg fills it in.
// Without it linalg would export this. A session is a *linalg.Session, an array a *linalg.Array[T].
package hooks

import (
	"context"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/kernels"
)

var (
	// Progress is the function that linalg.WithProgress gave, or nil.
	Progress func(ctx context.Context) func(fraction float64)
	// Sharer is the session's first device, as calls on host matrices share it.
	Sharer func(session any) *outofcore.Device
	// Kernel is src compiled, once in a session. It is the session's.
	Kernel func(session any, src *backend.Source) (*backend.Kernel, error)
	// Solver is the solver of the session's calls.
	Solver func(session any) solve.Solver[float64]
	// Launch is Session.Launch of arguments as they are.
	Launch func(session any, k *backend.Kernel, g backend.Grid, args []backend.Arg) error
	// Scratch makes array a packed one of spare memory, and gives it back after f.
	Scratch func(session any, rows, cols int, elem reflect.Type, array any, f func() error) error
	// Fail makes array one that could not be made.
	Fail func(array any, elem reflect.Type, err error)
	// CheckInputs says whether op takes n matrices of elements of type elem.
	CheckInputs func(op *kernels.Elementwise, elem reflect.Type, n int) error
	// Into makes the first of matrices, a *[3]linalg.Matrix[T], what op gives of the others: its
	// transpose where op is nil.
	Into func(ctx context.Context, session any, op *kernels.Elementwise, alpha float64, matrices any) error
)
