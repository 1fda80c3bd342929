// Typecheck checks the types of packages, of their tests and of what they import, for platforms
// other than this one, without cgo:
//
//	go run ./scripts/typecheck [-tags TAGS] GOOS/GOARCH PACKAGES...
//
// It reads source alone. "go vet" and "go build" compile all that is imported first, the standard
// library too, which takes a minute or two of processor time for each platform.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	tags := flag.String("tags", "", "build `tags`, as those of go build")
	flag.Parse()
	goos, goarch, ok := strings.Cut(flag.Arg(0), "/")
	if !ok || flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "typecheck: usage: typecheck [-tags TAGS] GOOS/GOARCH PACKAGES...")
		os.Exit(2)
	}
	pkgs, err := list(goos, goarch, *tags, flag.Args()[1:])
	if err == nil {
		err = check(pkgs, goarch)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "typecheck: %s: %v\n", flag.Arg(0), err)
		os.Exit(1)
	}
}

// A listed package is what "go list -json" tells of one: "go help list" describes the fields.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ GoVersion string }
}

// list is the packages of patterns, with tests, and all that they import, each behind its imports.
func list(goos, goarch, tags string, patterns []string) ([]listed, error) {
	const fields = "-json=ImportPath,Dir,Standard,GoFiles,ImportMap,Module"
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-tags", tags, fields}, patterns...)...)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("what go list printed: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

// maxErrors is how many mistakes are reported.
const maxErrors = 20

// check checks each package, of the standard library without the bodies of its functions.
func check(pkgs []listed, goarch string) error {
	fset := token.NewFileSet()
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	var mistakes []error
	for _, p := range pkgs {
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // a program of tests has its main in the build cache, as go test wrote it
		}
		config := types.Config{
			Importer: mapped{checked, p.ImportMap}, Sizes: types.SizesFor("gc", goarch), IgnoreFuncBodies: p.Standard,
			Error: func(err error) { mistakes = append(mistakes, err) },
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		files, err := parse(fset, p)
		if err != nil {
			return err
		}
		path, _, _ := strings.Cut(p.ImportPath, " ") // "p [q.test]" is p, compiled for a test
		checked[p.ImportPath], _ = config.Check(path, fset, files, nil)
		if len(mistakes) > 0 {
			return errors.Join(mistakes[:min(len(mistakes), maxErrors)]...)
		}
	}
	if len(checked) == 1 {
		return errors.New("no packages")
	}
	return nil
}

func parse(fset *token.FileSet, p listed) ([]*ast.File, error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// mapped imports packages that were checked before, where names has what an import is called by
// "go list" if not by its path.
type mapped struct {
	checked map[string]*types.Package
	names   map[string]string
}

func (m mapped) Import(path string) (*types.Package, error) {
	if name, ok := m.names[path]; ok {
		path = name
	}
	if pkg := m.checked[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("package %s was not checked before", path)
}
