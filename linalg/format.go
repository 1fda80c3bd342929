package linalg

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	maxFormatted = 1000 // elements of a matrix that is printed whole
	margin       = 3    // rows and columns at each end of a larger one
)

// Format prints the elements, as [gonum.org/v1/gonum/mat.Formatted] does, for %v and all verbs of
// its elements: fmt.Println(m), or "%.3f". Columns are as wide as they need. Of a matrix of more
// than 1000 elements it prints the shape and type, and below them the first and last three rows and
// columns, with dots between. Of one without elements, and for %s, it prints the shape and type:
// "5x7 float32". Numbers of 16 bits are printed as the float32 that they are.
func (m Matrix[T]) Format(f fmt.State, verb rune) {
	if verb == 's' || m.Rows == 0 || m.Cols == 0 || m.check("matrix") != nil {
		io.WriteString(f, m.untyped().String())
		return
	}
	shown, _ := excerpt(m.Rows, m.Cols, func(to Matrix[T], i, j int) error {
		for r := range to.Rows {
			copy(to.Row(r), m.Row(i + r)[j:])
		}
		return nil
	})
	write(f, verb, shown.untyped(), m.Rows, m.Cols, shown.printed)
}

// Format prints the elements as [Matrix.Format] does, which it waits for. Where they cannot be had
// it prints the error of [Array.Download] in their place, as package fmt does.
func (a *Array[T]) Format(f fmt.State, verb rune) {
	if a == nil { // fmt would recover, but vendors' drivers take signals for themselves
		io.WriteString(f, "<nil>")
		return
	}
	if err := a.Err(); err != nil {
		fmt.Fprintf(f, "%%!%c(%v)", verb, err)
		return
	}
	if verb == 's' || a.rows == 0 || a.cols == 0 {
		io.WriteString(f, a.describe())
		return
	}
	shown, err := excerpt(a.rows, a.cols, func(to Matrix[T], i, j int) error {
		return a.Slice(i, i+to.Rows, j, j+to.Cols).CopyTo(to)
	})
	if err != nil {
		fmt.Fprintf(f, "%%!%c(%s: %v)", verb, a.describe(), err)
		return
	}
	write(f, verb, shown.untyped(), a.rows, a.cols, shown.printed)
}

// excerpt is what is printed of a matrix of rows by cols, made of the parts that read copies to it
// from row i and column j on.
func excerpt[T any](rows, cols int, read func(to Matrix[T], i, j int) error) (Matrix[T], error) {
	top, bottom := ends(rows, rows*cols)
	left, right := ends(cols, rows*cols)
	m := NewMatrix[T](top+bottom, left+right, nil)
	for _, i := range [][3]int{{0, top, 0}, {top, top + bottom, rows - bottom}} { // from, to, and where that lies
		for _, j := range [][3]int{{0, left, 0}, {left, left + right, cols - right}} {
			part := m.Slice(i[0], i[1], j[0], j[1])
			if part.Rows == 0 || part.Cols == 0 {
				continue
			}
			if err := read(part, i[2], j[2]); err != nil {
				return Matrix[T]{}, err
			}
		}
	}
	return m, nil
}

// printed is what is printed of element (i, j): the value of a number of 16 bits, whose own type
// has its bits.
func (m Matrix[T]) printed(i, j int) any {
	v := any(m.At(i, j))
	if h, ok := v.(interface{ Float32() float32 }); ok {
		return h.Float32()
	}
	return v
}

// ends is how many of n rows or columns are printed at each end of a matrix of some elements.
func ends(n, elements int) (first, last int) {
	if elements <= maxFormatted || n <= 2*margin {
		return n, 0
	}
	return margin, margin
}

// write prints m, with elements at(i, j), which is a matrix of rows by cols, or an excerpt of it.
func write(f fmt.State, verb rune, m matrix, rows, cols int, at func(i, j int) any) {
	cell := "%" + string(verb)
	if p, ok := f.Precision(); ok {
		cell = fmt.Sprintf("%%.%d%c", p, verb)
	}
	lines := make([][]string, m.rows)
	for i := range lines {
		for j := range m.cols {
			lines[i] = append(lines[i], fmt.Sprintf(cell, at(i, j)))
		}
		if m.cols < cols {
			lines[i] = slices.Insert(lines[i], margin, "...")
		}
	}
	if m.rows < rows {
		lines = slices.Insert(lines, margin, slices.Repeat([]string{"..."}, len(lines[0])))
	}
	width := make([]int, len(lines[0]))
	for _, line := range lines {
		for j, text := range line {
			width[j] = max(width[j], len(text))
		}
	}
	var b strings.Builder
	if m.rows < rows || m.cols < cols {
		fmt.Fprintf(&b, "%dx%d %v\n", rows, cols, m.elem)
	}
	for i, line := range lines {
		left, right := "⎢", "⎥\n"
		switch {
		case len(lines) == 1:
			left, right = "[", "]"
		case i == 0:
			left, right = "⎡", "⎤\n"
		case i == len(lines)-1:
			left, right = "⎣", "⎦"
		}
		b.WriteString(left)
		for j, text := range line {
			if j > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(&b, "%*s", width[j], text)
		}
		b.WriteString(right)
	}
	io.WriteString(f, b.String())
}
