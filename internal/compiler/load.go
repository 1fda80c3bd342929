package compiler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const gpuPath = "github.com/tandem-gpu/tandem/gpu"

// A listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles, CgoFiles             []string
	Imports, Deps                 []string
	Standard                      bool
	Module                        *struct{ Dir, Path, GoVersion string }
	Error                         *struct{ Err, Pos string }
}

// sources is the names of the Go files.
func (p *listed) sources() []string { return slices.Concat(p.GoFiles, p.CgoFiles) }

// A goPackage is a package that is read from its source.
type goPackage struct {
	*listed
	files []*ast.File
	types *types.Package
	info  *types.Info
	funcs map[*types.Func]*ast.FuncDecl
	vars  map[*types.Var]*ast.ValueSpec // of the package
	dirty map[types.Object]token.Pos    // variables of the package that some code writes
}

// A loader reads packages: from source those that kernels call functions of, all others from what
// the Go command has compiled.
type loader struct {
	fset   *token.FileSet
	listed map[string]*listed
	source map[string]bool // read these from source
	loaded map[string]*goPackage
	export types.ImporterFrom
	root   *listed
	skip   string   // the generated file
	funcs  []string // names of the package's functions
	errs   []Problem

	made map[*ast.File]bool       // files with the kernels of maps
	maps map[string]*ast.FuncDecl // the functions of these, by the kernels' names

	overlay map[string][]byte // files in place of those on disk, for tests
}

func (l *loader) read(name string) ([]byte, error) {
	if text, ok := l.overlay[name]; ok {
		return text, nil
	}
	return os.ReadFile(name)
}

// newLoader lists the package in dir and all that it imports. The package itself is not built: that
// takes time, and its generated file may keep it from building.
func newLoader(dir, skip string) (*loader, error) {
	l := &loader{fset: token.NewFileSet(), listed: map[string]*listed{}, source: map[string]bool{}, skip: skip}
	if err := l.list(dir, "."); err != nil {
		return nil, err
	}
	for _, l.root = range l.listed {
	}
	if l.root == nil || l.root.Name == "" {
		if l.root != nil && l.root.Error != nil {
			return nil, errors.New(strings.TrimSpace(l.root.Error.Err))
		}
		return nil, fmt.Errorf("%s has no Go package", dir)
	}
	imports := slices.DeleteFunc(slices.Clone(l.root.Imports), func(path string) bool { return path == "C" })
	if !slices.Contains(imports, gpuPath) && l.root.Module != nil { // the kernels of maps need it
		imports = append(imports, gpuPath)
	}
	if len(imports) == 0 {
		return l, nil
	}
	return l, l.list(dir, append([]string{"-export", "-deps"}, imports...)...)
}

// list adds what go list says.
func (l *loader) list(dir string, args ...string) error {
	cmd := exec.Command("go", append([]string{
		"list", "-e",
		"-json=ImportPath,Dir,Name,Export,GoFiles,CgoFiles,Imports,Deps,Standard,Module,Error",
	}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w\n%s", dir, err, &stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		l.listed[p.ImportPath] = p
	}
}

// load reads the package itself, and the packages in l.source.
func (l *loader) load() (*goPackage, error) {
	l.loaded, l.errs = map[string]*goPackage{}, nil
	l.made, l.maps = map[*ast.File]bool{}, map[string]*ast.FuncDecl{}
	if l.export != nil && len(l.source) == 0 {
		return l.parse(l.root)
	}
	l.export = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		if p := l.listed[path]; p != nil && p.Export != "" {
			return os.Open(p.Export)
		}
		return nil, fmt.Errorf("package %s does not build: go build says why", path)
	}).(types.ImporterFrom)
	return l.parse(l.root)
}

// Import is for go/types.
func (l *loader) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := l.listed[path]; p != nil && l.fromSource(p) {
		g, err := l.parse(p)
		if err != nil {
			return nil, err
		}
		return g.types, nil
	}
	return l.export.Import(path)
}

// fromSource tells whether p, or what p imports, is read from source: types must be the same for
// all.
func (l *loader) fromSource(p *listed) bool {
	return l.source[p.ImportPath] || slices.ContainsFunc(p.Deps, func(d string) bool { return l.source[d] })
}

func (l *loader) parse(p *listed) (*goPackage, error) {
	if g := l.loaded[p.ImportPath]; g != nil {
		return g, nil
	}
	g := &goPackage{listed: p}
	l.loaded[p.ImportPath] = g
	for _, name := range p.sources() {
		if p == l.root && name == l.skip {
			continue
		}
		name = filepath.Join(p.Dir, name)
		text, err := l.read(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(l.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		g.files = append(g.files, f)
		if p != l.root {
			continue
		}
		if f, err = l.mapKernels(f, text); err != nil {
			return nil, err
		} else if f != nil {
			g.files = append(g.files, f)
		}
	}
	g.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Instances: map[*ast.Ident]types.Instance{}, Implicits: map[ast.Node]types.Object{},
	}
	config := types.Config{
		Importer: l, Sizes: types.SizesFor("gc", "amd64"), // int has 64 bits
		FakeImportC: len(p.CgoFiles) > 0,
		Error:       func(err error) { l.typeError(err.(types.Error)) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	g.types, _ = config.Check(p.ImportPath, l.fset, g.files, g.info)
	g.index()
	return g, nil
}

// typeError notes an error of the Go compiler, unless it is that a launch function is not there
// yet.
func (l *loader) typeError(err types.Error) {
	name, undefined := strings.CutPrefix(err.Msg, "undefined: ")
	if undefined && l.generates(name) {
		return
	}
	if strings.Contains(err.Msg, "does not satisfy gpu.Atomic") {
		advice := "atomic operations are on integers of 32 and 64 bits: use one of these"
		if strings.HasPrefix(err.Msg, "float") {
			advice = "a sum of floats would depend on the order of the work-items: let each group sum in local memory"
		}
		err.Msg += "; " + advice
	}
	l.errs = append(l.errs, Problem{Pos: l.fset.Position(err.Pos), Text: err.Msg})
}

// index finds the functions of the package, its variables, and which of these are written.
func (g *goPackage) index() {
	g.funcs, g.vars = map[*types.Func]*ast.FuncDecl{}, map[*types.Var]*ast.ValueSpec{}
	g.dirty = map[types.Object]token.Pos{}
	for _, f := range g.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if fn, ok := g.info.Defs[d.Name].(*types.Func); ok {
					g.funcs[fn] = d
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.ValueSpec); ok {
						for _, name := range s.Names {
							if v, ok := g.info.Defs[name].(*types.Var); ok {
								g.vars[v] = s
							}
						}
					}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			for _, e := range written(g.info, n) {
				if o := rootObject(g.info, e); o != nil {
					g.dirty[o] = e.Pos()
				}
			}
			return true
		})
	}
}

// written is the expressions that n changes, or takes the address of, or slices.
func written(info *types.Info, n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs // := too assigns a variable that is there
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.SliceExpr:
		if t := info.TypeOf(n.X); t != nil {
			switch t.Underlying().(type) {
			case *types.Array, *types.Interface: // of a type parameter
				return []ast.Expr{n.X}
			}
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.SelectorExpr: // of a method, called or not
		if takesAddress(info.Selections[n]) {
			return []ast.Expr{n.X}
		}
	}
	return nil
}

// takesAddress tells whether method s takes the address of what it is selected of.
func takesAddress(s *types.Selection) bool {
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	_, pointer := types.Unalias(s.Obj().(*types.Func).Signature().Recv().Type()).(*types.Pointer)
	_, already := s.Recv().Underlying().(*types.Pointer)
	return pointer && !already
}

// rootObject is the variable that e is a part of, without following pointers; nil if none.
func rootObject(info *types.Info, e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case nil:
			return nil
		case *ast.Ident:
			return info.Uses[x] // a new variable is in Defs
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			if s := info.Selections[x]; s == nil {
				return info.Uses[x.Sel]
			}
			e = x.X
		default:
			return nil
		}
		if t := info.TypeOf(e); t != nil {
			switch t.Underlying().(type) {
			case *types.Pointer, *types.Slice:
				return nil
			}
		}
	}
}
