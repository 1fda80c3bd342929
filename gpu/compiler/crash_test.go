package compiler

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// What the compiler does not take is a problem with a line, never a panic, nor a wait.
func TestNoCrash(t *testing.T) {
	t.Parallel()
	nested := "f0 := func() { x[0]++ }\n"
	for i := range 24 {
		nested += fmt.Sprintf("\tf%d := func() { f%d(); f%[2]d() }\n", i+1, i)
	}
	literals := strings.Repeat("func() {\n", 24) + "x[0]++\n" + strings.Repeat("}()\n", 24)
	for _, c := range []struct{ decls, params, body, want string }{
		{"type node struct{ next []node }", "n []node", "x[0] = int32(len(n[0].next))", "; keep indices"},
		{"type T []T", "n T", "x[0] = int32(len(n))", "; keep indices"},
		{"type P *P", "n P", "x[0] = 1", "; keep indices"},
		{"type P *P", "n []int32", "var p P; _ = p", "; keep indices"},
		{"type a struct{ b [1]b }; type b struct{ c []a; d []a }", "n a", "x[0] = 1", "; keep indices"},
		{"type G[T any] struct{ x T; next []G[T] }", "n []G[int32]", "x[0] = n[0].x", "; keep indices"},
		{"", "n []int32", nested + "f24()", "; use a loop"},
		{"", "n []int32", literals, ""},
		{"type box struct{ a int32 }", "n []box", "v := struct{ a int32 }{1}; n[0] = v", "; copy the fields"},
		{"type box struct{ p *int32 }", "n []int32", "b := box{&x[0]}; *b.p = 1", "keep an index"},
		{"func first(x []int32) *int32 { return &x[0] }", "n []int32", "*first(x) = 1", "; return a value"},
		{"func first(x []int32) *int32 { return &x[0] }", "n []int32", "p := first(x); *p = 1", "; return a value"},
		{
			"func two(x []int32) (*int32, int32) { return &x[0], 1 }", "n []int32", "_, y := two(x); x[1] = y",
			"; return a value",
		},
		{
			"func f[T gpu.Integer](x []T) { type t struct{ a T }; v := t{1}; x[0] = v.a }", "n []int32", "f(x)",
			"",
		},
	} {
		dir := newModule(t, map[string]string{"k.go": fmt.Sprintf("package main\n\n"+
			"import \"github.com/tandem-gpu/tandem/gpu\"\n\n%s\n\n//tandem:kernel\n"+
			"func k(it gpu.Item, x []int32, %s) {\n\t%s\n}\n\nfunc main() {}\n", c.decls, c.params, c.body)})
		_, err := Compile(dir, Options{NoLaunch: true})
		var problems ir.Problems
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s %s: %v", c.decls, c.body, err)
		case c.want != "" && (!errors.As(err, &problems) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %s: %v, want %q", c.decls, c.body, err, c.want)
		}
	}
}

// A panic is an error that names the kernel, and where a problem is known, that problem.
func TestPanicOfCompiler(t *testing.T) {
	const text = "package main\n\nimport \"github.com/tandem-gpu/tandem/gpu\"\n\n" +
		"//tandem:kernel\nfunc k(it gpu.Item, x []int32) { x[0] = 1 }\n\nfunc main() {}\n"
	l, err := front.NewLoader(newModule(t, map[string]string{"k.go": text}), FileName)
	if err != nil {
		t.Fatal(err)
	}
	fail := func(*front.Lowerer, *front.Package, []*front.KernelDecl) error { panic("oh") }
	if err := l.Lower(fail); err == nil || !strings.Contains(err.Error(), "in kernel k: please report") {
		t.Errorf("a panic is %v", err)
	}
	fail = func(l *front.Lowerer, _ *front.Package, kernels []*front.KernelDecl) error {
		l.Problem(kernels[0].Decl.Pos(), "no; yes")
		panic("oh")
	}
	if err := l.Lower(fail); err == nil || !strings.HasSuffix(err.Error(), "k.go:6:1: no; yes") {
		t.Errorf("a panic after a problem is %v", err)
	}
}
