package gonumblas

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// smallSize is how many rows, columns and steps a product has at most for which plain loops are done before the host's own product would have begun.
const smallSize = 2

// small tells whether smallGemm is the fastest for a product on the host. What the host's product does not take as it is makes the loops pay a little
// longer, unless in float32, where Go cannot use the processor's instruction.
func small[T float](m, n, k int, plain bool) bool {
	size := smallSize
	if !plain && !is32[T]() {
		size++
	}
	return m <= size && n <= size && k <= size
}

// smallGemm is hostGemm for small matrices.
func smallGemm[T float](alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T], k int) {
	aRow, aCol, bRow, bCol := a.Stride, 1, b.Stride, 1
	if tA != blas.NoTrans {
		aRow, aCol = aCol, aRow
	}
	if tB != blas.NoTrans {
		bRow, bCol = bCol, bRow
	}
	switch x := any(a.Data).(type) {
	case []float64:
		alpha, y, beta, z := any(alpha).(float64), any(b.Data).([]float64), any(beta).(float64), any(c.Data).([]float64)
		for i := range c.Rows {
			for j := range c.Cols {
				at := i*c.Stride + j
				z[at] = element64(k, alpha, x[i*aRow:], aCol, y[j*bCol:], bRow, beta, z[at])
			}
		}
	case []float32:
		alpha, y, beta, z := any(alpha).(float32), any(b.Data).([]float32), any(beta).(float32), any(c.Data).([]float32)
		for i := range c.Rows {
			for j := range c.Cols {
				at := i*c.Stride + j
				z[at] = element32(k, alpha, x[i*aRow:], aCol, y[j*bCol:], bRow, beta, z[at])
			}
		}
	}
}

// element64 is an element of C: old is what it was, a and b are a row and a column.
func element64(k int, alpha float64, a []float64, aStep int, b []float64, bStep int, beta, old float64) float64 {
	var acc float64
	for p := range k {
		acc = math.FMA(a[p*aStep], b[p*bStep], acc)
	}
	if beta == 0 {
		return alpha * acc
	}
	return math.FMA(alpha, acc, beta*old)
}

func element32(k int, alpha float32, a []float32, aStep int, b []float32, bStep int, beta, old float32) float32 {
	var acc float32
	for p := range k {
		acc = host.FMA32(a[p*aStep], b[p*bStep], acc)
	}
	if beta == 0 {
		return alpha * acc
	}
	return host.FMA32(alpha, acc, beta*old)
}
