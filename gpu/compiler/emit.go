package compiler

import (
	"fmt"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ctext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/gotext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
	"github.com/tandem-gpu/tandem/gpu/support"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// An emitter puts the generated file together.
type emitter struct {
	*front.Lowerer
	pkg     *front.Package
	o       Options
	b       strings.Builder
	ptx     []ptxgen.Prebuilt
	native  []nativeKernel
	names   *gotext.Names
	imports map[string]string // the names of packages, by path
}

func newEmitter(l *front.Lowerer, pkg *front.Package, o Options) *emitter {
	return &emitter{Lowerer: l, pkg: pkg, o: o, names: gotext.NewNames(pkg.Types.Scope()), imports: map[string]string{}}
}

func (e *emitter) line(format string, args ...any) { fmt.Fprintf(&e.b, format+"\n", args...) }

// typeName is a Go type as the generated file writes it.
func (e *emitter) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == e.pkg.Types {
			return ""
		}
		return e.qualifier(p)
	})
}

// emit makes the generated file of lowered kernels, and what lies beside it.
func emit(l *front.Lowerer, pkg *front.Package, kernels []*front.KernelDecl, o Options) (output, error) {
	e := newEmitter(l, pkg, o)
	e.reserve(kernels)
	g := gotext.NewPrinter(l.Program, e.names)
	for _, k := range kernels {
		for _, n := range k.Instances {
			if k.Mapped != nil {
				continue
			}
			e.warnLimits(k, n)
			e.plain(g, k, n)
			g.Kernel(n, e.partName(k, n, "Go"))
		}
	}
	if len(l.Problems) > 0 {
		return output{}, nil
	}
	for _, k := range kernels {
		switch {
		case k.Mapped != nil && !o.NoLaunch:
			e.launchMap(k)
		case !o.NoLaunch:
			e.launch(k)
		}
		for i := range k.Instances {
			if err := e.source(g, k, i); err != nil {
				return output{}, err
			}
		}
	}
	g.Functions()
	e.packed()
	constraint, err := e.fresh(g, kernels)
	if err != nil {
		return output{}, err
	}
	body := e.b.String() + strings.Join(g.Types, "\n") + g.Out.String()
	if e.checkUniverse(); len(l.Problems) > 0 {
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

// What NVIDIA's GPUs and the cpu device give a group: bytes of local memory, and work-items; and
// what NVIDIA's give a work-item: bytes of its own.
const (
	portableLocal = 48 << 10
	portableGroup = 1024
	portableOwn   = 512 << 10
)

// warnLimits warns of a kernel that takes more.
func (e *emitter) warnLimits(k *front.KernelDecl, n *ir.Kernel) {
	if size := ir.LocalSize(n); size > portableLocal {
		e.warn(k, n, "takes %d bytes of local memory, and many devices have %d for a group; take smaller arrays, or "+
			"know your device", size, portableLocal)
	}
	if size := ir.OwnSize(n.Function); size > portableOwn {
		e.warn(k, n, "has a variable of %d bytes, and GPUs give a work-item %d in all; pass a slice, or know your "+
			"device", size, portableOwn)
	}
	if items := n.Group[0] * n.Group[1] * n.Group[2]; items > portableGroup {
		e.warn(k, n, "has groups of %d work-items, and most devices take at most %d; make them smaller, or know your "+
			"device", items, portableGroup)
	}
}

// warn writes a warning of a kernel.
func (e *emitter) warn(k *front.KernelDecl, n *ir.Kernel, format string, args ...any) {
	if e.o.Log != nil {
		fmt.Fprintln(e.o.Log, ir.Problem{
			Pos:  e.Files.Position(k.Decl.Name.Pos()),
			Text: "warning: " + k.Name() + e.instanceArgs(n) + " " + fmt.Sprintf(format, args...),
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

// A part of what is generated for an instance.
type part struct {
	n    *ir.Kernel
	what string
}

// partName is the name of something that is generated for an instance.
func (e *emitter) partName(k *front.KernelDecl, n *ir.Kernel, what string) string {
	return e.names.Of(part{n, what}, k.Name()+n.Instance+what)
}

// sourceName is the variable of an instance's backend.Source.
func (e *emitter) sourceName(k *front.KernelDecl, n *ir.Kernel) string {
	return e.partName(k, n, "Kernel")
}

// instanceArgs is the type arguments of an instance: "[float32]".
func (e *emitter) instanceArgs(n *ir.Kernel) string {
	var s []string
	for _, t := range n.Types {
		s = append(s, e.typeName(t))
	}
	return bracketed(s)
}

// plain prints the backend.GoKernel that runs an instance as it is written, each work-item a
// goroutine.
func (e *emitter) plain(g *gotext.Printer, k *front.KernelDecl, n *ir.Kernel) {
	item, grid, lo, hi, args := e.names.Local("it"), e.names.Local("grid"), e.names.Local("lo"),
		e.names.Local("hi"), e.names.Local("args")
	call := []string{item}
	i, before := 0, ""
	sig := k.Fn.Type().(*types.Signature)
	for j, v := range n.Params {
		t := e.Types.Close(sig.Params().At(j+1).Type(), n.Env)
		switch {
		case v.Leaves != nil:
			name := e.names.Local(fmt.Sprintf("arg%d", j))
			before += fmt.Sprintf("var %s %s\n", name, e.typeName(t))
			for _, l := range v.Leaves {
				before += fmt.Sprintf("%s%s = %s(%s)\n", name, l.Own, e.typeName(e.Types.Close(l.GoType, n.Env)),
					gotext.ScalarArg(l.Type, args, i))
				i++
			}
			call = append(call, name)
		case v.Type.Kind == ir.KindSlice:
			elem := e.typeName(t.Underlying().(*types.Slice).Elem())
			call = append(call, fmt.Sprintf("support.Slice[%s](%s[%d:])", elem, args, i))
			i += 3
		case v.Type.Kind == ir.KindStruct:
			elem := e.typeName(matrixElem(t))
			call = append(call,
				fmt.Sprintf("gpu.Matrix[%s]{Data: support.Matrix[%[1]s](%[2]s[%[3]d:]), "+
					"Rows: int(%[2]s[%[4]d].Int64()), Cols: int(%[2]s[%[5]d].Int64()), "+
					"Stride: int(%[2]s[%[6]d].Int64())}", elem, args, i, i+2, i+3, i+4))
			i += 5
		default:
			call = append(call, fmt.Sprintf("%s(%s)", e.typeName(t), gotext.ScalarArg(v.Type, args, i)))
			i++
		}
	}
	g.Line("\nfunc %s(%s backend.Grid, %s, %s int, %s []backend.Arg) error {", e.partName(k, n, "Plain"), grid, lo, hi,
		args)
	g.Line("%sreturn gpu.RunGroups(%s, %s, %s, func(%s gpu.Item) {\n%s%s(%s)\n})\n}", before, grid, lo, hi, item,
		k.Name(), e.instanceArgs(n), strings.Join(call, ", "))
}

// source prints the backend.Source of an instance.
func (e *emitter) source(g *gotext.Printer, k *front.KernelDecl, i int) error {
	n := k.Instances[i]
	compiled, plain := e.partName(k, n, "Go"), e.partName(k, n, "Plain")
	if k.Mapped != nil {
		compiled, plain = e.mapSources(g, k, n)
	}
	body, files := e.text(k, n)
	params := "support.Params{}"
	for _, p := range paramsOf(n) {
		params += fmt.Sprintf(".%s(%q, %q, %d)", p.kind, p.name, p.word, p.size)
	}
	if e.o.Pack {
		e.packedSource(k, n, params, compiled, plain, files)
		e.ptx = append(e.ptx, ptxgen.Prebuilt{Name: n.Entry + ptxgen.TextExtension, Text: []byte(body)})
		return e.prebuild(n.Entry, support.Head+body)
	}
	e.line("var %s = &backend.Source{", e.sourceName(k, n))
	e.line("Name: %q, File: %q,", n.Entry, n.Entry+".cl")
	e.line("Params: %s,", params)
	if n.Group != [3]int{} {
		e.line("Group: %#v,", n.Group)
	}
	form := fmt.Sprintf("support.Form(%s, %s)", compiled, plain)
	if k.Mapped != nil { // as support.Packed.Map has it
		e.line("Map: true,")
		form = compiled
	}
	e.line("Go: %s, Fresh: %s,", form, e.freshName())
	e.line("Checks: &backend.Checks{Files: %#v, Go: %s},", files, plain)
	e.line("Text: support.Head + `%s`,", body)
	if !e.o.NoPTX {
		e.line("Packed: %s(%q),", e.names.Give("kernelsPTX"), n.Entry)
	}
	if code := e.nativeCode(n); code != "nil" {
		e.line("Native: %s,", code)
	}
	e.line("}\n")
	if e.o.NoPTX {
		return nil
	}
	return e.prebuild(n.Entry, support.Head+body)
}

// packedSource prints a function for the backend.Source of an instance whose text is packed. It is
// called when the kernel is needed: a variable's value would be made at the program's start, and
// link every kernel of the package into every program.
func (e *emitter) packedSource(k *front.KernelDecl, n *ir.Kernel, params, compiled, plain string, files []string) {
	kind := "Source"
	if k.Mapped != nil {
		kind = "Map"
		var words []string
		for _, v := range n.Params {
			if v.Type.Kind == ir.KindStruct { // a matrix; the numbers have the types of theirs
				words = append(words, strconv.Quote(v.Type.Fields[0].Type.Elem.Dialect()))
			}
		}
		params = "support.MapParams(" + strings.Join(words, ", ") + ")"
	}
	args := []string{strconv.Quote(n.Entry), e.nativeCode(n), params, compiled, plain}
	for _, f := range files {
		args = append(args, strconv.Quote(f))
	}
	group := ""
	if n.Group != [3]int{} {
		group = fmt.Sprintf(".Group(%d, %d, %d)", n.Group[0], n.Group[1], n.Group[2])
	}
	e.line("var %s = support.Lazy{New: func() *backend.Source {\nreturn %s%s.%s(%s)\n}}\n", e.sourceName(k, n),
		e.names.Give("kernelsPacked"), group, kind, strings.Join(args, ", "))
}

// prebuild makes the PTX of a kernel.
func (e *emitter) prebuild(entry, text string) (err error) {
	gpu := e.Listed[ir.GPUPath]
	if gpu == nil {
		return fmt.Errorf("package %s is not listed", ir.GPUPath)
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
	file := e.names.Give("kernelsFile")
	e.line("//go:embed %s\nvar %s string\n", PTXName, file)
	if !e.o.Pack {
		e.line("var %s = support.PTX(%s)\n", e.names.Give("kernelsPTX"), file)
		return
	}
	e.line("var %s = support.Packed{Fresh: %s, PTX: support.PTX(%s), Text: support.Texts(%[3]s)}\n",
		e.names.Give("kernelsPacked"), e.freshName(), file)
}

// text is an instance in the portable dialect, without what every text begins with, and the files
// that it names.
func (e *emitter) text(k *front.KernelDecl, n *ir.Kernel) (body string, files []string) {
	body, files = ctext.Text(n, e.Program)
	return "/* " + k.Name() + e.instanceArgs(n) + ", from Go */\n" + body, files
}

// A textParam is a parameter of a kernel as support.Params takes it.
type textParam struct {
	kind       string // Slice, ConstSlice, Matrix, ConstMatrix or Scalar
	name, word string // word is the dialect's for the type
	size       int
}

// paramsOf is the parameters of a kernel's text.
func paramsOf(k *ir.Kernel) (list []textParam) {
	scalar := func(name string, t *ir.Type) {
		word := t.Dialect()
		if !t.Float() && t.Size < 8 {
			word = "uint"
		}
		list = append(list, textParam{"Scalar", name, word, int(max(t.Size, 4))})
	}
	for _, v := range k.Params {
		if v.Leaves != nil {
			for _, l := range v.Leaves {
				scalar(v.Name+l.Own, l.Type)
			}
			continue
		}
		prefix := ""
		if v.ReadOnly {
			prefix = "Const"
		}
		switch t := v.Type; t.Kind {
		case ir.KindSlice:
			list = append(list, textParam{prefix + "Slice", v.Name, t.Elem.Dialect(), int(t.Elem.Size)})
		case ir.KindStruct:
			elem := t.Fields[0].Type.Elem
			list = append(list, textParam{prefix + "Matrix", v.Name, elem.Dialect(), int(elem.Size)})
		default:
			scalar(v.Name, t)
		}
	}
	return list
}

// A launcher prints the function that launches a kernel.
type launcher struct {
	*emitter
	k          *front.KernelDecl
	env        ir.Env // other type parameters in place of the kernel's
	taken      map[string]bool
	session    string   // its parameter
	call       string   // the variable
	typeParams []string // of the function, with their constraints
	params     []string
	steps      []string // what fills in the call
}

func newLauncher(e *emitter, k *front.KernelDecl) *launcher {
	l := &launcher{emitter: e, k: k, env: ir.Env{}, taken: map[string]bool{}}
	for v := range k.Fn.Type().(*types.Signature).Params().Variables() {
		e.typeName(v.Type()) // imports packages, whose names the parameters must not have
	}
	l.session, l.call = l.unique("s"), l.unique("call")
	return l
}

// unique is a name of a parameter or a variable.
func (l *launcher) unique(name string) string {
	for name == "_" || name == "" || l.taken[name] || ownImports[name] != "" || types.Universe.Lookup(name) != nil ||
		l.pkg.Types.Scope().Lookup(name) != nil || slices.Contains(slices.Collect(maps.Values(l.imports)), name) {
		name += "_"
	}
	l.taken[name] = true
	return name
}

// launch prints the function that launches a kernel.
func (e *emitter) launch(k *front.KernelDecl) {
	l := newLauncher(e, k)
	grid := l.unique("grid")
	l.params = []string{l.session + " *linalg.Session", grid + " backend.Grid"}
	source := l.kernelOf()
	for j := range k.Instances[0].Params {
		l.param(j)
	}
	l.function(fmt.Sprintf("New(%s, %s, %s)", l.session, source, grid),
		"runs [%s] over grid. Slices and matrices are in host memory or on the device of s;\n"+
			"// with host memory it blocks until the kernel is done.")
}

// function prints the function, which does what doc says, and the instances that it launches; begin
// makes the call.
func (l *launcher) function(begin, doc string) {
	name := front.LaunchName(l.k.Name())
	l.line("// %s "+doc, name, l.k.Name())
	l.line("func %s%s(%s) error {", name, bracketed(l.typeParams), strings.Join(l.params, ", "))
	l.line("%s := launch.%s\n%s\nreturn %[1]s.Launch()\n}\n", l.call, begin, strings.Join(l.steps, "\n"))
	l.instances(l.k)
}

// kernelOf is the source that is launched, by the types of a generic kernel, whose type parameters
// it adds.
func (l *launcher) kernelOf() string {
	params := l.k.Fn.Type().(*types.Signature).TypeParams()
	if params.Len() == 0 {
		source := l.sourceName(l.k, l.k.Instances[0])
		if l.o.Pack {
			source += ".Source()"
		}
		return source
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
	for _, ts := range l.k.Types {
		if t := l.typeName(ts[i]); !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	p := l.k.Fn.Type().(*types.Signature).TypeParams().At(i)
	name := l.unique(p.Obj().Name())
	l.env[p] = types.NewTypeParam(types.NewTypeName(token.NoPos, l.pkg.Types, name, nil),
		types.Universe.Lookup("any").Type())
	l.typeParams = append(l.typeParams, fmt.Sprintf("%s interface{ %s }", name, strings.Join(list, " | ")))
	return name
}

// param adds parameter j behind the kernel's item.
func (l *launcher) param(j int) {
	v := l.k.Instances[0].Params[j]
	name := l.unique(v.Name)
	t := l.Types.Close(l.k.Fn.Type().(*types.Signature).Params().At(j+1).Type(), l.env)
	var elem types.Type
	step := ""
	if v.Leaves != nil {
		l.params = append(l.params, name+" "+l.typeName(t))
		for _, n := range v.Leaves {
			l.steps = append(l.steps, l.call+".Scalar("+scalar(name+n.Own, l.Types.Close(n.GoType, l.env), n.Type)+")")
		}
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		elem, step = u.Elem(), "Slice"
	case *types.Struct:
		elem, step = matrixElem(t), "Matrix"
	default:
		l.params = append(l.params, name+" "+l.typeName(t))
		l.steps = append(l.steps, l.call+".Scalar("+scalar(name, t, v.Type)+")")
		return
	}
	elemName := l.memory(name, strconv.Itoa(j+1), "KernelArg", elem)
	l.steps = append(l.steps, fmt.Sprintf("launch.%s[%s](&%s, %q, %s)", step, elemName, l.call, v.Name, name))
}

// memory adds a parameter of a type that constraint allows for memory of elements elem, whose name
// it gives.
func (l *launcher) memory(name, number, constraint string, elem types.Type) string {
	elemName := l.typeName(elem)
	arg := l.unique("Arg" + number)
	l.typeParams = append(l.typeParams, arg+" launch."+constraint+"["+elemName+"]")
	l.params = append(l.params, name+" "+arg)
	return elemName
}

// matrixElem is the type of the elements of gpu.Matrix type t.
func matrixElem(t types.Type) types.Type { return types.Unalias(t).(*types.Named).TypeArgs().At(0) }

// reserve takes the names of launch functions, which users know, before all others.
func (e *emitter) reserve(kernels []*front.KernelDecl) {
	for _, k := range kernels {
		name := front.LaunchName(k.Name())
		if o := e.pkg.Types.Scope().Lookup(name); o != nil && !e.o.NoLaunch {
			e.Problem(o.Pos(), "the generated file declares %s, which launches kernel %s; choose another name", name,
				k.Name())
		}
		if e.names.Of(k, name) != name && !e.o.NoLaunch {
			e.Problem(k.Decl.Name.Pos(), "%s launches another kernel, too; choose another name", name)
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
func scalar(name string, t types.Type, it *ir.Type) string {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return fmt.Sprintf("support.Arg[%s](%s)", p.Obj().Name(), name)
	}
	if it.Kind == ir.KindBool {
		return fmt.Sprintf("support.Bool(bool(%s))", name)
	}
	return fmt.Sprintf("support.Arg(%s(%s))", ir.Basics[it.Kind].GoName, name)
}

func (e *emitter) instancesName(k *front.KernelDecl) string {
	return e.names.Of(part{k.Instances[0], "Kernels"}, k.Name()+"Kernels")
}

// instances prints the list of a generic kernel's instances.
func (e *emitter) instances(k *front.KernelDecl) {
	if len(k.Types[0]) == 0 {
		return
	}
	e.line("var %s = support.Kernels{", e.instancesName(k))
	for _, n := range k.Instances {
		var zeros []string
		for _, t := range n.Types {
			zeros = append(zeros, e.zero(t))
		}
		kernel := "&" + e.sourceName(k, n)
		if !e.o.Pack {
			kernel = "support.Made(" + e.sourceName(k, n) + ")"
		}
		e.line("{Types: []any{%s}, Kernel: %s},", strings.Join(zeros, ", "), kernel)
	}
	e.line("}\n")
}

// zero is the zero value of a type of elements as a constant or a literal, which needs no code at a
// program's start.
func (e *emitter) zero(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Struct, *types.Array:
		return e.typeName(t) + "{}"
	case *types.Basic:
		if u.Kind() == types.Bool {
			return e.typeName(t) + "(false)"
		}
	}
	return e.typeName(t) + "(0)"
}
