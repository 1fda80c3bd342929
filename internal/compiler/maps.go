package compiler

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A map is a function of numbers under //tandem:map: the compiler writes the kernel that computes
// it for each element of matrices, and compiles it as if a user had written it.

const (
	mapDirective = "//tandem:map"
	mapSuffix    = "Map" // of the kernel's name
	maxMapInputs = 4
)

// mapped is the type lists of a function that is marked as a map.
func mapped(d ast.Decl) (fn *ast.FuncDecl, list []string, ok bool) {
	fn, isFunc := d.(*ast.FuncDecl)
	if !isFunc || fn.Doc == nil {
		return nil, nil, false
	}
	for _, c := range fn.Doc.List {
		if rest, marked := strings.CutPrefix(c.Text, mapDirective); marked && (rest == "" || rest[0] == ' ') {
			return fn, append(list, strings.Fields(rest)...), true
		}
	}
	return fn, nil, false
}

// mapKernels is a file with the kernels of the maps in f, nil where it has none.
func (l *loader) mapKernels(f *ast.File, text []byte) (*ast.File, error) {
	var b strings.Builder
	for _, d := range f.Decls {
		fn, list, ok := mapped(d)
		if !ok {
			continue
		}
		pos := l.fset.Position(fn.Name.Pos())
		if problem := mapProblem(fn); problem != "" {
			l.errs = append(l.errs, Problem{Pos: pos, Text: problem})
			continue
		}
		source := func(n ast.Node) string {
			return string(text[l.fset.PositionFor(n.Pos(), false).Offset:l.fset.PositionFor(n.End(), false).Offset])
		}
		l.maps[fn.Name.Name+mapSuffix] = fn
		fmt.Fprintf(&b, "\n%s %s\n//line %s:%d\n%s", kernelDirective, strings.Join(list, " "), pos.Filename, pos.Line,
			mapKernel(fn, source))
	}
	if b.Len() == 0 {
		return nil, nil
	}
	head := "package " + f.Name.Name + "\nimport tandem_gpu " + strconv.Quote(gpuPath) + "\n"
	for _, s := range f.Imports {
		if name := importName(s); regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\.`).MatchString(b.String()) {
			head += "import " + name + " " + s.Path.Value + "\n"
		}
	}
	name := l.fset.Position(f.Pos()).Filename + " (maps)"
	made, err := parser.ParseFile(l.fset, name, head+b.String(), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("the kernel of a map, which is a mistake of the compiler: %w", err)
	}
	l.made[made] = true
	return made, nil
}

// importName is what a file calls an import, as far as the file alone tells.
func importName(s *ast.ImportSpec) string {
	if s.Name != nil {
		return s.Name.Name
	}
	p, _ := strconv.Unquote(s.Path.Value)
	return path.Base(p)
}

// mapProblem is why fn is no map, "" if it may be one.
func mapProblem(fn *ast.FuncDecl) string {
	inputs, results := fn.Type.Params, fn.Type.Results
	switch {
	case fn.Recv != nil:
		return "a map is a function, not a method; pass the receiver as a parameter"
	case results == nil || results.NumFields() != 1 || len(results.List[0].Names) > 0:
		return "a map gives one element: func f(x float32) float32; write a kernel for more, with " + kernelDirective
	case inputs.NumFields() < 1 || inputs.NumFields() > maxMapInputs:
		return fmt.Sprintf("a map takes 1 to %d elements; write a kernel for others, with %s", maxMapInputs,
			kernelDirective)
	case slices.ContainsFunc(inputs.List, func(p *ast.Field) bool { return !scalarSyntax(p.Type) }),
		!scalarSyntax(results.List[0].Type):
		return "a map is of numbers and bools; write a kernel for others, with " + kernelDirective
	case fn.Name.Name == "_" || fn.Name.Name == "main" || fn.Name.Name == "init":
		return "a map needs a name that can be called; choose another"
	}
	return ""
}

// scalarSyntax tells whether e may be written for a number or a bool.
func scalarSyntax(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return true
	case *ast.ParenExpr:
		return scalarSyntax(e.X)
	}
	return false
}

// mapKernel is the kernel of fn in Go: z = fn(x1, ...), element by element. A matrix of one column
// is repeated, and one without rows stands for a number. What is a row has stride 0.
func mapKernel(fn *ast.FuncDecl, source func(ast.Node) string) string {
	typeParams, typeArgs := "", ""
	if p := fn.Type.TypeParams; p != nil {
		typeParams = source(p)
		var names []string
		for _, f := range p.List {
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
		}
		typeArgs = "[" + strings.Join(names, ", ") + "]"
	}
	params, loads, args := "", "", []string{}
	for i, name := range mapInputs(fn) {
		t := source(name.typ)
		x := "x" + strconv.Itoa(i+1)
		params += fmt.Sprintf(", %s tandem_gpu.Matrix[%s], %sAll %[2]s", x, t, x)
		loads += fmt.Sprintf("e%d := %sAll\n"+
			"if %[2]s.Cols > 1 {\ne%[1]d = %[2]s.At(i, j)\n} else if %[2]s.Rows > 0 {\ne%[1]d = %[2]s.At(i, 0)\n}\n",
			i+1, x)
		args = append(args, fmt.Sprintf("e%d", i+1))
	}
	return fmt.Sprintf(`func %s%s(it tandem_gpu.Item, z tandem_gpu.Matrix[%s]%s) {
for i := it.Global(1); i < z.Rows; i += it.GlobalSize(1) {
for begin := it.Group(0) * %d; begin < z.Cols; begin += it.Groups(0) * %[5]d {
end := min(begin + %[5]d, z.Cols)
for j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
%s z.Set(i, j, %s%s(%s))
}
}
}
}
`, fn.Name.Name+mapSuffix, typeParams, source(fn.Type.Results.List[0].Type), params, mapBlock, loads, fn.Name.Name,
		typeArgs, strings.Join(args, ", "))
}

// mapBlock is the elements of a row that a group takes at a time, as kernels.ElementwiseGrid has
// it.
const mapBlock = 1024

// A mapInput is a parameter of a map.
type mapInput struct {
	name string // "" if it has none
	typ  ast.Expr
}

func mapInputs(fn *ast.FuncDecl) (list []mapInput) {
	for _, f := range fn.Type.Params.List {
		if len(f.Names) == 0 {
			list = append(list, mapInput{typ: f.Type})
		}
		for _, n := range f.Names {
			list = append(list, mapInput{n.Name, f.Type})
		}
	}
	return list
}

// mapSources prints what the cpu device runs of an instance of a map without machine code: loops
// around its function, as it was compiled, and around the function itself.
func (e *emitter) mapSources(g *goPrinter, k *kernelDecl, n *kernel) (compiled, plain string) {
	inputs := k.mapped.Type.Params.NumFields()
	form := func(f string) string { return fmt.Sprintf("support.Map%d(%s)", inputs, f) }
	return form(g.function(n.calls[0])), form(k.name() + e.instanceArgs(k, n))
}

// launchMap prints the function that launches a map.
func (e *emitter) launchMap(k *kernelDecl) {
	l := &launcher{emitter: e, k: k, env: env{}, taken: map[string]bool{}}
	sig := k.fn.Type().(*types.Signature)
	session := l.unique("s")
	l.call = l.unique("call")
	l.params = []string{session + " *linalg.Session"}
	source := l.kernelOf()
	l.mapParam("z", sig.Params().At(1).Type(), "KernelArg", "MapResult")
	for i, x := range mapInputs(k.mapped) {
		if x.name == "" || x.name == "_" {
			x.name = "x" + strconv.Itoa(i+1)
		}
		l.mapParam(x.name, sig.Params().At(2+2*i).Type(), "MapArg", "MapInput")
	}
	name := launchName(k.name())
	e.line("// %s makes z [%s] of the inputs, element by element, as linalg.MapCall has it.", name, k.name())
	e.line("func %s%s(%s) error {", name, bracketed(l.typeParams), strings.Join(l.params, ", "))
	e.line("%s := linalg.NewMapCall(%s, %s)\n%s\nreturn %[1]s.Launch()\n}\n", l.call, session, source,
		strings.Join(l.steps, "\n"))
	e.instances(k)
}

// mapParam adds a matrix of a map, of gpu.Matrix type t.
func (l *launcher) mapParam(name string, t types.Type, constraint, step string) {
	name = l.unique(name)
	elem := l.typeName(l.types.close(types.Unalias(t).(*types.Named).TypeArgs().At(0), l.env))
	arg := l.unique("Arg" + strconv.Itoa(len(l.params)))
	l.typeParams = append(l.typeParams, arg+" linalg."+constraint+"["+elem+"]")
	l.params = append(l.params, name+" "+arg)
	l.steps = append(l.steps, fmt.Sprintf("linalg.%s[%s](&%s, %s)", step, elem, l.call, name))
}
