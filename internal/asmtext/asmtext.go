// Package asmtext keeps generated assembly of Go short.
package asmtext

import "strings"

// Join puts several instructions on a line of at most width columns, where text has one a line. A
// line ends with a jump or a comment, and before a label. Directives, and instructions that name a
// function's arguments, which go vet checks line by line, stay alone.
func Join(text string, width int) string {
	var b strings.Builder
	column := 0 // of the line that goes on, or 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		code, instruction := strings.CutPrefix(line, "\t")
		switch {
		case !instruction || alone(code):
			if column > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line + "\n")
			column = 0
			continue
		case column > 0 && column+len("; ")+len(code) <= width:
			b.WriteString("; " + code)
			column += len("; ") + len(code)
		default:
			if column > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
			column = tab + len(code)
		}
		if ends(code) {
			b.WriteByte('\n')
			column = 0
		}
	}
	if column > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

const tab = 4 // columns

func alone(code string) bool { return strings.Contains(code, "(FP)") || strings.HasPrefix(code, "//") }

// ends tells whether an instruction ends its line.
func ends(code string) bool {
	return code[0] == 'J' || strings.HasPrefix(code, "RET") || strings.Contains(code, "//")
}
