package compiler

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

type kind uint8

const (
	kindBool kind = iota
	kindInt8
	kindInt16
	kindInt32
	kindInt64
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindFloat32
	kindFloat64
	kindArray
	kindStruct
	kindSlice
	kindPointer
	kindItem
)

// space is the memory that a pointer or a slice leads to. It is a part of their types: a device has
// other instructions for each.
type space uint8

const (
	spacePrivate space = iota
	spaceLocal
	spaceGlobal
	spaceConstant
)

// A typ is a type of the generated code. Equal types are one pointer.
type typ struct {
	kind   kind
	name   string // of a number in C, of a struct in Go
	key    string // which no other type has
	elem   *typ
	len    int64
	space  space
	fields []field
	size   int64 // bytes in memory; 0 where it has no place there
	align  int64
}

type field struct {
	name string // in Go
	typ  *typ
	off  int64
}

// basics describes the types that are words of both languages.
var basics = map[kind]struct {
	c, goName string
	size      int64
}{
	kindBool: {"u8", "bool", 1}, kindInt8: {"i8", "int8", 1}, kindInt16: {"i16", "int16", 2},
	kindInt32: {"i32", "int32", 4}, kindInt64: {"i64", "int64", 8},
	kindUint8: {"u8", "uint8", 1}, kindUint16: {"u16", "uint16", 2}, kindUint32: {"u32", "uint32", 4},
	kindUint64: {"u64", "uint64", 8}, kindFloat32: {"f32", "float32", 4}, kindFloat64: {"f64", "float64", 8},
}

// dialect is the name that OpenCL C has for t, as far as it has one.
func (t *typ) dialect() string {
	switch t.kind {
	case kindBool, kindUint8:
		return "uchar"
	case kindInt8:
		return "char"
	case kindInt16:
		return "short"
	case kindUint16:
		return "ushort"
	case kindInt32:
		return "int"
	case kindUint32:
		return "uint"
	case kindInt64:
		return "long"
	case kindUint64:
		return "ulong"
	case kindFloat32:
		return "float"
	case kindFloat64:
		return "double"
	case kindArray:
		return fmt.Sprintf("%s[%d]", t.elem.dialect(), t.len)
	}
	return t.name
}

func (t *typ) integer() bool  { return t.kind >= kindInt8 && t.kind <= kindUint64 }
func (t *typ) signed() bool   { return t.kind >= kindInt8 && t.kind <= kindInt64 }
func (t *typ) unsigned() bool { return t.kind >= kindUint8 && t.kind <= kindUint64 }
func (t *typ) float() bool    { return t.kind == kindFloat32 || t.kind == kindFloat64 }
func (t *typ) number() bool   { return t.integer() || t.float() }
func (t *typ) scalar() bool   { return t.kind <= kindFloat64 }
func (t *typ) bits() int      { return int(8 * t.size) }

// hasReference tells whether t holds a slice or pointer.
func (t *typ) hasReference() bool {
	switch t.kind {
	case kindSlice, kindPointer:
		return true
	case kindArray:
		return t.elem.hasReference()
	case kindStruct:
		for _, f := range t.fields {
			if f.typ.hasReference() {
				return true
			}
		}
	}
	return false
}

// typeTable makes each type once.
type typeTable struct {
	types  map[string]*typ
	ids    []types.Type            // of structs, and of what type parameters stand for
	locals map[string]*types.Named // types in generic functions, as they are there
	depth  int                     // of the type that of looks at, in others
}

func newTypeTable() *typeTable {
	t := &typeTable{types: map[string]*typ{}, locals: map[string]*types.Named{}}
	for k, b := range basics {
		key := b.c
		if k == kindBool {
			key = "bool"
		}
		t.types[key] = &typ{kind: k, name: b.c, key: key, size: b.size, align: b.size}
	}
	t.types["item"] = &typ{kind: kindItem, name: "item", key: "item"}
	return t
}

func (tt *typeTable) basic(k kind) *typ {
	if k == kindBool {
		return tt.types["bool"]
	}
	return tt.types[basics[k].c]
}

func (tt *typeTable) add(key string, t *typ) *typ {
	if old := tt.types[key]; old != nil {
		return old
	}
	t.key = key
	tt.types[key] = t
	return t
}

// id is a number of t, which no other type has.
func (tt *typeTable) id(t types.Type) int {
	i := slices.IndexFunc(tt.ids, func(old types.Type) bool { return types.Identical(old, t) })
	if i < 0 {
		i, tt.ids = len(tt.ids), append(tt.ids, t)
	}
	return i
}

func (tt *typeTable) array(elem *typ, n int64) *typ {
	return tt.add(fmt.Sprintf("a%d %s", n, elem.key), &typ{
		kind: kindArray, elem: elem, len: n,
		size: n * elem.size, align: elem.align,
	})
}

var spaceNames = map[space]string{spacePrivate: "p", spaceLocal: "l", spaceGlobal: "g", spaceConstant: "c"}

func (tt *typeTable) slice(elem *typ, s space) *typ {
	return tt.add("s"+spaceNames[s]+" "+elem.key, &typ{kind: kindSlice, elem: elem, space: s})
}

func (tt *typeTable) pointer(elem *typ, s space) *typ {
	return tt.add("p"+spaceNames[s]+" "+elem.key, &typ{kind: kindPointer, elem: elem, space: s})
}

// structOf makes a struct; id tells structs of the same name apart.
func (tt *typeTable) structOf(name string, id int, fields []field) *typ {
	t := &typ{kind: kindStruct, name: name, fields: fields, align: 1}
	if len(fields) == 0 { // C has none of size 0
		t.size = -1
	}
	for i := range fields {
		f := &fields[i]
		if f.typ.size == 0 {
			t.size = -1
		}
		if t.size < 0 {
			continue
		}
		t.align = max(t.align, f.typ.align)
		t.size = (t.size + f.typ.align - 1) / f.typ.align * f.typ.align
		f.off = t.size
		t.size += f.typ.size
	}
	if t.size < 0 {
		t.size, t.align = 0, 0
	} else {
		t.size = (t.size + t.align - 1) / t.align * t.align
	}
	return tt.add("t"+itoa(id), t)
}

// An env says what the type parameters of a function stand for.
type env map[*types.TypeParam]types.Type

// close replaces the type parameters in t by what they stand for in e.
func (tt *typeTable) close(t types.Type, e env) types.Type {
	switch t := t.(type) {
	case *types.TypeParam:
		if c, ok := e[t]; ok {
			return c
		}
	case *types.Alias:
		return tt.close(types.Unalias(t), e)
	case *types.Array:
		return types.NewArray(tt.close(t.Elem(), e), t.Len())
	case *types.Slice:
		return types.NewSlice(tt.close(t.Elem(), e))
	case *types.Pointer:
		return types.NewPointer(tt.close(t.Elem(), e))
	case *types.Named:
		if n := t.TypeArgs().Len(); n > 0 {
			args := make([]types.Type, n)
			for i := range args {
				args[i] = tt.close(t.TypeArgs().At(i), e)
			}
			if closed, err := types.Instantiate(typeContext, t.Origin(), args, false); err == nil {
				return closed
			}
		} else if o := t.Obj(); len(e) > 0 && o.Pkg() != nil && o.Parent() != nil && o.Parent() != o.Pkg().Scope() {
			return tt.local(t, e)
		}
	case *types.Struct:
		var fields []*types.Var
		var tags []string
		for i := range t.NumFields() {
			f := t.Field(i)
			fields = append(fields, types.NewField(f.Pos(), f.Pkg(), f.Name(), tt.close(f.Type(), e), f.Embedded()))
			tags = append(tags, t.Tag(i))
		}
		return types.NewStruct(fields, tags)
	}
	return t
}

// local is t, which a function declares, where the function's type parameters stand for what is in
// e: in each such list of types it is another type.
func (tt *typeTable) local(t *types.Named, e env) *types.Named {
	var list []string
	for p, arg := range e {
		list = append(list, fmt.Sprintf("%d=%d", p.Obj().Pos(), tt.id(arg)))
	}
	slices.Sort(list)
	key := fmt.Sprintf("%d %s %v", t.Obj().Pos(), t.Obj().Name(), list)
	if closed := tt.locals[key]; closed != nil {
		return closed
	}
	// without a scope, so that it is closed
	closed := types.NewNamed(types.NewTypeName(t.Obj().Pos(), t.Obj().Pkg(), t.Obj().Name(), nil), nil, nil)
	tt.locals[key] = closed
	closed.SetUnderlying(tt.close(t.Underlying(), e).Underlying())
	return closed
}

var typeContext = types.NewContext()

// basicKinds is what Go's basic types are here.
var basicKinds = map[types.BasicKind]kind{
	types.Bool: kindBool, types.Int: kindInt64, types.Int8: kindInt8, types.Int16: kindInt16,
	types.Int32: kindInt32, types.Int64: kindInt64, types.Uint: kindUint64, types.Uint8: kindUint8,
	types.Uint16: kindUint16, types.Uint32: kindUint32, types.Uint64: kindUint64,
	types.Float32: kindFloat32, types.Float64: kindFloat64, types.UntypedBool: kindBool,
	types.UntypedInt: kindInt64, types.UntypedRune: kindInt32, types.UntypedFloat: kindFloat64,
}

// of is the type for a Go type without type parameters. Slices and pointers lead to space s. The
// error says what kernels do not have, and what to do instead.
func (tt *typeTable) of(t types.Type, s space) (*typ, error) {
	t = types.Unalias(t)
	if isGPU(t, "Item") {
		return tt.types["item"], nil
	}
	tt.depth++
	defer func() { tt.depth-- }()
	if tt.depth > 50 {
		return nil, fmt.Errorf("a kernel has no types that contain themselves; keep indices instead")
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if k, ok := basicKinds[u.Kind()]; ok {
			return tt.basic(k), nil
		}
		return nil, refusal(u)
	case *types.Array:
		elem, err := tt.of(u.Elem(), s)
		switch {
		case err != nil:
			return nil, err
		case u.Len() == 0:
			return nil, fmt.Errorf("a kernel has no arrays without elements; leave it out")
		case u.Len() > 1<<31-1 || elem.size*u.Len() > 1<<40:
			return nil,
				fmt.Errorf("an array of %d elements is too large for a device; pass a slice to the kernel", u.Len())
		case elem.hasReference():
			return nil, fmt.Errorf("a kernel has no arrays of pointers or slices; keep indices instead")
		}
		return tt.array(elem, u.Len()), nil
	case *types.Slice:
		elem, err := tt.of(u.Elem(), s)
		if err == nil && elem.size == 0 {
			err = fmt.Errorf("a kernel has no slices of %s; keep indices into one slice", u.Elem())
		}
		if err != nil {
			return nil, err
		}
		return tt.slice(elem, s), nil
	case *types.Pointer:
		elem, err := tt.of(u.Elem(), s)
		if err != nil {
			return nil, err
		}
		return tt.pointer(elem, s), nil
	case *types.Struct:
		return tt.structType(t, u)
	}
	return nil, refusal(t)
}

func (tt *typeTable) structType(t types.Type, u *types.Struct) (*typ, error) {
	name := "struct"
	if n, ok := t.(*types.Named); ok {
		name = n.Obj().Name()
	}
	var fields []field
	for i := range u.NumFields() {
		f := u.Field(i)
		ft, err := tt.of(f.Type(), spaceGlobal)
		if err != nil {
			return nil, err
		}
		if ft.kind == kindPointer || ft.kind == kindItem {
			return nil, fmt.Errorf("a kernel has no structs with a field of type %s; "+
				"pass it as a parameter of its own, or keep an index", f.Type())
		}
		fields = append(fields, field{name: f.Name(), typ: ft})
	}
	return tt.structOf(name, tt.id(t), fields), nil
}

func isGPU(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == gpuPath && n.Obj().Name() == name
}

// refusal says why a kernel has no values of type t.
func refusal(t types.Type) error {
	advice := "use numbers, arrays, structs and slices of them"
	switch u := t.Underlying().(type) {
	case *types.Map:
		advice = "use a slice or an array that an integer indexes"
	case *types.Chan:
		advice = "work-items share local memory and meet at a barrier"
	case *types.Interface:
		advice = "use a type parameter"
	case *types.Signature:
		advice = "call the function by its name"
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			advice = "use a slice of bytes"
		case u.Info()&types.IsComplex != 0:
			advice = "use a struct of two floats"
		case u.Kind() == types.Uintptr || u.Kind() == types.UnsafePointer:
			advice = "use uint64, or an index"
		}
	}
	return fmt.Errorf("a kernel has no values of type %s; %s", t, advice)
}

// A scope is names that are taken.
type scope map[string]bool

// unique is a name that is not taken, made of base, as it is or with a number.
func (s scope) unique(base string) string {
	name := base
	for i := 2; s[name]; i++ {
		name = base + itoa(i)
	}
	s[name] = true
	return name
}

// cName is a Go name with letters that C has: two Go names may give one.
func cName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	return b.String()
}
