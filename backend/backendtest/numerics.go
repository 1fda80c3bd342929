package backendtest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

var numericsCases = []testCase{
	{"Float32/FMA", valid, float32Op(opFMA), "Float32: correctly rounded fma."},
	{"Float32/NoContraction", valid, float32Op(opMulAdd), "The dialect: a*b + c is rounded twice."},
	{"Float32/Multiply", valid, float32Op(opMul), "Float32: subnormals kept."},
	{"Float32/Add", valid, float32Op(opAdd, opSub), "Float32: subnormals kept, signed zeros as IEEE 754 has them."},
	{"Float64/FMA", valid, float64Op(opFMA), "Float64: correctly rounded fma."},
	{"Float64/NoContraction", valid, float64Op(opMulAdd), "The dialect: a*b + c is rounded twice."},
	{"Float64/Multiply", valid, float64Op(opMul), "Float64: subnormals kept."},
	{"Float64/Add", valid, float64Op(opAdd, opSub), "Float64: subnormals kept, signed zeros as IEEE 754 has them."},
	{"Int32/Wrap", valid, int32Wrap, "int32 wraps modulo 2^32."},
}

// The results of the ops kernels, in their order.
const (
	opFMA    = iota // fma(a, b, c)
	opMulAdd        // a*b + c, rounded twice
	opMul           // a*b
	opAdd           // a + c
	opSub           // b - c
	numOps
)

var opNames = [numOps]string{"fma(a, b, c)", "a*b + c", "a*b", "a + c", "b - c"}

type operations[T element.Element] func(a, b, c T) [numOps]T

// floatOps computes what the contract wants. The conversions keep Go from fusing.
func floatOps[T float32 | float64](a, b, c T) [numOps]T {
	return [numOps]T{exactFMA(a, b, c), T(a*b) + c, a * b, a + c, b - c}
}

func intOps(a, b, c int32) [numOps]int32 {
	return [numOps]int32{a*b + c, a*b + c, a * b, a + c, b - c}
}

// exactFMA is a*b + c, computed without error and rounded once. It is slow.
func exactFMA[T float32 | float64](a, b, c T) T {
	finite := func(x T) bool { return !math.IsInf(float64(x), 0) && !math.IsNaN(float64(x)) }
	switch {
	case !finite(a) || !finite(b):
		return T(a*b) + c
	case !finite(c):
		return c // the product of finite numbers does not count, even where it rounds to infinity
	}
	enough := uint(4400) // bits from the largest product of float64 to the smallest
	if unsafe.Sizeof(a) == 4 {
		enough = 600
	}
	x := func(v T) *big.Float { return new(big.Float).SetPrec(enough).SetFloat64(float64(v)) }
	sum := x(a)
	sum.Mul(sum, x(b)).Add(sum, x(c))
	if unsafe.Sizeof(a) == 4 {
		r, _ := sum.Float32()
		return T(r)
	}
	r, _ := sum.Float64()
	return T(r)
}

// opsSource is the ops kernel of T with a Go implementation that computes op.
func opsSource[T element.Element](op operations[T]) *backend.Source {
	f := func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		out, in, n := backend.Mem[T](args[0]), backend.Mem[T](args[1]), int(args[2].Int32())
		stride := g.Count() * g.Items()
		for first := lo * g.Items(); first < hi*g.Items(); first++ {
			for i := first; i < n; i += stride {
				r := op(in[3*i], in[3*i+1], in[3*i+2])
				copy(out[numOps*i:], r[:])
			}
		}
		return nil
	}
	var t T
	switch any(t).(type) {
	case float32:
		return source("ops_f32", f)
	case float64:
		return source64("ops_f64", f)
	}
	return source("ops_i32", f)
}

// A vector is operands a, b, c.
type vector[T element.Element] [3]T

// checkOps runs the ops kernel s on vectors and compares the results of some operations.
func checkOps[T element.Element](e *env, s *backend.Source, vectors []vector[T], want [][numOps]T, which ...int) {
	in := make([]T, 0, 3*len(vectors))
	for _, v := range vectors {
		in = append(in, v[:]...)
	}
	out := upload(e, garbage(numOps*len(backend.Bytes(in))/3))
	e.launch(e.compile(s), backend.Grid1(8, 16), backend.Buf(out), backend.Buf(upload(e, in)),
		backend.Int32(int32(len(vectors))))
	got := download[T](e, out)
	wrong := 0
	for i, v := range vectors {
		for _, o := range which {
			if g := got[numOps*i+o]; bits(g) != bits(want[i][o]) {
				if wrong++; wrong <= 5 {
					e.errorf("%s with a, b, c = %s, %s, %s is %s, want %s",
						opNames[o], show(v[0]), show(v[1]), show(v[2]), show(g), show(want[i][o]))
				}
			}
		}
	}
	if wrong > 5 {
		e.errorf("%d wrong results of %d", wrong, len(vectors)*len(which))
	}
}

// bits is what two equal results have in common; any NaN is the same as any other.
func bits[T element.Element](x T) uint64 {
	switch x := any(x).(type) {
	case float32:
		if x != x {
			return math.MaxUint64
		}
		return uint64(math.Float32bits(x))
	case float64:
		if x != x {
			return math.MaxUint64
		}
		return math.Float64bits(x)
	case int32:
		return uint64(uint32(x))
	}
	panic("not an element")
}

func show[T element.Element](x T) string {
	if _, ok := any(x).(int32); ok {
		return fmt.Sprint(x)
	}
	return fmt.Sprintf("%v (%#x)", x, bits(x))
}

// Vectors and results of the two float types, computed once in a process: exact arithmetic takes
// its time.
var (
	float32Vectors = sync.OnceValue(func() []vector[float32] {
		f := math.Float32frombits
		return slices.Concat([]vector[float32]{
			{f(0x3f800800), f(0x3f800800), f(0x21800000)}, // 2^-60 decides: fma in float64 rounds twice and loses it
			{f(0x3f800800), f(0x3f800800), f(0xa1800000)},
			{f(0x3f800001), f(0x3f800001), f(0xbf800002)}, // all that is left is what the product's rounding loses
			{f(0x80000001), f(0x00000001), 0},             // -0 + 0 is +0, but the fma underflows to -0
		}, combinations([]float32{
			0, f(0x80000000), f(1), f(0x80000001), f(0x007fffff), f(0x00800000), 1, -1, f(0x3f800001), f(0x3f000000),
			f(0x7f7fffff), f(0xff7fffff), f(0x7f800000), f(0xff800000), f(0x7fc00000),
		}), near(random(41), func(r *rand.Rand) float32 { return f(r.Uint32()) }))
	})
	float64Vectors = sync.OnceValue(func() []vector[float64] {
		f := math.Float64frombits
		return slices.Concat([]vector[float64]{
			{f(0x3ff0000001000000), f(0x3ff0000001000000), 0x1p-120},
			{f(0x3ff0000001000000), f(0x3ff0000001000000), -0x1p-120},
			{f(0x3ff0000000000001), f(0x3ff0000000000001), f(0xbff0000000000002)},
			{f(1<<63 | 1), f(1), 0},
		}, combinations([]float64{
			0, f(1 << 63), f(1), f(1<<63 | 1), f(0x000fffffffffffff), 0x1p-1022, 1, -1, f(0x3ff0000000000001), 0.5,
			math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
		}), near(random(42), func(r *rand.Rand) float64 { return f(r.Uint64()) }))
	})
	float32Wants = sync.OnceValue(func() [][numOps]float32 { return results(float32Vectors()) })
	float64Wants = sync.OnceValue(func() [][numOps]float64 { return results(float64Vectors()) })
)

func results[T float32 | float64](vectors []vector[T]) [][numOps]T {
	r := make([][numOps]T, len(vectors))
	for i, v := range vectors {
		r[i] = floatOps(v[0], v[1], v[2])
	}
	return r
}

func float32Op(which ...int) func(*env) {
	return func(e *env) {
		if !e.dev.Info().Float32 {
			e.skipf("the device has no float32 that keeps the contract")
		}
		checkOps(e, opsSource(floatOps[float32]), float32Vectors(), float32Wants(), which...)
	}
}

func float64Op(which ...int) func(*env) {
	return func(e *env) {
		if !e.dev.Info().Float64 {
			e.skipf("the device has no float64 that keeps the contract")
		}
		// math.FMA is fast; what is wanted is computed exactly.
		fast := func(a, b, c float64) [numOps]float64 {
			return [numOps]float64{math.FMA(a, b, c), float64(a*b) + c, a * b, a + c, b - c}
		}
		checkOps(e, opsSource(fast), float64Vectors(), float64Wants(), which...)
	}
}

// near is vectors of random bits whose c is often close to -a*b, where a second rounding shows.
func near[T float32 | float64](r *rand.Rand, random func(*rand.Rand) T) []vector[T] {
	vectors := make([]vector[T], 1000)
	for i := range vectors {
		v := vector[T]{random(r), random(r), random(r)}
		if i%3 > 0 {
			v[2] = -T(v[0]*v[1]) * T(1+float64(r.IntN(5)-2)*0x1p-22)
		}
		vectors[i] = v
	}
	return vectors
}

func combinations[T element.Element](values []T) []vector[T] {
	var vectors []vector[T]
	for _, a := range values {
		for _, b := range values {
			for _, c := range values {
				vectors = append(vectors, vector[T]{a, b, c})
			}
		}
	}
	return vectors
}

func int32Wrap(e *env) {
	vectors := combinations([]int32{0, 1, -1, 2, math.MaxInt32, math.MinInt32, 0x10001, -0x10001, 46341, 0x7654321})
	want := make([][numOps]int32, len(vectors))
	for i, v := range vectors {
		want[i] = intOps(v[0], v[1], v[2])
	}
	checkOps(e, opsSource(intOps), vectors, want, opFMA, opMulAdd, opMul, opAdd, opSub)
}
