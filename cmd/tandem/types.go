package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"unsafe"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// An executor computes a result of files and writes it, with all of it in memory or in parts.
type executor interface {
	execute(ctx context.Context, a *app, in []operand, out *output, bar *progress, rec *record) error
	executeFiles(ctx context.Context, a *app, in []operand, limit int64, out *output, bar *progress,
		rec *record) (done bool, err error)
}

// operations are what the command does in one element type.
type operations struct {
	matmul          executor
	transpose, sort executor
	elementwise     func(op *kernels.Elementwise, by string) executor
	reduction       func(op *array.Reduction, over array.Over) executor
	cluster         clusterProduct
	clusterCase     clusterCase
	read            func(r io.Reader, h *npy.Header) (any, error) // the elements, row by row
	upload          func(s *linalg.Session, o operand) (kernelBuffer, error)
	zeros           func(s *linalg.Session, shape []int) (kernelBuffer, error)
}

func operationsOf[T linalg.Element]() operations {
	return operations{
		matmul: planner[T](planMatMul[T]), transpose: planner[T](planTranspose[T]),
		elementwise: func(op *kernels.Elementwise, by string) executor { return planElementwise[T](op, by) },
		sort:        planner[T](planSort[T]), reduction: newReducer[T],
		cluster: multiplyMPI[T], clusterCase: caseMPI[T],
		read:   func(r io.Reader, h *npy.Header) (any, error) { return npy.Read[T](r, h) },
		upload: upload[T], zeros: zeros[T],
	}
}

// operationsIn chooses the operations of a type.
func operationsIn(t element.Type) operations {
	return element.ByType(t, operationsOf[float32], operationsOf[float64], operationsOf[int32])()
}

// factorizationsIn chooses those of a type.
func factorizationsIn(t element.Type) factorizations {
	none := func() factorizations { return factorizations{} }
	return element.ByType(t, factorizationsOf[float32], factorizationsOf[float64], none)()
}

// parseNumber reads a number of type T.
func parseNumber[T linalg.Element](text string) (T, error) {
	var t T
	size := int(8 * unsafe.Sizeof(t))
	if element.TypeOf[T]().Integer() {
		v, err := strconv.ParseInt(text, 0, size)
		if err != nil {
			most := int64(math.MaxInt64) >> (64 - size)
			return t, fmt.Errorf("not a whole number from %d to %d (%T)", -most-1, most, t)
		}
		return T(v), nil
	}
	v, err := strconv.ParseFloat(text, size)
	if err != nil {
		return t, fmt.Errorf("not a %T", t)
	}
	return T(v), nil
}
