package kernels

import (
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/host"
)

// A product of bytes into int32 is one of words of four bytes, neighbours along k, which kernels of
// this file make of A and of B.

// A byteKind is what the bytes of A are, those of B being int8; 0 where elements are no words.
type byteKind uint8

const (
	signedBytes   byteKind = 1 + iota // BYTES of element.h
	unsignedBytes                     // also
	plainBytes    byteKind = 4        // and without the instruction of element.h
)

// MatMulBytes is [MatMul] of int32 for products of int8, or with unsigned of uint8 in A by int8,
// whose words of four are the elements of A and B: every k, and every size of A and B, is in words.
// alpha is 1, beta is 0 or 1. NVIDIA's GPUs have instructions for it from sm_61 and sm_80 on.
func MatMulBytes(info *backend.Info, p MatMulParams, unsigned bool) *backend.Source {
	kind := signedBytes
	if unsigned {
		kind = unsignedBytes
	}
	if arch, err := strconv.Atoi(strings.TrimPrefix(info.Arch, "sm_")); err == nil && arch < 61 || p.Unit != "" {
		kind |= plainBytes
	}
	return matmul(Int32, p, kind)
}

// macros adds those of the kind.
func (b byteKind) macros(m map[string]string) map[string]string {
	if b != 0 {
		m["BYTES"] = strconv.Itoa(int(b &^ plainBytes))
	}
	if b&plainBytes != 0 {
		m["PLAIN"] = "1"
	}
	return m
}

// matmulBytesGo is the implementation of a product of words.
func matmulBytesGo(p MatMulParams, unsigned bool) backend.GoKernel {
	return matmulGroups(p, func(x *hostProduct[int32]) {
		add := x.beta != 0 || x.flags&flagContinue != 0
		host.GemmQuads(unsigned, x.transA, x.transB, x.m, x.n, x.k, x.a.data, x.a.stride, x.b.data, x.b.stride, add,
			x.c.data, x.c.stride)
	})
}

// QuadsAlong makes words of four neighbours in the rows of a matrix of bytes, with zeros beyond its
// columns, QuadsDown of four below each other in matrices of depth rows that lie below each other,
// with zeros beyond each. Arguments: [QuadsArgs]. Grid: [NaiveGrid] of the words, or any.
func QuadsAlong() *backend.Source { return quadsAlongKernel.Source() }

// QuadsDown is said at [QuadsAlong].
func QuadsDown() *backend.Source { return quadsDownKernel.Source() }

// QuadsArgs appends the arguments of [QuadsDown], or where depth is 0 of [QuadsAlong], for a
// matrix of rows by cols bytes and one of words.
func QuadsArgs(args []backend.Arg, rows, cols int, a Operand, wordRows, wordCols int, words Operand, depth int,
) []backend.Arg {
	args = appendMatrix(appendMatrix(args, int64(rows), int64(cols), a), int64(wordRows), int64(wordCols), words)
	if depth > 0 {
		args = append(args, backend.Int64(int64(depth)))
	}
	return args
}

//tandem:kernel
func quadsAlong(it gpu.Item, a gpu.Matrix[uint8], c gpu.Matrix[int32]) {
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < c.Cols; j += it.GlobalSize(0) {
			var word uint32
			for s := range min(4, a.Cols-4*j) {
				word |= uint32(a.At(i, 4*j+s)) << (8 * s)
			}
			c.Set(i, j, int32(word))
		}
	}
}

//tandem:kernel
func quadsDown(it gpu.Item, a gpu.Matrix[uint8], c gpu.Matrix[int32], depth int) {
	words := (depth + 3) / 4
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		top, first := i/words*depth, i%words*4
		for j := it.Global(0); j < c.Cols; j += it.GlobalSize(0) {
			var word uint32
			for s := range min(4, depth-first) {
				word |= uint32(a.At(top+first+s, j)) << (8 * s)
			}
			c.Set(i, j, int32(word))
		}
	}
}
