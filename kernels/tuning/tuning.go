// Package tuning chooses the parameters of the built-in kernels for a device, as package linalg
// does: by what `tandem tune` measured on it, if it did, and else by the data that come with the
// program. Parameters and grids decide the speed, never a bit of a result.
//
//	p := tuning.ChooseMatMul(&info, kernels.Float32, m, n, k)
//	kernel, err := device.Compile(kernels.MatMul(kernels.Float32, p))
package tuning

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// ChooseMatMul chooses the parameters of kernels.MatMul for the device of info and a C of m by n,
// with k products an element. They are valid for t, and fit the device. The user's file is read
// once in a process.
func ChooseMatMul(info *backend.Info, t element.Type, m, n, k int) kernels.MatMulParams {
	return tuning.ChooseMatMul(info, t, m, n, k)
}

// ChooseMatMulBatch is ChooseMatMul for count products of one shape.
func ChooseMatMulBatch(info *backend.Info, t element.Type, count, m, n, k int) kernels.MatMulParams {
	return tuning.ChooseMatMulBatch(info, t, count, m, n, k)
}

// ChooseTranspose chooses the parameters of kernels.Transpose for the device of info and an A of
// rows by cols, as ChooseMatMul does.
func ChooseTranspose(info *backend.Info, t element.Type, rows, cols int) kernels.TransposeParams {
	return tuning.ChooseTranspose(info, t, rows, cols)
}
