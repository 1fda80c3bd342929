package backend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scalarTypes are Go's names of the types of numbers in the dialect.
var scalarTypes = map[string]string{
	"float": "float32", "double": "float64", "half": "float16", "bool": "uint8",
	"char": "int8", "short": "int16", "int": "int32", "long": "int64", "ptrdiff_t": "int64",
	"uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64", "size_t": "uint64",
}

// scalarType is Go's name of a type of numbers in the dialect, "" for any other type.
func scalarType(name string) string {
	if t := scalarTypes[name]; t != "" {
		return t
	}
	return severalWords(name)
}

// severalWords is scalarType for names such as "unsigned long" and "signed".
func severalWords(name string) string {
	base, sign, n := "int", "", 0
	for w := range strings.FieldsSeq(name) {
		switch n++; w {
		case "char", "short", "long":
			base = w
		case "unsigned":
			sign = "u"
		case "int", "signed":
		default:
			return ""
		}
	}
	if n == 0 {
		return ""
	}
	return sign + scalarTypes[base]
}

// elementType is Go's name of the type of numbers that a pointer's target, a scalar or a vector,
// consists of; "" where it is not known.
func elementType(name string) string {
	base, _ := cutVector(strings.TrimSuffix(name, "*"))
	return scalarType(base)
}

// cutVector takes "float4" apart. For what is no vector's name n is 1.
func cutVector(name string) (base string, n int) {
	base = strings.TrimRight(name, "0123456789")
	n, _ = strconv.Atoi(name[len(base):])
	if !slices.Contains([]int{2, 3, 4, 8, 16}, n) {
		return name, 1
	}
	return base, n
}

// TypeSize is the size in bytes of one of the dialect's types, such as "uint", "unsigned long" or
// "float4"; 0 for any other name.
func TypeSize(name string) int {
	base, n := cutVector(name)
	t := scalarType(base)
	bits, _ := strconv.Atoi(strings.TrimLeft(t, "abcdefghijklmnopqrstuvwxyz"))
	if n == 3 {
		n = 4 // as it is stored
	}
	return n * bits / 8
}

// Numbers is Go's name of the numbers that p takes or, as a buffer, holds: "" where they are not
// known, or where there is more to a scalar than one number.
func (p *Param) Numbers() string {
	switch {
	case p.Elem != "":
		return p.Elem
	case p.Buffer:
		return elementType(p.Type)
	}
	return scalarType(p.Type)
}

// fits tells whether the numbers that an argument says it has are those of its parameter, in kind
// and width. The sign of integers does not matter.
func fits(p *Param, a *Arg) bool {
	if a.Type == "" || p.Type == "" || p.Type == "void*" {
		return true
	}
	want := p.Numbers()
	return want == "" && !p.Buffer || strings.TrimPrefix(want, "u") == strings.TrimPrefix(a.Type, "u")
}

// misfit says what is wrong where fits is false.
func misfit(p *Param, a *Arg) string {
	switch want := p.Numbers(); {
	case !p.Buffer:
		return fmt.Sprintf("takes %s, not %s", want, a.Type)
	case want == "":
		return fmt.Sprintf("is not known to hold %s; pass the memory as bytes", a.Type)
	default:
		return fmt.Sprintf("holds %s, not %s; convert the elements, or declare the parameter for them", want, a.Type)
	}
}
