package sorting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/backendtest"
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
		x[i] = P(rng.Uint64() >> rng.IntN(40))
	}
	want := slices.Clone(x)
	for i := range rows {
		slices.Sort(want[i*n : i*n+n])
	}
	for _, spec := range []string{"cpu", "opencl"} {
		for _, tiles := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/tiles=%t", spec, tiles), func(t *testing.T) {
				s, err := linalg.Open(spec)
				if err != nil {
					backendtest.Require(t, spec, err)
					return
				}
				defer s.Close()
				err = withRows(s, rows, n, tiles, func(r *Rows[P]) error {
					if err := r.Pairs.CopyFrom(linalg.NewMatrix(1, rows*n, x)); err != nil {
						return err
					}
					r.Sort(0, uint(8*unsafe.Sizeof(x[0])))
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
