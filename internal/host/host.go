// Package host is linear algebra on the processor. Its plain functions define the bits that every
// device must produce; its fast paths must equal them.
//
// A matrix is row-major with a leading dimension: element (i, j) of x is x[i*ldx+j]. The elements
// between the columns and the leading dimension belong to somebody else: they are neither read nor
// written.
//
// Functions panic when a slice is too short for its shape; callers check shapes first. All of them
// are safe for concurrent use.
//
// Products have these paths, of the same bits, and the first that the processor can run is taken:
//
//	avx512	amd64 with AVX-512
//	avx2	amd64 with AVX2 and FMA
//	neon	arm64
//	go	any processor, without assembly; its float32 takes the long way through float64 that [FMA32] describes
//
// All else has avx2, neon and go: it waits for the memory. The build tag purego leaves all assembly
// out.
//
// The micro-kernels of products are assembly, which gen writes; everything else with vector
// instructions is one text in C, gen/c/vectors.c, which gen has clang compile for each kind of
// processor. Its code is called without cgo, on the goroutine's own stack.
package host

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// FMA is a*b + c, rounded once, to nearest with ties to even. An int32 wraps modulo 2^32.
func FMA[T element.Element](a, b, c T) T {
	switch {
	case isFloat64[T]():
		return T(math.FMA(float64(a), float64(b), float64(c)))
	case T(1)/2 == 0: // an integer
		return a*b + c
	}
	return T(FMA32(float32(a), float32(b), float32(c)))
}

// The kernels of this processor, best first; the portable ones are last.
var (
	kernelsF32 = append(nativeF32(), portable(portableF32))
	kernelsF64 = append(nativeF64(), portable(portableF64))
	kernelsI32 = append(nativeI32(), portable(portableInteger[int32]))
)

// kernels is the list for T.
func kernels[T element.Element]() []*microKernel[T] {
	if isFloat64[T]() { // would be felt in small products
		return *(*[]*microKernel[T])(unsafe.Pointer(&kernelsF64))
	}
	list := element.ByType[any](element.TypeOf[T](), &kernelsF32, &kernelsF64, &kernelsI32)
	return *list.(*[]*microKernel[T])
}

// FMA32 is a*b + c, rounded once. float32(math.FMA(...)) rounds twice and differs.
//
// The product of two float32 is exact in float64, so that only the sum is rounded before the
// conversion. That first rounding keeps its side of every point where the conversion's result
// changes, as those are float64 themselves; the conversion can err only when the rounded sum is
// exactly on one.
func FMA32(a, b, c float32) float32 {
	if s := sum32(a, b, c); !isTie32(s) {
		return float32(s)
	}
	return roundToOdd32(a, b, c)
}

// sum32 is a*b + c, rounded to float64.
func sum32(a, b, c float32) float64 { return float64(float64(a)*float64(b)) + float64(c) }

// isTie32 tells whether s may lie halfway between two float32. In their normal range the 29 bits
// that s has more are then 1000...0; below that it may be any.
func isTie32(s float64) bool {
	const minNormal = (1023 - 126) << 52 // the smallest normal float32, as the bits of a float64
	u := math.Float64bits(s)
	return u&(1<<29-1) == 1<<28 || u<<1 < minNormal<<1
}

// roundToOdd32 is FMA32 for every operand: it makes the last bit of an inexact sum odd, which tells
// the conversion to float32 on which side of the halfway point the exact sum lies.
func roundToOdd32(a, b, c float32) float32 {
	p, d, s := float64(a)*float64(b), float64(c), sum32(a, b, c)
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	// e is the exact error of s (Knuth's two-sum): nothing overflows or underflows in float64 here.
	t := s - p
	e := (p - (s - t)) + (d - t)
	u := math.Float64bits(s)
	if e != 0 && u&1 == 0 {
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}

// Mul is a*b, rounded on its own: the conversion keeps the compiler from fusing it with an
// addition.
func Mul[T element.Element](a, b T) T { return T(a * b) }

// Add is a + b.
func Add[T element.Element](a, b T) T { return a + b }

// negZero is -0, the addend that leaves every number as it is, -0 included; plain 0 for int32.
func negZero[T element.Element]() T { return T(math.Copysign(0, -1)) }

// Fits tells whether n elements hold a matrix of the shape, whose leading dimension is at least
// cols: whether n >= (rows-1)*ld+cols, or rows is 0.
func Fits(rows, cols, ld, n int) bool {
	hi, lo := bits.Mul(uint(rows-1), uint(ld)) // a division would be felt in small products
	return rows == 0 || n >= cols && hi == 0 && lo <= uint(n-cols)
}

// check panics unless a slice of n elements holds a matrix of the shape.
func check(name string, rows, cols, ld, n int) {
	if rows < 0 || cols < 0 || ld < cols {
		panic(fmt.Sprintf("host: %s is %dx%d with a leading dimension of %d", name, rows, cols, ld))
	}
	if cols > 0 && !Fits(rows, cols, ld, n) {
		panic(fmt.Sprintf("host: %s has %d elements, too few for %dx%d with a leading dimension of %d",
			name, n, rows, cols, ld))
	}
}
