package compiler

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kernelDecl is a kernel as it is declared, with its instances.
type kernelDecl struct {
	decl      *ast.FuncDecl
	fn        *types.Func
	types     [][]types.Type // lists of types; one empty list where the kernel is not generic
	typeNames [][]string
	group     [3]int
	instances []*kernel
	mapped    *ast.FuncDecl // the function of which the kernel is the map
}

// name is what the generated file calls the kernel by: a map by its function.
func (k *kernelDecl) name() string {
	if k.mapped != nil {
		return k.mapped.Name.Name
	}
	return k.decl.Name.Name
}

const (
	kernelDirective = "//tandem:kernel"
	groupDirective  = "//tandem:group"
)

// kernels finds the functions that are marked as kernels.
func (l *lowerer) kernels(pkg *goPackage) (found []*kernelDecl) {
	for _, file := range pkg.files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Doc == nil {
				continue
			}
			k := &kernelDecl{decl: decl}
			if l.made[file] {
				k.mapped = l.maps[decl.Name.Name]
			}
			var list, group []string
			marked := false
			for _, c := range decl.Doc.List {
				if rest, ok := strings.CutPrefix(c.Text, kernelDirective); ok && (rest == "" ||
					rest[0] == ' ' || rest[0] == '\t') {
					marked, list = true, append(list, strings.Fields(rest)...)
				}
				if rest, ok := strings.CutPrefix(c.Text, groupDirective+" "); ok {
					group = strings.Fields(rest)
				}
			}
			if marked && recoverable(func() { l.kernelDecl(pkg, k, list, group) }) {
				found = append(found, k)
			}
		}
	}
	return found
}

// kernelDecl checks the head of a kernel.
func (l *lowerer) kernelDecl(pkg *goPackage, k *kernelDecl, list, group []string) {
	d := k.decl
	f := &frame{lowerer: l, pkg: pkg}
	fn, ok := pkg.info.Defs[d.Name].(*types.Func)
	if !ok {
		panic(abort{}) // the Go compiler has said why
	}
	k.fn = fn
	sig := fn.Type().(*types.Signature)
	switch {
	case d.Recv != nil:
		f.refuse(d.Pos(), "a kernel is a function, not a method; pass the receiver as a parameter")
	case d.Body == nil:
		f.refuse(d.Pos(), "a kernel without a body; write one")
	case sig.Params().Len() == 0 || !isGPU(sig.Params().At(0).Type(), "Item"):
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
	l.typeLists(f, k, list)
}

// typeLists reads the types that a generic kernel is compiled for.
func (l *lowerer) typeLists(f *frame, k *kernelDecl, list []string) {
	params := k.fn.Type().(*types.Signature).TypeParams()
	pos := k.decl.Pos()
	switch {
	case params.Len() == 0 && len(list) > 0:
		f.refuse(pos, "%s has no type parameters; write %s alone", k.decl.Name.Name, kernelDirective)
	case params.Len() == 0:
		k.types, k.typeNames = [][]types.Type{nil}, [][]string{nil}
		return
	case len(list) == 0:
		f.refuse(pos, "%s has type parameters; list the types: %s float32 float64", k.decl.Name.Name, kernelDirective)
	}
	for _, entry := range list {
		names := strings.Split(entry, ",")
		if len(names) != params.Len() {
			f.refuse(pos, "%s has %d type parameters, and %q is %d types; join them with commas", k.decl.Name.Name,
				params.Len(), entry, len(names))
		}
		var ts []types.Type
		for _, name := range names {
			tv, err := types.Eval(l.fset, f.pkg.types, pos, name) // of the file, not of the kernel
			if err != nil || !tv.IsType() {
				f.refuse(pos, "%q is no type; list types such as float32", name)
			}
			ts = append(ts, tv.Type)
		}
		if _, err := types.Instantiate(nil, k.fn.Type(), ts, true); err != nil {
			f.refuse(pos, "%s for %s: %v; leave it out, or widen the constraint", k.decl.Name.Name, entry, err)
		}
		for _, old := range k.types {
			if slices.EqualFunc(old, ts, types.Identical) {
				f.refuse(pos, "%s is listed twice; leave one out", entry)
			}
		}
		k.types, k.typeNames = append(k.types, ts), append(k.typeNames, names)
	}
}

// instantiate lowers a kernel for each list of types.
func (l *lowerer) instantiate(pkg *goPackage, k *kernelDecl) {
	params := k.fn.Type().(*types.Signature).TypeParams()
	before := len(l.problems)
	for i, ts := range k.types {
		l.kernel, l.copies = k.name(), 0
		e := env{}
		for j, t := range ts {
			e[params.At(j)] = t
		}
		entry := cName(k.name()) + "_kernel"
		instance := ""
		for _, name := range k.typeNames[i] {
			entry = cName(k.name()) + "_" + cName(strings.Join(k.typeNames[i], "_"))
			instance += exported(cName(name))
		}
		for l.entries[entry] {
			entry += "_"
		}
		l.entries[entry] = true
		n := &kernel{
			function: &function{name: entry, pos: k.decl.Pos(), names: scope{}}, instance: instance,
			entry: entry, group: k.group,
		}
		f := &frame{
			lowerer: l, pkg: pkg, env: e, fn: n.function, bind: map[types.Object]binding{},
			assigned: assignedIn(pkg.info, k.decl),
		}
		f.active = []string{l.keyOf(k.fn, e)}
		n.body = f.collect(func() {
			if recoverable(func() { f.kernelParams(k, n) }) {
				f.block(k.decl.Body)
			}
		})
		f.lowerer.active = nil
		if len(l.problems) == before {
			l.analyse(n)
			for _, p := range n.params {
				p.readOnly = p.typ.hasReference() && !l.writesOf(n.function, n.params)[p]
			}
		}
		k.instances = append(k.instances, n)
	}
}

// kernelParams declares the parameters of a kernel after its item.
func (f *frame) kernelParams(k *kernelDecl, n *kernel) {
	for i, name := range paramNames(nil, k.decl.Type) {
		o := f.pkg.info.Defs[name]
		if i == 0 {
			if o != nil {
				f.bind[o] = binding{e: &expr{op: opZero, typ: f.types.types["item"]}}
			}
			continue
		}
		goType := k.fn.Type().(*types.Signature).Params().At(i).Type()
		t := f.irType(name.Pos(), goType, spaceGlobal)
		if k.mapped == nil || t.kind != kindBool {
			f.refuseParts(name.Pos(), goType, t)
		}
		switch {
		case isGPU(f.close(goType), "Matrix"):
		case t.kind == kindItem:
			f.refuse(name.Pos(), "a kernel has one item; leave the others out")
		case t.kind == kindPointer:
			f.refuse(k.decl.Type.Params.Pos(), "a kernel takes no pointers; pass a slice")
		}
		v := f.fn.newVar(name.Name, t)
		if (t.kind == kindStruct || t.kind == kindArray) && !isGPU(f.close(goType), "Matrix") {
			v.leaves = f.leaves(name.Pos(), []leaf{}, leaf{typ: t, goType: goType})
		}
		n.params = append(n.params, v)
		if o == nil {
			continue
		}
		f.bind[o] = binding{v: v}
		if f.assigned[o] { // each work-item has its own
			f.bind[o] = binding{v: f.declare(name.Pos(), name.Name, t, varExpr(v, name.Pos()))}
		}
	}
}

// maxLeaves is how many numbers a struct or array by value may have.
const maxLeaves = 64

// refuseParts refuses a type parameter that stands for what the text takes in parts: these must be
// the same for every list of types.
func (f *frame) refuseParts(pos token.Pos, goType types.Type, t *typ) {
	empty := t.kind == kindStruct && len(t.fields) == 0
	if _, parameter := goType.(*types.TypeParam); parameter && !t.number() && !empty {
		f.refuse(pos, "a parameter whose type parameter stands for %s; write the slice, matrix or struct itself, of T",
			f.close(goType))
	}
}

// leaves adds the numbers in l to list.
func (f *frame) leaves(pos token.Pos, list []leaf, l leaf) []leaf {
	f.refuseParts(pos, l.goType, l.typ)
	switch t := l.typ; t.kind {
	case kindStruct:
		if len(t.fields) == 0 {
			return list
		}
		u := l.goType.Underlying().(*types.Struct)
		for i, fl := range t.fields {
			field := u.Field(i)
			switch {
			case fl.name == "_":
				continue
			case !field.Exported() && field.Pkg() != f.pkg.types:
				f.refuse(pos, "a struct of another package with field %s, which is not exported; pass its fields",
					fl.name)
			}
			name := "." + fieldName(t, i)
			list = f.leaves(pos, list, leaf{fl.typ, field.Type(), l.c + name, l.gen + name, l.own + "." + fl.name})
		}
	case kindArray:
		elem := l.goType.Underlying().(*types.Array).Elem()
		for i := range min(t.len, maxLeaves+1) {
			at := fmt.Sprintf("[%d]", i)
			list = f.leaves(pos, list, leaf{t.elem, elem, l.c + ".v" + at, l.gen + at, l.own + at})
		}
	case kindSlice:
		f.refuse(pos, "a struct with a slice in it, by value; pass the slice as a parameter of its own")
	default:
		list = append(list, l)
	}
	if len(list) > maxLeaves {
		f.refuse(pos, "a parameter of more than %d numbers; pass a slice", maxLeaves)
	}
	return list
}

func exported(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}
