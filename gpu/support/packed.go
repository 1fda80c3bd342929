package support

import (
	"strconv"

	"github.com/tandem-gpu/tandem/backend"
)

// Packed is what the kernels of a generated file have in common whose texts are in a compressed
// file.
type Packed struct {
	Fresh func() error
	PTX   func(kernel string) *backend.PackedPTX
	Text  func(kernel string) func() string

	group [3]int
}

// Group is p for a kernel that is written for groups of one size.
func (p Packed) Group(x, y, z int) Packed {
	p.group = [3]int{x, y, z}
	return p
}

// NativeCode is what finds a kernel's machine code for a level, as [Natives.Of] makes it; nil where
// there is none.
type NativeCode = func(level string) (*backend.Native, error)

// Source is a kernel of the file: its name, its machine code, its parameters, its Go, compiled and
// as the user wrote it, and the files that it is from.
func (p Packed) Source(
	name string, native NativeCode, params Params, compiled, plain backend.GoKernel, files ...string,
) *backend.Source {
	return &backend.Source{
		Name: name, File: name + ".cl", Params: params, Group: p.group, Go: Form(compiled, plain), Fresh: p.Fresh,
		Checks:     &backend.Checks{Files: files, Go: plain},
		PackedText: p.Text(name), Packed: p.PTX(name), Native: native,
	}
}

// Map is Source for a map. Its work-items have nothing in common that a race detector could find:
// what is compiled always runs, which converts floats as all devices do.
func (p Packed) Map(
	name string, native NativeCode, params Params, compiled, plain backend.GoKernel, files ...string,
) *backend.Source {
	s := p.Source(name, native, params, compiled, plain, files...)
	s.Map, s.Go = true, compiled
	return s
}

// MapParams is the parameters of a map whose result and inputs are elements of these types, in the
// dialect's words: a matrix for each, and for each input the number that may stand for it.
func MapParams(result string, inputs ...string) Params {
	p := Params{}.Matrix("z", result, wordSizes[result])
	for i, word := range inputs {
		x := "x" + strconv.Itoa(i+1)
		size := wordSizes[word]
		p = p.ConstMatrix(x, word, size)
		if size < 8 && word != "float" {
			word = "uint"
		}
		p = p.Scalar(x+"All", word, max(size, 4))
	}
	return p
}

// wordSizes is the bytes of elements, by the dialect's words.
var wordSizes = map[string]int{
	"uchar": 1, "char": 1, "ushort": 2, "short": 2, "uint": 4, "int": 4, "float": 4, "ulong": 8, "long": 8, "double": 8,
}
