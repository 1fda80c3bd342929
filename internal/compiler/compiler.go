// Package compiler makes kernels that are written in Go into text for OpenCL and CUDA, PTX, Go for
// the cpu device, and functions that launch them; docs/kernels.md describes what it takes.
//
// load.go reads the package with go/types; lower*.go make its kernels a small typed tree, ir.go, in
// which Go's order of evaluation is explicit; uniform.go finds barriers that not all work-items
// reach; split.go cuts kernels at barriers for the cpu device; printc.go and printgo.go print the
// tree. For machine code lanes.go puts functions in place of their calls, laneshape.go and
// lanerows.go find what differs between work-items, and printlanes*.go print strips of these.
// emit.go puts the generated file together, in which names.go chooses the names, and fresh.go finds
// what it depends on; ptx.go keeps the PTX beside it, native.go the machine code.
//
// It needs the standard library alone, and the Go command: go list names the packages, and what Go
// has compiled of them gives their types.
package compiler

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/internal/nativegen"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// FileName is the generated file of a package.
const FileName = "kernels_tandem.go"

// Options are what a caller chooses.
type Options struct {
	NoLaunch bool // leave the launch functions out, which need package linalg
	NoPTX    bool // as where clang is not installed
	Pack     bool // keep the texts beside the PTX, compressed
	// PTX compiles the text of a kernel to PTX; root is the directory of Tandem's module. nil:
	// none.
	PTX      func(root, name, text string) ([]byte, error)
	NoNative bool // leave machine code for the cpu device out
	// Native compiles a kernel's text in C to machine code. nil: none, what there is stays.
	Native func(l nativegen.Level, name, text string) (*nativegen.Blob, error)
	// Log is told what lacks PTX or machine code, and what keeps kernels from some devices; nil:
	// nobody is.
	Log     io.Writer
	Explain bool                                // tell also why kernels have no machine code
	text    func(kernel string) (string, error) // in place of nativeText, for tests
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

// Compile makes the generated file of the package in dir. Mistakes in the package are Problems.
func Compile(dir string, o Options) ([]byte, error) {
	out, err := compile(dir, o)
	return out.text, err
}

// An output is the generated file, and what lies beside it.
type output struct {
	text   []byte
	ptx    []ptxgen.Prebuilt
	native []nativeKernel
}

func compile(dir string, o Options) (output, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return output{}, err
	}
	loader, err := newLoader(dir, FileName)
	if err != nil {
		return output{}, err
	}
	return loader.compile(o)
}

func (l *loader) compile(o Options) (out output, err error) {
	err = l.lower(func(l *lowerer, pkg *goPackage, kernels []*kernelDecl) (err error) {
		out, err = l.emit(pkg, kernels, o)
		return err
	})
	return out, err
}

// An emit makes something of lowered kernels.
type emit func(l *lowerer, pkg *goPackage, kernels []*kernelDecl) error

// lower reads the package and lowers its kernels for emit, reading other packages from source as
// these turn out to need them.
func (l *loader) lower(e emit) error {
	for {
		need, err := lower(l, e)
		if len(need) == 0 {
			return err
		}
		for path := range need { // once more, with these packages from source
			l.source[path] = true
		}
	}
}

func lower(loader *loader, e emit) (need map[string]bool, err error) {
	loader.funcs = functionNames(loader)
	pkg, err := loader.load()
	if err != nil {
		return nil, err
	}
	l := &lowerer{
		loader: loader, types: newTypeTable(), funcs: map[string]*function{}, tables: map[*types.Var]*table{},
		need: map[string]bool{}, entries: map[string]bool{}, written: map[*function]map[*variable]bool{},
	}
	l.problems = append(l.problems, loader.errs...)
	if len(l.problems) == 0 {
		err = l.run(pkg, e)
	}
	if len(l.need) > 0 {
		return l.need, nil
	}
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), a.Pos.Offset-b.Pos.Offset)
		})
		return nil, Problems(l.problems)
	}
	return nil, err
}

// run lowers the kernels of pkg for e. After a problem, of which it tells none again, what was
// lowered has gaps, so that a panic means nothing; before one it is an error.
func (l *lowerer) run(pkg *goPackage, e emit) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a mistake of the compiler, in kernel %s: please report it with the kernel: %v\n%s",
				l.kernel, v, debug.Stack())
		}
	}()
	kernels := l.kernels(pkg)
	for _, k := range kernels {
		l.instantiate(pkg, k)
	}
	switch {
	case len(l.need) > 0 || len(l.problems) > 0:
		return nil
	case len(kernels) == 0:
		return fmt.Errorf("%s has no kernels: mark a function whose first parameter is a gpu.Item "+
			"with a line %s above it",
			pkg.ImportPath, kernelDirective)
	}
	return e(l, pkg, kernels)
}

// Write makes the generated files of the package in dir.
func Write(dir string, o Options) error {
	out, err := compile(dir, o)
	if err != nil {
		return err
	}
	if err := errors.Join(updatePTX(dir, out.ptx, o), updateNative(dir, out.native, o)); err != nil {
		return err
	}
	name := filepath.Join(dir, FileName)
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, out.text) {
		return nil
	}
	return os.WriteFile(name, out.text, 0o644)
}

// Check is an error where the generated files of the package in dir are missing or not what Write
// would make. PTX and machine code are compared where o has their compilers; else it is checked
// that they were made of the same texts.
func Check(dir string, o Options) error {
	out, err := compile(dir, o)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, FileName)
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), out.text) {
		return fmt.Errorf("%s is stale: run go generate", name)
	}
	return errors.Join(checkPTX(dir, out.ptx, o), checkNative(dir, out.native, o))
}
