package random

import (
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// The known answers of Random123, the authors' own library.
func TestPhilox(t *testing.T) {
	for _, c := range []struct{ counter, key, want [4]uint32 }{
		{[4]uint32{}, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
			[4]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[4]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		n, k := c.counter, c.key
		w0, w1, w2, w3 := philox(n[0], n[1], n[2], n[3], k[0], k[1])
		if got := [4]uint32{w0, w1, w2, w3}; got != c.want {
			t.Errorf("counter %x, key %x: %x, want %x", c.counter, c.key[:2], got, c.want)
		}
	}
}

// Any grid gives the same numbers.
func TestGrids(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const rows, cols = 5, 333
	var want []int32
	grids := []backend.Grid{backend.GridFor(cols, rows), backend.Grid2(1, 1, 3, 1), backend.Grid2(3, 2, 64, 2)}
	for _, g := range grids {
		c := linalg.NewMatrix(rows, cols, make([]int32, rows*cols))
		if err := LaunchFill[int32](s, g, Integers{}, c, Source{1, 2}, NewRange(-1<<31, 1<<30)); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = c.Data
		}
		if !slices.Equal(c.Data, want) {
			t.Errorf("grid %v: other numbers", g)
		}
	}
}
