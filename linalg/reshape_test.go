package linalg_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

func TestReshape(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		a := upload(t, s, arange[int32](4, 6))
		defer a.Free()
		b, err := a.Slice(1, 3, 0, 6).Reshape(3, 4)
		if err != nil {
			t.Fatal(err)
		}
		m, err := b.Download()
		if want := []int32{6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}; err != nil || !slices.Equal(m.Data, want) {
			t.Errorf("rows 1 and 2 as 3x4: %v, %v", m.Data, err)
		}
		if row, err := a.Slice(2, 3, 1, 5).Reshape(4, 1); err != nil || row.Offset() != 13 {
			t.Errorf("a part of a row as a column: %v, %v", row, err)
		}
		for _, c := range []struct {
			a          *linalg.Array[int32]
			rows, cols int
		}{{a, 5, 5}, {a, -4, -6}, {a.Slice(0, 2, 0, 5), 1, 10}} {
			if _, err := c.a.Reshape(c.rows, c.cols); !errors.Is(err, linalg.ErrShape) {
				t.Errorf("%v as %dx%d: %v", c.a, c.rows, c.cols, err)
			}
		}
	})
}
