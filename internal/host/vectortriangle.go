package host

// A vectorTriangle is op(A) for a triangular matrix A of n by n, beside a vector. It goes along A
// in blocks of rows: first the chains of a block's rows, or by them those of its columns, and then
// the square that the diagonal runs through, in smaller blocks.
type vectorTriangle[T Float] struct {
	lower, trans, unit bool
	n                  int
	a                  []T
	lda                int
	x                  []T // what the chains multiply A by
	y                  []T // the chains
}

// The rows of a block, and of one that is not divided any more where it is solved.
const (
	vectorBlock = 128
	vectorLeaf  = 8
)

// Trmv computes x = op(A)*x for a triangular matrix A of n by n, of which it reads nothing but the
// triangle, and with unit not the diagonal either, which is then 1: element i is the chain of
// op(A)[i,k]*x[k] by ascending k, from +0. x overlaps nothing.
func Trmv[T Float](lower, trans, unit bool, n int, a []T, lda int, x []T) {
	check("A", n, n, lda, len(a))
	if n == 0 {
		return
	}
	memory, old := Take[T](n)
	defer memory.Give()
	copy(old, x[:n])
	clear(x[:n])
	t := vectorTriangle[T]{lower: lower, trans: trans, unit: unit, n: n, a: a, lda: lda, x: old, y: x[:n]}
	t.multiply(0, n, vectorBlock)
}

// Trsv makes x the solution of op(A)*X = x for a triangular matrix as that of [Trmv]: X[i] is the
// chain from x[i] of -op(A)[i,k]*X[k], over the k in the order in which they become known, and then
// it is divided by op(A)[i,i] unless unit is set. x overlaps nothing.
func Trsv[T Float](lower, trans, unit bool, n int, a []T, lda int, x []T) {
	check("A", n, n, lda, len(a))
	if n == 0 {
		return
	}
	memory, negated := Take[T](n)
	defer memory.Give()
	t := vectorTriangle[T]{lower: lower, trans: trans, unit: unit, n: n, a: a, lda: lda, x: negated, y: x[:n]}
	t.solve(0, n, vectorBlock)
}

// forward tells whether op(A) is lower triangular: solutions begin at the first row.
func (t *vectorTriangle[T]) forward() bool { return t.lower != t.trans }

// multiply goes on with the chains of rows lo to hi-1 by the same columns.
func (t *vectorTriangle[T]) multiply(lo, hi, block int) {
	for i := lo; i < hi; i += block {
		end := min(i+block, hi)
		if t.lower {
			t.update(i, end, lo, i)
		}
		if block > MaxTriangle {
			t.multiply(i, end, MaxTriangle)
		} else {
			row, col := Steps(t.trans, t.lda)
			multiplyTriangle(!t.forward(), t.unit, end-i, &t.a[i*(t.lda+1)], row, col, &t.x[i], 1, &t.y[i])
		}
		if !t.lower {
			t.update(i, end, end, hi)
		}
	}
}

// update goes on with the chains by rows i to end-1 and columns lo to hi-1 of A, from the last on
// where solutions begin there.
func (t *vectorTriangle[T]) update(i, end, lo, hi int) {
	if i == end || lo == hi {
		return
	}
	a := &t.a[i*t.lda+lo]
	if t.trans {
		spreadRow(end-i, hi-lo, a, t.lda, t.x[i:], t.y[lo:hi])
	} else {
		spreadColumn(end-i, hi-lo, a, t.lda, 1, t.x[lo:], t.y[i:end])
	}
}

// solve solves for rows lo to hi-1.
func (t *vectorTriangle[T]) solve(lo, hi, block int) {
	if t.forward() {
		for i := lo; i < hi; i += block {
			end := min(i+block, hi)
			if !t.trans {
				t.update(i, end, lo, i)
			}
			t.solveBlock(i, end, block)
			if t.trans {
				t.update(i, end, end, hi)
			}
		}
		return
	}
	for end := hi; end > lo; end -= min(block, end-lo) {
		i := max(end-block, lo)
		if !t.trans {
			t.updateBack(i, end, end, hi)
		}
		t.solveBlock(i, end, block)
		if t.trans {
			t.updateBack(i, end, lo, i)
		}
	}
}

// updateBack is update from the last row and column on. x is in reverse order there.
func (t *vectorTriangle[T]) updateBack(i, end, lo, hi int) {
	if i == end || lo == hi {
		return
	}
	if t.trans {
		spreadRow(end-i, hi-lo, &t.a[(end-1)*t.lda+lo], -t.lda, t.x[t.n-end:], t.y[lo:hi])
	} else {
		spreadColumn(end-i, hi-lo, &t.a[i*t.lda+hi-1], t.lda, -1, t.x[t.n-hi:], t.y[i:end])
	}
}

// solveBlock solves for rows i to end-1, whose chains have come to them, and keeps the negated
// solutions for the others.
func (t *vectorTriangle[T]) solveBlock(i, end, block int) {
	if block > vectorLeaf {
		t.solve(i, end, vectorLeaf)
		return
	}
	row, col := Steps(t.trans, t.lda)
	solveTriangle(end-i, &t.a[i*(t.lda+1)], row, col, !t.forward(), t.unit, &t.y[i])
	for k := i; k < end; k++ {
		at := k
		if !t.forward() {
			at = t.n - 1 - k
		}
		t.x[at] = -t.y[k]
	}
}
