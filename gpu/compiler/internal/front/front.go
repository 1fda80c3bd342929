// Package front reads packages with kernels and lowers these to package ir, in which Go's order of
// evaluation is explicit, or refuses them: load.go reads with go/types, kernel.go finds the kernels
// and their lists of types, maps.go writes those of maps, lower*.go make the tree.
//
// It needs the standard library alone, and the Go command: go list names the packages, and what Go
// has compiled of them gives their types.
package front

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A use makes something of lowered kernels.
type use func(l *Lowerer, pkg *Package, kernels []*KernelDecl) error

// Lower reads the package and lowers its kernels for e, reading other packages from source as
// these turn out to need them.
func (l *Loader) Lower(e use) error {
	for {
		need, err := lower(l, e)
		if len(need) == 0 {
			return err
		}
		for path := range need { // once more, with these packages from source
			l.Source[path] = true
		}
	}
}

func lower(loader *Loader, e use) (need map[string]bool, err error) {
	pkg, err := loader.load()
	if err != nil {
		return nil, err
	}
	l := &Lowerer{
		Loader: loader, Program: newProgram(loader), funcs: map[string]*ir.Function{},
		Tables: map[*types.Var]*ir.Table{}, need: map[string]bool{}, entries: map[string]bool{},
	}
	l.Problems = append(l.Problems, loader.errs...)
	if len(l.Problems) == 0 {
		err = l.run(pkg, e)
	}
	if len(l.need) > 0 {
		return l.need, nil
	}
	if len(l.Problems) > 0 {
		slices.SortStableFunc(l.Problems, func(a, b ir.Problem) int {
			return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), a.Pos.Offset-b.Pos.Offset)
		})
		return nil, ir.Problems(l.Problems)
	}
	return nil, err
}

// run lowers the kernels of pkg for e. After a problem, of which it tells none again, what was
// lowered has gaps, so that a panic means nothing; before one it is an error.
func (l *Lowerer) run(pkg *Package, e use) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a mistake of the compiler, in kernel %s: please report it with the kernel: %v\n%s",
				l.kernel, v, debug.Stack())
		}
	}()
	l.directives(pkg)
	kernels := l.kernels(pkg)
	for _, k := range kernels {
		l.instantiate(pkg, k)
	}
	switch {
	case len(l.need) > 0 || len(l.Problems) > 0:
		return nil
	case len(kernels) == 0:
		return fmt.Errorf("%s has no kernels: mark a function whose first parameter is a gpu.Item "+
			"with a line %s above it, or one of numbers with %s",
			pkg.ImportPath, kernelDirective, mapDirective)
	}
	return e(l, pkg, kernels)
}

// generates tells whether name may be one that is yet to be generated, and code may use: a launch
// function, or a kernel's sources.
func (l *Loader) generates(name string) bool {
	name = strings.TrimRight(name, "_")
	source := strings.HasSuffix(name, "Kernel") || strings.HasSuffix(name, "Kernels")
	for _, file := range l.Loaded[l.Root.ImportPath].Files {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && (name == strings.TrimRight(LaunchName(fn.Name.Name), "_") ||
				source && strings.HasPrefix(name, fn.Name.Name)) {
				return true
			}
		}
	}
	return false
}

// LaunchName is the name of the function that launches a kernel.
func LaunchName(kernel string) string {
	if token.IsExported(kernel) {
		return "Launch" + kernel
	}
	return "launch" + ir.Exported(kernel)
}

func newProgram(l *Loader) *ir.Program {
	p := &ir.Program{Files: l.Fset, Types: ir.NewTypeTable(), Dir: l.Root.Dir}
	if l.Root.Module != nil {
		p.Module = l.Root.Module.Dir
	}
	return p
}
