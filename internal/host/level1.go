package host

import (
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// lanes is the lanes in which products are added, and piece the elements that are added before the
// lanes come together. The bits of a sum depend on both.
const (
	lanes = 8
	piece = 1 << 13
)

// Dot is the sum of the products of two vectors of one length, in float64. Elements go by pieces of
// 8192, of which the last may be shorter. A piece is added in eight lanes, from +0: lane l takes
// elements l, l+8, ... by fma. Then lanes l and l+4 are added, l and l+2, 0 and 1; and the pieces,
// in order. Products of float32 are exact in float64.
func Dot[T Float](x, y []T) float64 {
	y = y[:len(x)]
	if len(x) > piece {
		return sumPieces(x, y)
	}
	return dotPiece(x, y)
}

// Asum is the sum of magnitudes, in the same order, in float64.
func Asum[T Float](x []T) float64 {
	if len(x) > piece {
		return sumPieces(x, nil)
	}
	return asumPiece(x)
}

// Nrm2 is the square root of the sum of squares, in float64: of Dot(x, x) where that is from
// smallSquares to largeSquares. Else it is that of x times the power of two that brings the largest
// magnitude to at least 1/2 and below 1, times the inverse. It is NaN where an element is, else an
// infinity where one is.
func Nrm2[T Float](x []T) float64 {
	if len(x) == 1 {
		return math.Abs(float64(x[0]))
	}
	s := Dot(x, x)
	if s >= smallSquares && s <= largeSquares {
		return math.Sqrt(s)
	}
	at := Iamax(x)
	if at < 0 {
		return 0
	}
	largest := math.Abs(float64(x[at]))
	_, exp := math.Frexp(largest)
	if largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest) {
		return largest
	}
	memory, scaled := Take[float64](len(x))
	defer memory.Give()
	for i, v := range x {
		scaled[i] = math.Ldexp(float64(v), -exp)
	}
	return math.Ldexp(math.Sqrt(Dot(scaled, scaled)), exp)
}

// Between these a sum of squares has lost nothing that counts below the range of float64, and not
// left it above. Squares of float32 always are.
const (
	smallSquares = 0x1p-900
	largeSquares = 0x1p1000
)

// sumPieces is Dot, or without y Asum, on all cores where the vectors are long.
func sumPieces[T Float](x, y []T) float64 {
	memory, sums := Take[float64]((len(x) + piece - 1) / piece)
	defer memory.Give()
	if isSmall[T](2, len(x)) {
		addPieces(x, y, sums, 0)
	} else {
		parallel.Do((len(sums)+piecesAtOnce-1)/piecesAtOnce, func(i int) {
			first := i * piecesAtOnce
			addPieces(x, y, sums[:min(first+piecesAtOnce, len(sums))], first)
		})
	}
	sum := sums[0]
	for _, v := range sums[1:] {
		sum += v
	}
	return sum
}

// piecesAtOnce is how many pieces one goroutine takes at a time: long stretches of the memory.
const piecesAtOnce = 8

// addPieces makes sums, from the one at first on, those of their pieces.
func addPieces[T Float](x, y []T, sums []float64, first int) {
	for i := first; i < len(sums); i++ {
		lo, hi := i*piece, min(i*piece+piece, len(x))
		if y == nil {
			sums[i] = asumPiece(x[lo:hi])
		} else {
			sums[i] = dotPiece(x[lo:hi], y[lo:hi])
		}
	}
}

func dotPiece[T Float](x, y []T) float64 {
	if hasVectors {
		return dotNative(len(x), unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(unsafe.SliceData(y)),
			isFloat64[T]())
	}
	var s [lanes]float64
	for ; len(x) >= lanes; x, y = x[lanes:], y[lanes:] {
		for l, v := range x[:lanes] {
			s[l] = math.FMA(float64(v), float64(y[l]), s[l])
		}
	}
	for l, v := range x {
		s[l] = math.FMA(float64(v), float64(y[l]), s[l])
	}
	return addLanes(&s)
}

func asumPiece[T Float](x []T) float64 {
	if hasVectors {
		return asumNative(len(x), unsafe.Pointer(unsafe.SliceData(x)), isFloat64[T]())
	}
	var s [lanes]float64
	for ; len(x) >= lanes; x = x[lanes:] {
		for l, v := range x[:lanes] {
			s[l] += math.Abs(float64(v))
		}
	}
	for l, v := range x {
		s[l] += math.Abs(float64(v))
	}
	return addLanes(&s)
}

func addLanes(s *[lanes]float64) float64 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// Axpy is y[i] = fma(alpha, x[i], y[i]) for the elements of x.
func Axpy[T Float](alpha T, x, y []T) {
	if len(x) == 0 {
		return
	}
	if isSmall[T](2, len(x)) {
		addScaled(alpha, x, y[:len(x)])
		return
	}
	spreadVector[T](len(x), func(lo, hi int) { addScaled(alpha, x[lo:hi], y[lo:]) })
}

// AxpySteps is [Axpy] of n elements that are incX and incY apart, from those that x and y point to
// on, in this goroutine.
func AxpySteps[T Float](n int, alpha T, x *T, incX int, y *T, incY int) {
	chains(n, 1, x, incX, 0, &alpha, 0, y, incY)
}

// ScalSteps is [Scal] of n elements that are inc apart.
func ScalSteps[T Float](n int, alpha T, x *T, inc int) {
	for i, at := 0, 0; i < n; i, at = i+1, at+inc {
		*elementAt(x, at) *= alpha
	}
}

// addScaled is Axpy in this goroutine, for at least one element.
func addScaled[T Float](alpha T, x, y []T) {
	one := T(1)
	addOuter(1, len(x), 0, alpha, &one, &x[0], 0, &y[0], 0, nil, nil)
}

// Scal is x = alpha*x.
func Scal[T Float](alpha T, x []T) {
	if len(x) == 0 {
		return
	}
	if isSmall[T](2, len(x)) {
		scaleVector(alpha, x)
		return
	}
	spreadVector[T](len(x), func(lo, hi int) { scaleVector(alpha, x[lo:hi]) })
}

// scaleVector is Scal in this goroutine, for at least one element.
func scaleVector[T Float](alpha T, x []T) {
	if n := len(x); hasVectors {
		kernels[T]()[0].finish(1, n, alpha, &x[0], n, 0, &x[0], n, false)
		return
	}
	scaleRow(alpha, x)
}

// spreadVector calls f(lo, hi) for ranges of n elements, on all cores.
func spreadVector[T Float](n int, f func(lo, hi int)) {
	band := bandBytes / int(unsafe.Sizeof(T(0)))
	parallel.Do((n+band-1)/band, func(i int) { f(i*band, min(i*band+band, n)) })
}

// Iamax is the index of the element of the largest magnitude: the first of equals, and the first
// NaN before all numbers. It is -1 where there is no element.
func Iamax[T Float](x []T) int { return IamaxSteps(len(x), unsafe.SliceData(x), 1) }

// IamaxSteps is [Iamax] of n elements that are inc apart.
func IamaxSteps[T Float](n int, x *T, inc int) int {
	at, largest := -1, int64(-1)
	for i := range n {
		v := *elementAt(x, i*inc)
		if u := magnitudeBits(v); u > largest {
			if at, largest = i, u; v != v {
				return at
			}
		}
	}
	return at
}

// magnitudeBits is the bits of |v|, which have the order of the magnitudes, NaN above all.
func magnitudeBits[T Float](v T) int64 {
	if isFloat64[T]() {
		return int64(math.Float64bits(float64(v)) &^ (1 << 63))
	}
	return int64(math.Float32bits(float32(v)) &^ (1 << 31))
}
