package host

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// triangleReference is MultiplyTriangle or SolveTriangle by their definition, for a triangle in a
// whole matrix E.
func triangleReference[T Float](solve bool, alpha T, e func(i, k int) T, upper, unit bool, b matrix[T]) matrix[T] {
	x := b.clone()
	diagonal := func(i int) T {
		if unit {
			return 1
		}
		return e(i, i)
	}
	for j := range b.cols {
		at := func(m matrix[T], i int) *T { return &m.data[i*m.ld+j] }
		for r := range b.rows {
			i, first, last := r, 0, r // the columns that a product takes
			if upper {
				first, last = r, b.rows-1
			}
			if !solve {
				var acc T
				for k := first; k <= last; k++ {
					v := diagonal(i)
					if k != i {
						v = e(i, k)
					}
					acc = FMA(v, *at(b, k), acc)
				}
				*at(x, i) = Mul(alpha, acc)
				continue
			}
			turn := func(i int) int {
				if upper {
					return b.rows - 1 - i
				}
				return i
			}
			i = turn(r)
			acc := Mul(alpha, *at(b, i))
			for k := range r {
				acc = FMA(-e(i, turn(k)), *at(x, turn(k)), acc)
			}
			*at(x, i) = acc / diagonal(i)
		}
	}
	return x
}

// Every instruction set gives the bits of the definition, reads nothing but the triangle, and
// writes nothing but B.
func TestTriangles(t *testing.T) {
	forceVectors(t, testTriangles[float32], testTriangles[float64])
}

func testTriangles[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, n := range []int{1, 2, 3, 7, 16, 31, MaxTriangle} {
		for cols := range 140 {
			if cols > 66 && cols%7 != 0 {
				continue
			}
			in := inputs[T]()[rng.IntN(len(inputs[T]()))]
			solve, upper, unit, transposed := rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
			alpha := []T{1, -1.5, 0.1}[cols%3]
			read := func(i, k int) bool { return i == k && !unit || i != k && (k < i) != (upper != transposed) }
			e := newMatrix(n, n, cols%4, func(i, k int) T {
				if !read(i, k) {
					return poison[T]()
				}
				return in.next(rng)
			})
			b := in.matrix(rng, n, cols, rng.IntN(3))
			what := fmt.Sprintf("%s, %dx%d, alpha %v, solve %t, upper %t, unit %t, transposed %t",
				in.name, n, cols, alpha, solve, upper, unit, transposed)
			row, col := e.ld, 1
			if transposed {
				row, col = col, row
			}
			want := triangleReference(solve, alpha, func(i, k int) T { return e.data[i*row+k*col] }, upper, unit, b)
			f := MultiplyTriangle[T]
			if solve {
				f = SolveTriangle[T]
			}
			f(n, cols, alpha, e.data, row, col, upper, unit, b.data, b.ld)
			if err := b.diff(want); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
}

func TestTriangleChecksItsArguments(t *testing.T) {
	e, b := make([]float32, 40*40), make([]float32, 40*40)
	for what, f := range map[string]func(){
		"too many rows": func() { SolveTriangle(33, 1, 1, e, 40, 1, false, false, b, 40) },
		"short E":       func() { SolveTriangle(3, 1, 1, e[:8], 3, 1, false, false, b, 3) },
		"short B":       func() { MultiplyTriangle(3, 3, 1, e, 3, 1, false, false, b[:8], 3) },
		"negative step": func() { MultiplyTriangle(3, 3, 1, e, 3, -1, false, false, b, 3) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}()
	}
	MultiplyTriangle[float32](0, 3, 1, nil, 3, 1, false, false, b, 3)
	SolveTriangle[float32](3, 0, 1, nil, 3, 1, false, false, nil, 3)
}
