package ir

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Program is kernels that are being compiled: what passes and printers share.
type Program struct {
	Files       *token.FileSet
	Types       *TypeTable
	Problems    []Problem
	Dir, Module string // of the package; module is "" where there is none

	written map[*Function]map[*Variable]bool // parameters that functions write through
}

// A Problem is something that keeps a kernel from being compiled.
type Problem struct {
	Pos  token.Position
	Text string // the reason; what to do instead
}

// String is file:line:column: the reason; what to do instead.
func (p Problem) String() string {
	name := p.Pos.Filename
	if wd, err := os.Getwd(); err == nil {
		if r, err := filepath.Rel(wd, name); err == nil && !strings.HasPrefix(r, "..") {
			name = r
		}
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, p.Pos.Line, p.Pos.Column, p.Text)
}

// Problems are all that keeps a package from being compiled.
type Problems []Problem

// Error is a line for each problem.
func (p Problems) Error() string {
	var lines []string
	for _, x := range p {
		lines = append(lines, x.String())
	}
	return strings.Join(lines, "\n")
}

// Problem notes what is wrong at pos, once.
func (p *Program) Problem(pos token.Pos, format string, args ...any) {
	found := Problem{Pos: p.Files.Position(pos), Text: fmt.Sprintf(format, args...)}
	for _, old := range p.Problems {
		if old == found { // of another list of types
			return
		}
	}
	p.Problems = append(p.Problems, found)
}

// Position is file:line, without the folder.
func (p *Program) Position(pos token.Pos) string {
	at := p.Files.Position(pos)
	return filepath.Base(at.Filename) + ":" + strconv.Itoa(at.Line)
}

// Relative is the name of a file in //line directives.
func (p *Program) Relative(name string) string {
	if rel, err := filepath.Rel(p.Module, name); p.Module != "" && err == nil && !strings.HasPrefix(rel, "..") {
		if rel, err = filepath.Rel(p.Dir, name); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.Base(name)
}
