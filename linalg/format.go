package linalg

import (
	"fmt"
	"strings"
)

// maxFormatted is how many elements a matrix has at most that is printed whole.
const maxFormatted = 1000

// Format prints the elements, as [gonum.org/v1/gonum/mat.Formatted] does, for %v and all verbs of
// its elements: fmt.Println(m), or "%.3f". Columns are as wide as they need. A matrix of more than
// 1000 elements, or of none, is printed as %s prints each: its shape and type.
func (m Matrix[T]) Format(f fmt.State, verb rune) {
	if verb == 's' || m.Rows*m.Cols > maxFormatted || m.Rows == 0 || m.Cols == 0 || m.check("matrix") != nil {
		fmt.Fprint(f, m.String())
		return
	}
	cell := "%" + string(verb)
	if p, ok := f.Precision(); ok {
		cell = fmt.Sprintf("%%.%d%c", p, verb)
	}
	width, text := make([]int, m.Cols), make([]string, 0, m.Rows*m.Cols)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			text = append(text, fmt.Sprintf(cell, v))
			width[j] = max(width[j], len(text[len(text)-1]))
		}
	}
	var b strings.Builder
	for i := range m.Rows {
		left, right := "⎢", "⎥"
		switch {
		case m.Rows == 1:
			left, right = "[", "]"
		case i == 0:
			left, right = "⎡", "⎤"
		case i == m.Rows-1:
			left, right = "⎣", "⎦"
		}
		b.WriteString(left)
		for j := range m.Cols {
			if j > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(&b, "%*s", width[j], text[i*m.Cols+j])
		}
		b.WriteString(right)
		if i < m.Rows-1 {
			b.WriteByte('\n')
		}
	}
	fmt.Fprint(f, b.String())
}
