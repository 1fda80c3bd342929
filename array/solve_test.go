package array

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// Solutions of arrays have the bits of linalg's factors of matrices.
func TestSolve(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testSolve[float32](t, s, 77)
		testSolve[float64](t, s, 77)
	})
}

func testSolve[T Float](t *testing.T, s *linalg.Session, guard T) {
	rng := rand.New(rand.NewPCG(5, 7))
	for n, size := range [][2]int{{1, 1}, {5, 3}, {40, 7}, {0, 2}, {3, 0}} {
		rows, cols := size[0], size[1]
		a, b := normal[T](rng, rows, rows), normal[T](rng, rows, cols)
		onA, onB := upload(t, s, rows, rows, n%2 == 0, a.Data), upload(t, s, rows, cols, n%2 == 1, b.Data)
		lu, err := linalg.FactorLU(a)
		try(t, err)
		solution, err := lu.Solve(b)
		try(t, err)
		inverse, err := lu.Inverse()
		try(t, err)
		c := newTarget(t, s, rows, cols, true, guard)
		try(t, Solve(c.Array, onA, onB))
		c.check(t, "Solve", solution.Data)
		c = newTarget(t, s, rows, rows, true, guard)
		try(t, Inv(c.Array, onA))
		c.check(t, "Inv", inverse.Data)
		eigenvalues, err := linalg.EigenvaluesSym(a)
		try(t, err)
		c = newTarget(t, s, rows, 1, true, guard)
		try(t, EigenvaluesSym(c.Array, onA))
		c.check(t, "EigenvaluesSym", eigenvalues)
		singular, err := linalg.SingularValues(b)
		try(t, err)
		c = newTarget(t, s, 1, len(singular), true, guard)
		try(t, SingularValues(c.Array, onB))
		c.check(t, "SingularValues", singular)
		testPinv(t, b, onB, guard)
		try(t, Solve(onB, onA, onB))
		equal(t, "Solve in place", onB, solution.Data)
	}
}

func testPinv[T Float](t *testing.T, b linalg.Matrix[T], onB *Array[T], guard T) {
	svd, err := linalg.FactorSVD(b)
	try(t, err)
	unit := linalg.NewMatrix[T](b.Rows, b.Rows, nil)
	for i := range b.Rows {
		unit.Set(i, i, 1)
	}
	for _, relative := range []T{0, 0.5} {
		want, err := svd.Solve(unit, relative)
		try(t, err)
		c := newTarget(t, onB.Session(), b.Cols, b.Rows, true, guard)
		try(t, Pinv(c.Array, onB, relative))
		c.check(t, "Pinv", want.Data)
	}
}

// normal is a matrix of normal numbers.
func normal[T Float](rng *rand.Rand, rows, cols int) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = T(rng.NormFloat64())
	}
	return m
}

func TestSolveRefuses(t *testing.T) {
	s, other := openCPU(t), openCPU(t)
	a := newTarget(t, s, 3, 3, true, 77.0)
	singular := upload(t, s, 3, 3, false, []float64{1, 2, 3, 2, 4, 6, 1, 0, 1})
	far := upload(t, other, 3, 3, false, make([]float64, 9))
	wide := upload(t, s, 3, 4, false, make([]float64, 12))
	for _, c := range []struct {
		err, want error
		text      string
	}{
		{Solve(a.Array, singular, a.Array), linalg.ErrSingular, "pivot 2 of 3x3"},
		{Inv(a.Array, singular), linalg.ErrSingular, "pivot 2 of 3x3"},
		{Solve(a.Array, wide, a.Array), linalg.ErrShape, "Solve: a is 3x4"},
		{Solve(a.Array, singular, wide), linalg.ErrShape, "Solve: b is 3x4"},
		{Solve(a.Array, far, a.Array), backend.ErrArgument, "Solve: a belongs to another session"},
		{Solve(nil, singular, a.Array), backend.ErrArgument, "Solve: c is nil"},
		{Inv(a.Array, wide), linalg.ErrShape, "Inv: a is 3x4"},
		{Inv(wide, singular), linalg.ErrShape, "Inv: c is 3x4"},
		{Pinv(a.Array, wide, 0), linalg.ErrShape, "Pinv: a is 3x4"},
		{EigenvaluesSym(a.Slice(0, 1, 0, 3), wide), linalg.ErrShape, "EigenvaluesSym: a is 3x4"},
		{EigenvaluesSym(a.Slice(0, 1, 0, 2), singular), linalg.ErrShape, "EigenvaluesSym: c is 1x2"},
		{SingularValues(a.Array, wide), linalg.ErrShape, "SingularValues: c is 3x3"},
	} {
		if !errors.Is(c.err, c.want) || !contains(c.err, c.text) {
			t.Errorf("%v, want %v with %q", c.err, c.want, c.text)
		}
	}
	a.check(t, "refused", a.was[:0])
	try(t, Pinv(a.Array, upload(t, s, 3, 3, false, []float64{1, 2, math.NaN(), 4, 5, 6, 7, 8, 9}), 0))
	if v, err := a.At(2, 2); err != nil || v == v {
		t.Errorf("Pinv of a NaN: %v, %v", v, err)
	}
}
