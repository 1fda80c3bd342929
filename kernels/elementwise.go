package kernels

import (
	"fmt"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu/support"
)

// The elementwise operations: a row each. From its row follow the calls on arrays and on matrices
// of the host, alone, in parts, on several devices and between files, the command and the cases of
// package conformance.
var (
	Scale = row("scale", "FACTOR*A", 1, true, &scaleFloat32Kernel, &scaleFloat64Kernel, &scaleInt32Kernel)
	Add   = row("add", "A + B", 2, false, &addFloat32Kernel, &addFloat64Kernel, &addInt32Kernel)
	Sub   = row("sub", "A - B", 2, false, &subFloat32Kernel, &subFloat64Kernel, &subInt32Kernel)

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

// NewElementwise is an operation with its kernels, those of a function under //tandem:map of
// elements of one type: alpha, if it has it, and the matrices. nil is for types that it does not
// have.
func NewElementwise(name, formula string, inputs int, alpha bool, f32, f64, i32 *backend.Source) *Elementwise {
	source := func(t Type) *backend.Source { return element.ByType(t, f32, f64, i32) }
	return &Elementwise{name, formula, inputs, alpha, source}
}

func row(name, formula string, inputs int, alpha bool, f32, f64, i32 *support.Lazy) *Elementwise {
	return NewElementwise(name, formula, inputs, alpha, f32.Source(), f64.Source(), i32.Source())
}

// Elementwises are all elementwise operations, by name.
func Elementwises() []*Elementwise { return slices.Clone(table) }

// Source is the kernel, nil for a type that the operation does not have. Arguments:
// [Elementwise.Args]. Grid: [ElementwiseGrid], or any.
func (o *Elementwise) Source(t Type) *backend.Source { return o.source(t) }

// Args appends the arguments: alpha, whose type is that of the elements, counts where the operation
// has it; the matrices are all of rows by cols, the inputs, then the result.
func (o *Elementwise) Args(args []backend.Arg, alpha backend.Arg, rows, cols int64, operands ...Operand) []backend.Arg {
	if len(operands) != o.Inputs+1 {
		panic(fmt.Sprintf("kernels: %s of %d matrices", o.Name, len(operands)-1))
	}
	z := operands[o.Inputs]
	args = appendMatrix(args, rows, cols, z)
	if o.Alpha {
		args = append(appendMatrix(args, 0, 0, Operand{Buffer: z.Buffer}), alpha)
	}
	for _, x := range operands[:o.Inputs] {
		args = append(appendMatrix(args, rows, cols, x), backend.Arg{Size: alpha.Size})
	}
	return args
}

// block is the elements of a row that a group of an elementwise kernel takes at a time: a few for
// each work-item of a GPU's group, and enough to walk through in one go for a CPU's.
const block = 1024

// MapGrid is [ElementwiseGrid] for the kernel of a map, with parameters params. Its work-items go
// through a block side by side: on the cpu device a group has as many of them as machine code takes
// at once, which for float64 is half as many. Were there twice as many, each half would walk
// through the block by itself, past every other cache line.
func MapGrid(info *backend.Info, params []backend.Param, rows, cols int64) backend.Grid {
	if !info.Host {
		return ElementwiseGrid(info, rows, cols)
	}
	single, double := false, false
	for i := range params {
		if p := &params[i]; p.Buffer {
			single = single || p.Type == "float*"
			double = double || p.Type == "double*"
		}
	}
	if double && !single {
		return hostGrid(info, hostStrip/2, rows, cols)
	}
	return hostGrid(info, hostStrip, rows, cols)
}

// ElementwiseGrid is the grid of elementwise kernels for matrices of rows by cols on the device of
// info: enough groups to keep the device busy, on a GPU as many as there are blocks, which stride
// over the matrix.
func ElementwiseGrid(info *backend.Info, rows, cols int64) backend.Grid {
	w, h := int64(1), int64(1)
	switch {
	case info.Host:
		return hostGrid(info, hostStrip, rows, cols)
	case info.GPU:
		w, h = groupShape(info, rows, cols)
	}
	const groupsPerUnit = 8
	most := int64(max(info.ComputeUnits, 1)) * groupsPerUnit
	if info.GPU { // a group a block: where groups take several, some units take one more than others
		most = maxGroups
	}
	gx := min((cols+block-1)/block, most)
	gy := min((rows+h-1)/h, max(most/max(gx, 1), 1), maxGroups)
	return backend.Grid{Groups: [3]int{int(gx), int(gy), 1}, Local: [3]int{int(w), int(h), 1}}
}

// hostStrip is the work-items of a group on the cpu device: those that machine code takes at once,
// at most.
const hostStrip = 16

// hostGrid is a group for each block of each row: the cpu device's cores take some at a time. A few
// rows that one core does at once are one group.
func hostGrid(info *backend.Info, strip, rows, cols int64) backend.Grid {
	w := within(within(strip, info.MaxGroup), info.MaxGroupDims[0])
	if rows*cols <= 4*block {
		rows = min(rows, 1)
	}
	return backend.Grid2(int(min((cols+block-1)/block, maxGroups)), int(min(rows, maxGroups)), int(w), 1)
}

// within is n, or a device's limit where it has one that is less.
func within(n int64, limit int) int64 {
	if limit > 0 {
		return min(n, int64(limit))
	}
	return n
}

// groupShape is w by h work-items for matrices of rows by cols on a GPU: one row where it is wide
// enough, several where it is not.
func groupShape(info *backend.Info, rows, cols int64) (w, h int64) {
	items := within(maxItems, info.MaxGroup)
	limit := func(n int64, d int) int64 { return within(n, info.MaxGroupDims[d]) }
	w = 1
	for w < cols && 2*w <= limit(items, 0) {
		w *= 2
	}
	return w, max(limit(min(items/w, rows), 1), 1)
}
