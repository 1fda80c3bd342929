package linalg_test

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// TestOptionsThatDoNotBelong: an option that a call does not take is an error that names both.
func TestOptionsThatDoNotBelong(t *testing.T) {
	s, err := linalg.Open("cpu")
	noError(t, err)
	defer s.Close()
	m, on, batch := linalg.NewMatrix[float32](2, 2, []float32{2, 1, 1, 2}), linalg.On(s), linalg.Batch(2)
	a, err := linalg.Upload(s, m)
	noError(t, err)
	lu, err := linalg.FactorLU(m, on)
	noError(t, err)
	k := new(backend.Kernel)
	type half = linalg.Float16
	b := linalg.NewMatrix[int8](2, 2, nil)
	for want, f := range map[string]func() error{
		"Transpose does not take Batch":      func() error { return fails(linalg.Transpose(m, on, batch)) },
		"Add does not take Batch":            func() error { return fails(linalg.Add(m, m, batch)) },
		"MatMulInt8 does not take Batch":     func() error { return fails(linalg.MatMulInt8(b, b, batch)) },
		"MatMulMixed does not take Batch":    func() error { return fails(linalg.MatMulMixed[half](m, m, batch)) },
		"FactorLU does not take Batch":       func() error { return fails(linalg.FactorLU(m, batch)) },
		"SingularValues does not take Batch": func() error { return fails(linalg.SingularValues(m, batch)) },
		"LeastSquares does not take Batch":   func() error { return fails(linalg.LeastSquares(m, m, batch)) },
		"LU.Solve does not take On":          func() error { return fails(lu.Solve(m, on)) },
		"SolveTrans does not take Batch":     func() error { return fails(lu.SolveTrans(m, batch)) },
		"Array.Mul does not take On":         func() error { return a.Mul(a, a, on) },
		"Session.Wait does not take Batch":   func() error { return s.Wait(batch) },
		"Session.Launch does not take On":    func() error { return s.Launch(k, backend.Grid{}, on) },
		"CompileSource does not take Batch":  func() error { return fails(s.CompileSource(nil, batch)) },
	} {
		refused(t, want, f(), backend.ErrArgument, want)
	}
	if _, err := linalg.MatMul(m, m, linalg.Option{}, linalg.On(nil)); err != nil {
		t.Errorf("options that say nothing: %v", err)
	}
}

// fails is the error of a call.
func fails(_ any, err error) error { return err }

// TestOptionsAllocate: options of a small call take no memory.
func TestOptionsAllocate(t *testing.T) {
	s, err := linalg.Open("cpu")
	noError(t, err)
	defer s.Close()
	m, c := linalg.NewMatrix[float64](8, 8, nil), linalg.NewMatrix[float64](8, 8, nil)
	ctx := context.Background()
	n := testing.AllocsPerRun(100, func() {
		noError(t, linalg.Gemm(1, blas.NoTrans, m, blas.NoTrans, m, 0, c, linalg.On(s), linalg.WithContext(ctx)))
		noError(t, linalg.AddMul(m, m, c, linalg.On(s), linalg.Batch(1)))
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
