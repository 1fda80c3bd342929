package front

import (
	"fmt"
	"go/ast"
	"go/parser"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A map is a function of numbers under //tandem:map: the compiler writes the kernel that computes
// it for each element of matrices, and compiles it as if a user had written it.

const (
	mapDirective = "//tandem:map"
	mapSuffix    = "Map"     // of the kernel's name
	mapsFile     = " (maps)" // behind the name of a file, that of the file with its kernels
	maxMapInputs = 4
)

// addMaps puts the kernels of the maps of each file, whose text is in texts, behind it.
func (l *Loader) addMaps(g *Package, texts [][]byte) error {
	files := g.Files
	g.Files = nil
	for i, f := range files {
		made, err := l.mapKernels(f, texts[i])
		if err != nil {
			return err
		}
		if g.Files = append(g.Files, f); made != nil {
			g.Files = append(g.Files, made)
		}
	}
	return nil
}

// mapKernels is a file with the kernels of the maps in f, nil where it has none.
func (l *Loader) mapKernels(f *ast.File, text []byte) (*ast.File, error) {
	var b strings.Builder
	source := func(n ast.Node) string {
		return string(text[l.Fset.PositionFor(n.Pos(), false).Offset:l.Fset.PositionFor(n.End(), false).Offset])
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		list, marked := directive(fn, mapDirective)
		if marked == 0 {
			continue
		}
		pos := l.Fset.Position(fn.Name.Pos())
		if problem := mapProblem(fn); problem != "" {
			l.errs = append(l.errs, ir.Problem{Pos: pos, Text: problem})
			continue
		}
		l.maps[fn.Name.Name+mapSuffix] = fn
		fmt.Fprintf(&b, "\n%s %s\n//line %s:%d\n%s", kernelDirective, strings.Join(list, " "), pos.Filename, pos.Line,
			mapKernel(fn, source))
	}
	if b.Len() == 0 {
		return nil, nil
	}
	head := "package " + f.Name.Name + "\nimport tandem_gpu " + strconv.Quote(ir.GPUPath) + "\n"
	for _, s := range f.Imports { // those that no map needs are no error here, see typeError
		head += "import " + source(s) + "\n"
	}
	name := l.Fset.Position(f.Pos()).Filename + mapsFile
	made, err := parser.ParseFile(l.Fset, name, head+b.String(), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("the kernel of a map, which is a mistake of the compiler: %w", err)
	}
	l.Made[made] = true
	return made, nil
}

const notElements = "a map is of numbers and bools; write a kernel for others, with " + kernelDirective

// mapProblem is why fn is no map, "" if it may be one.
func mapProblem(fn *ast.FuncDecl) string {
	inputs, results := fn.Type.Params, fn.Type.Results
	switch {
	case fn.Recv != nil:
		return "a map is a function, not a method; pass the receiver as a parameter"
	case results.NumFields() != 1:
		return "a map gives one element: func f(x float32) float32; write a kernel for more, with " + kernelDirective
	case inputs.NumFields() < 1 || inputs.NumFields() > maxMapInputs:
		return fmt.Sprintf("a map takes 1 to %d elements; write a kernel for others, with %s", maxMapInputs,
			kernelDirective)
	case slices.ContainsFunc(inputs.List, func(p *ast.Field) bool { return !scalarSyntax(p.Type) }),
		!scalarSyntax(results.List[0].Type):
		return notElements
	case fn.Name.Name == "_" || fn.Name.Name == "main" || fn.Name.Name == "init":
		return "a map needs a name that can be called; choose another"
	case slices.ContainsFunc(append(typeParamNames(fn), fn.Name.Name), mapLocal.MatchString):
		return "the kernel of a map has variables it, z, i, j, begin, end, row, x1, e1 and the like; choose another " +
			"name"
	}
	return ""
}

// mapLocal is the variables of mapKernel that hide what it calls.
var mapLocal = regexp.MustCompile(`^(it|z|i|j|begin|end|row[1-4]?|[xe][1-4](All)?)$`)

// typeParamNames is the names of fn's type parameters.
func typeParamNames(fn *ast.FuncDecl) (names []string) {
	if fn.Type.TypeParams == nil {
		return nil
	}
	for _, f := range fn.Type.TypeParams.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return names
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
// is repeated, and one without rows stands for a number. What is a row has stride 0. Slices of the
// rows are checked once, so that machine code checks no element. It has no min, since the package
// may have one of its own.
func mapKernel(fn *ast.FuncDecl, source func(ast.Node) string) string {
	typeParams, typeArgs := "", ""
	if p := fn.Type.TypeParams; p != nil {
		typeParams = source(p)
		typeArgs = "[" + strings.Join(typeParamNames(fn), ", ") + "]"
	}
	params, rows, loads, args := "", "", "", []string{}
	for i, input := range MapInputs(fn) {
		n, t := strconv.Itoa(i+1), source(input.typ)
		params += strings.NewReplacer("#", n, "TYPE", t).Replace(", x# tandem_gpu.Matrix[TYPE], x#All TYPE")
		rows += strings.ReplaceAll(mapRow, "#", n)
		loads += strings.ReplaceAll(mapLoad, "#", n)
		args = append(args, "e"+n)
	}
	return fmt.Sprintf(`func %s%s(it tandem_gpu.Item, z tandem_gpu.Matrix[%s]%s) {
for i := it.Global(1); i < z.Rows; i += it.GlobalSize(1) {
for begin := it.Group(0) * %d; begin < z.Cols; begin += it.Groups(0) * %[5]d {
end := begin + %[5]d
if end > z.Cols {
end = z.Cols
}
row := z.Data[i*z.Stride:][:end]
%sfor j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
%srow[j] = %s%s(%s)
}
}
}
}
`, fn.Name.Name+mapSuffix, typeParams, source(fn.Type.Results.List[0].Type), params, mapBlock, rows, loads,
		fn.Name.Name, typeArgs, strings.Join(args, ", "))
}

// mapRow is input # of a row, which has no elements of its own where one is repeated: then it is
// not the result, which other work-items of the row set.
const mapRow = `row#, e#All := x#.Data[:0], x#All
if x#.Cols == z.Cols {
row# = x#.Data[i*x#.Stride:][:end]
} else if x#.Rows > 0 {
e#All = x#.At(i, 0)
}
`

// mapLoad is an element of input #.
const mapLoad = `e# := e#All
if len(row#) >= end {
e# = row#[j]
}
`

// mapBlock is the elements of a row that a group takes at a time, as kernels.MapGrid has it.
const mapBlock = 1024

// A MapInput is a parameter of a map.
type MapInput struct {
	Name string // "" if it has none
	typ  ast.Expr
}

// MapInputs is the parameters of a map.
func MapInputs(fn *ast.FuncDecl) (list []MapInput) {
	for _, f := range fn.Type.Params.List {
		if len(f.Names) == 0 {
			list = append(list, MapInput{typ: f.Type})
		}
		for _, n := range f.Names {
			list = append(list, MapInput{n.Name, f.Type})
		}
	}
	return list
}
