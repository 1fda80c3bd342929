package kernels

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
)

// MaxBatch is the most products of one launch: CUDA takes no more groups in z.
const MaxBatch = maxGroups

// A Batch is where the operands of several products of one shape lie: matrix i of A begins i*StrideA elements after the first, and so on for B and C. A
// StrideA or StrideB of 0 shares one matrix among all products. Matrices of C overlap neither each other nor A nor B.
type Batch struct{ StrideA, StrideB, StrideC int64 }

// MatMulBatchArgs appends the arguments of [MatMul] for as many products C = alpha*A*B + beta*C as the grid has groups in z, with every A of m by k, every
// B of k by n and every C of m by n; a, b and c are the first ones. No dimension is above [MaxDim]. As for [MatMulArgs], a buffer that is no
// [backend.HostBuffer] must begin at a multiple of 16 bytes.
func MatMulBatchArgs[T host.Element](args []backend.Arg, batch Batch, m, n, k int, alpha T, a, b Operand, beta T, c Operand) []backend.Arg {
	args = append(args, backend.Int32(int32(m)), backend.Int32(int32(n)), backend.Int32(int32(k)), scalarArg(alpha))
	args = appendOperand(appendOperand(args, a), b)
	args = appendOperand(append(args, scalarArg(beta)), c)
	var vectors int32
	size := int64(unsafe.Sizeof(alpha))
	if a.aligned(size) && b.aligned(size) && (batch.StrideA|batch.StrideB)*size%16 == 0 {
		vectors |= 1
	}
	if c.aligned(size) && batch.StrideC*size%16 == 0 {
		vectors |= 2
	}
	return append(args, backend.Int32(vectors), backend.Int64(batch.StrideA), backend.Int64(batch.StrideB), backend.Int64(batch.StrideC))
}

// MatMulBatchGrid is the grid of [MatMul] for count products, [MaxBatch] at most, with a C of m by n each.
func MatMulBatchGrid(p MatMulParams, count, m, n int) backend.Grid {
	g := MatMulGrid(p, m, n)
	g.Groups[2] = count
	return g
}

// ChooseMatMulBatch is [ChooseMatMul] for count products of one shape.
func ChooseMatMulBatch(info *backend.Info, t Type, count, m, n, k int) MatMulParams {
	p, ok := chooseThin(info, t, max(count, 1), m, n, k)
	if !ok {
		busy := (enough(info) + max(count, 1) - 1) / max(count, 1)
		o := &tuning().of(info, t).matmul
		p, ok = o.pick(harmonicMean(m, n, k), busy, func(p MatMulParams) int { return p.tiles(m, n) })
	}
	if !ok { // fits every device that has any local memory to speak of
		w := vector(info, t)
		p = MatMulParams{CPU: true, BM: 4, BN: w, BK: 8, TM: 4, TN: w, KU: 1, VW: w}
	}
	p.Whole = info.Driver == cpuDriver
	return p
}
