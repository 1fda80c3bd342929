// Package element is what is said of an element type: its names in Go, OpenCL C and NumPy, and its
// size. All other packages may import it; it imports the standard library alone.
package element

import (
	"fmt"
	"strings"
)

// Element lists the Go types of elements. For integers, arithmetic wraps around.
type Element interface{ float32 | float64 | int32 }

// A Type is an element type.
type Type uint8

// The element types.
const (
	Float32 Type = iota
	Float64
	Int32
)

// types is all that is said of an element type: a row each.
var types = [...]struct {
	name    string // in Go
	c       string // in OpenCL C
	numpy   string // NumPy's short name
	size    int    // bytes
	integer bool   // an integer, whose arithmetic wraps instead of rounding
}{
	Float32: {"float32", "float", "f4", 4, false},
	Float64: {"float64", "double", "f8", 8, false},
	Int32:   {"int32", "int", "i4", 4, true},
}

// ByType chooses among what there is for each type, mostly the instances of a generic function. A
// new type is a parameter more, so that the compiler finds every place that lacks it.
func ByType[F any](t Type, f32, f64, i32 F) F {
	return [...]F{Float32: f32, Float64: f64, Int32: i32}[t]
}

// Types lists the element types.
func Types() []Type {
	all := make([]Type, len(types))
	for i := range all {
		all[i] = Type(i)
	}
	return all
}

// TypeOf is the Type of T.
func TypeOf[T Element]() Type {
	switch any(T(0)).(type) {
	case float64:
		return Float64
	case int32:
		return Int32
	}
	return Float32
}

// ParseType finds a type by its name in Go, "float32", or by NumPy's, "f4".
func ParseType(name string) (Type, error) {
	known := make([]string, len(types))
	for i, row := range types {
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

// String is the type's name in Go: "float32".
func (t Type) String() string { return types[t].name }

// CName is the type's name in OpenCL C: "float".
func (t Type) CName() string { return types[t].c }

// NumPy is NumPy's short name of the type, without a byte order: "f4".
func (t Type) NumPy() string { return types[t].numpy }

// Integer tells whether the type is an integer.
func (t Type) Integer() bool { return types[t].integer }
