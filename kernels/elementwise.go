package kernels

import (
	"fmt"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
)

// The elementwise operations: a row each. From its row follow the calls on arrays and on matrices
// of the host, alone, in parts, on several devices and between files, the command and the cases of
// package conformance.
var (
	Scale = row("scale", "FACTOR*A", 1, true, scaleFloat32Kernel, scaleFloat64Kernel, scaleInt32Kernel)
	Add   = row("add", "A + B", 2, false, addFloat32Kernel, addFloat64Kernel, addInt32Kernel)
	Sub   = row("sub", "A - B", 2, false, subFloat32Kernel, subFloat64Kernel, subInt32Kernel)

	table = []*Elementwise{Add, Scale, Sub}
)

// An Elementwise is an operation on each element by itself, of one or two matrices of one shape, in
// place where the result is one of them.
type Elementwise struct {
	Name    string // of the command, and of the cases
	Formula string // of the matrices A and B, and a FACTOR
	Inputs  int    // matrices: A, or A and B
	Alpha   bool   // a number comes before them

	source func(Type) *backend.Source
}

// row is an operation with its kernels, which take alpha, x, y and z as far as it has them.
func row(name, formula string, inputs int, alpha bool, f32, f64, i32 *backend.Source) *Elementwise {
	source := func(t Type) *backend.Source { return element.ByType(t, f32, f64, i32) }
	return &Elementwise{name, formula, inputs, alpha, source}
}

// Elementwises are all elementwise operations, by name.
func Elementwises() []*Elementwise { return slices.Clone(table) }

// Source is the kernel. Arguments: alpha, if the operation has it, and [Elementwise.Args]. Grid:
// [ElementwiseGrid], or any.
func (o *Elementwise) Source(t Type) *backend.Source { return o.source(t) }

// Args appends the matrices, all of rows by cols, to the arguments: the inputs, then the result.
func (o *Elementwise) Args(args []backend.Arg, rows, cols int64, operands ...Operand) []backend.Arg {
	if len(operands) != o.Inputs+1 {
		panic(fmt.Sprintf("kernels: %s of %d matrices", o.Name, len(operands)-1))
	}
	for _, x := range operands {
		args = appendMatrix(args, rows, cols, x)
	}
	return args
}

// block is the elements of a row that a group of an elementwise kernel takes at a time: a few for
// each work-item of a GPU's group, and enough to walk through in one go for a CPU's.
const block = 1024

// ElementwiseGrid is the grid of elementwise kernels for matrices of rows by cols on the device of
// info: enough groups to keep the device busy, which stride over the matrix.
func ElementwiseGrid(info *backend.Info, rows, cols int64) backend.Grid {
	if info.Host {
		return whole(rows, cols, [3]int{1, 1, 1})
	}
	w, h := int64(1), int64(1)
	if info.GPU {
		w, h = groupShape(info, rows, cols)
	}
	const groupsPerUnit = 8
	most := int64(max(info.ComputeUnits, 1)) * groupsPerUnit
	gx := min((cols+block-1)/block, most)
	gy := min((rows+h-1)/h, max(most/max(gx, 1), 1), maxGroups)
	return backend.Grid{Groups: [3]int{int(gx), int(gy), 1}, Local: [3]int{int(w), int(h), 1}}
}

// groupShape is w by h work-items for matrices of rows by cols on a GPU: one row where it is wide
// enough, several where it is not.
func groupShape(info *backend.Info, rows, cols int64) (w, h int64) {
	items := int64(maxItems)
	if info.MaxGroup > 0 {
		items = min(items, int64(info.MaxGroup))
	}
	limit := func(n int64, d int) int64 {
		if most := info.MaxGroupDims[d]; most > 0 {
			return min(n, int64(most))
		}
		return n
	}
	w = 1
	for w < cols && 2*w <= limit(items, 0) {
		w *= 2
	}
	return w, max(limit(min(items/w, rows), 1), 1)
}

func scaleGo[T Element](g backend.Grid, lo, hi int, args []backend.Arg) error {
	alpha, rows, cols := scalarAt[T](args[0]), int(args[8].Int64()), int(args[9].Int64())
	x, z := matrixAt[T](args, 1), matrixAt[T](args, 6)
	return cover(g, lo, hi, g.Local[1], block, rows, cols, func(i, j, h, w int) {
		x, z := x.at(i, j), z.at(i, j)
		host.ScaleMatrix(h, w, alpha, x.data, x.stride, z.data, z.stride)
	})
}

func addGo[T Element](g backend.Grid, lo, hi int, args []backend.Arg) error {
	rows, cols := int(args[12].Int64()), int(args[13].Int64())
	x, y, z := matrixAt[T](args, 0), matrixAt[T](args, 5), matrixAt[T](args, 10)
	return cover(g, lo, hi, g.Local[1], block, rows, cols, func(i, j, h, w int) {
		x, y, z := x.at(i, j), y.at(i, j), z.at(i, j)
		host.AddMatrix(h, w, x.data, x.stride, y.data, y.stride, z.data, z.stride)
	})
}
