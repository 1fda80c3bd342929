// Package strided is the geometry of matrices whose rows lie a stride apart. Sizes and strides are
// in elements.
package strided

// Span is the number of elements from the first to the last of a matrix, both included.
func Span(rows, cols, stride int) int {
	if rows == 0 || cols == 0 {
		return 0
	}
	return (rows-1)*stride + cols
}

// Overlap tells whether two matrices of one memory share an element: off is the distance in
// elements from the first element of x to that of y.
func Overlap(xRows, xCols, xStride, off, yRows, yCols, yStride int) bool {
	xn, yn := Span(xRows, xCols, xStride), Span(yRows, yCols, yStride)
	if xn == 0 || yn == 0 || off >= xn || -off >= yn {
		return false
	}
	first := off // of a row of y
	for range yRows {
		last := first + yCols - 1
		row := min(max(0, last)/xStride, xRows-1) // the last of x that begins before
		if last >= 0 && first < row*xStride+xCols {
			return true
		}
		first += yStride
	}
	return false
}
