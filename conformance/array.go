package conformance

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/conformance/internal/functions"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
)

// Cases of package array, which this one does not know: Options.Arrays computes them.

// arrayPrefix begins the names of their kernels.
const arrayPrefix = "array."

// An ArrayOperation is what a case of package array computes, as the package says.
type ArrayOperation struct {
	Name       string // of the function, "Sum"
	Rows, Cols int
	Gap        int // elements after each row on the device, which a result does not have
	A, B, C    any // packed []float32, []float64 or []int32; C is one row
	Seed       uint64
}

// What a stream of random numbers is, and the integers from low to high-1 that are taken of it.
const (
	ArrayStream = 5
	ArrayLow    = -1 << 30
	ArrayHigh   = 3 << 29
)

// arrayShapes are the shapes of their cases: what a block of a sum takes at once, and what it does
// not.
var arrayShapes = [][2]int{{5, 23}, {33, 31}, {3, 2500}, {2500, 3}}

func (m *caseMaker) arrays() {
	names, random := []string{"Sum", "CumSum", "Max", "ArgMax", "Sort", "Map"}, []string{"Integers"}
	if !m.typ.Integer() {
		names, random = append(names, "Mean", "Norm"), []string{"Uniform", "Normal"}
	}
	quick := []string{"Sum", "CumSum", "Sort", "Map", "Uniform"} // enough for devices that are simulated
	if m.typ == element.Float32 {
		names = append(names, "Convert")
	}
	for i, s := range arrayShapes {
		for j, kind := range m.kinds {
			kernels := names
			if kind == uniform {
				kernels = slices.Concat(names, random)
			}
			for _, name := range kernels {
				m.add(Case{
					Kernel: arrayPrefix + name, Type: m.typ, M: s[0], N: s[1], sets: none, values: kind,
					Quick: i == 1 && kind == uniform && m.typ == element.Float32 && slices.Contains(quick, name),
					gap:   (i + j) % 3, alpha: 1,
				})
			}
		}
	}
}

// array is the name of package array's function, "" for other cases.
func (c *Case) array() string {
	name, ok := strings.CutPrefix(c.Kernel, arrayPrefix)
	if !ok {
		return ""
	}
	return name
}

func arrayOperation[T element.Element](c *Case) *ArrayOperation {
	return &ArrayOperation{
		Name: c.array(), Rows: c.M, Cols: c.N, Gap: c.gap, A: generate[T](c, c.M, c.N, "a").data,
		B: generate[T](c, c.M, c.N, "b").data, C: generate[T](c, 1, c.N, "c").data, Seed: c.seed(),
	}
}

// seed is the state that operand a's generator starts with.
func (c *Case) seed() uint64 { return newGenerator(c.operandName(c.M, c.N, "a")).state }

// arrayReference computes what an operation gives by its definition.
func arrayReference[T element.Element](c *Case) (out []T) {
	a, b, d := generate[T](c, c.M, c.N, "a"), generate[T](c, c.M, c.N, "b"), generate[T](c, 1, c.N, "c")
	switch c.array() {
	case "Sum":
		return a.reduced(func(x []T) T { return sumOf(false, x...).over(1) })
	case "Mean":
		return a.reduced(func(x []T) T { return sumOf(false, x...).over(len(x)) })
	case "Norm":
		return a.reduced(func(x []T) T { return sumOf(true, x...).root() })
	case "Max":
		return a.reduced(func(x []T) T { return x[firstMost(x)] })
	case "ArgMax":
		return a.reduced(func(x []T) T { return T(firstMost(x)) })
	case "CumSum":
		var sum *exactSum[T]
		for i, x := range a.data {
			if i%c.N == 0 {
				sum = sumOf[T](false)
			}
			sum.add(false, float64(x))
			out = append(out, sum.over(1))
		}
	case "Sort":
		return a.sorted()
	case "Convert":
		for _, x := range a.data {
			out = append(out, T(element.ToFloat16(float32(x)).Float32()))
		}
		for _, x := range a.data {
			out = append(out, T(element.ToBFloat16(float32(x)).Float32()))
		}
	case "Map":
		for i, x := range a.data {
			if x < b.data[i] {
				out = append(out, host.FMA(x, b.data[i], d.data[i%c.N]))
			} else {
				out = append(out, x-b.data[i])
			}
		}
	default:
		for i := range a.data {
			out = append(out, arrayNumber[T](c, uint64(i)))
		}
	}
	return out
}

// reduced is f of all elements, of each column and of each row.
func (m matrix[T]) reduced(f func(x []T) T) []T {
	out := []T{f(m.data)}
	for j := range m.cols {
		var column []T
		for i := range m.rows {
			column = append(column, m.data[i*m.cols+j])
		}
		out = append(out, f(column))
	}
	for i := range m.rows {
		out = append(out, f(m.data[i*m.cols:(i+1)*m.cols]))
	}
	return out
}

// compareElements orders -0 before +0, and NaN last.
func compareElements[T element.Element](x, y T) int {
	if x != x || y != y {
		return -cmp.Compare(x, y) // NaN is first there
	}
	if x == 0 && y == 0 {
		return cmp.Compare(math.Copysign(1, float64(x)), math.Copysign(1, float64(y)))
	}
	return cmp.Compare(x, y)
}

func firstMost[T element.Element](x []T) int {
	best := 0
	for i := range x {
		if compareElements(x[i], x[best]) > 0 {
			best = i
		}
	}
	return best
}

// sorted is each row in order, and then the columns that its elements had.
func (m matrix[T]) sorted() (out []T) {
	var columns []T
	for i := range m.rows {
		row := m.data[i*m.cols : (i+1)*m.cols]
		order := make([]int, m.cols)
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(j, k int) int { return compareElements(row[j], row[k]) })
		for _, j := range order {
			out, columns = append(out, row[j]), append(columns, T(j))
		}
	}
	return append(out, columns...)
}

// An exactSum is the sum of elements, or of their squares: of so many units of 2^-1074, or of
// 2^-2148; special is that of what is no number.
type exactSum[T element.Element] struct {
	units   big.Int
	special float64
}

func sumOf[T element.Element](squares bool, x ...T) *exactSum[T] {
	s := new(exactSum[T])
	for _, v := range x {
		s.add(squares, float64(v))
	}
	return s
}

// unitBits is the bits below 1 that a float64 may have.
const unitBits = 1074

func (s *exactSum[T]) add(square bool, x float64) {
	if x-x != 0 {
		if square {
			x *= x
		}
		s.special += x
		return
	}
	units, _ := new(big.Float).SetMantExp(big.NewFloat(x), unitBits).Int(nil)
	if square {
		units.Mul(units, units)
	}
	s.units.Add(&s.units, units)
}

// over is the sum over n, rounded once; int32 wraps.
func (s *exactSum[T]) over(n int) T {
	if s.special != 0 {
		return T(s.special)
	}
	if n == 1 {
		f := new(big.Float).SetInt(&s.units)
		return rounded[T, big.Accuracy](f.SetMantExp(f, -unitBits))
	}
	return rounded[T, bool](new(big.Rat).SetFrac(&s.units, new(big.Int).Lsh(big.NewInt(int64(n)), unitBits)))
}

// root is the root of a sum of squares, rounded once.
func (s *exactSum[T]) root() T {
	if s.special != 0 {
		return T(s.special)
	}
	f := new(big.Float).SetPrec(500).SetInt(&s.units) // far more bits than two roundings would show in
	return rounded[T, big.Accuracy](f.SetMantExp(f.Sqrt(f), -unitBits))
}

// A bigNumber is one of math/big that rounds once.
type bigNumber[A big.Accuracy | bool] interface {
	Float32() (float32, A)
	Float64() (float64, A)
}

// rounded is x as an element.
func rounded[T element.Element, A big.Accuracy | bool](x bigNumber[A]) T {
	f64, _ := x.Float64()
	switch any(T(0)).(type) {
	case float32:
		f32, _ := x.Float32()
		return T(f32)
	case int32:
		return T(int32(int64(f64))) // exact: of so few
	}
	return T(f64)
}

// arrayNumber is number k of a case's stream.
func arrayNumber[T element.Element](c *Case, k uint64) T {
	switch per := uint64(16 / c.Type.Size()); c.array() {
	case "Integers":
		w := arrayWords(c, k/per, 0)[k%4]
		for attempt := uint32(1); w*(ArrayHigh-ArrayLow) < 1<<32%(ArrayHigh-ArrayLow); attempt++ {
			w = arrayWords(c, k/per, attempt)[k%4]
		}
		return T(int32(uint64(w)*(ArrayHigh-ArrayLow)>>32) + ArrayLow)
	case "Uniform":
		w := arrayWords(c, k/per, 0)
		if per == 4 {
			return T(float64(w[k%4]>>8) / (1 << 24))
		}
		return T(fraction53(w[k%2*2:]))
	default:
		w, f := arrayWords(c, k/per, 0), in(c.Type).function
		var u, angle T
		if per == 4 {
			w := w[k%4/2*2:]
			u, angle = T(float32(float32(w[0]>>1)+0.5)/(1<<31)), T(float64(int32(w[1])>>7)/(1<<24))
		} else {
			u, angle = T(fraction53(w[:])+1.0/(1<<54)), T(2*fraction53(w[2:])-1)
		}
		log, turn := f(number("Log"), u, T(0)).(T), f(number([]string{"CosPi", "SinPi"}[k%2]), angle, T(0)).(T)
		return T(math.Sqrt(float64(-2*log))) * turn
	}
}

// number is that of an elementary function.
func number(name string) int { return slices.Index(functions.Names[:], name) }

// fraction53 is the upper 53 bits of two words, the second of which is above the first, as a number
// below 1.
func fraction53(w []uint32) float64 {
	return float64((uint64(w[1])<<32|uint64(w[0]))>>11) / (1 << 53)
}

// arrayWords is a block of a case's stream: Philox4x32-10 (Salmon, Moraes, Dror and Shaw: Parallel
// random numbers, as easy as 1, 2, 3; 2011).
func arrayWords(c *Case, block uint64, attempt uint32) [4]uint32 {
	w := [4]uint32{uint32(block), uint32(block>>32) | attempt<<16, ArrayStream, 0}
	k0, k1 := uint32(c.seed()), uint32(c.seed()>>32)
	for range 10 {
		p0, p1 := uint64(w[0])*0xD2511F53, uint64(w[2])*0xCD9E8D57
		w = [4]uint32{uint32(p1>>32) ^ w[1] ^ k0, uint32(p1), uint32(p0>>32) ^ w[3] ^ k1, uint32(p0)}
		k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
	}
	return w
}
