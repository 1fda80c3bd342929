package array

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// With axis 0 a function makes of columns, in place too, what it makes of rows.
func TestAxis(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		const rows, cols, k = 37, 11, 5
		rng := rand.New(rand.NewPCG(7, 8))
		x := make([]float32, rows*cols)
		for i := range x {
			x[i] = float32(rng.IntN(9)-4) / 2
		}
		x[3], x[20], x[21] = float32(math.NaN()), float32(math.Copysign(0, -1)), float32(math.Inf(1))
		a, turned := upload(t, s, rows, cols, true, x), upload(t, s, cols, rows, false, make([]float32, len(x)))
		try(t, turned.Transpose(a))
		for name, f := range map[string]func(c, a *Array[float32], axis ...int) error{
			"Sort": Sort[float32], "CumSum": CumSum[float32], "Softmax": Softmax[float32],
		} {
			want, c := upload(t, s, cols, rows, false, x), newTarget(t, s, rows, cols, true, float32(7))
			own := upload(t, s, rows, cols, true, x)
			try(t, f(want, turned))
			try(t, f(c.Array, a, 0))
			c.check(t, name, transposedData(t, want))
			try(t, f(own, own, 0))
			c.check(t, name+" in place", download(t, own))
			try(t, cmp.Or(f(own, a, 1), f(c.Array, a)))
			c.check(t, name+" of rows", download(t, own))
		}
		sameIndices(t, "ArgSort", rows, cols, a, turned, ArgSort[float32])
		largest := newTarget(t, s, k, cols, true, float32(7))
		want := upload(t, s, cols, k, false, x[:cols*k])
		sameIndices(t, "TopK", k, cols, a, turned, func(index *Array[int32], a *Array[float32], axis ...int) error {
			if len(axis) == 0 {
				return TopK(want, index, a)
			}
			return TopK(largest.Array, index, a, axis...)
		})
		largest.check(t, "TopK", transposedData(t, want))
	})
}

// sameIndices checks that f has of columns of a the indices that it has of their rows.
func sameIndices(t *testing.T, what string, rows, cols int, a, turned *Array[float32],
	f func(index *Array[int32], a *Array[float32], axis ...int) error,
) {
	t.Helper()
	got := newTarget(t, a.Session(), rows, cols, true, int32(-7))
	want := upload(t, a.Session(), cols, rows, false, make([]int32, rows*cols))
	try(t, cmp.Or(f(want, turned), f(got.Array, a, 0)))
	got.check(t, what, transposedData(t, want))
}

func transposedData[T Element](t *testing.T, a *Array[T]) []T {
	t.Helper()
	rows, cols := a.Dims()
	c := upload(t, a.Session(), cols, rows, false, make([]T, rows*cols))
	try(t, c.Transpose(a))
	return download(t, c)
}

func TestAxisErrors(t *testing.T) {
	s := openCPU(t)
	a, c := upload(t, s, 2, 3, false, make([]float32, 6)), upload(t, s, 3, 2, false, make([]float32, 6))
	index := upload(t, s, 3, 3, false, make([]int32, 9))
	for _, err := range []error{Sort(c, a, 0), ArgSort(index, a, 0), TopK(a, index, a, 0), CumSum(c, a, 0)} {
		if !errors.Is(err, linalg.ErrShape) {
			t.Errorf("other shapes: %v", err)
		}
	}
	for _, err := range []error{Sort(a, a, 2), Sort(a, a, 0, 0), Softmax(a, a, -1), TopK(a, nil, a, 3)} {
		if !errors.Is(err, backend.ErrArgument) {
			t.Errorf("an axis that there is not: %v", err)
		}
	}
	if err := Sort(nil, a, 0); !errors.Is(err, backend.ErrArgument) {
		t.Errorf("a nil array: %v", err)
	}
}

func download[T any](t *testing.T, a *Array[T]) []T {
	t.Helper()
	m, err := a.Download()
	try(t, err)
	return m.Data
}
