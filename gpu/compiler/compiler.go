// Package compiler makes kernels that are written in Go into text for OpenCL and CUDA, PTX, Go for
// the cpu device, machine code for it, and functions that launch them; docs/kernels.md describes
// what it takes. It is for the command gpu/compile and for tandem: a program with kernels does not
// link it.
//
// internal/front makes kernels a tree, which internal/ir defines; internal/ctext, gotext and lanes
// print it. internal/ir/passes.go lists all that happens to a kernel. Here emit.go puts the
// generated file together, in which names.go chooses the names, and fresh.go finds what it depends
// on; ptx.go keeps the PTX beside it, native.go the machine code.
package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
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

// Compile makes the generated file of the package in dir, and writes nothing: where the package's
// folder of machine code does not know all kernels, the file names none. Mistakes in the package
// are Problems.
func Compile(dir string, o Options) ([]byte, error) {
	out, err := compile(dir, o)
	if err == nil && !o.NoNative && !nativegen.Declares(filepath.Join(dir, nativegen.Folder), kernelsOf(out.native)) {
		o.NoNative, o.Log = true, nil // which has been told
		out, err = compile(dir, o)
	}
	return out.text, err
}

// An output is the generated file, and what lies beside it.
type output struct {
	text   []byte
	ptx    []ptxgen.Prebuilt
	native []nativeKernel
}

func compile(dir string, o Options) (output, error) {
	loader, err := load(dir)
	if err != nil {
		return output{}, err
	}
	return compileLoaded(loader, o)
}

// load lists the package in dir.
func load(dir string) (*front.Loader, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return front.NewLoader(dir, FileName)
}

// compileLoaded is compile for a package that is known.
func compileLoaded(l *front.Loader, o Options) (out output, err error) {
	err = l.Lower(func(l *front.Lowerer, pkg *front.Package, kernels []*front.KernelDecl) (err error) {
		out, err = emit(l, pkg, kernels, o)
		return err
	})
	return out, err
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

// CheckBytes is Check that compares PTX and machine code with what clang makes of the kernels,
// where it is installed and of the version that made them: another may make other code.
func CheckBytes(dir string, o Options) error {
	version, err := ptxgen.Version()
	if err == nil && (o.NoNative || nativegen.Compiler(filepath.Join(dir, nativegen.Folder)) == version) {
		o.PTX, o.Native = Clang(), Machine()
	}
	return Check(dir, o)
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
		return fmt.Errorf("%w: run go generate", err)
	}
	if !bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), out.text) {
		return fmt.Errorf("%s is stale: run go generate", name)
	}
	return errors.Join(checkPTX(dir, out.ptx, o), checkNative(dir, out.native, o))
}
