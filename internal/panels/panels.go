// Package panels has the kernels that factor a few columns of a matrix, a panel, and give the
// columns beside it what follows from that. What is then left of LU and Cholesky is products. One
// more keeps both triangles of a symmetric matrix alike.
//
// A panel comes as its transpose, in rows that lie one after the other: work-items side by side
// have rows of the panel side by side, as processors' memory wants it.
package panels

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu/support"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -launch=false -pack -native=false

// LU factors a panel in one group. Arguments: the transposed panel; int32 for each pivot of the
// matrix, and one more; the panel's first column.
func LU(t element.Type) *backend.Source {
	return ofType(t, &luFloat32Kernel, &luFloat64Kernel)
}

// LURows swaps rows beside a panel as LU swapped them in it, and makes those at its right rows of
// U, a column in each work-item. Arguments: the matrix from the panel's first row on; the pivots;
// the panel's first column, and its columns.
func LURows(t element.Type) *backend.Source {
	return ofType(t, &luRowsFloat32Kernel, &luRowsFloat64Kernel)
}

// Cholesky factors the square at the top of a panel in one group. Arguments: the transposed panel;
// an int32, which becomes 1 more than the first row whose root is not of a positive number; the
// panel's first column.
func Cholesky(t element.Type) *backend.Source {
	return ofType(t, &choleskyFloat32Kernel, &choleskyFloat64Kernel)
}

// CholeskyRows makes the rows below that square rows of L, one in each work-item. Its argument is
// the transposed panel.
func CholeskyRows(t element.Type) *backend.Source {
	return ofType(t, &choleskyRowsFloat32Kernel, &choleskyRowsFloat64Kernel)
}

// Mirror makes the upper triangle of a square matrix of float64 what the lower one is, an element
// in each work-item of two dimensions. Its argument is the matrix.
func Mirror() *backend.Source { return mirrorKernel.Source() }

func ofType(t element.Type, single, double *support.Lazy) *backend.Source {
	if t == element.Float64 {
		return double.Source()
	}
	return single.Source()
}

// Group is the work-items of LU's group for a panel of so many rows: a power of two, most at most,
// which is what a device takes, or 0.
func Group(rows, most int) int {
	if most <= 0 || most > maxGroup {
		most = maxGroup
	}
	n := 1
	for n < rows && 2*n <= most {
		n *= 2
	}
	return n
}
