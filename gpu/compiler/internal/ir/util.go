package ir

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Exported is a name with an upper-case letter first.
func Exported(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}

// Bare is s without parentheses around it.
func Bare(s string) string {
	if strings.HasPrefix(s, "(") && closes(s) == len(s)-1 {
		return s[1 : len(s)-1]
	}
	return s
}

// closes is where the parenthesis that s starts with closes.
func closes(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// The beginning of the paths of Tandem's packages, and the path of package gpu.
const (
	ModulePath = "github.com/tandem-gpu/tandem/"
	GPUPath    = ModulePath + "gpu"
)
