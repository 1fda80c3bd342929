package array

import (
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// Arrays of more than 2^31 elements, and 8 GB: indices and sizes in bytes must have 64 bits all the
// way. A GPU with the memory for four computes them; elsewhere the same steps run on small ones.
func TestMoreThan31Bits(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rows, cols := 65, 33
		if i := s.Info(); i.GPU && i.Driver != "cudasim" && i.Memory > 40<<30 && i.MaxAlloc > 9<<30 {
			rows, cols = 1<<16+1, 1<<15+1
		}
		t.Logf("%d elements", rows*cols)
		fine := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		zeros := func(rows, cols int) *linalg.Array[float32] {
			t.Helper()
			a, err := linalg.NewArray[float32](s, rows, cols)
			fine(err)
			return a
		}
		x, y, one := zeros(rows, cols), zeros(rows, cols), zeros(1, 1)
		last := x.Slice(rows-1, rows, cols-1, cols)
		want := func(name string, a *linalg.Array[float32], v float32) {
			t.Helper()
			equal(t, name, a, []float32{v})
		}

		fine(Fill(x, 1))
		fine(Fill(last, 3))
		fine(Add(y, x, x))
		want("the last of 2*x", y.Slice(rows-1, rows, cols-1, cols), 6)
		want("the one before", y.Slice(rows-1, rows, cols-2, cols-1), 2)
		fine(Sum(one, y))
		want("the sum", one, float32(2*(rows*cols-1)+6))
		fine(Max(one, y))
		want("the largest", one, 6)

		fine(Fill(last, -1)) // the row's least comes first
		fine(Sort(y, x))
		want("the first of the last row, sorted", y.Slice(rows-1, rows, 0, 1), -1)
		want("the last of the last row, sorted", y.Slice(rows-1, rows, cols-1, cols), 1)
		want("the first of the first row, sorted", y.Slice(0, 1, 0, 1), 1)

		// Operands whose last rows lie beyond 2^31 elements.
		c := zeros(rows, 2)
		fine(c.Mul(x.Slice(0, rows, cols-3, cols), x.Slice(rows-3, rows, cols-2, cols)))
		want("the last of the product", c.Slice(rows-1, rows, 1, 2), 1+1+1) // (1, 1, -1) by (1, 1, -1)
		want("the first of the product", c.Slice(0, 1, 0, 1), 3)
	})
}
