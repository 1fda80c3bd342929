package front

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

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
	"github.com/tandem-gpu/tandem/internal/nativegen"
)

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

// A Package is a package that is read from its source.
type Package struct {
	*listed
	Files []*ast.File
	Types *types.Package
	Info  *types.Info
	funcs map[*types.Func]*ast.FuncDecl
	vars  map[*types.Var]*ast.ValueSpec // of the package and its functions
	dirty map[types.Object]ast.Node     // what writes variables of the package, or takes their addresses
}

// A Loader reads packages: from source those that kernels call functions of, all others from what
// the Go command has compiled.
type Loader struct {
	Fset   *token.FileSet
	Listed map[string]*listed
	Source map[string]bool // read these from source
	Loaded map[string]*Package
	export types.ImporterFrom
	Root   *listed
	skip   string // the generated file
	errs   []ir.Problem

	Made map[*ast.File]bool       // files with the kernels of maps
	maps map[string]*ast.FuncDecl // the functions of these, by the kernels' names

	Overlay map[string][]byte // files in place of those on disk, for tests
}

// Read is the text of a file of the package.
func (l *Loader) Read(name string) ([]byte, error) {
	if text, ok := l.Overlay[name]; ok {
		return text, nil
	}
	return os.ReadFile(name)
}

// NewLoader lists the package in dir and all that it imports. The package itself is not built: that
// takes time, and its generated file may keep it from building.
func NewLoader(dir, skip string) (*Loader, error) {
	l := &Loader{Fset: token.NewFileSet(), Listed: map[string]*listed{}, Source: map[string]bool{}, skip: skip}
	if err := l.list(dir, "."); err != nil {
		return nil, err
	}
	for _, l.Root = range l.Listed {
	}
	if l.Root == nil || l.Root.Name == "" {
		if l.Root != nil && l.Root.Error != nil {
			return nil, errors.New(strings.TrimSpace(l.Root.Error.Err))
		}
		return nil, fmt.Errorf("%s has no Go package", dir)
	}
	imports := slices.DeleteFunc(slices.Clone(l.Root.Imports), func(path string) bool {
		return path == "C" || path == l.Root.ImportPath+"/"+nativegen.Folder // of the generated file
	})
	if !slices.Contains(imports, ir.GPUPath) && l.Root.Module != nil { // the kernels of maps need it
		imports = append(imports, ir.GPUPath)
	}
	if len(imports) == 0 {
		return l, nil
	}
	return l, l.list(dir, append([]string{"-export", "-deps"}, imports...)...)
}

// GoList runs go list in dir. Tests, which load many packages that import the same, keep what it
// says.
var GoList = func(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{
		"list", "-e",
		"-json=ImportPath,Dir,Name,Export,GoFiles,CgoFiles,Imports,Deps,Standard,Module,Error",
	}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, &stderr)
	}
	return out, nil
}

// list adds what go list says.
func (l *Loader) list(dir string, args ...string) error {
	out, err := GoList(dir, args...)
	if err != nil {
		return err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		l.Listed[p.ImportPath] = p
	}
}

// load reads the package itself, and those in l.Source.
func (l *Loader) load() (*Package, error) {
	l.Loaded, l.errs = map[string]*Package{}, nil
	l.Made, l.maps = map[*ast.File]bool{}, map[string]*ast.FuncDecl{}
	if l.export != nil && len(l.Source) == 0 {
		return l.parse(l.Root)
	}
	l.export = importer.ForCompiler(l.Fset, "gc", func(path string) (io.ReadCloser, error) {
		if p := l.Listed[path]; p != nil && p.Export != "" {
			return os.Open(p.Export)
		}
		return nil, fmt.Errorf("package %s does not build: go build says why", path)
	}).(types.ImporterFrom)
	return l.parse(l.Root)
}

// Import is for go/types.
func (l *Loader) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := l.Listed[path]; p != nil && l.fromSource(p) {
		g, err := l.parse(p)
		if err != nil {
			return nil, err
		}
		return g.Types, nil
	}
	return l.export.Import(path)
}

// fromSource tells whether p, or what p imports, is read from source: types must be the same for
// all.
func (l *Loader) fromSource(p *listed) bool {
	return l.Source[p.ImportPath] || slices.ContainsFunc(p.Deps, func(d string) bool { return l.Source[d] })
}

func (l *Loader) parse(p *listed) (*Package, error) {
	if g := l.Loaded[p.ImportPath]; g != nil {
		return g, nil
	}
	g := &Package{listed: p}
	l.Loaded[p.ImportPath] = g
	var texts [][]byte
	for _, name := range p.sources() {
		if p == l.Root && name == l.skip {
			continue
		}
		name = filepath.Join(p.Dir, name)
		text, err := l.Read(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(l.Fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		g.Files, texts = append(g.Files, f), append(texts, text)
	}
	if p == l.Root {
		if err := l.addMaps(g, texts); err != nil {
			return nil, err
		}
	}
	g.Info = &types.Info{
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
	g.Types, _ = config.Check(p.ImportPath, l.Fset, g.Files, g.Info)
	g.index()
	return g, nil
}

// typeError notes an error of the Go compiler, unless it is that a launch function is not there
// yet.
func (l *Loader) typeError(err types.Error) {
	name, undefined := strings.CutPrefix(err.Msg, "undefined: ")
	unused := err.Soft && strings.HasSuffix(l.Fset.Position(err.Pos).Filename, mapsFile) // an import
	if undefined && l.generates(name) || unused {
		return
	}
	if strings.Contains(err.Msg, "does not satisfy gpu.Atomic") {
		advice := "atomic operations are on integers of 32 and 64 bits: use one of these"
		if strings.HasPrefix(err.Msg, "float") {
			advice = "a sum of floats would depend on the order of the work-items: let each group sum in local memory"
		}
		err.Msg += "; " + advice
	}
	l.errs = append(l.errs, ir.Problem{Pos: l.Fset.Position(err.Pos), Text: err.Msg})
}

// index finds the functions of the package, its variables, and which of these are written.
func (g *Package) index() {
	g.funcs, g.vars = map[*types.Func]*ast.FuncDecl{}, map[*types.Var]*ast.ValueSpec{}
	g.dirty = map[types.Object]ast.Node{}
	for _, f := range g.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if fn, ok := g.Info.Defs[n.Name].(*types.Func); ok {
					g.funcs[fn] = n
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					if v, ok := g.Info.Defs[name].(*types.Var); ok {
						g.vars[v] = n
					}
				}
			}
			for _, e := range written(g.Info, n) {
				if o := rootObject(g.Info, e); o != nil {
					g.dirty[o] = n
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
