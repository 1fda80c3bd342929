package compiler

import (
	"go/types"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
	"github.com/tandem-gpu/tandem/gpu/support"
)

// An Instance is a kernel for one list of types, for devices that compile text.
type Instance struct {
	Kernel string          // the Go function
	Map    string          // the function of numbers that the kernel is made of, "" where it is a kernel itself
	Name   string          // Map or Kernel with the types: poly[float32]
	File   string          // that declares it
	Var    string          // of its backend.Source in the generated file
	Params []Param         // after the item
	Source *backend.Source // without Go and PTX
}

// A Param is a parameter of a kernel's function. A device sees a slice as a buffer, an offset and a
// length, a matrix as a buffer, an offset, rows, columns and a stride.
type Param struct {
	Name          string
	Type          string // as Go writes it
	Slice, Matrix bool   // or else a scalar
	Elem          string // the basic type of the scalar or the elements, "" where these are structs or arrays
}

// Instances compiles the kernels of the package in dir to text. Mistakes in the package are
// Problems.
func Instances(dir string) ([]Instance, error) {
	loader, err := load(dir)
	if err != nil {
		return nil, err
	}
	var list []Instance
	err = loader.Lower(func(l *front.Lowerer, pkg *front.Package, kernels []*front.KernelDecl) error {
		e := newEmitter(l, pkg, Options{})
		for _, k := range kernels {
			for _, n := range k.Instances {
				list = append(list, e.asText(k, n))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (e *emitter) asText(k *front.KernelDecl, n *ir.Kernel) Instance {
	body, files := e.text(k, n)
	i := Instance{
		Kernel: k.Decl.Name.Name, Name: k.Name() + e.instanceArgs(n),
		File: e.Files.Position(k.Decl.Pos()).Filename, Var: e.sourceName(k, n),
		Source: &backend.Source{
			Name: n.Entry, File: n.Entry + ".cl", Group: n.Group, Text: support.Head + body,
			Checks: &backend.Checks{Files: files},
		},
	}
	if k.Mapped != nil {
		i.Map = k.Name()
	}
	sig := k.Fn.Type().(*types.Signature)
	for j, v := range n.Params {
		p := Param{Name: v.Name, Type: e.typeName(e.Types.Close(sig.Params().At(j+1).Type(), n.Env))}
		elem := v.Type
		switch {
		case elem.Kind == ir.KindSlice && v.Leaves == nil:
			p.Slice, elem = true, elem.Elem
		case elem.Kind == ir.KindStruct && v.Leaves == nil:
			p.Matrix, elem = true, elem.Fields[0].Type.Elem
		}
		if elem.Scalar() {
			p.Elem = ir.Basics[elem.Kind].GoName
		}
		i.Params = append(i.Params, p)
	}
	add := map[string]func(list support.Params, name, word string, size int) support.Params{
		"Slice": support.Params.Slice, "ConstSlice": support.Params.ConstSlice, "Matrix": support.Params.Matrix,
		"ConstMatrix": support.Params.ConstMatrix, "Scalar": support.Params.Scalar,
	}
	for _, p := range paramsOf(n) {
		i.Source.Params = add[p.kind](i.Source.Params, p.name, p.word, p.size)
	}
	return i
}
