// Package kernels is the built-in kernels, for float32, float64 and int32: each algorithm once, in
// Go, or, where vectors by hand or parameters make it fast, as a .cl file in the portable dialect
// of OpenCL C with an implementation in Go for the cpu device.
//
// A function such as [MatMul] gives the [backend.Source] to compile, one such as [MatMulArgs] the
// arguments in the kernel's order, and one such as [MatMulGrid] a grid to launch it on:
//
//	p := tuning.ChooseMatMul(&info, kernels.Float32, m, n, k)
//	kernel, err := device.Compile(kernels.MatMul(kernels.Float32, p))
//	args := kernels.MatMulArgs(nil, m, n, k, 1, a, b, 0, c)
//	err = queue.Launch(kernel, kernels.MatMulGrid(p, m, n), args...)
//
// Every kernel takes any shape, stride and offset, touches no element outside its operands, writes
// none outside its output, and covers any shape with any number of groups in x and y. A grid has
// one work-item in z, and one group, but for MatMul, which computes a product of a [Batch] for each
// group in z. Kernels differ in speed only: parameters, which package tuning chooses, and grids
// never change a bit of the result.
package kernels

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

// What callers of this package name: package element has the rest.
type (
	// A Type is an element type.
	Type = element.Type
	// Element lists the Go types of elements.
	Element = element.Element
)

// The element types of every kernel.
const (
	Float32 = element.Float32
	Float64 = element.Float64
	Int32   = element.Int32
)

// MaxDim is the largest number of rows or columns of an operand of the matmul and transpose
// kernels, whose loops count in int. Offsets and leading dimensions have 64 bits; scale and add
// have no limit.
const MaxDim = 1 << 30

//go:embed element.h *.cl
var files embed.FS

func file(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the names are this package's own
	}
	return string(text)
}

// key identifies a built-in kernel; unused parameters are zero.
type key struct {
	name      string
	typ       Type
	matmul    MatMulParams
	bytes     byteKind
	transpose TransposeParams
}

var sources sync.Map // of key to *backend.Source

// cached is the Source of a kernel: the one that was made before, or a new one. Its file has its
// name; fill adds what differs from kernel to kernel.
func cached(k key, fill func(s *backend.Source)) *backend.Source {
	if s, ok := sources.Load(k); ok {
		return s.(*backend.Source)
	}
	s := &backend.Source{Name: k.name, File: k.name + ".cl", Macros: map[string]string{}}
	s.Text = fmt.Sprintf("#line 1 \"element.h\"\n%s#line 1 %q\n%s", file("element.h"), s.File, file(s.File))
	fill(s)
	s.Macros[macro(k.typ)] = "1"
	s.Packed = openclPTX(PTXName(s))
	first, _ := sources.LoadOrStore(k, s)
	return first.(*backend.Source)
}

// macro is what element.h asks for.
func macro(t Type) string { return "T_" + strings.ToUpper(t.String()) }

// Supports tells whether the device of info keeps the numerics contract in type t.
func Supports(info *backend.Info, t Type) bool {
	return element.ByType(t, info.Float32, info.Float64, true)
}

// unit is the device's matrix instruction of the type that keeps the contract, "" without one.
func unit(info *backend.Info, t Type) string {
	return element.ByType(t, info.Float32Unit, info.Float64Unit, info.Int8Unit)
}

// mfma is the matrix instruction of AMD's GPUs for t, "" without one. That of bytes has two forms,
// of which a GPU has one.
func mfma(t Type) string {
	if t == element.Int8 {
		return "mfma_i32_16x16"
	}
	return element.ByType(t, "mfma_f32_16x16x4f32", "mfma_f64_16x16x4f64", "")
}

// words is t, but int32 for Int8, which stands for products of words of four bytes.
func words(t Type) Type {
	if t == element.Int8 {
		return Int32
	}
	return t
}

// VectorWidth is the width of the device's vectors of the type in elements, 1 on GPUs.
func VectorWidth(info *backend.Info, t Type) int {
	return element.ByType(words(t), info.VectorFloat32, info.VectorFloat64, info.VectorInt32)
}

// Scalar passes an element by value.
func Scalar[T Element](v T) backend.Arg {
	switch v := any(v).(type) {
	case float32:
		return backend.Float32(v)
	case float64:
		return backend.Float64(v)
	case int32:
		return backend.Int32(v)
	}
	panic("unreachable")
}

// Number is [Scalar] of x, which a T has, for the T of t.
func Number(t Type, x float64) backend.Arg {
	return element.ByType(t, backend.Float32(float32(x)), backend.Float64(x), backend.Int32(int32(x)))
}

// scalarAt is the element that an argument holds.
func scalarAt[T Element](a backend.Arg) T {
	var v any
	switch any(T(0)).(type) {
	case float32:
		v = a.Float32()
	case float64:
		v = a.Float64()
	case int32:
		v = a.Int32()
	}
	return v.(T)
}

// MatMulNaive is the kernel C = A*B by the definition, one work-item an element. Arguments:
// [ProductArgs]. Grid: [NaiveGrid], or any.
func MatMulNaive(t Type) *backend.Source {
	return element.ByType(t, &matmulNaiveFloat32Kernel, &matmulNaiveFloat64Kernel, &matmulNaiveInt32Kernel).Source()
}

// MatMulTiled is the kernel C = A*B by the textbook's 16x16 tiles in local memory. Arguments:
// [ProductArgs]. Grid: [TiledGrid], or any of groups of 16x16.
func MatMulTiled(t Type) *backend.Source {
	return element.ByType(t, &matmulTiledFloat32Kernel, &matmulTiledFloat64Kernel, &matmulTiledInt32Kernel).Source()
}

// MatMul is the fast kernel C = alpha*A*B + beta*C, or C + A*B and C - A*B in chains that start
// from C, in the shape and with the tiles that p says, for one product or a [Batch] of them. It
// panics when p is not valid for t. The kernel is not for alpha == 0 or k == 0, except that k == 0
// with alpha == 1 and beta == 0 gives +0. Arguments: [MatMulArgs], [MatMulBatchArgs], [AddMulArgs]
// or [SubMulArgs]. Grid: [MatMulGrid] or [MatMulBatchGrid], or any with its group size and as many
// groups in z.
func MatMul(t Type, p MatMulParams) *backend.Source { return matmul(t, p, 0) }

func matmul(t Type, p MatMulParams, bytes byteKind) *backend.Source {
	valid := t
	if bytes != 0 {
		valid = element.Int8
	}
	if err := p.Validate(valid); err != nil {
		panic(err)
	}
	p.Whole = false // it is about the grid alone
	name := "matmul"
	switch {
	case p.CPU:
		name = "matmul_cpu"
	case p.unitRows() != 0:
		name = "matmul_unit"
	case p.Unit != "":
		name = "matmul_mfma"
	case p.Items != 0:
		name = "matmul_thin"
	}
	return cached(key{name: name, typ: t, matmul: p, bytes: bytes}, func(s *backend.Source) {
		s.Group = p.group()
		s.Macros = bytes.macros(p.macros())
		s.Params = concat(ints("m", "n", "k"), scalar(t, "alpha"), operand(t, "a"), operand(t, "b"),
			scalar(t, "beta"), operand(t, "c"),
			ints("flags"), ulongs("stridea", "strideb", "stridec"))
		s.Go = element.ByType(t, matmulGo[float32](p), matmulGo[float64](p), matmulGo[int32](p))
		if bytes != 0 {
			s.Go = matmulBytesGo(p, bytes&unsignedBytes != 0)
		}
	})
}

// TransposeNaive is the kernel C = A' by the definition, one work-item an element. Arguments:
// [TransposeNaiveArgs]. Grid: [NaiveGrid] of A's shape, or any.
func TransposeNaive(t Type) *backend.Source {
	return element.ByType(t, &transposeNaiveFloat32Kernel, &transposeNaiveFloat64Kernel,
		&transposeNaiveInt32Kernel).Source()
}

// TransposeTiled is the kernel C = A' by the textbook's padded tile, 32x33 elements moved by 32x8
// work-items. Arguments: [TransposeArgs]. Grid: [TransposeGrid] of [TextbookTranspose], or any of
// groups of 32x8.
func TransposeTiled(t Type) *backend.Source { return Transpose(t, TextbookTranspose) }

// Transpose is the fast kernel C = A', in the shape and with the tile that p says. It panics when p
// is not valid. Arguments: [TransposeArgs]. Grid: [TransposeGrid], or any of its group size.
func Transpose(t Type, p TransposeParams) *backend.Source {
	if err := p.Validate(t); err != nil {
		panic(err)
	}
	p.Whole = false // it is about the grid alone
	name := "transpose_tiled"
	if p.CPU {
		name = "transpose_cpu"
	}
	return cached(key{name: name, typ: t, transpose: p}, func(s *backend.Source) {
		s.Group = p.group()
		s.Macros = p.macros()
		s.Params = transposeParams(t)
		s.Go = element.ByType(t, transposeGo[float32](p), transposeGo[float64](p), transposeGo[int32](p))
	})
}
