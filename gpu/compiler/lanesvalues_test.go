package compiler

import (
	"cmp"
	"runtime"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

// What C and Go mean differently, for all pairs of special values, in strips of lanes.
func TestLaneValues(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	needNative(t)
	dir := newModule(t, map[string]string{"main.go": laneValues})
	if err := Write(dir, Options{NoPTX: true, Native: ownMachine()}); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, level := range []string{"off", "", "avx2"} {
		if level == "avx2" && runtime.GOARCH != "amd64" {
			continue
		}
		t.Setenv("TANDEM_NATIVE", level)
		out, err := goTool(t, dir, "run", ".")
		if want = cmp.Or(want, out); err != nil || !strings.HasSuffix(out, "done\n") || out != want {
			t.Errorf("%q: %v\n%s, want %s", level, err, out, want)
		}
	}
}

const laneValues = `package main

import (
	"fmt"
	"hash/fnv"
	"log"
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

type integer interface {
	int8 | int32 | int64 | uint16 | uint32 | uint64
}

func truth[T gpu.Number](b bool) T {
	if b {
		return 1
	}
	return 0
}

//tandem:kernel int8 int32 int64 uint16 uint32 uint64
func integers[T integer](it gpu.Item, out []T, floats []float64, x []T) {
	i := it.Global(0)
	if n := len(x); i < n*n {
		a, b := x[i/n], x[i%n]
		out = out[20*i : 20*i+20]
		out[0], out[1], out[2], out[3] = a+b, a-b, a*b, -a
		out[4], out[5], out[6], out[7] = a&b, a|b, a^b, a&^b
		out[8], out[9], out[10] = ^a, a<<uint8(b), a>>uint8(b)
		out[11], out[12] = a<<3, a>>5
		if b != 0 {
			out[13], out[14] = a/b, a%b
		}
		out[15], out[16] = min(a, b), max(a, b)
		out[17], out[18], out[19] = truth[T](a < b), truth[T](a == b), T(uint16(a)) + T(int8(b))
		floats[2*i], floats[2*i+1] = float64(a), float64(float32(b))
	}
}

//tandem:kernel float32 float64
func floats[T float32 | float64](it gpu.Item, out []T, ints []int64, x []T) {
	i := it.Global(0)
	if n := len(x); i < n*n {
		a, b := x[i/n], x[i%n]
		out = out[16*i : 16*i+16]
		out[0], out[1], out[2], out[3] = a+b, a-b, a*b, a/b
		out[4], out[5], out[6] = min(a, b), max(a, b), gpu.FMA(a, b, a)
		out[7], out[8] = T(math.Sqrt(float64(a))), T(math.Floor(float64(a)))
		out[9], out[10] = T(math.Ceil(float64(a))), T(math.Trunc(float64(a)))
		out[11], out[12], out[13] = T(math.Abs(float64(a))), -a, T(float32(a))
		out[14], out[15] = truth[T](a < b), truth[T](a != b)
		ints = ints[8*i : 8*i+8]
		ints[0], ints[1], ints[2], ints[3] = int64(int8(a)), int64(int16(a)), int64(int32(a)), int64(a)
		ints[4], ints[5], ints[6], ints[7] = int64(uint8(a)), int64(uint16(a)), int64(uint32(a)), int64(uint64(a))
	}
}

//tandem:kernel
func bitCounts(it gpu.Item, out []uint64, x []uint64) {
	if i := it.Global(0); i < len(x) {
		a := x[i]
		hi, lo := bits.Mul64(a, 0xfedcba9876543210)
		out = out[12*i : 12*i+12]
		out[0], out[1] = uint64(bits.OnesCount64(a)), uint64(bits.LeadingZeros64(a))
		out[2] = uint64(bits.TrailingZeros64(a))
		out[3], out[4], out[5] = uint64(bits.Len32(uint32(a))), bits.Reverse64(a), bits.ReverseBytes64(a)
		out[6], out[7], out[8] = hi, lo, uint64(bits.LeadingZeros8(uint8(a)))
		out[9], out[10] = uint64(bits.RotateLeft32(uint32(a), int(a&63))), uint64(bits.TrailingZeros16(uint16(a)))
		out[11] = math.Float64bits(math.Float64frombits(a) + 1)
	}
}

// Work-items go different ways, and what those that wait have stays as it was.
//
//tandem:kernel
func ways(it gpu.Item, out []int32) {
	i := it.Global(0)
	if i >= len(out) {
		return
	}
	n, turns, odd := int32(i), int32(0), int32(0)
outer:
	for range 9 {
		for n > 1 {
			turns++
			if n%2 == 0 {
				n /= 2
				continue
			}
			if n = 3*n + 1; n%16 == 0 {
				break
			}
			if odd++; odd == 7 {
				break outer
			}
			if turns > 40 {
				out[i] = -turns
				return
			}
		}
		n += 5
	}
	out[i] = 1000*turns + 10*odd + n%10
}

var rowsOf64 = [...]float64{0: -1.5, 7: 2, 8: 3, 15: 4, 16: 5, 17: 6, 31: 7, 32: 8, 40: 9, 47: 10, 48: 11, 63: math.Pi}

var pairsOf64 = [...][2]float64{0: {1, -1}, 15: {2, -2}, 16: {3, -3}, 33: {4, -4}, 62: {5, -5}, 63: {6, -6}}

// Tables of 64 rows, by indices of several widths.
//
//tandem:kernel
func found(it gpu.Item, out []float64, x []uint64) {
	if i := it.Global(0); i < len(x) {
		a := x[i]
		out = out[6*i : 6*i+6]
		out[0], out[1], out[2] = rowsOf64[a&63], pairsOf64[a&63][1], pairsOf64[63-a&63][a&1]
		out[3], out[4] = rowsOf64[int32(a)&63], rowsOf64[uint8(a)&63]
		if a%3 == 0 {
			out[5] = rowsOf64[int(a>>1)&63]
		}
	}
}

func same[T comparable](what string, got, want []T) {
	for i := range got {
		if got[i] != want[i] && fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			log.Fatalf("%s of %T: result %d is %v, want %v", what, want, i, got[i], want[i])
		}
	}
}

func testIntegers[T integer](s *linalg.Session) {
	var x []T
	for _, v := range []int64{
		0, 1, 2, 3, 5, 7, 63, 64, 100, 127, 128, 255, 256, 32767, 65535, 1 << 24, 1<<31 - 1, 1 << 31, 1<<53 + 1,
		math.MaxInt64,
	} {
		x = append(x, T(v), T(-v), T(^v))
	}
	n := len(x) * len(x)
	out, f := [2][]T{make([]T, 20*n), make([]T, 20*n)}, [2][]float64{make([]float64, 2*n), make([]float64, 2*n)}
	grid := backend.Grid1((n+63)/64, 64)
	check(gpu.Run(grid, func(it gpu.Item) { integers(it, out[0], f[0], x) }))
	check(launchIntegers[T](s, grid, out[1], f[1], x))
	same("integers", out[1], out[0])
	same("integers", f[1], f[0])
}

func testFloats[T float32 | float64](s *linalg.Session, tiny, huge T) {
	var x []T
	for _, v := range []T{
		0, 1, 0.5, 0.49999997, 1.5, 2.5, 3, 127.5, 128, 255.99, 256, 32767.5, 65536, 2147483647, 2147483648,
		4294967296, 9223372036854775807, 18446744073709551615, 1e10, tiny, 3 * tiny, huge, huge / 3,
		T(math.Inf(1)), T(math.NaN()),
	} {
		x = append(x, v, -v)
	}
	n := len(x) * len(x)
	out, ints := [2][]T{make([]T, 16*n), make([]T, 16*n)}, [2][]int64{make([]int64, 8*n), make([]int64, 8*n)}
	grid := backend.Grid1((n+63)/64, 64)
	check(gpu.Run(grid, func(it gpu.Item) { floats(it, out[0], ints[0], x) }))
	check(launchFloats[T](s, grid, out[1], ints[1], x))
	same("floats", out[1], out[0])
	for i, v := range out[0] {
		if v == 0 && math.Signbit(float64(v)) != math.Signbit(float64(out[1][i])) {
			log.Fatalf("result %d of %T has another zero", i, v)
		}
	}
	digest := fnv.New64()
	for _, v := range ints[1] { // what plain Go gives beyond a type's range is left to the processor
		fmt.Fprintln(digest, v)
	}
	fmt.Printf("%x ", digest.Sum64())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	s, err := linalg.Open("cpu")
	check(err)
	testIntegers[int8](s)
	testIntegers[int32](s)
	testIntegers[int64](s)
	testIntegers[uint16](s)
	testIntegers[uint32](s)
	testIntegers[uint64](s)
	testFloats[float32](s, math.SmallestNonzeroFloat32, math.MaxFloat32)
	testFloats[float64](s, math.SmallestNonzeroFloat64, math.MaxFloat64)
	var x []uint64
	for i := range 64 {
		x = append(x, 1<<i, 1<<i-1, ^uint64(1<<i), 0x9e3779b97f4a7c15*uint64(i))
	}
	out := [2][]uint64{make([]uint64, 12*len(x)), make([]uint64, 12*len(x))}
	grid := backend.Grid1(4, 64)
	check(gpu.Run(grid, func(it gpu.Item) { bitCounts(it, out[0], x) }))
	check(launchBitCounts(s, grid, out[1], x))
	same("bits", out[1], out[0])
	rows := [2][]float64{make([]float64, 6*len(x)), make([]float64, 6*len(x))}
	check(gpu.Run(grid, func(it gpu.Item) { found(it, rows[0], x) }))
	check(launchFound(s, grid, rows[1], x))
	same("found", rows[1], rows[0])
	paths := [2][]int32{make([]int32, 1000), make([]int32, 1000)}
	check(gpu.Run(backend.Grid1(16, 64), func(it gpu.Item) { ways(it, paths[0]) }))
	check(launchWays(s, backend.Grid1(16, 64), paths[1]))
	same("ways", paths[1], paths[0])
	fmt.Println("done")
}
`
