// Package elementary has the kernels of package conformance's cases of elementary functions, which
// are large: a program that runs them imports it.
package elementary

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -launch=false

// Kernel is the kernel for type t, nil for int32: what Options.Elementary takes.
func Kernel(t element.Type) *backend.Source {
	switch t {
	case element.Float32:
		return elementaryFloat32Kernel
	case element.Float64:
		return elementaryFloat64Kernel
	}
	return nil
}

// elementary is z = f(x), or f(x, y), element by element. One kernel has all functions: to compile
// one for each takes long. Any grid in x and y covers any shape.
//
//tandem:kernel float32 float64
func elementary[T gpu.Float](it gpu.Item, f int, x, y, z gpu.Matrix[T]) {
	for i := it.Global(1); i < z.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < z.Cols; j += it.GlobalSize(0) {
			z.Set(i, j, conformance.Function(f, x.At(i, j), y.At(i, j)))
		}
	}
}
