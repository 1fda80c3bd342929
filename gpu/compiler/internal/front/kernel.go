package front

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A KernelDecl is a kernel as it is declared, with its instances.
type KernelDecl struct {
	Decl      *ast.FuncDecl
	Fn        *types.Func
	Types     [][]types.Type // lists of types; one empty list where the kernel is not generic
	typeNames [][]string
	group     [3]int
	Instances []*ir.Kernel
	Mapped    *ast.FuncDecl // the function of which the kernel is the map
}

// Name is what the generated file calls the kernel by: a map by its function.
func (k *KernelDecl) Name() string {
	if k.Mapped != nil {
		return k.Mapped.Name.Name
	}
	return k.Decl.Name.Name
}

const (
	kernelDirective = "//tandem:kernel"
	groupDirective  = "//tandem:group"
)

// directiveRE is what is a directive, or looks like one: with blanks it is an ordinary comment.
var directiveRE = regexp.MustCompile(`^//([ \t]*)tandem:([ \t]*)([^ \t]*)`)

// directives refuses those that mark nothing, which would go unseen.
func (l *Lowerer) directives(pkg *Package) {
	for _, file := range pkg.Files {
		docs := map[*ast.CommentGroup]bool{}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				docs[d.Doc] = true
			}
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				m := directiveRE.FindStringSubmatch(c.Text)
				if m == nil {
					continue
				}
				name, blank := "//tandem:"+m[3], m[1]+m[2] != ""
				known := slices.Contains([]string{kernelDirective, mapDirective, groupDirective}, name)
				switch {
				case blank && known && docs[group]:
					l.Problem(c.Pos(), "a directive has no blanks; write %s", name)
				case !blank && !known:
					l.Problem(c.Pos(), "there is no %s; write %s, %s or %s", name, kernelDirective, mapDirective,
						groupDirective)
				case !blank && !docs[group]:
					l.Problem(c.Pos(), "%s marks no function; write it above one, with no empty line between", name)
				}
			}
		}
	}
}

// directive is the words behind a directive above d, which may have several lines.
func directive(d *ast.FuncDecl, name string) (words []string, lines int) {
	if d.Doc == nil {
		return nil, 0
	}
	for _, c := range d.Doc.List {
		if rest, found := strings.CutPrefix(c.Text, name); found && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			words = append(words, strings.Fields(rest)...)
			lines++
		}
	}
	return words, lines
}

// kernels finds the functions that are marked as kernels.
func (l *Lowerer) kernels(pkg *Package) (found []*KernelDecl) {
	for _, file := range pkg.Files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			k := &KernelDecl{Decl: decl}
			if l.Made[file] {
				k.Mapped = l.maps[decl.Name.Name]
			}
			list, marked := directive(decl, kernelDirective)
			group, sizes := directive(decl, groupDirective)
			f := &frame{Lowerer: l, pkg: pkg}
			switch {
			case sizes > 1:
				f.Problem(d.Pos(), "%s stands here %d times; keep one", groupDirective, sizes)
			case sizes > 0 && marked == 0:
				f.Problem(d.Pos(), "%s is the size of a kernel's groups; write %s above it", groupDirective,
					kernelDirective)
			}
			if marked > 0 && l.recoverable(func() { f.kernelDecl(k, list, group) }) {
				found = append(found, k)
			}
		}
	}
	return found
}

// kernelDecl checks the head of a kernel.
func (f *frame) kernelDecl(k *KernelDecl, list, group []string) {
	d := k.Decl
	fn, ok := f.pkg.Info.Defs[d.Name].(*types.Func)
	if !ok {
		panic(abort{}) // the Go compiler has said why
	}
	k.Fn = fn
	sig := fn.Type().(*types.Signature)
	switch {
	case d.Recv != nil:
		f.refuse(d.Pos(), "a kernel is a function, not a method; pass the receiver as a parameter")
	case d.Body == nil:
		f.refuse(d.Pos(), "a kernel without a body; write one")
	case sig.Params().Len() == 0 || !ir.IsGPU(sig.Params().At(0).Type(), "Item"):
		f.refuse(d.Pos(), "the first parameter of a kernel is its work-item; write func %s(it gpu.Item, ...)",
			d.Name.Name)
	case sig.Results().Len() > 0:
		f.refuse(d.Type.Results.Pos(), "a kernel has no results; write them to a slice")
	case sig.Variadic():
		f.refuse(d.Pos(), "a kernel with a variable number of arguments; pass a slice")
	case d.Name.Name == "_" || d.Name.Name == "main" || d.Name.Name == "init":
		f.refuse(d.Pos(), "a kernel needs a name that can be called; choose another")
	}
	for i, s := range group {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || i > 2 {
			f.refuse(d.Pos(), "%s takes one to three numbers of work-items; write %[1]s 16 16", groupDirective)
		}
		k.group[i] = n
	}
	if len(group) > 0 {
		for i := range k.group {
			k.group[i] = max(k.group[i], 1)
		}
	}
	f.typeLists(k, list)
}

// typeLists reads the types that a generic kernel is compiled for.
func (f *frame) typeLists(k *KernelDecl, list []string) {
	params := k.Fn.Type().(*types.Signature).TypeParams()
	pos, name, directive := k.Decl.Pos(), k.Decl.Name.Name, kernelDirective
	if k.Mapped != nil { // what the user wrote
		pos, name, directive = k.Mapped.Pos(), k.Mapped.Name.Name, mapDirective
	}
	switch {
	case params.Len() == 0 && len(list) > 0:
		f.refuse(pos, "%s has no type parameters; write %s alone", name, directive)
	case params.Len() == 0:
		k.Types, k.typeNames = [][]types.Type{nil}, [][]string{nil}
		return
	case len(list) == 0:
		f.refuse(pos, "%s has type parameters; list the types: %s float32 float64", name, directive)
	}
	for _, entry := range list {
		names := strings.Split(entry, ",")
		if len(names) != params.Len() {
			f.refuse(pos, "%s has %d type parameters, and %q is %d types; join them with commas", name, params.Len(),
				entry, len(names))
		}
		var ts []types.Type
		for _, t := range names {
			tv, err := types.Eval(f.Fset, f.pkg.Types, pos, t) // of the file, not of the kernel
			if err != nil || !tv.IsType() {
				f.refuse(pos, "%q is no type; list types such as float32", t)
			}
			ts = append(ts, tv.Type)
		}
		if _, err := types.Instantiate(nil, k.Fn.Type(), ts, true); err != nil {
			f.refuse(pos, "%s for %s: %v; leave it out, or widen the constraint", name, entry, err)
		}
		for _, old := range k.Types {
			if slices.EqualFunc(old, ts, types.Identical) {
				f.refuse(pos, "%s is listed twice; leave one out", entry)
			}
		}
		k.Types, k.typeNames = append(k.Types, ts), append(k.typeNames, names)
	}
}

// instantiate lowers a kernel for each list of types.
func (l *Lowerer) instantiate(pkg *Package, k *KernelDecl) {
	params := k.Fn.Type().(*types.Signature).TypeParams()
	before := len(l.Problems)
	for i, ts := range k.Types {
		l.kernel, l.copies = k.Name(), 0
		e := ir.Env{}
		for j, t := range ts {
			e[params.At(j)] = t
		}
		entry := ir.CName(k.Name()) + "_kernel"
		instance := ""
		for _, name := range k.typeNames[i] {
			entry = ir.CName(k.Name()) + "_" + ir.CName(strings.Join(k.typeNames[i], "_"))
			instance += ir.Exported(ir.CName(name))
		}
		for l.entries[entry] || ir.Reserved(entry) {
			entry += "_"
		}
		l.entries[entry] = true
		n := &ir.Kernel{
			Function: &ir.Function{Name: entry, Pos: k.Decl.Pos(), Names: ir.Scope{}}, Instance: instance,
			Entry: entry, Group: k.group, Types: ts, Env: e,
		}
		f := &frame{
			Lowerer: l, pkg: pkg, env: e, fn: n.Function, bind: map[types.Object]binding{},
			assigned: assignedIn(pkg.Info, k.Decl),
		}
		f.active = []string{l.keyOf(k.Fn, e)}
		n.Body = f.collect(func() {
			if f.recoverable(func() { f.kernelParams(k, n) }) {
				f.block(k.Decl.Body)
			}
		})
		f.Lowerer.active = nil
		if len(l.Problems) == before {
			l.Prepare(n)
		}
		k.Instances = append(k.Instances, n)
	}
}

// mapParams refuses what is no element of a map, which its syntax does not tell.
func (f *frame) mapParams(k *KernelDecl) {
	params := k.Fn.Type().(*types.Signature).Params()
	for i := 1; i < params.Len(); i++ {
		t := f.close(params.At(i).Type())
		if _, ok := t.Underlying().(*types.Basic); !ok && !ir.IsGPU(t, "Matrix") {
			f.refuse(k.Mapped.Name.Pos(), notElements)
		}
	}
}

// kernelParams declares the parameters of a kernel after its item.
func (f *frame) kernelParams(k *KernelDecl, n *ir.Kernel) {
	if k.Mapped != nil {
		f.mapParams(k)
	}
	for i, name := range paramNames(nil, k.Decl.Type) {
		o := f.pkg.Info.Defs[name]
		if i == 0 {
			if o != nil {
				f.bind[o] = binding{e: &ir.Expr{Op: ir.OpZero, Type: f.Types.Types["item"]}}
			}
			continue
		}
		goType := k.Fn.Type().(*types.Signature).Params().At(i).Type()
		t := f.irType(name.Pos(), goType, ir.SpaceGlobal)
		if k.Mapped == nil || t.Kind != ir.KindBool {
			f.refuseParts(name.Pos(), goType, t)
		}
		switch {
		case ir.IsGPU(f.close(goType), "Matrix"):
		case t.Kind == ir.KindItem:
			f.refuse(name.Pos(), "a kernel has one item; leave the others out")
		case t.Kind == ir.KindPointer:
			f.refuse(k.Decl.Type.Params.Pos(), "a kernel takes no pointers; pass a slice")
		}
		v := f.fn.NewVar(name.Name, t)
		if (t.Kind == ir.KindStruct || t.Kind == ir.KindArray) && !ir.IsGPU(f.close(goType), "Matrix") {
			v.Leaves = f.leaves(name.Pos(), []ir.Leaf{}, ir.Leaf{Type: t, GoType: goType})
		}
		n.Params = append(n.Params, v)
		if o == nil {
			continue
		}
		f.bind[o] = binding{v: v}
		if f.assigned[o] { // each work-item has its own
			f.bind[o] = binding{v: f.declare(name.Pos(), name.Name, t, ir.VarExpr(v, name.Pos()))}
		}
	}
}

// maxLeaves is how many numbers a struct or array by value may have.
const maxLeaves = 64

// refuseParts refuses a type parameter that stands for what the text takes in parts: these must be
// the same for every list of types.
func (f *frame) refuseParts(pos token.Pos, goType types.Type, t *ir.Type) {
	empty := t.Kind == ir.KindStruct && len(t.Fields) == 0
	if _, parameter := goType.(*types.TypeParam); parameter && !t.Number() && !empty {
		f.refuse(pos, "a parameter whose type parameter stands for %s; write the slice, matrix or struct itself, of T",
			f.close(goType))
	}
}

// leaves adds the numbers in l to list.
func (f *frame) leaves(pos token.Pos, list []ir.Leaf, l ir.Leaf) []ir.Leaf {
	f.refuseParts(pos, l.GoType, l.Type)
	switch t := l.Type; t.Kind {
	case ir.KindStruct:
		if len(t.Fields) == 0 {
			return list
		}
		u := l.GoType.Underlying().(*types.Struct)
		for i, fl := range t.Fields {
			field := u.Field(i)
			switch {
			case fl.Name == "_":
				continue
			case !field.Exported() && field.Pkg() != f.pkg.Types:
				f.refuse(pos, "a struct of another package with field %s, which is not exported; pass its fields",
					fl.Name)
			}
			name := "." + ir.FieldName(t, i)
			list = f.leaves(pos, list, ir.Leaf{
				Type: fl.Type, GoType: field.Type(), C: l.C + name, Gen: l.Gen + name, Own: l.Own + "." + fl.Name,
			})
		}
	case ir.KindArray:
		elem := l.GoType.Underlying().(*types.Array).Elem()
		for i := range min(t.Len, maxLeaves+1) {
			at := fmt.Sprintf("[%d]", i)
			list = f.leaves(pos, list, ir.Leaf{
				Type: t.Elem, GoType: elem, C: l.C + ".v" + at, Gen: l.Gen + at, Own: l.Own + at,
			})
		}
	case ir.KindSlice:
		f.refuse(pos, "a struct with a slice in it, by value; pass the slice as a parameter of its own")
	default:
		list = append(list, l)
	}
	if len(list) > maxLeaves {
		f.refuse(pos, "a parameter of more than %d numbers; pass a slice", maxLeaves)
	}
	return list
}
