package solve

import (
	"math"

	"github.com/tandem-gpu/tandem/internal/host"
)

// The functions below make sums those of magnitudes, each in one chain of additions, by ascending
// index: of rows, of columns, or of either of the symmetric matrix that a triangle gives. They take
// four rows at a time, whose chains do not wait for each other.

// RowSums is for A of m by n.
func RowSums[T host.Float](m, n int, a []T, lda int, sums []T) {
	i := 0
	for ; i+4 <= m; i += 4 {
		r0, r1, r2, r3 := fourRows(n, a[i*lda:], lda)
		var s0, s1, s2, s3 T
		for j, v := range r0 {
			s0, s1, s2, s3 = s0+abs(v), s1+abs(r1[j]), s2+abs(r2[j]), s3+abs(r3[j])
		}
		sums[i], sums[i+1], sums[i+2], sums[i+3] = s0, s1, s2, s3
	}
	for ; i < m; i++ {
		sums[i] = magnitudes(a[i*lda:][:n])
	}
}

// ColumnSums is for A of m by n.
func ColumnSums[T host.Float](m, n int, a []T, lda int, sums []T) {
	sums = sums[:n]
	clear(sums)
	i := 0
	for ; i+4 <= m; i += 4 {
		r0, r1, r2, r3 := fourRows(n, a[i*lda:], lda)
		for j, s := range sums {
			sums[j] = s + abs(r0[j]) + abs(r1[j]) + abs(r2[j]) + abs(r3[j])
		}
	}
	for ; i < m; i++ {
		for j, v := range a[i*lda:][:n] {
			sums[j] += abs(v)
		}
	}
}

// SymmetricSums is for A of n by n, of which it reads the lower or upper triangle.
func SymmetricSums[T host.Float](lower bool, n int, a []T, lda int, sums []T) {
	clear(sums[:n])
	for i := 0; i < n; i += 4 {
		end := min(i+4, n)
		if lower {
			addBoth(a[i*lda:], lda, sums[i:end], sums[:i])
		}
		for r := i; r < end; r++ { // the square on the diagonal
			if lower {
				addBoth(a[r*lda+i:], lda, sums[r:r+1], sums[i:r])
			}
			sums[r] += abs(a[r*(lda+1)])
			if !lower {
				addBoth(a[r*(lda+1)+1:], lda, sums[r:r+1], sums[r+1:end])
			}
		}
		if !lower && end < n {
			addBoth(a[i*lda+end:], lda, sums[i:end], sums[end:n])
		}
	}
}

// addBoth adds to the sums of up to four rows, and to those of the columns.
func addBoth[T host.Float](a []T, lda int, rows, columns []T) {
	if len(rows) < 4 {
		for i, s := range rows {
			for j, v := range a[i*lda:][:len(columns)] {
				s += abs(v)
				columns[j] += abs(v)
			}
			rows[i] = s
		}
		return
	}
	r0, r1, r2, r3 := fourRows(len(columns), a, lda)
	s0, s1, s2, s3 := rows[0], rows[1], rows[2], rows[3]
	for j, s := range columns {
		v0, v1, v2, v3 := abs(r0[j]), abs(r1[j]), abs(r2[j]), abs(r3[j])
		s0, s1, s2, s3 = s0+v0, s1+v1, s2+v2, s3+v3
		columns[j] = s + v0 + v1 + v2 + v3
	}
	rows[0], rows[1], rows[2], rows[3] = s0, s1, s2, s3
}

func fourRows[T host.Float](n int, a []T, lda int) (r0, r1, r2, r3 []T) {
	return a[:n], a[lda:][:n], a[2*lda:][:n], a[3*lda:][:n]
}

// magnitudes is the sum of the magnitudes, in order.
func magnitudes[T host.Float](x []T) (sum T) {
	for _, v := range x {
		sum += abs(v)
	}
	return sum
}

// abs is the magnitude, without a branch, which would be as good as random.
func abs[T host.Float](v T) T { return T(math.Abs(float64(v))) }
