package compiler

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/gotext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
	"github.com/tandem-gpu/tandem/gpu/support"
)

// A closure is all that the kernels of a package depend on: the declarations of the package that
// can be reached from theirs by names, and the constants and types of other packages that these
// name. It looks at the syntax, not at what lowering does, so that it cannot miss a use.
type closure struct {
	*front.Loader
	pkg     *front.Package
	decls   map[types.Object]ast.Node // of the package, and its imports, by what they declare
	reached map[ast.Node]bool
	queue   []ast.Node
	own     []*types.TypeName // types of the package that were reached
	called  map[string]bool   // names of methods that are called through type parameters
	outside map[string]outer  // constants and types of packages that are imported, by how they are written
}

// An outer is a constant or a type of another package.
type outer struct {
	pos   token.Pos
	value *types.Const
	typ   types.Type
}

// closureOf walks the declarations from those of the kernels.
func closureOf(l *front.Loader, pkg *front.Package, kernels []*front.KernelDecl) *closure {
	c := &closure{
		Loader: l, pkg: pkg, decls: map[types.Object]ast.Node{}, reached: map[ast.Node]bool{},
		called: map[string]bool{}, outside: map[string]outer{},
	}
	c.index()
	for _, k := range kernels {
		c.reach(k.Fn)
		for _, ts := range k.Types {
			for _, t := range ts {
				c.reachType(t)
			}
		}
	}
	for len(c.queue) > 0 {
		n := c.queue[0]
		c.queue = c.queue[1:]
		ast.Inspect(n, func(n ast.Node) bool {
			c.node(n)
			return true
		})
		if len(c.queue) == 0 {
			c.methods()
		}
	}
	return c
}

// index finds what each declaration declares.
func (c *closure) index() {
	for _, file := range c.pkg.Files {
		for _, d := range file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					o := c.pkg.Info.Implicits[n]
					if n.Name != nil {
						o = c.pkg.Info.Defs[n.Name]
					}
					c.decls[o] = n
				case *ast.Ident:
					o := c.pkg.Info.Defs[n]
					if _, method := o.(*types.Func); method || o != nil && o.Parent() == c.pkg.Types.Scope() {
						c.decls[o] = d
					}
				}
				return true
			})
		}
	}
	delete(c.decls, nil)
}

// node notes what a node of the syntax names.
func (c *closure) node(n ast.Node) {
	if id, ok := n.(*ast.Ident); ok {
		c.reach(c.pkg.Info.Uses[id])
	}
	if e, ok := n.(ast.Expr); ok && c.pkg.Info.Types[e].IsType() {
		c.outerType(e.Pos(), c.pkg.Info.TypeOf(e))
	}
}

func (c *closure) reach(o types.Object) {
	switch x := o.(type) {
	case *types.Func:
		o = x.Origin()
		if r := x.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
			c.called[x.Name()] = true
		}
	case *types.Const:
		if c.names(x) {
			c.outside[x.Pkg().Path()+"."+x.Name()] = outer{value: x}
		}
	}
	d := c.decls[o]
	if d == nil || c.reached[d] {
		return
	}
	c.reached[d] = true
	c.queue = append(c.queue, d)
	if g, ok := d.(*ast.GenDecl); ok {
		for _, s := range g.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				if name, ok := c.pkg.Info.Defs[t.Name].(*types.TypeName); ok {
					c.own = append(c.own, name)
				}
			}
		}
	}
}

// methods reaches the methods that a call through a type parameter may mean.
func (c *closure) methods() {
	for _, name := range c.own {
		n, ok := name.Type().(*types.Named)
		for i := 0; ok && i < n.NumMethods(); i++ {
			if m := n.Method(i); c.called[m.Name()] {
				c.reach(m)
			}
		}
	}
}

// reachType reaches the types of the package that t is made of.
func (c *closure) reachType(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		c.reach(t.Obj())
	case *types.Named:
		c.reach(t.Obj())
		for i := range t.TypeArgs().Len() {
			c.reachType(t.TypeArgs().At(i))
		}
	case interface{ Elem() types.Type }:
		c.reachType(t.Elem())
	}
	c.outerType(token.NoPos, t)
}

// names tells whether o is of another package, whose name the generated file can write.
func (c *closure) names(o types.Object) bool {
	p := o.Pkg()
	return p != nil && p != c.pkg.Types && p.Path() != ir.GPUPath && o.Exported() && o.Parent() == p.Scope() &&
		slices.Contains(c.pkg.Imports, p.Path()) && !c.Listed[p.Path()].Standard
}

// outerType notes a type of another package.
func (c *closure) outerType(pos token.Pos, t types.Type) {
	if n, ok := types.Unalias(t).(*types.Named); ok && c.names(n.Obj()) && !types.IsInterface(n) && c.writable(n) {
		c.outside[types.TypeString(n, nil)] = outer{pos: pos, typ: n}
	}
}

// writable tells whether the generated file can write t.
func (c *closure) writable(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return true
	case *types.Named:
		if t.TypeParams().Len() != t.TypeArgs().Len() || t.Obj().Pkg() == nil ||
			t.Obj().Parent() != t.Obj().Pkg().Scope() {
			return false
		}
		for i := range t.TypeArgs().Len() {
			if !c.writable(t.TypeArgs().At(i)) {
				return false
			}
		}
		return t.Obj().Pkg() == c.pkg.Types || c.names(t.Obj())
	case *types.Slice:
		return c.writable(t.Elem())
	case *types.Array:
		return c.writable(t.Elem())
	}
	return false
}

// fresh prints the check that the kernels are still those that the file was generated from. It
// gives the condition under which all files that it names are built.
func (e *emitter) fresh(g *gotext.Printer, kernels []*front.KernelDecl) (condition string, err error) {
	c := closureOf(e.Loader, e.pkg, kernels)
	var decls []string
	var conditions conditions
	files := map[string]bool{}
	for _, file := range e.pkg.Files {
		if e.Made[file] {
			continue
		}
		name := e.Files.PositionFor(file.Pos(), false).Filename
		text, err := e.Read(name)
		if err != nil {
			return "", err
		}
		parts := support.Parts(text)
		add := func(n ast.Node) {
			if !c.reached[n] {
				return
			}
			start, end := e.Files.PositionFor(n.Pos(), false).Offset, e.Files.PositionFor(n.End(), false).Offset
			head, _, _ := strings.Cut(string(text[start:end]), "\n")
			i := slices.IndexFunc(parts, func(p support.Part) bool { return p.End > start })
			files[name] = true
			conditions.file(file, filepath.Base(name))
			decls = append(decls, fmt.Sprintf("{File: %q, Head: %q, Hash: %q},\n", filepath.Base(name),
				strings.TrimSpace(head), parts[i].Hash))
		}
		for _, d := range file.Decls {
			add(d)
			if d, ok := d.(*ast.GenDecl); ok {
				for _, s := range d.Specs {
					add(s)
				}
			}
		}
	}
	text := e.names.Give("kernelsText")
	e.line("//go:embed %s\nvar %s embed.FS\n", strings.Join(patterns(files), " "), text)
	e.line("// %s tells whether what this file was generated from is unchanged.", e.freshName())
	e.line("var %s = support.Fresh(%q, %s.ReadFile, []support.Decl{\n%s}, %s, %s)\n", e.freshName(), FileName, text,
		strings.Join(decls, ""), e.facts(c), e.changed(g))
	return conditions.String(), nil
}

func (e *emitter) freshName() string { return e.names.Give("kernelsFresh") }

// patterns is files as go:embed takes them.
func patterns(files map[string]bool) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p := strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(filepath.Base(name))
		if strings.ContainsAny(p, " \\\"") {
			p = strconv.Quote(p)
		}
		list = append(list, p)
	}
	return list
}

// facts is what the kernels take constants and types of other packages for, and what they are.
func (e *emitter) facts(c *closure) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c.outside)) {
		if o := c.outside[key]; o.value != nil {
			name := e.qualifier(o.value.Pkg()) + "." + o.value.Name()
			then, now := constFact(o.value, name)
			fmt.Fprintf(&b, "{Name: %q, Then: %q, Now: support.Const(%s)},\n", key, then, now)
		} else {
			fmt.Fprintf(&b, "{Name: %q, Then: %q, Now: support.Type[%s]()},\n", key, describe(o.typ, 0),
				e.typeName(o.typ))
		}
	}
	if b.Len() == 0 {
		return "nil"
	}
	return "[]support.Fact{\n" + b.String() + "}"
}

// constFact is what support.Const says of constant o, and how it is told to.
func constFact(o *types.Const, name string) (then, now string) {
	t := types.Default(o.Type()).Underlying().(*types.Basic)
	kind, v := t.Name(), o.Val()
	_, untyped := o.Type().(*types.Basic)
	untyped = untyped && o.Type().(*types.Basic).Info()&types.IsUntyped != 0
	switch {
	case kind == "byte" || kind == "rune":
		kind = types.Typ[t.Kind()].Name()
	case untyped && t.Info()&types.IsInteger != 0: // int has 32 bits on some machines
		if n, exact := constant.Int64Val(v); !exact {
			kind, name = "float64", "float64("+name+")"
		} else if int64(int32(n)) != n {
			kind, name = "int64", "int64("+name+")"
		}
	}
	value := ""
	switch v.Kind() {
	case constant.Bool:
		value = strconv.FormatBool(constant.BoolVal(v))
	case constant.String:
		value = strconv.Quote(constant.StringVal(v))
	case constant.Int, constant.Float:
		value = v.ExactString()
		if strings.HasPrefix(kind, "float") {
			x, _ := constant.Float64Val(v)
			if kind == "float32" {
				y, _ := constant.Float32Val(v)
				x = float64(y)
			}
			value = strconv.FormatFloat(x, 'g', -1, 64)
		}
	}
	return kind + " " + value, name
}

// describe is what support.Type says of t.
func describe(t types.Type, depth int) string {
	depth++
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.UnsafePointer {
			return "unsafe.Pointer"
		}
		return types.Typ[u.Kind()].Name()
	case *types.Array:
		return fmt.Sprintf("[%d]%s", u.Len(), describe(u.Elem(), depth))
	case *types.Slice:
		if depth <= 8 {
			return "[]" + describe(u.Elem(), depth)
		}
		return "slice"
	case *types.Struct:
		var fields []string
		for i := range u.NumFields() {
			fields = append(fields, u.Field(i).Name()+" "+describe(u.Field(i).Type(), depth))
		}
		return "struct{" + strings.Join(fields, "; ") + "}"
	case *types.Pointer:
		return "ptr"
	case *types.Map:
		return "map"
	case *types.Chan:
		return "chan"
	case *types.Signature:
		return "func"
	}
	return "interface"
}

// watched is the variables of packages that kernels have the values of, as far as the generated
// file can name them.
func (e *emitter) watched() (vars []*types.Var) {
	for v := range e.Tables {
		if v.Pkg() == e.pkg.Types || v.Exported() && slices.Contains(e.pkg.Imports, v.Pkg().Path()) {
			vars = append(vars, v)
		}
	}
	slices.SortFunc(vars, func(a, b *types.Var) int {
		return cmp.Or(cmp.Compare(a.Pkg().Path(), b.Pkg().Path()), cmp.Compare(a.Name(), b.Name()))
	})
	return vars
}

// changed is a function that names a variable of a package which has another value than kernels
// have in its place: any code of any package may have set it.
func (e *emitter) changed(g *gotext.Printer) string {
	vars := e.watched()
	if len(vars) == 0 {
		return "nil"
	}
	var b strings.Builder
	b.WriteString("func() string {\nswitch {\n")
	for _, v := range vars {
		name, t := v.Name(), e.Tables[v]
		if v.Pkg() != e.pkg.Types {
			name = e.qualifier(v.Pkg()) + "." + name
		}
		if t.Value.Op == ir.OpConst {
			fmt.Fprintf(&b, "case %s != %s:\n", name, gotext.Literal(t.Value))
		} else {
			fmt.Fprintf(&b, "case !support.Same(&%s, &%s):\n", name, g.Table(t))
		}
		fmt.Fprintf(&b, "return %q\n", name)
	}
	b.WriteString("}\nreturn \"\"\n}")
	return b.String()
}
