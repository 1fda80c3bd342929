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
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// functionNames is the functions of a package, found before it is type-checked.
func functionNames(l *loader) (names []string) {
	for _, file := range l.root.sources() {
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
	name = strings.TrimRight(name, "_")
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
	ptx     []ptxgen.Prebuilt
	native  []nativeKernel
	names   *names
	imports map[string]string // the names of packages, by path
}

func newEmitter(l *lowerer, pkg *goPackage, o Options) *emitter {
	return &emitter{lowerer: l, pkg: pkg, o: o, names: newNames(pkg.types.Scope()), imports: map[string]string{}}
}

func (e *emitter) line(format string, args ...any) { fmt.Fprintf(&e.b, format+"\n", args...) }

// typeName is a Go type as the generated file writes it.
func (e *emitter) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == e.pkg.types {
			return ""
		}
		return e.qualifier(p)
	})
}

func (l *lowerer) emit(pkg *goPackage, kernels []*kernelDecl, o Options) (output, error) {
	e := newEmitter(l, pkg, o)
	e.reserve(kernels)
	g := newGoPrinter(l, e.names)
	for _, k := range kernels {
		for _, n := range k.instances {
			if k.mapped != nil {
				continue
			}
			e.warnLocal(k, n)
			sp := l.split(n)
			e.plain(g, k, n)
			g.kernel(n, e.goKernelName(k, n), e.plainName(k, n), sp)
		}
	}
	if len(l.problems) > 0 {
		return output{}, nil
	}
	for _, k := range kernels {
		switch {
		case k.mapped != nil && !o.NoLaunch:
			e.launchMap(k)
		case !o.NoLaunch:
			e.launch(k)
		}
		for i := range k.instances {
			if err := e.source(g, k, i); err != nil {
				return output{}, err
			}
		}
	}
	g.functions()
	e.packed()
	constraint, err := e.fresh(g, kernels)
	if err != nil {
		return output{}, err
	}
	body := e.b.String() + strings.Join(g.types, "\n") + g.out.String()
	if e.checkUniverse(); len(l.problems) > 0 {
		return output{}, nil
	}
	head, body := e.head(body, constraint)
	text := head + body
	out, err := format.Source([]byte(text))
	if err != nil {
		return output{},
			fmt.Errorf("the compiler wrote Go that does not parse, which is a mistake of its own: %w\n%s", err, text)
	}
	return output{inlineLines(out), e.ptx, e.native}, nil
}

// portableLocal is how many bytes of local memory every GPU gives a group.
const portableLocal = 48 << 10

// localSize is how many bytes of local memory a group of n takes.
func localSize(n *kernel) (size int64) {
	for _, v := range slices.Concat(localsOf(n.body), slices.Collect(maps.Values(n.meeting))) {
		size += v.typ.size
	}
	return size
}

// warnLocal warns of a kernel that takes more.
func (e *emitter) warnLocal(k *kernelDecl, n *kernel) {
	size := localSize(n)
	if size > portableLocal && e.o.Log != nil {
		fmt.Fprintln(e.o.Log, Problem{
			e.fset.Position(k.decl.Name.Pos()),
			fmt.Sprintf("warning: %s%s takes %d bytes of local memory, and many devices have %d for a group; take "+
				"smaller arrays, or know your device", k.name(), e.instanceArgs(k, n), size, portableLocal),
		})
	}
}

// inlineLines puts //line directives before what they speak of, as /*line*/, where gofmt leaves
// them there and a line does not get too long, and drops those that say what is so without them.
// Those that come from no kernel line name the generated file again.
func inlineLines(text []byte) []byte {
	type place struct {
		file string
		line int
	}
	var out strings.Builder
	var at, want place // of the next line; what a directive says
	number := 1        // of the line that is written
	for s := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(s, "//line "); ok {
			file, line, _ := strings.Cut(strings.TrimSpace(rest), ":")
			n, _ := strconv.Atoi(line)
			want = place{file, n}
			continue
		}
		code := strings.TrimLeft(s, "\t")
		alone := code[0] == '}' || 4*(len(s)-len(code))+len("/*line f:1*/ ")+len(want.file)+len(code) > 120
		if want.file == "@" {
			want = place{FileName, number}
			if alone {
				want.line++
			}
		}
		indent := s[:len(s)-len(code)]
		label := strings.HasSuffix(code, ":\n") && !strings.Contains(code, " ")
		switch {
		case want.file == "" || want == at || label:
		case alone:
			fmt.Fprintf(&out, "//line %s:%d\n", want.file, want.line)
			at = want
			number++
		default:
			fmt.Fprintf(&out, "%s/*line %s:%d*/ ", indent, want.file, want.line)
			at, indent = want, ""
		}
		want = place{}
		out.WriteString(indent + code)
		at.line++
		number++
	}
	return []byte(out.String())
}

const modulePath = "github.com/tandem-gpu/tandem/"

// A part of what is generated for an instance.
type part struct {
	n    *kernel
	what string
}

// partName is the name of something that is generated for an instance.
func (e *emitter) partName(k *kernelDecl, n *kernel, what string) string {
	return e.names.of(part{n, what}, k.name()+n.instance+what)
}

// sourceName is the variable of an instance's backend.Source.
func (e *emitter) sourceName(k *kernelDecl, n *kernel) string { return e.partName(k, n, "Kernel") }

func (e *emitter) goKernelName(k *kernelDecl, n *kernel) string { return e.partName(k, n, "Go") }

// plainName is the function that runs an instance as it is written.
func (e *emitter) plainName(k *kernelDecl, n *kernel) string { return e.partName(k, n, "Plain") }

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

// plain prints the backend.GoKernel that runs an instance as it is written, each work-item a
// goroutine.
func (e *emitter) plain(g *goPrinter, k *kernelDecl, n *kernel) {
	env := instanceEnv(k, n)
	item, grid, lo, hi, args := e.names.local("it"), e.names.local("grid"), e.names.local("lo"),
		e.names.local("hi"), e.names.local("args")
	call := []string{item}
	i, before := 0, ""
	sig := k.fn.Type().(*types.Signature)
	for j, v := range n.params {
		t := e.types.close(sig.Params().At(j+1).Type(), env)
		switch {
		case v.leaves != nil:
			name := e.names.local(fmt.Sprintf("arg%d", j))
			before += fmt.Sprintf("var %s %s\n", name, e.typeName(t))
			for _, l := range v.leaves {
				before += fmt.Sprintf("%s%s = %s(%s)\n", name, l.own, e.typeName(e.types.close(l.goType, env)),
					scalarArg(l.typ, args, i))
				i++
			}
			call = append(call, name)
		case v.typ.kind == kindSlice:
			elem := e.typeName(t.Underlying().(*types.Slice).Elem())
			call = append(call, fmt.Sprintf("support.Slice[%s](%s[%d:])", elem, args, i))
			i += 3
		case v.typ.kind == kindStruct:
			elem := e.typeName(t.(*types.Named).TypeArgs().At(0))
			call = append(call,
				fmt.Sprintf("gpu.Matrix[%s]{Data: support.Matrix[%[1]s](%[2]s[%[3]d:]), "+
					"Rows: int(%[2]s[%[4]d].Int64()), Cols: int(%[2]s[%[5]d].Int64()), "+
					"Stride: int(%[2]s[%[6]d].Int64())}", elem, args, i, i+2, i+3, i+4))
			i += 5
		default:
			call = append(call, fmt.Sprintf("%s(%s)", e.typeName(t), scalarArg(v.typ, args, i)))
			i++
		}
	}
	g.line("\nfunc %s(%s backend.Grid, %s, %s int, %s []backend.Arg) error {", e.plainName(k, n), grid, lo, hi, args)
	g.line("%sreturn gpu.RunGroups(%s, %s, %s, func(%s gpu.Item) {\n%s%s(%s)\n})\n}", before, grid, lo, hi, item,
		k.name(), e.instanceArgs(k, n), strings.Join(call, ", "))
}

// source prints the backend.Source of an instance.
func (e *emitter) source(g *goPrinter, k *kernelDecl, i int) error {
	n := k.instances[i]
	compiled, plain := e.goKernelName(k, n), e.plainName(k, n)
	if k.mapped != nil {
		compiled, plain = e.mapSources(g, k, n)
		compiled = "support.Form(" + compiled + ", " + plain + ")"
	}
	body, files := e.text(k, n)
	params := "support.Params{}"
	for _, p := range paramsOf(n) {
		params += fmt.Sprintf(".%s(%q, %q, %d)", p.kind, p.name, p.word, p.size)
	}
	if e.o.Pack {
		e.packedSource(k, n, params, compiled, plain, files)
		e.ptx = append(e.ptx, ptxgen.Prebuilt{Name: n.entry + ptxgen.TextExtension, Text: []byte(body)})
		return e.prebuild(n.entry, support.Head+body)
	}
	e.line("var %s = &backend.Source{", e.sourceName(k, n))
	e.line("Name: %q, File: %q,", n.entry, n.entry+".cl")
	e.line("Params: %s,", params)
	if n.group != [3]int{} {
		e.line("Group: %#v,", n.group)
	}
	e.line("Go: %s, Fresh: %s,", compiled, e.freshName())
	e.line("Checks: &backend.Checks{Files: %#v, Go: %s},", files, plain)
	e.line("Text: support.Head + `%s`,", body)
	if !e.o.NoPTX {
		e.line("Packed: %s(%q),", e.names.give("kernelsPTX"), n.entry)
	}
	if key := e.nativeKey(n); key != "" {
		e.line("Native: %s.Of(%q, %q),", e.natives(), n.entry, key)
	}
	e.line("}\n")
	if e.o.NoPTX {
		return nil
	}
	return e.prebuild(n.entry, support.Head+body)
}

// packedSource prints the backend.Source of an instance whose text is packed.
func (e *emitter) packedSource(k *kernelDecl, n *kernel, params, compiled, plain string, files []string) {
	if k.mapped != nil {
		var words []string
		for _, v := range n.params {
			if v.typ.kind == kindStruct { // a matrix; the numbers have the types of theirs
				words = append(words, strconv.Quote(v.typ.fields[0].typ.elem.dialect()))
			}
		}
		params = "support.MapParams(" + strings.Join(words, ", ") + ")"
	}
	args := []string{strconv.Quote(n.entry), strconv.Quote(e.nativeKey(n)), params, compiled, plain}
	for _, f := range files {
		args = append(args, strconv.Quote(f))
	}
	group := ""
	if n.group != [3]int{} {
		group = fmt.Sprintf(".Group(%d, %d, %d)", n.group[0], n.group[1], n.group[2])
	}
	e.line("var %s = %s%s.Source(%s)\n", e.sourceName(k, n), e.names.give("kernelsPacked"), group,
		strings.Join(args, ", "))
}

// prebuild makes the PTX of a kernel.
func (e *emitter) prebuild(entry, text string) (err error) {
	gpu := e.listed[gpuPath]
	if gpu == nil {
		return fmt.Errorf("package %s is not listed", gpuPath)
	}
	root := filepath.Dir(gpu.Dir) // go list names no folder of a vendored module
	p := ptxgen.Prebuilt{Name: entry, Key: ptxgen.Key(root, text)}
	if e.o.PTX != nil {
		if p.Text, err = e.o.PTX(root, entry, text); err != nil {
			return err
		}
	}
	e.ptx = append(e.ptx, p)
	return nil
}

// packed prints the variables that the PTX, and packed texts, are found in.
func (e *emitter) packed() {
	if e.o.NoPTX {
		return
	}
	file := e.names.give("kernelsFile")
	e.line("//go:embed %s\nvar %s string\n", PTXName, file)
	if !e.o.Pack {
		e.line("var %s = support.PTX(%s)\n", e.names.give("kernelsPTX"), file)
		return
	}
	natives := ""
	if len(e.native) > 0 {
		natives = ", Native: " + e.natives()
	}
	e.line("var %s = support.Packed{Fresh: %s, PTX: support.PTX(%s), Text: support.Texts(%[3]s)%s}\n",
		e.names.give("kernelsPacked"), e.freshName(), file, natives)
}

// text is an instance in the portable dialect, without what every text begins with, and the files
// that it names.
func (e *emitter) text(k *kernelDecl, n *kernel) (body string, files []string) {
	body, files = cText(n, e.lowerer)
	return "/* " + k.name() + e.instanceArgs(k, n) + ", from Go */\n" + body, files
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

// A launcher prints the function that launches a kernel.
type launcher struct {
	*emitter
	k          *kernelDecl
	env        env // other type parameters in place of the kernel's
	taken      map[string]bool
	call       string   // the variable
	typeParams []string // of the function, with their constraints
	params     []string
	steps      []string // what fills in the call
}

// unique is a name of a parameter or a variable.
func (l *launcher) unique(name string) string {
	for name == "_" || name == "" || l.taken[name] || ownImports[name] != "" || types.Universe.Lookup(name) != nil ||
		l.pkg.types.Scope().Lookup(name) != nil || slices.Contains(slices.Collect(maps.Values(l.imports)), name) {
		name += "_"
	}
	l.taken[name] = true
	return name
}

// launch prints the function that launches a kernel.
func (e *emitter) launch(k *kernelDecl) {
	l := &launcher{emitter: e, k: k, env: env{}, taken: map[string]bool{}}
	sig := k.fn.Type().(*types.Signature)
	for v := range sig.Params().Variables() {
		e.typeName(v.Type()) // imports packages, whose names the parameters must not have
	}
	session, grid := l.unique("s"), l.unique("grid")
	l.call = l.unique("call")
	l.params = []string{session + " *linalg.Session", grid + " backend.Grid"}
	source := l.kernelOf()
	for j := range k.instances[0].params {
		l.param(j)
	}
	name := launchName(k.name())
	e.line("// %s runs [%s] over grid. Slices and matrices are in host memory or on the device of s;", name,
		k.name())
	e.line("// with host memory it blocks until the kernel is done.")
	e.line("func %s%s(%s) error {", name, bracketed(l.typeParams), strings.Join(l.params, ", "))
	e.line("%s := linalg.NewKernelCall(%s, %s, %s)\n%s\nreturn %[1]s.Launch()\n}\n", l.call, session, source, grid,
		strings.Join(l.steps, "\n"))
	e.instances(k)
}

// kernelOf is the source that is launched, by the types of a generic kernel, whose type parameters
// it adds.
func (l *launcher) kernelOf() string {
	params := l.k.fn.Type().(*types.Signature).TypeParams()
	if params.Len() == 0 {
		return l.sourceName(l.k, l.k.instances[0])
	}
	var zeros []string
	for i := range params.Len() {
		zeros = append(zeros, "*new("+l.typeParam(i)+")")
	}
	return fmt.Sprintf("%s.Of(%s)", l.instancesName(l.k), strings.Join(zeros, ", "))
}

// typeParam adds type parameter i of the kernel, and gives its name.
func (l *launcher) typeParam(i int) string {
	var list []string
	for _, ts := range l.k.types {
		if t := l.typeName(ts[i]); !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	p := l.k.fn.Type().(*types.Signature).TypeParams().At(i)
	name := l.unique(p.Obj().Name())
	l.env[p] = types.NewTypeParam(types.NewTypeName(token.NoPos, l.pkg.types, name, nil),
		types.Universe.Lookup("any").Type())
	l.typeParams = append(l.typeParams, fmt.Sprintf("%s interface{ %s }", name, strings.Join(list, " | ")))
	return name
}

// param adds parameter j behind the kernel's item.
func (l *launcher) param(j int) {
	v := l.k.instances[0].params[j]
	name := l.unique(v.name)
	t := l.types.close(l.k.fn.Type().(*types.Signature).Params().At(j+1).Type(), l.env)
	var elem types.Type
	step := ""
	if v.leaves != nil {
		l.params = append(l.params, name+" "+l.typeName(t))
		for _, n := range v.leaves {
			l.steps = append(l.steps, l.call+".Scalar("+scalar(name+n.own, l.types.close(n.goType, l.env), n.typ)+")")
		}
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		elem, step = u.Elem(), "KernelSlice"
	case *types.Struct:
		elem, step = types.Unalias(t).(*types.Named).TypeArgs().At(0), "KernelMatrix"
	default:
		l.params = append(l.params, name+" "+l.typeName(t))
		l.steps = append(l.steps, l.call+".Scalar("+scalar(name, t, v.typ)+")")
		return
	}
	elemName := l.typeName(elem)
	arg := l.unique("Arg" + strconv.Itoa(j+1))
	l.typeParams = append(l.typeParams, arg+" linalg.KernelArg["+elemName+"]")
	l.params = append(l.params, name+" "+arg)
	l.steps = append(l.steps, fmt.Sprintf("linalg.%s[%s](&%s, %q, %s)", step, elemName, l.call, v.name, name))
}

// reserve takes the names of launch functions, which users know, before all others.
func (e *emitter) reserve(kernels []*kernelDecl) {
	for _, k := range kernels {
		name := launchName(k.name())
		if o := e.pkg.types.Scope().Lookup(name); o != nil && !e.o.NoLaunch {
			e.problem(o.Pos(), "the generated file declares %s, which launches kernel %s; choose another name", name,
				k.name())
		}
		if e.names.of(k, name) != name && !e.o.NoLaunch {
			e.problem(k.decl.Name.Pos(), "%s launches another kernel, too; choose another name", name)
		}
	}
}

func bracketed(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// scalar is the backend.Arg of a scalar parameter.
func scalar(name string, t types.Type, it *typ) string {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return fmt.Sprintf("support.Arg[%s](%s)", p.Obj().Name(), name)
	}
	if it.kind == kindBool {
		return fmt.Sprintf("support.Bool(bool(%s))", name)
	}
	return fmt.Sprintf("support.Arg(%s(%s))", basics[it.kind].goName, name)
}

func (e *emitter) instancesName(k *kernelDecl) string {
	return e.names.of(part{k.instances[0], "Kernels"}, k.name()+"Kernels")
}

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
