package cudasim_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/simapi"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

// A cost is what an operation asks of CUDA.
type cost struct {
	launches, waits, allocs int
	copies                  int // of any kind
	up, down                int // bytes
}

func (c cost) String() string {
	return fmt.Sprintf("{launches: %d, waits: %d, allocs: %d, copies: %d, up: %d, down: %d}", c.launches, c.waits,
		c.allocs, c.copies, c.up, c.down)
}

// count adds a call. It does not run kernels: costs depend on shapes alone.
func (c *cost) count(call *dltest.Call) []reflect.Value {
	bytes := func() int { return int(call.Args[2].Uint()) }
	switch call.Name {
	case "cuLaunchKernel":
		c.launches++
		return call.Fail(capi.Success)
	case "cuStreamSynchronize", "cuEventSynchronize":
		c.waits++
	case "cuMemAlloc", "cuMemAllocAsync", "cuMemHostAlloc", "cuMemHostRegister":
		c.allocs++
	case "cuMemcpyHtoDAsync":
		c.copies++
		c.up += bytes()
	case "cuMemcpyDtoHAsync":
		c.copies++
		c.down += bytes()
	case "cuMemcpyDtoDAsync":
		c.copies++
	}
	return call.Run()
}

// Operations launch, copy, wait and allocate as often as they did when this was written: more of it
// makes them slow on a GPU, and does not show on a simulated one. LU and Cholesky bring their
// matrix up once and down once, whatever its size, QR what a panel leaves to the device, too.
func TestCosts(t *testing.T) {
	api := simapi.New(ptxsim.Config{})
	d, err := capi.NewDriver("cudasim", "", "", func() (*capi.API, error) { return api, nil }).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := linalg.NewSession(d)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	zeros := func(rows, cols int) *linalg.Array[float64] {
		x, err := linalg.NewArray[float64](s, rows, cols)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	const n, few = 1024, 128
	bg := context.Background()
	large, small := linalg.NewMatrix[float64](n, n, nil), linalg.NewMatrix[float64](few, few, nil)
	gonumblas.Use(s, gonumblas.Crossover(512))
	defer gonumblas.Restore()
	general := linalg.ToDense(large).RawMatrix()
	var qr *linalg.QR[float64]
	x, y, z := zeros(n, n), zeros(n, n), zeros(n, n)
	row, result, one := zeros(1, n*n), zeros(1, n*n), zeros(1, 1)
	for _, test := range []struct {
		name string
		want cost
		run  func() error
	}{
		{
			"LU",
			cost{launches: 159, waits: 7, allocs: 3, copies: 3, up: n * n * 8, down: n*n*8 + 4*n + 4},
			func() error { _, err := linalg.FactorLU(large, linalg.On(s), linalg.WithContext(bg)); return err },
		},
		{
			"Cholesky",
			cost{launches: 99, waits: 7, allocs: 3, copies: 3, up: n * n * 8, down: n*n*8 + 4},
			func() error { _, err := linalg.FactorCholesky(large, linalg.On(s), linalg.WithContext(bg)); return err },
		},
		{
			"QR", // for each panel but the last a block goes up, of the rows that are left and 32 more; and 2 ones
			cost{launches: 308, waits: 69, allocs: 2, copies: 65, up: n*n*8 + 31*(544+32)*32*8 + 2*8, down: n * n * 8},
			func() (err error) { qr, err = linalg.FactorQR(large, linalg.On(s), linalg.WithContext(bg)); return err },
		},
		{
			"Q of QR", // the unit matrix meets the blocks of all panels
			cost{launches: 159, waits: 39, allocs: 2, copies: 35, up: n*n*8 + 32*(528+32)*32*8 + 2*8, down: n * n * 8},
			func() error { _, err := qr.Q(); return err },
		},
		{
			"LU by gonum",
			cost{launches: 159, waits: 7, allocs: 3, copies: 3, up: n * n * 8, down: n*n*8 + 4*n + 4},
			func() error { lapack64.Getrf(general, make([]int, n)); return gonumblas.Err() },
		},
		{
			"MatMul of the host",
			cost{launches: 1, waits: 1, copies: 2, up: 2 * few * few * 8, down: few * few * 8},
			func() error { _, err := linalg.MatMul(small, small, linalg.On(s), linalg.WithContext(bg)); return err },
		},
		{
			"Transpose of the host",
			cost{launches: 1, waits: 1, copies: 2, up: few * few * 8, down: few * few * 8},
			func() error { _, err := linalg.Transpose(small, linalg.On(s), linalg.WithContext(bg)); return err },
		},
		{"Mul", cost{launches: 1}, func() error { return z.Mul(x, y) }},
		{"Transpose", cost{launches: 1}, func() error { return z.Transpose(x) }},
		{"Sum", cost{launches: 2}, func() error { return array.Sum(one, x) }},
		{"Max", cost{launches: 2}, func() error { return array.Max(one, x) }},
		{"Sort", cost{launches: 26}, func() error { return array.Sort(result, row) }},
		{"CumSum", cost{launches: 3}, func() error { return array.CumSum(result, row) }},
		{"Exp", cost{launches: 1}, func() error { return array.Exp(z, x) }},
	} {
		var c cost
		restore := dltest.Wrap(api, func(call *dltest.Call) []reflect.Value { return c.count(call) })
		err := test.run() // compiles
		if err == nil {
			c = cost{}
			err = test.run()
		}
		restore()
		if err != nil || c != test.want {
			t.Errorf("%s costs %v, want %v: %v", test.name, c, test.want, err)
		}
	}
}
