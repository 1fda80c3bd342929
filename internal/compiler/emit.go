package compiler

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/support"
)

// functionNames is the functions of a package, found before it is type-checked.
func functionNames(l *loader) (names []string) {
	for _, file := range l.root.GoFiles {
		name := filepath.Join(l.root.Dir, file)
		text, err := l.read(name)
		if err != nil || file == l.skip {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				names = append(names, d.Name.Name)
			}
		}
	}
	return names
}

// generates tells whether name may be one that is yet to be generated, and code may use: a launch
// function, or a kernel's sources.
func (l *loader) generates(name string) bool {
	source := strings.HasSuffix(name, "Kernel") || strings.HasSuffix(name, "Kernels")
	return slices.ContainsFunc(l.funcs, func(f string) bool {
		return name == launchName(f) || source && strings.HasPrefix(name, f)
	})
}

func launchName(kernel string) string {
	if token.IsExported(kernel) {
		return "Launch" + kernel
	}
	return "launch" + exported(kernel)
}

// relative is the name of a file in //line directives.
func (l *lowerer) relative(name string) string {
	module := ""
	if l.root.Module != nil {
		module = l.root.Module.Dir
	}
	if rel, err := filepath.Rel(module, name); module != "" && err == nil && !strings.HasPrefix(rel, "..") {
		if rel, err = filepath.Rel(l.root.Dir, name); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.Base(name)
}

// An emitter puts the generated file together.
type emitter struct {
	*lowerer
	pkg     *goPackage
	o       Options
	b       strings.Builder
	imports map[string]bool
}

func (e *emitter) line(format string, args ...any) { fmt.Fprintf(&e.b, format+"\n", args...) }

// typeName is a Go type as the generated file writes it.
func (e *emitter) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == e.pkg.types {
			return ""
		}
		e.imports[p.Path()] = true
		return p.Name()
	})
}

func (l *lowerer) emit(pkg *goPackage, kernels []*kernelDecl, o Options) ([]byte, error) {
	e := &emitter{lowerer: l, pkg: pkg, o: o, imports: map[string]bool{}}
	g := newGoPrinter(l)
	for _, k := range kernels {
		for _, n := range k.instances {
			e.warnLocal(k, n)
			sp := l.split(n)
			g.plain(e.plainName(k, n), e.direct(k, n))
			g.kernel(n, e.goKernelName(k, n), e.plainName(k, n), sp)
		}
	}
	if len(l.problems) > 0 {
		return nil, nil
	}
	g.functions()
	for _, k := range kernels {
		if !o.NoLaunch {
			e.launch(k)
		}
		for i := range k.instances {
			if err := e.source(k, i); err != nil {
				return nil, err
			}
		}
	}
	e.fresh()
	e.checkNames(kernels)
	if len(l.problems) > 0 {
		return nil, nil
	}
	body := e.b.String() + strings.Join(g.types, "\n") + g.out.String()
	text := e.head(body) + body
	out, err := format.Source([]byte(text))
	if err != nil {
		return nil,
			fmt.Errorf("the compiler wrote Go that does not parse, which is a mistake of its own: %w\n%s", err, text)
	}
	return restoreLines(out), nil
}

// portableLocal is how many bytes of local memory every GPU gives a group.
const portableLocal = 48 << 10

// warnLocal warns of a kernel that takes more.
func (e *emitter) warnLocal(k *kernelDecl, n *kernel) {
	size := int64(0)
	for _, v := range slices.Concat(localsOf(n.body), slices.Collect(maps.Values(n.meeting))) {
		size += v.typ.size
	}
	if size > portableLocal && e.o.Warn != nil {
		e.o.Warn(Problem{
			e.fset.Position(k.decl.Name.Pos()),
			fmt.Sprintf("warning: %s%s takes %d bytes of local memory, and many devices have %d for a group; take "+
				"smaller arrays, or know your device", k.decl.Name.Name, e.instanceArgs(k, n), size, portableLocal),
		})
	}
}

// checkNames refuses names of the package that the generated file needs.
func (e *emitter) checkNames(kernels []*kernelDecl) {
	for _, k := range kernels {
		if name := k.decl.Name.Name; slices.Contains([]string{"it", "grid", "lo", "hi", "args"}, name) {
			e.problem(k.decl.Name.Pos(), "the generated file has a variable %s where it calls the kernel; "+
				"choose another name", name)
		}
	}
	for _, name := range []string{
		"backend", "bits", "embed", "fmt", "gpu", "linalg", "math", "support", "sync",
		"kernelsText", "kernelsFresh",
	} {
		if o := e.pkg.types.Scope().Lookup(name); o != nil {
			e.problem(o.Pos(), "the generated file needs the name %s for itself; choose another", name)
		}
	}
}

// restoreLines makes lines that come from no kernel lines of the generated file again.
func restoreLines(text []byte) []byte {
	lines := strings.Split(string(text), "\n")
	for i, s := range lines {
		if s == "//line @:1" {
			lines[i] = fmt.Sprintf("//line %s:%d", FileName, i+2)
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

func (e *emitter) head(body string) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"// Code generated by github.com/tandem-gpu/tandem/gpu/compile. DO NOT EDIT.\n\n"+
			"package %s\n\nimport (\n", e.pkg.types.Name())
	e.imports["embed"], e.imports["sync"] = true, true
	used := qualifiers(body)
	for _, path := range []string{
		"math", "math/bits", gpuPath, gpuPath + "/support", modulePath + "backend", modulePath + "linalg",
	} {
		if used[path[strings.LastIndex(path, "/")+1:]] {
			e.imports[path] = true
		}
	}
	delete(e.imports, e.pkg.ImportPath)
	for _, path := range slices.SortedFunc(keys(e.imports), func(a, b string) int {
		if x, y := strings.Contains(a, "."), strings.Contains(b, "."); x != y {
			if x {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	}) {
		fmt.Fprintf(&b, "%q\n", path)
	}
	b.WriteString(")\n\n")
	return b.String()
}

// qualifiers is the names before a dot in declarations, but not in their strings and comments.
func qualifiers(declarations string) map[string]bool {
	names := map[string]bool{}
	f, _ := parser.ParseFile(token.NewFileSet(), "", "package p\n"+declarations, parser.SkipObjectResolution)
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				names[x.Name] = true
			}
		}
		return true
	})
	return names
}

const modulePath = "github.com/tandem-gpu/tandem/"

func keys(m map[string]bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// sourceName is the variable of an instance's backend.Source.
func (e *emitter) sourceName(k *kernelDecl, n *kernel) string {
	return e.free(k.decl.Name.Name + n.instance + "Kernel")
}

func (e *emitter) goKernelName(k *kernelDecl, n *kernel) string {
	return e.free(k.decl.Name.Name + n.instance + "Go")
}

// plainName is the function that runs an instance as it is written.
func (e *emitter) plainName(k *kernelDecl, n *kernel) string {
	return e.free(k.decl.Name.Name + n.instance + "Plain")
}

// free is a name that the package does not use.
func (e *emitter) free(name string) string {
	for e.pkg.types.Scope().Lookup(name) != nil {
		name += "_"
	}
	return name
}

// instanceArgs is the type arguments of an instance: "[float32]".
func (e *emitter) instanceArgs(k *kernelDecl, n *kernel) string {
	ts := k.types[slices.Index(k.instances, n)]
	if len(ts) == 0 {
		return ""
	}
	var s []string
	for _, t := range ts {
		s = append(s, e.typeName(t))
	}
	return "[" + strings.Join(s, ", ") + "]"
}

// instanceEnv is what the type parameters stand for.
func instanceEnv(k *kernelDecl, n *kernel) env {
	e := env{}
	params := k.fn.Type().(*types.Signature).TypeParams()
	for i, t := range k.types[slices.Index(k.instances, n)] {
		e[params.At(i)] = t
	}
	return e
}

// direct is the statements that run an instance as it is written, each work-item a goroutine.
func (e *emitter) direct(k *kernelDecl, n *kernel) string {
	env := instanceEnv(k, n)
	call := []string{"it"}
	i, before := 0, ""
	sig := k.fn.Type().(*types.Signature)
	for j, v := range n.params {
		t := e.types.close(sig.Params().At(j+1).Type(), env)
		switch {
		case v.leaves != nil:
			name := fmt.Sprintf("arg%d", j)
			before += fmt.Sprintf("var %s %s\n", name, e.typeName(t))
			for _, l := range v.leaves {
				before += fmt.Sprintf("%s%s = %s(%s)\n", name, l.own, e.typeName(e.types.close(l.goType, env)),
					scalarArg(l.typ, i))
				i++
			}
			call = append(call, name)
		case v.typ.kind == kindSlice:
			elem := e.typeName(t.Underlying().(*types.Slice).Elem())
			call = append(call, fmt.Sprintf("support.Slice[%s](args[%d:])", elem, i))
			i += 3
		case v.typ.kind == kindStruct:
			elem := e.typeName(t.(*types.Named).TypeArgs().At(0))
			call = append(call,
				fmt.Sprintf("gpu.Matrix[%s]{Data: support.Matrix[%[1]s](args[%[2]d:]), Rows: int(args[%d].Int64()), "+
					"Cols: int(args[%d].Int64()), Stride: int(args[%d].Int64())}", elem, i, i+2, i+3, i+4))
			i += 5
		default:
			call = append(call, fmt.Sprintf("%s(%s)", e.typeName(t), scalarArg(v.typ, i)))
			i++
		}
	}
	return fmt.Sprintf("%sreturn gpu.RunGroups(grid, lo, hi, func(it gpu.Item) {\n%s%s(%s)\n})\n", before,
		k.decl.Name.Name, e.instanceArgs(k, n), strings.Join(call, ", "))
}

// source prints the backend.Source of an instance.
func (e *emitter) source(k *kernelDecl, i int) error {
	n := k.instances[i]
	body, files := e.text(k, n)
	e.line("var %s = &backend.Source{", e.sourceName(k, n))
	e.line("Name: %q, File: %q,", n.entry, n.entry+".cl")
	params := "support.Params{}"
	for _, p := range paramsOf(n) {
		params += fmt.Sprintf(".%s(%q, %q, %d)", p.kind, p.name, p.word, p.size)
	}
	e.line("Params: %s,", params)
	if n.group != [3]int{} {
		e.line("Group: [3]int{%d, %d, %d},", n.group[0], n.group[1], n.group[2])
	}
	e.line("Go: %s, Fresh: kernelsFresh,", e.goKernelName(k, n))
	e.line("Checks: &backend.Checks{Files: %#v, Go: %s},", files, e.plainName(k, n))
	e.line("Text: support.Head + `%s`,", body)
	if e.o.PTX != nil && !e.o.NoPTX {
		gpu := e.listed[gpuPath]
		if gpu == nil || gpu.Module == nil {
			return fmt.Errorf("package %s is not listed", gpuPath)
		}
		ptx, err := e.o.PTX(gpu.Module.Dir, n.entry, support.Head+body)
		if err != nil {
			return err
		}
		e.line("PTX: []byte(`%s`),", ptx)
	}
	e.line("}\n")
	return nil
}

// text is an instance in the portable dialect, without what every text begins with, and the files
// that it names.
func (e *emitter) text(k *kernelDecl, n *kernel) (body string, files []string) {
	body, files = cText(n, e.lowerer)
	return "/* " + k.decl.Name.Name + e.instanceArgs(k, n) + ", from Go */\n" + body, files
}

// A textParam is a parameter of a kernel as support.Params takes it.
type textParam struct {
	kind       string // Slice, ConstSlice, Matrix, ConstMatrix or Scalar
	name, word string // word is the dialect's for the type
	size       int
}

// paramsOf is the parameters of a kernel's text.
func paramsOf(k *kernel) (list []textParam) {
	scalar := func(name string, t *typ) {
		word := t.dialect()
		if !t.float() && t.size < 8 {
			word = "uint"
		}
		list = append(list, textParam{"Scalar", name, word, int(max(t.size, 4))})
	}
	for _, v := range k.params {
		if v.leaves != nil {
			for _, l := range v.leaves {
				scalar(v.name+l.own, l.typ)
			}
			continue
		}
		prefix := ""
		if v.readOnly {
			prefix = "Const"
		}
		switch t := v.typ; t.kind {
		case kindSlice:
			list = append(list, textParam{prefix + "Slice", v.name, t.elem.dialect(), int(t.elem.size)})
		case kindStruct:
			elem := t.fields[0].typ.elem
			list = append(list, textParam{prefix + "Matrix", v.name, elem.dialect(), int(elem.size)})
		default:
			scalar(v.name, t)
		}
	}
	return list
}

// elements are the types that linalg has arrays of.
var elements = []string{"float32", "float64", "int32"}

// launch prints the function that launches a kernel.
func (e *emitter) launch(k *kernelDecl) {
	sig := k.fn.Type().(*types.Signature)
	var typeParams, params, steps []string
	for i := range sig.TypeParams().Len() {
		var list []string
		for _, ts := range k.types {
			if t := e.typeName(ts[i]); !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
		typeParams = append(typeParams, fmt.Sprintf("%s interface{ %s }", sig.TypeParams().At(i).Obj().Name(),
			strings.Join(list, " | ")))
	}
	names := map[string]bool{
		"s": true, "grid": true, "call": true, "backend": true, "linalg": true, "support": true, "gpu": true,
	}
	unique := func(name string) string {
		for name == "_" || name == "" || names[name] || types.Universe.Lookup(name) != nil ||
			e.pkg.types.Scope().Lookup(name) != nil {
			name += "_"
		}
		names[name] = true
		return name
	}
	for i := range sig.TypeParams().Len() {
		names[sig.TypeParams().At(i).Obj().Name()] = true
	}
	for j, v := range k.instances[0].params {
		name := unique(v.name)
		t := sig.Params().At(j + 1).Type()
		var elem types.Type
		step := ""
		if v.leaves != nil {
			params = append(params, name+" "+e.typeName(t))
			for _, l := range v.leaves {
				steps = append(steps, "call.Scalar("+e.scalar(name+l.own, l.goType, l.typ)+")")
			}
			continue
		}
		switch u := t.Underlying().(type) {
		case *types.Slice:
			elem, step = u.Elem(), "KernelSlice"
		case *types.Struct:
			elem, step = types.Unalias(t).(*types.Named).TypeArgs().At(0), "KernelMatrix"
		default:
			params = append(params, name+" "+e.typeName(t))
			steps = append(steps, "call.Scalar("+e.scalar(name, t, v.typ)+")")
			continue
		}
		elemName := e.typeName(elem)
		arg := unique("Arg" + strconv.Itoa(j+1))
		constraint := "interface{ []" + elemName + " }"
		if e.isElement(k, elem) {
			constraint = "linalg.KernelArg[" + elemName + "]"
		}
		typeParams = append(typeParams, arg+" "+constraint)
		params = append(params, name+" "+arg)
		steps = append(steps, fmt.Sprintf("linalg.%s[%s](&call, %q, %s)", step, elemName, v.name, name))
	}
	name := launchName(k.decl.Name.Name)
	if o := e.pkg.types.Scope().Lookup(name); o != nil {
		e.problem(o.Pos(), "the generated file declares %s, which launches kernel %s; choose another name", name,
			k.decl.Name.Name)
	}
	e.line("// %s runs [%s] over grid. Slices and matrices are in host memory or on the device of s;", name,
		k.decl.Name.Name)
	e.line("// with host memory it blocks until the kernel is done.")
	e.line("func %s%s(%s) error {", name, bracketed(typeParams),
		strings.Join(append([]string{"s *linalg.Session", "grid backend.Grid"}, params...), ", "))
	e.line("call := linalg.NewKernelCall(s, %s, grid)\n%s\nreturn call.Launch()\n}\n", e.instance(k, sig),
		strings.Join(steps, "\n"))
	e.instances(k)
}

func bracketed(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// isElement tells whether linalg has arrays of t, whatever its type parameters stand for.
func (e *emitter) isElement(k *kernelDecl, t types.Type) bool {
	for _, n := range k.instances {
		if !slices.Contains(elements, e.typeName(e.types.close(t, instanceEnv(k, n)))) {
			return false
		}
	}
	return true
}

// scalar is the backend.Arg of a scalar parameter.
func (e *emitter) scalar(name string, t types.Type, it *typ) string {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return fmt.Sprintf("support.Arg[%s](%s)", p.Obj().Name(), name)
	}
	if it.kind == kindBool {
		return fmt.Sprintf("support.Bool(bool(%s))", name)
	}
	return fmt.Sprintf("support.Arg(%s(%s))", basics[it.kind].goName, name)
}

// instance is the backend.Source that the type arguments choose.
func (e *emitter) instance(k *kernelDecl, sig *types.Signature) string {
	if sig.TypeParams().Len() == 0 {
		return e.sourceName(k, k.instances[0])
	}
	var zero []string
	for i := range sig.TypeParams().Len() {
		zero = append(zero, "*new("+sig.TypeParams().At(i).Obj().Name()+")")
	}
	return fmt.Sprintf("%s.Of(%s)", e.instancesName(k), strings.Join(zero, ", "))
}

func (e *emitter) instancesName(k *kernelDecl) string { return e.free(k.decl.Name.Name + "Kernels") }

// instances prints the list of a generic kernel's instances.
func (e *emitter) instances(k *kernelDecl) {
	if len(k.types[0]) == 0 {
		return
	}
	e.line("var %s = support.Kernels{", e.instancesName(k))
	for i, n := range k.instances {
		var zero []string
		for _, t := range k.types[i] {
			zero = append(zero, "*new("+e.typeName(t)+")")
		}
		e.line("{Types: []any{%s}, Kernel: %s},", strings.Join(zero, ", "), e.sourceName(k, n))
	}
	e.line("}\n")
}

// fresh prints the check that the kernels are still those that the file was generated from.
func (e *emitter) fresh() {
	var decls []string
	files := map[string]bool{}
	for _, file := range e.pkg.files {
		for _, d := range file.Decls {
			if !e.declares(d) {
				continue
			}
			start, end := d.Pos(), d.End()
			if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
				start = f.Doc.Pos()
			}
			where := e.fset.Position(start)
			data, err := e.read(where.Filename)
			if err != nil {
				continue
			}
			text := strings.ReplaceAll(string(data[where.Offset:e.fset.Position(end).Offset]), "\r\n", "\n")
			head, _, _ := strings.Cut(text, "\n")
			name := filepath.Base(where.Filename)
			files[name] = true
			decls = append(decls, fmt.Sprintf("{File: %q, Head: %q, Bytes: %d, Hash: %q},", name, head,
				len(text), support.Hash(text)))
		}
	}
	e.line("//go:embed %s\nvar kernelsText embed.FS\n", strings.Join(slices.Sorted(keys(files)), " "))
	e.line("// kernelsFresh tells whether the declarations that this file was generated from are unchanged.")
	e.line("var kernelsFresh = sync.OnceValue(func() error {\n"+
		"return support.Fresh(kernelsText.ReadFile, %q, []support.Decl{", FileName)
	for _, d := range decls {
		e.line("%s", d)
	}
	e.line("})\n})\n")
}

// declares tells whether d declares something that the kernels use.
func (e *emitter) declares(d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return e.used[e.pkg.info.Defs[d.Name]]
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if e.used[e.pkg.info.Defs[s.Name]] {
					return true
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if e.used[e.pkg.info.Defs[n]] {
						return true
					}
				}
			}
		}
	}
	return false
}
