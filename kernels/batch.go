package kernels

import (
	"github.com/tandem-gpu/tandem/backend"
)

// MaxBatch is the most products of one launch: CUDA takes no more groups in z.
const MaxBatch = maxGroups

// A Batch is where the operands of several products of one shape lie: matrix i of A begins
// i*StrideA elements after the first, and so on for B and C. A StrideA or StrideB of 0 shares one
// matrix among all products. Matrices of C overlap neither each other nor A nor B.
type Batch struct{ StrideA, StrideB, StrideC int64 }

// MatMulBatchArgs appends the arguments of [MatMul] for as many products C = alpha*A*B + beta*C as
// the grid has groups in z, with every A of m by k, every B of k by n and every C of m by n; a, b
// and c are the first ones. No dimension is above [MaxDim]. As for [MatMulArgs], a buffer whose
// memory is not in this process must begin at a multiple of 16 bytes.
func MatMulBatchArgs[T Element](args []backend.Arg, batch Batch, m, n, k int, alpha T, a, b Operand, beta T,
	c Operand,
) []backend.Arg {
	return MatMulNumbersArgs(args, batch, m, n, k, Scalar(alpha), a, b, Scalar(beta), c)
}

// MatMulNumbersArgs is [MatMulBatchArgs] of alpha and beta as [Scalar] or [Number] makes them.
func MatMulNumbersArgs(args []backend.Arg, batch Batch, m, n, k int, alpha backend.Arg, a, b Operand,
	beta backend.Arg, c Operand,
) []backend.Arg {
	args = append(args, backend.Int32(int32(m)), backend.Int32(int32(n)), backend.Int32(int32(k)), alpha)
	args = appendOperand(appendOperand(args, a), b)
	args = appendOperand(append(args, beta), c)
	var flags int32
	size := int64(alpha.Size)
	for i, o := range []Operand{a, b, c} {
		if o.aligned(size) && []int64{batch.StrideA, batch.StrideB, batch.StrideC}[i]*size%16 == 0 {
			flags |= flagVectorsA << i
		}
	}
	return append(args, backend.Int32(flags), backend.Int64(batch.StrideA), backend.Int64(batch.StrideB),
		backend.Int64(batch.StrideC))
}

// The flags of matmul.cl, matmul_thin.cl, matmul_unit.cl, matmul_mfma.cl and matmul_cpu.cl.
const (
	flagVectorsA = 1 << iota // then those of B and C
	_
	_
	flagContinue
	flagNegate
	flagTransA // as flagTransB for the cpu device alone
	flagTransB
)

// AddMulArgs appends the arguments of [MatMul] for C + A*B in one chain: c[i,j] becomes the chain
// of fma(a[i,p], b[p,j], acc) for p = 0 ... k-1 that starts from c[i,j]. Shapes and the batch are
// as [MatMulBatchArgs] has them; the zero Batch is that of one product.
func AddMulArgs[T Element](args []backend.Arg, batch Batch, m, n, k int, a, b, c Operand) []backend.Arg {
	return Continue(MatMulBatchArgs[T](args, batch, m, n, k, 1, a, b, 0, c), false)
}

// SubMulArgs is [AddMulArgs] for C - A*B: the chain of fma(-a[i,p], b[p,j], acc).
func SubMulArgs[T Element](args []backend.Arg, batch Batch, m, n, k int, a, b, c Operand) []backend.Arg {
	return Continue(MatMulBatchArgs[T](args, batch, m, n, k, 1, a, b, 0, c), true)
}

// Continue makes arguments of a product, with alpha 1 and beta 0, those of [AddMulArgs], or of
// [SubMulArgs].
func Continue(args []backend.Arg, negate bool) []backend.Arg {
	more := int32(flagContinue)
	if negate {
		more |= flagNegate
	}
	return setFlags(args, more)
}

// Transposed makes arguments of a product those of one whose A or B is transposed in memory. The
// cpu device's kernel alone, in Go, knows of that.
func Transposed(args []backend.Arg, a, b bool) []backend.Arg {
	var more int32
	if a {
		more |= flagTransA
	}
	if b {
		more |= flagTransB
	}
	return setFlags(args, more)
}

func setFlags(args []backend.Arg, more int32) []backend.Arg {
	flags := &args[len(args)-4] // which three strides follow
	*flags = backend.Int32(flags.Int32() | more)
	return args
}

// MatMulBatchGrid is the grid of [MatMul] for count products, [MaxBatch] at most, with a C of m by
// n each.
func MatMulBatchGrid(p MatMulParams, count, m, n int) backend.Grid {
	g := MatMulGrid(p, m, n)
	g.Groups[2] = count
	return g
}
