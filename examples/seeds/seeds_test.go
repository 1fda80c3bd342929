package seeds

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
	"github.com/tandem-gpu/tandem/linalg"
)

var large = flag.Bool("large", false, "transpose 16384x16384 too (3 GiB of memory)")

// each calls f for every backend.
func each(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	exampletest.Each(t, func(t *testing.T, spec string) {
		s, err := linalg.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f(t, s)
	})
}

func filled[T linalg.Element](rows, cols int, f func(i int) T) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = f(i)
	}
	return m
}

func constant[T linalg.Element](rows, cols int, v T) linalg.Matrix[T] {
	return filled(rows, cols, func(int) T { return v })
}

func arange[T linalg.Element](rows, cols int) linalg.Matrix[T] {
	return filled(rows, cols, func(i int) T { return T(i) })
}

func same[T linalg.Element](t *testing.T, what string, got, want linalg.Matrix[T]) {
	t.Helper()
	if !slices.Equal(got.Data, want.Data) {
		t.Errorf("%s: %v, want %v", what, got.Data, want.Data)
	}
}

func TestMyKernel(t *testing.T) {
	each(t, func(t *testing.T, s *linalg.Session) {
		for _, n := range []int{1, 255, 256, 257} {
			a := constant[float32](1, n, 1)
			if err := LaunchMyKernel[float32](s, backend.Grid1((n+255)/256, 256), a.Data); err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprint(n, " ones"), a, constant[float32](1, n, 2))
		}
		ones, err := linalg.Upload(s, constant[float64](1, 256, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := LaunchMyKernel[float64](s, backend.Grid1(1, 256), ones); err != nil {
			t.Fatal(err)
		}
		got, err := ones.Download()
		if err != nil {
			t.Fatal(err)
		}
		same(t, "on the device", got, constant[float64](1, 256, 2))
	})
}

// products runs both products on groups of block by block.
func products[T linalg.Element](t *testing.T, s *linalg.Session, block int, a, b, want linalg.Matrix[T]) {
	t.Helper()
	g := backend.Grid2((b.Cols+block-1)/block, (a.Rows+block-1)/block, block, block)
	c := constant[T](a.Rows, b.Cols, 9)
	if err := LaunchMatmul[T](s, g, a, b, c); err != nil {
		t.Fatal(err)
	}
	same(t, fmt.Sprintf("%s by %s on %s", a, b, g), c, want)
	g = backend.Grid2((b.Cols+tpb-1)/tpb, (a.Rows+tpb-1)/tpb, tpb, tpb)
	c = constant[T](a.Rows, b.Cols, 9)
	if err := LaunchFastMatmul[T](s, g, a, b, c); err != nil {
		t.Fatal(err)
	}
	same(t, fmt.Sprintf("%s by %s in tiles", a, b), c, want)
}

func TestProducts(t *testing.T) {
	each(t, func(t *testing.T, s *linalg.Session) {
		products(t, s, 16, constant[float64](24, 12, 3), constant[float64](12, 22, 4), constant[float64](24, 22, 144))
		products(t, s, 16, constant[float64](32, 48, 3), constant[float64](48, 16, 4), constant[float64](32, 16, 576))
		products(t, s, 16, constant[float32](32, 48, 3), constant[float32](48, 16, 4), constant[float32](32, 16, 576))
		products(t, s, 2, arange[int32](4, 4), arange[int32](4, 4), linalg.NewMatrix(4, 4, []int32{
			56, 62, 68, 74, 152, 174, 196, 218, 248, 286, 324, 362, 344, 398, 452, 506,
		}))
		// Groups that fit neither shape.
		rows := []float32{6, 22, 38, 54}
		products(t, s, 3, arange[float32](4, 4), constant[float32](4, 4, 1),
			filled(4, 4, func(i int) float32 { return rows[i/4] }))
		sums := []int32{253, 782, 1311, 1840, 2369}
		products(t, s, 3, arange[int32](5, 23), constant[int32](23, 7, 1),
			filled(5, 7, func(i int) int32 { return sums[i/7] }))
	})
}

// On devices that share the host's memory the kernel works on registered matrices in place, as
// Numba's roc.register has it.
func TestRegistered(t *testing.T) {
	each(t, func(t *testing.T, s *linalg.Session) {
		if !s.Info().UnifiedMemory {
			t.Skip("the device has memory of its own")
		}
		const n = 64
		r := rand.New(rand.NewPCG(1, 2))
		a := filled(n, n, func(int) float32 { return r.Float32() })
		b := filled(n, n, func(int) float32 { return r.Float32() })
		c := linalg.NewMatrix[float32](n, n, nil)
		var arrays []*linalg.Array[float32]
		for _, m := range []linalg.Matrix[float32]{a, b, c} {
			x, err := linalg.Register(s, m)
			if err != nil {
				t.Fatal(err)
			}
			arrays = append(arrays, x)
		}
		err := LaunchMatmul[float32](s, backend.Grid2(n/16, n/16, 16, 16), arrays[0], arrays[1], arrays[2])
		if err := errors.Join(err, s.Wait()); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range n {
				var want float32
				for k := range n {
					want += float32(a.At(i, k) * b.At(k, j))
				}
				if c.At(i, j) != want {
					t.Fatalf("element (%d, %d): %v, want %v", i, j, c.At(i, j), want)
				}
			}
		}
	})
}

func TestTwice(t *testing.T) {
	a := arange[int32](64, 64)
	want := filled(64, 64, func(i int) int32 { return 2 * int32(i) })
	each(t, func(t *testing.T, s *linalg.Session) {
		type launch = func(s *linalg.Session, g backend.Grid, a, b linalg.Matrix[int32]) error
		for _, c := range []struct {
			launch launch
			grid   backend.Grid
		}{
			{LaunchTwice[linalg.Matrix[int32], linalg.Matrix[int32]], backend.Grid1(36, 36)},
			{LaunchTwice2D[linalg.Matrix[int32], linalg.Matrix[int32]], backend.Grid1(36, 36)},
			{LaunchTwice2D[linalg.Matrix[int32], linalg.Matrix[int32]], backend.Grid2(6, 6, 6, 6)},
		} {
			b := constant[int32](64, 64, -1)
			if err := c.launch(s, c.grid, a, b); err != nil {
				t.Fatal(err)
			}
			same(t, c.grid.String(), b, want)
		}
	})
}

func TestTranspose(t *testing.T) {
	shapes := [][2]int{{1, 1}, {100, 77}, {257, 64}}
	if *large {
		shapes = append(shapes, [2]int{16384, 16384})
	}
	each(t, func(t *testing.T, s *linalg.Session) {
		for _, shape := range shapes {
			rows, cols := shape[0], shape[1]
			a, c := arange[int32](rows, cols), constant[int32](cols, rows, -1)
			want, err := linalg.Transpose(a, linalg.On(s))
			if err != nil {
				t.Fatal(err)
			}
			if err := LaunchTranspose[int32](s, backend.Grid2((cols+15)/16, (rows+15)/16, 16, 16), a, c); err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("naive %s", a), c, want)
			c = constant[int32](cols, rows, -1)
			g := backend.Grid2((cols+tileDim-1)/tileDim, (rows+tileDim-1)/tileDim, tileDim, blockRows)
			if err := LaunchTransposeTiled[int32](s, g, a, c); err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("tiled %s", a), c, want)
		}
	})
}
