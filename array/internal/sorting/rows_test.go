package sorting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/linalg"
)

// Both forms of the sort are right on devices of both kinds.
func TestForms(t *testing.T) {
	t.Run("pairs", testForms[uint64])
	t.Run("keys of 32 bits", testForms[uint32])
}

func testForms[P Pair](t *testing.T) {
	const rows, n = 2, 1<<14 + 100 // of several chunks, and tiles
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]P, rows*n)
	for i := range x {
		if x[i] = P(rng.Uint64() >> rng.IntN(40)); i >= n {
			x[i] %= 9 // of which all upper digits are the same
		}
	}
	want := slices.Clone(x)
	for i := range rows {
		slices.Sort(want[i*n : i*n+n])
	}
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		for _, per := range []int{n, 5000, tile, 2 * tile} { // of a chunk, or tiles
			t.Run(fmt.Sprintf("%s/%d", spec, per), func(t *testing.T) {
				s, err := linalg.Open(spec)
				if err != nil {
					backendtest.Require(t, spec, err)
					return
				}
				defer s.Close()
				err = withRows(s, rows, n, per, per%tile == 0, func(r *Rows[P]) error {
					if err := r.Pairs.CopyFrom(linalg.NewMatrix(1, rows*n, x)); err != nil {
						return err
					}
					r.Sort(0, uint(8*unsafe.Sizeof(x[0])), false)
					got, err := r.Pairs.Download()
					if err == nil && !slices.Equal(got.Data, want) {
						t.Error("not sorted")
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Rows of every length that the network has are sorted, and nothing behind the last one changes.
func TestNetwork(t *testing.T) {
	t.Run("pairs", testNetwork[uint64])
	t.Run("keys of 32 bits", testNetwork[uint32])
}

func testNetwork[P Pair](t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const rows = 2*networkRows + 3 // the last group has a few
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= networkLength; n++ {
		x := make([]P, rows*n+1)
		for i := range x {
			x[i] = P(rng.Uint64() >> rng.IntN(60))
		}
		want := slices.Clone(x)
		for i := range rows {
			slices.Sort(want[i*n : i*n+n])
		}
		a, err := linalg.Upload(s, linalg.NewMatrix(1, len(x), x))
		if err != nil {
			t.Fatal(err)
		}
		if err := LaunchNetwork[P](s, backend.Grid1(2, networkRows), a.Slice(0, 1, 0, rows*n), n); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Download(); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("rows of %d are not sorted, %v", n, err)
		}
		a.Free()
	}
}
