package kernels

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// An Operand is a matrix in a device's buffer: element (i, j) is element Offset + i*Stride + j of
// Buffer. Stride is at least the number of columns.
type Operand struct {
	Buffer         *backend.Buffer
	Offset, Stride int64
}

// The arguments of a kernel in the dialect are its sizes, then alpha, A, B, beta and C as far as it
// has them; an operand is a buffer, an offset and a leading dimension. The functions ...Params
// declare them, the functions ...Args append them to a slice, which may be nil, and return it.

func transposeParams(t Type) []backend.Param {
	return concat(ints("rows", "cols"), operand(t, "a"), operand(t, "c"))
}

func concat(lists ...[]backend.Param) (all []backend.Param) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func ints(names ...string) []backend.Param   { return scalars("int", 4, names) }
func ulongs(names ...string) []backend.Param { return scalars("ulong", 8, names) }

func scalar(t Type, name string) []backend.Param {
	return scalars(t.CName(), t.Size(), []string{name})
}

func scalars(typ string, size int, names []string) (p []backend.Param) {
	for _, name := range names {
		p = append(p, backend.Param{Name: name, Type: typ, Size: size})
	}
	return p
}

func operand(t Type, name string) []backend.Param {
	return append([]backend.Param{{Name: name, Type: t.CName() + "*", Buffer: true}}, ulongs(name+"off", "ld"+name)...)
}

// ProductArgs appends the arguments of [MatMulNaive] and [MatMulTiled] for C = A*B, with A of m by
// k, B of k by n and C of m by n.
func ProductArgs(args []backend.Arg, m, n, k int, a, b, c Operand) []backend.Arg {
	i, j, p := int64(m), int64(n), int64(k)
	return appendMatrix(appendMatrix(appendMatrix(args, i, p, a), p, j, b), i, j, c)
}

// TransposeNaiveArgs appends the arguments of [TransposeNaive] for C = A', with A of rows by cols.
func TransposeNaiveArgs(args []backend.Arg, rows, cols int, a, c Operand) []backend.Arg {
	i, j := int64(rows), int64(cols)
	return appendMatrix(appendMatrix(args, i, j, a), j, i, c)
}

// MatMulArgs appends the arguments of [MatMul] for C = alpha*A*B + beta*C, with A of m by k, B of k
// by n and C of m by n. No dimension is above [MaxDim]. A buffer whose memory is not in this
// process must begin at a multiple of 16 bytes, as all that devices allocate do.
func MatMulArgs[T Element](args []backend.Arg, m, n, k int, alpha T, a, b Operand, beta T,
	c Operand,
) []backend.Arg {
	return MatMulBatchArgs(args, Batch{}, m, n, k, alpha, a, b, beta, c)
}

// TransposeArgs appends the arguments of [Transpose] and [TransposeTiled] for C = A', with A of
// rows by cols. No dimension is above [MaxDim].
func TransposeArgs(args []backend.Arg, rows, cols int, a, c Operand) []backend.Arg {
	args = append(args, backend.Int32(int32(rows)), backend.Int32(int32(cols)))
	return appendOperand(appendOperand(args, a), c)
}

func appendOperand(args []backend.Arg, o Operand) []backend.Arg {
	return append(args, backend.Buf(o.Buffer), backend.Int64(o.Offset), backend.Int64(o.Stride))
}

// appendMatrix appends what a kernel in Go takes for a matrix.
func appendMatrix(args []backend.Arg, rows, cols int64, o Operand) []backend.Arg {
	return append(args, backend.Buf(o.Buffer), backend.Int64(o.Offset), backend.Int64(rows), backend.Int64(cols),
		backend.Int64(o.Stride))
}

// aligned tells whether every row of an operand with elements of size bytes begins at a multiple of
// 16 bytes. Only memory of the host can begin at another address.
func (o Operand) aligned(size int64) bool {
	bits := uint64(o.Offset*size) | uint64(o.Stride*size)
	bits |= addressOf(o.Buffer.Bytes())
	return bits%16 == 0
}

func addressOf(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }
