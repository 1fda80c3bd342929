package kernels

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
)

// The elementwise kernels, each with its source, its arguments and package host's loops.

// Scale is the kernel z = alpha*x for matrices, in place where z is x. Arguments: [ScaleArgs].
// Grid: [ElementwiseGrid], or any.
func Scale(t Type) *backend.Source {
	return ByType(t, scaleFloat32Kernel, scaleFloat64Kernel, scaleInt32Kernel)
}

// Add is the kernel z = x + y for matrices, in place where z is x or y. Arguments: [AddArgs]. Grid:
// [ElementwiseGrid], or any.
func Add(t Type) *backend.Source {
	return ByType(t, addFloat32Kernel, addFloat64Kernel, addInt32Kernel)
}

// ScaleArgs appends the arguments of [Scale] for z = alpha*x, matrices of rows by cols.
func ScaleArgs[T Element](args []backend.Arg, rows, cols int64, alpha T, x, z Operand) []backend.Arg {
	return appendMatrix(appendMatrix(append(args, Scalar(alpha)), rows, cols, x), rows, cols, z)
}

// AddArgs appends the arguments of [Add] for z = x + y, matrices of rows by cols.
func AddArgs(args []backend.Arg, rows, cols int64, x, y, z Operand) []backend.Arg {
	return appendMatrix(appendMatrix(appendMatrix(args, rows, cols, x), rows, cols, y), rows, cols, z)
}

// block is the elements of a row that a group of [Scale] and [Add] takes at a time: a few for each
// work-item of a GPU's group, and enough to walk through in one go for a CPU's.
const block = 1024

// ElementwiseGrid is the grid of [Scale] and [Add] for matrices of rows by cols on the device of
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
