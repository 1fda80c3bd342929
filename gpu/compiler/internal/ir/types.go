package ir

import (
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// A Kind is what sort of type a Type is.
type Kind uint8

const (
	KindBool Kind = iota
	KindInt8
	KindInt16
	KindInt32
	KindInt64
	KindUint8
	KindUint16
	KindUint32
	KindUint64
	KindFloat32
	KindFloat64
	KindArray
	KindStruct
	KindSlice
	KindPointer
	KindItem
)

// Space is the memory that a pointer or a slice leads to. It is a part of their types: a device has
// other instructions for each.
type Space uint8

const (
	SpacePrivate Space = iota
	SpaceLocal
	SpaceGlobal
	SpaceConstant
)

// A Type is a type of the generated code. Equal types are one pointer.
type Type struct {
	Kind   Kind
	Name   string // of a number in C, of a struct in Go
	Key    string // which no other type has
	Elem   *Type
	Len    int64
	Space  Space
	Fields []field
	Size   int64 // bytes in memory; 0 where it has no place there
	align  int64
}

type field struct {
	Name string // in Go
	Type *Type
	Off  int64
}

// Basics describes the types that are words of all languages; dialect is OpenCL C's.
var Basics = map[Kind]struct {
	c, GoName, dialect string
	size               int64
}{
	KindBool: {"u8", "bool", "uchar", 1}, KindInt8: {"i8", "int8", "char", 1}, KindInt16: {"i16", "int16", "short", 2},
	KindInt32: {"i32", "int32", "int", 4}, KindInt64: {"i64", "int64", "long", 8},
	KindUint8: {"u8", "uint8", "uchar", 1}, KindUint16: {"u16", "uint16", "ushort", 2},
	KindUint32: {"u32", "uint32", "uint", 4}, KindUint64: {"u64", "uint64", "ulong", 8},
	KindFloat32: {"f32", "float32", "float", 4}, KindFloat64: {"f64", "float64", "double", 8},
}

// Dialect is the name that OpenCL C has for t, as far as it has one.
func (t *Type) Dialect() string {
	switch {
	case t.Scalar():
		return Basics[t.Kind].dialect
	case t.Kind == KindArray:
		return fmt.Sprintf("%s[%d]", t.Elem.Dialect(), t.Len)
	}
	return t.Name
}

// What sort a type is of, and the bits of a scalar one.

func (t *Type) Integer() bool  { return t.Kind >= KindInt8 && t.Kind <= KindUint64 }
func (t *Type) Signed() bool   { return t.Kind >= KindInt8 && t.Kind <= KindInt64 }
func (t *Type) Unsigned() bool { return t.Kind >= KindUint8 && t.Kind <= KindUint64 }
func (t *Type) Float() bool    { return t.Kind == KindFloat32 || t.Kind == KindFloat64 }
func (t *Type) Number() bool   { return t.Integer() || t.Float() }
func (t *Type) Scalar() bool   { return t.Kind <= KindFloat64 }
func (t *Type) Bits() int      { return int(8 * t.Size) }

// HasReference tells whether t holds a slice or pointer.
func (t *Type) HasReference() bool {
	switch t.Kind {
	case KindSlice, KindPointer:
		return true
	case KindArray:
		return t.Elem.HasReference()
	case KindStruct:
		for _, f := range t.Fields {
			if f.Type.HasReference() {
				return true
			}
		}
	}
	return false
}

// TypeTable makes each type once.
type TypeTable struct {
	Types  map[string]*Type
	ids    []types.Type            // of structs, and of what type parameters stand for
	locals map[string]*types.Named // types in generic functions, as they are there
	depth  int                     // of the type that of looks at, in others
}

// NewTypeTable is a table of the basic types.
func NewTypeTable() *TypeTable {
	t := &TypeTable{Types: map[string]*Type{}, locals: map[string]*types.Named{}}
	for k, b := range Basics {
		key := b.c
		if k == KindBool {
			key = "bool"
		}
		t.Types[key] = &Type{Kind: k, Name: b.c, Key: key, Size: b.size, align: b.size}
	}
	t.Types["item"] = &Type{Kind: KindItem, Name: "item", Key: "item"}
	return t
}

// Basic is the basic type of a kind.
func (tt *TypeTable) Basic(k Kind) *Type {
	if k == KindBool {
		return tt.Types["bool"]
	}
	return tt.Types[Basics[k].c]
}

func (tt *TypeTable) add(key string, t *Type) *Type {
	if old := tt.Types[key]; old != nil {
		return old
	}
	t.Key = key
	tt.Types[key] = t
	return t
}

// ID is a number of t, which no other type has.
func (tt *TypeTable) ID(t types.Type) int {
	i := slices.IndexFunc(tt.ids, func(old types.Type) bool { return types.Identical(old, t) })
	if i < 0 {
		i, tt.ids = len(tt.ids), append(tt.ids, t)
	}
	return i
}

func (tt *TypeTable) array(elem *Type, n int64) *Type {
	return tt.add(fmt.Sprintf("a%d %s", n, elem.Key), &Type{
		Kind: KindArray, Elem: elem, Len: n,
		Size: n * elem.Size, align: elem.align,
	})
}

// SpaceNames are the letters for memories in names.
var SpaceNames = map[Space]string{SpacePrivate: "p", SpaceLocal: "l", SpaceGlobal: "g", SpaceConstant: "c"}

// Slice is a slice of elements in a memory.
func (tt *TypeTable) Slice(elem *Type, s Space) *Type {
	return tt.add("s"+SpaceNames[s]+" "+elem.Key, &Type{Kind: KindSlice, Elem: elem, Space: s})
}

// Pointer is a pointer to an element in a memory.
func (tt *TypeTable) Pointer(elem *Type, s Space) *Type {
	return tt.add("p"+SpaceNames[s]+" "+elem.Key, &Type{Kind: KindPointer, Elem: elem, Space: s})
}

// structOf makes a struct; id tells structs of the same name apart.
func (tt *TypeTable) structOf(name string, id int, fields []field) *Type {
	t := &Type{Kind: KindStruct, Name: name, Fields: fields, align: 1}
	if len(fields) == 0 { // C has none of size 0
		t.Size = -1
	}
	for i := range fields {
		f := &fields[i]
		if f.Type.Size == 0 {
			t.Size = -1
		}
		if t.Size < 0 {
			continue
		}
		t.align = max(t.align, f.Type.align)
		t.Size = (t.Size + f.Type.align - 1) / f.Type.align * f.Type.align
		f.Off = t.Size
		t.Size += f.Type.Size
	}
	if t.Size < 0 {
		t.Size, t.align = 0, 0
	} else {
		t.Size = (t.Size + t.align - 1) / t.align * t.align
	}
	return tt.add("t"+strconv.Itoa(id), t)
}

// An Env says what the type parameters of a function stand for.
type Env map[*types.TypeParam]types.Type

// within tells whether s lies in a function whose type parameters are those of e.
func (e Env) within(s *types.Scope) bool {
	for ; s != nil; s = s.Parent() {
		for p := range e {
			if p.Obj().Parent() == s {
				return true
			}
		}
	}
	return false
}

// Close replaces the type parameters in t by what they stand for in e.
func (tt *TypeTable) Close(t types.Type, e Env) types.Type {
	switch t := t.(type) {
	case *types.TypeParam:
		if c, ok := e[t]; ok {
			return c
		}
	case *types.Alias:
		return tt.Close(types.Unalias(t), e)
	case *types.Array:
		return types.NewArray(tt.Close(t.Elem(), e), t.Len())
	case *types.Slice:
		return types.NewSlice(tt.Close(t.Elem(), e))
	case *types.Pointer:
		return types.NewPointer(tt.Close(t.Elem(), e))
	case *types.Named:
		if n := t.TypeArgs().Len(); n > 0 {
			args := make([]types.Type, n)
			for i := range args {
				args[i] = tt.Close(t.TypeArgs().At(i), e)
			}
			if closed, err := types.Instantiate(typeContext, t.Origin(), args, false); err == nil {
				return closed
			}
		} else if e.within(t.Obj().Parent()) {
			return tt.local(t, e)
		}
	case *types.Struct:
		var fields []*types.Var
		var tags []string
		for i := range t.NumFields() {
			f := t.Field(i)
			fields = append(fields, types.NewField(f.Pos(), f.Pkg(), f.Name(), tt.Close(f.Type(), e), f.Embedded()))
			tags = append(tags, t.Tag(i))
		}
		return types.NewStruct(fields, tags)
	}
	return t
}

// local is t, which a function declares, where the function's type parameters stand for what is in
// e: in each such list of types it is another type.
func (tt *TypeTable) local(t *types.Named, e Env) *types.Named {
	var list []string
	for p, arg := range e {
		list = append(list, fmt.Sprintf("%d=%d", p.Obj().Pos(), tt.ID(arg)))
	}
	slices.Sort(list)
	key := fmt.Sprintf("%d %s %v", t.Obj().Pos(), t.Obj().Name(), list)
	if closed := tt.locals[key]; closed != nil {
		return closed
	}
	// without a scope, so that it is closed
	closed := types.NewNamed(types.NewTypeName(t.Obj().Pos(), t.Obj().Pkg(), t.Obj().Name(), nil), nil, nil)
	tt.locals[key] = closed
	closed.SetUnderlying(tt.Close(t.Underlying(), e).Underlying())
	return closed
}

var typeContext = types.NewContext()

// basicKinds is what Go's basic types are here.
var basicKinds = map[types.BasicKind]Kind{
	types.Bool: KindBool, types.Int: KindInt64, types.Int8: KindInt8, types.Int16: KindInt16,
	types.Int32: KindInt32, types.Int64: KindInt64, types.Uint: KindUint64, types.Uint8: KindUint8,
	types.Uint16: KindUint16, types.Uint32: KindUint32, types.Uint64: KindUint64,
	types.Float32: KindFloat32, types.Float64: KindFloat64, types.UntypedBool: KindBool,
	types.UntypedInt: KindInt64, types.UntypedRune: KindInt32, types.UntypedFloat: KindFloat64,
}

// Of is the type for a Go type without type parameters. Slices and pointers lead to space s. The
// error says what kernels do not have, and what to do instead.
func (tt *TypeTable) Of(t types.Type, s Space) (*Type, error) {
	t = types.Unalias(t)
	if IsGPU(t, "Item") {
		return tt.Types["item"], nil
	}
	tt.depth++
	defer func() { tt.depth-- }()
	if tt.depth > 50 {
		return nil, fmt.Errorf("a kernel has no types that contain themselves; keep indices instead")
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if k, ok := basicKinds[u.Kind()]; ok {
			return tt.Basic(k), nil
		}
		return nil, refusal(u)
	case *types.Array:
		elem, err := tt.Of(u.Elem(), s)
		switch {
		case err != nil:
			return nil, err
		case u.Len() == 0:
			return nil, fmt.Errorf("a kernel has no arrays without elements; leave it out")
		case u.Len() > 1<<31-1 || elem.Size*u.Len() > 1<<40:
			return nil,
				fmt.Errorf("an array of %d elements is too large for a device; pass a slice to the kernel", u.Len())
		case elem.HasReference():
			return nil, fmt.Errorf("a kernel has no arrays of pointers or slices; keep indices instead")
		case elem.Kind == KindItem:
			return nil, fmt.Errorf("a kernel has one item; use that, without an array")
		}
		return tt.array(elem, u.Len()), nil
	case *types.Slice:
		elem, err := tt.Of(u.Elem(), s)
		if err == nil && elem.Size == 0 {
			err = fmt.Errorf("a kernel has no slices of %s; keep indices into one slice", u.Elem())
		}
		if err != nil {
			return nil, err
		}
		return tt.Slice(elem, s), nil
	case *types.Pointer:
		elem, err := tt.Of(u.Elem(), s)
		if err != nil {
			return nil, err
		}
		return tt.Pointer(elem, s), nil
	case *types.Struct:
		return tt.structType(t, u)
	}
	return nil, refusal(t)
}

func (tt *TypeTable) structType(t types.Type, u *types.Struct) (*Type, error) {
	name := "struct"
	if n, ok := t.(*types.Named); ok {
		name = n.Obj().Name()
	}
	var fields []field
	for i := range u.NumFields() {
		f := u.Field(i)
		ft, err := tt.Of(f.Type(), SpaceGlobal)
		if err != nil {
			return nil, err
		}
		if ft.Kind == KindPointer || ft.Kind == KindItem {
			return nil, fmt.Errorf("a kernel has no structs with a field of type %s; "+
				"pass it as a parameter of its own, or keep an index", f.Type())
		}
		fields = append(fields, field{Name: f.Name(), Type: ft})
	}
	return tt.structOf(name, tt.ID(t), fields), nil
}

// IsGPU tells whether t is a type of package gpu.
func IsGPU(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == GPUPath && n.Obj().Name() == name
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

// A Scope is names that are taken.
type Scope map[string]bool

// Unique is a name that is not taken, made of base, as it is or with a number.
func (s Scope) Unique(base string) string {
	name := base
	for i := 2; s[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	s[name] = true
	return name
}

// Reserved tells whether a kernel, which is called by its name and its types, might be called as a
// function of OpenCL C is, or as one that its text declares, whose names end in a type.
func Reserved(entry string) bool {
	at := strings.LastIndexByte(entry, '_')
	switch function, last := entry[:at], entry[at+1:]; function {
	case "as", "atom", "atomic", "convert", "get", "half", "native":
		return last != "kernel"
	default:
		for _, b := range Basics {
			if last == b.c {
				return true
			}
		}
		return false
	}
}

// CName is a Go name with letters that C has: two Go names may give one.
func CName(name string) string {
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
