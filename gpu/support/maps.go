package support

import (
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

// Map1 is the kernel of a map of one input in Go: z = f(x), element by element. Its arguments are a
// matrix z, and for each input a matrix and a number: the number stands for a matrix without rows,
// a matrix of one column is repeated, and one whose stride is 0 is a row.
func Map1[Z, X any](f func(X) Z) backend.GoKernel {
	return func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		x := inputOf[X](args, 0)
		eachResult(g, lo, hi, args, func(i, j int) Z { return f(x.at(i, j)) })
		return nil
	}
}

// Map2 is Map1 of two inputs.
func Map2[Z, X, Y any](f func(X, Y) Z) backend.GoKernel {
	return func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		x, y := inputOf[X](args, 0), inputOf[Y](args, 1)
		eachResult(g, lo, hi, args, func(i, j int) Z { return f(x.at(i, j), y.at(i, j)) })
		return nil
	}
}

// Map3 is Map1 of three inputs.
func Map3[Z, X, Y, V any](f func(X, Y, V) Z) backend.GoKernel {
	return func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		x, y, v := inputOf[X](args, 0), inputOf[Y](args, 1), inputOf[V](args, 2)
		eachResult(g, lo, hi, args, func(i, j int) Z { return f(x.at(i, j), y.at(i, j), v.at(i, j)) })
		return nil
	}
}

// Map4 is Map1 of four inputs.
func Map4[Z, X, Y, V, W any](f func(X, Y, V, W) Z) backend.GoKernel {
	return func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		x, y, v, w := inputOf[X](args, 0), inputOf[Y](args, 1), inputOf[V](args, 2), inputOf[W](args, 3)
		eachResult(g, lo, hi, args, func(i, j int) Z { return f(x.at(i, j), y.at(i, j), v.at(i, j), w.at(i, j)) })
		return nil
	}
}

// Form is the kernel in Go that a program runs: compiled, or plain, as the user wrote it, where the
// race detector looks on.
func Form(compiled, plain backend.GoKernel) backend.GoKernel {
	if gpu.Goroutines {
		return plain
	}
	return compiled
}

const (
	matrixArgs = 5
	inputArgs  = matrixArgs + 1
)

// An input of a map: element (i, j) is data[i*rowStep+j*colStep].
type input[T any] struct {
	data             []T
	rowStep, colStep int
}

func inputOf[T any](args []backend.Arg, n int) input[T] {
	args = args[matrixArgs+n*inputArgs:]
	rows, cols, stride := int(args[2].Int64()), int(args[3].Int64()), int(args[4].Int64())
	switch {
	case rows == 0:
		return input[T]{data: []T{number[T](args[matrixArgs])}}
	case cols == 1:
		return input[T]{Matrix[T](args), stride, 0}
	}
	return input[T]{Matrix[T](args), stride, 1}
}

func (x *input[T]) at(i, j int) T { return x.data[i*x.rowStep+j*x.colStep] }

// number is a scalar argument.
func number[T any](a backend.Arg) (x T) {
	switch unsafe.Sizeof(x) {
	case 1:
		b := uint8(a.Bits)
		return *(*T)(unsafe.Pointer(&b))
	case 2:
		b := uint16(a.Bits)
		return *(*T)(unsafe.Pointer(&b))
	case 4:
		b := uint32(a.Bits)
		return *(*T)(unsafe.Pointer(&b))
	}
	return *(*T)(unsafe.Pointer(&a.Bits))
}

// eachResult sets the elements of z that groups lo to hi-1 of g take: as many for each group, in
// the order of the rows.
func eachResult[Z any](g backend.Grid, lo, hi int, args []backend.Arg, f func(i, j int) Z) {
	rows, cols, stride := int(args[2].Int64()), int(args[3].Int64()), int(args[4].Int64())
	z, n := Matrix[Z](args), rows*cols
	size := (n + g.Count() - 1) / g.Count()
	for at, end := min(lo*size, n), min(hi*size, n); at < end; {
		i, j := at/cols, at%cols
		stop := min(cols, j+end-at)
		at += stop - j
		for row := z[i*stride:]; j < stop; j++ {
			row[j] = f(i, j)
		}
	}
}
