// Package element is what is said of an element type: its names in Go, OpenCL C and NumPy, and its
// size. All other packages may import it; it imports the standard library alone.
package element

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Element lists the Go types that there is arithmetic in. For integers it wraps around.
type Element interface{ float32 | float64 | int32 }

// A Type is an element type.
type Type uint8

// The element types of arithmetic.
const (
	Float32 Type = iota
	Float64
	Int32
)

// The element types that are only stored.
const (
	Bool Type = iota + numbers
	Int8
	Int16
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Half
	Brain
	Complex64
	Complex128
)

// numbers is how many types there is arithmetic in.
const numbers = 3

// A typeRow is all that is said of an element type.
type typeRow struct {
	name    string // in Go; of a Half and a Brain in lower case, as others have it
	c       string // in OpenCL C
	numpy   string // NumPy's short name; "": it has none
	size    int    // bytes
	integer bool   // an integer, whose arithmetic wraps instead of rounding
}

// types has a row for each.
var types = [...]typeRow{
	Float32: {"float32", "float", "f4", 4, false},
	Float64: {"float64", "double", "f8", 8, false},
	Int32:   {"int32", "int", "i4", 4, true},

	Bool:   {"bool", "uchar", "b1", 1, false},
	Int8:   {"int8", "char", "i1", 1, true},
	Int16:  {"int16", "short", "i2", 2, true},
	Int64:  {"int64", "long", "i8", 8, true},
	Uint8:  {"uint8", "uchar", "u1", 1, true},
	Uint16: {"uint16", "ushort", "u2", 2, true},
	Uint32: {"uint32", "uint", "u4", 4, true},
	Uint64: {"uint64", "ulong", "u8", 8, true},
	Half:   {"float16", "ushort", "f2", 2, false},
	Brain:  {"bfloat16", "ushort", "", 2, false},

	Complex64:  {"complex64", "float2", "c8", 8, false},
	Complex128: {"complex128", "double2", "c16", 16, false},
}

// ByType chooses among what there is for each type, mostly the instances of a generic function. A
// new type is a parameter more, so that the compiler finds every place that lacks it.
func ByType[F any](t Type, f32, f64, i32 F) F {
	return [...]F{Float32: f32, Float64: f64, Int32: i32}[t]
}

// Types lists the element types of arithmetic.
func Types() []Type {
	all := make([]Type, numbers)
	for i := range all {
		all[i] = Type(i)
	}
	return all
}

// TypeOf is the Type of T.
func TypeOf[T Element]() Type {
	_, t, _ := Number(T(0))
	return t
}

// Number is the value of an [Element], and its Type; false for what is none. A float64 has the
// values of all.
func Number[T any](v T) (x float64, t Type, ok bool) {
	switch v := any(v).(type) {
	case float32:
		return float64(v), Float32, true
	case float64:
		return v, Float64, true
	case int32:
		return float64(v), Int32, true
	}
	return 0, 0, false
}

// Of is the Type of T, which may be a type of the same kind with a name of its own; false if there
// is none, as for a struct.
func Of[T any]() (Type, bool) { return OfReflected(reflect.TypeFor[T]()) }

// OfReflected is [Of] of the type that t stands for.
func OfReflected(t reflect.Type) (Type, bool) {
	switch n, ok := NumberOf(t); {
	case ok:
		return n, true
	case t == reflect.TypeFor[Float16]():
		return Half, true
	case t == reflect.TypeFor[BFloat16]():
		return Brain, true
	}
	kind := t.Kind().String()
	i := slices.IndexFunc(types[:], func(row typeRow) bool { return row.name == kind })
	return Type(max(i, 0)), i >= 0
}

// NumberOf is the Type of the [Element] that t stands for; false for what is none.
func NumberOf(t reflect.Type) (Type, bool) {
	switch t {
	case reflect.TypeFor[float32]():
		return Float32, true
	case reflect.TypeFor[float64]():
		return Float64, true
	case reflect.TypeFor[int32]():
		return Int32, true
	}
	return 0, false
}

// Arithmetic tells whether there is arithmetic in t; other types are only stored.
func (t Type) Arithmetic() bool { return t < numbers }

// ParseNumPy finds a type by NumPy's name, "u1", also one that is only stored.
func ParseNumPy(name string) (Type, error) {
	for i, row := range types {
		if name == row.numpy && name != "" {
			return Type(i), nil
		}
	}
	return 0, fmt.Errorf("unknown element type %q", name)
}

// ParseType finds a type of arithmetic by its name in Go, "float32", or by NumPy's, "f4".
func ParseType(name string) (Type, error) {
	known := make([]string, numbers)
	for i, row := range types[:numbers] {
		if name == row.name || name == row.numpy {
			return Type(i), nil
		}
		known[i] = row.numpy
	}
	last := len(known) - 1
	return 0, fmt.Errorf("unknown element type %q: there are %s and %s", name,
		strings.Join(known[:last], ", "), known[last])
}

// Size is the size of an element in bytes.
func (t Type) Size() int { return types[t].size }

// String is the type's name in Go, "float32"; of Half and Brain it is "float16" and "bfloat16".
func (t Type) String() string { return types[t].name }

// CName is the type's name in OpenCL C: "float".
func (t Type) CName() string { return types[t].c }

// NumPy is NumPy's short name of the type, without a byte order: "f4".
func (t Type) NumPy() string { return types[t].numpy }

// Integer tells whether the type is an integer.
func (t Type) Integer() bool { return types[t].integer }
