package compiler

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"io"
	"slices"
	"strings"
)

// conditions are those under which files are built.
type conditions []string

func (c *conditions) add(s string) {
	if s != "" && !slices.Contains(*c, s) {
		*c = append(*c, s)
	}
}

// file adds those of a file: of its name, of a line //go:build, and cgo where it imports "C".
func (c *conditions) file(f *ast.File, name string) {
	c.add(nameCondition(name))
	for _, g := range f.Comments {
		for _, line := range g.List {
			if line.Pos() > f.Package || !constraint.IsGoBuild(line.Text) {
				continue
			}
			if x, err := constraint.Parse(line.Text); err == nil {
				c.add(x.String())
			}
		}
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"C"` {
			c.add("cgo")
		}
	}
}

// String is all of them, as a //go:build line has them.
func (c *conditions) String() string {
	if len(*c) == 1 {
		return (*c)[0]
	}
	var list []string
	for _, s := range *c {
		if strings.Contains(s, "||") {
			s = "(" + s + ")"
		}
		list = append(list, s)
	}
	return strings.Join(list, " && ")
}

// nameCondition is the systems that the name of a file ends in, as in k_linux_amd64.go.
func nameCondition(name string) string {
	built := func(system, processor string) bool {
		c := build.Context{GOOS: system, GOARCH: processor, Compiler: "gc"}
		c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p")), nil }
		ok, err := c.MatchFile("", name)
		return ok && err == nil
	}
	words := strings.Split("none_none_"+strings.TrimSuffix(name, ".go"), "_")
	a, b := words[len(words)-2], words[len(words)-1]
	switch {
	case built("none", "none"):
		return ""
	case built(b, "none") || built("none", b):
		return b
	}
	return a + " && " + b
}
