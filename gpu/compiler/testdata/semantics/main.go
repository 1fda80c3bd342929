package main

import (
	"fmt"
	"log"
	"math"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

var sessions []*linalg.Session

// check compares what a kernel writes to the values of newArgs on each device with plain Go.
func check[A any](name string, grid backend.Grid, newArgs func() A, plain func(gpu.Item, A),
	launch func(*linalg.Session, A) error) {
	want := newArgs()
	if err := gpu.Run(grid, func(it gpu.Item) { plain(it, want) }); err != nil {
		fmt.Println(name, "plain Go:", err)
	}
	compare(name, newArgs, want, launch)
}

func compare[A any](name string, newArgs func() A, want A, launch func(*linalg.Session, A) error) {
	for _, s := range sessions {
		got := newArgs()
		if err := launch(s, got); err != nil {
			fmt.Println(name, s.Info().Driver, err)
		} else if a, b := text(got), text(want); a != b {
			fmt.Printf("%s %s: %s, want %s\n", name, s.Info().Driver, a, b)
		}
	}
}

// text is a value with every bit that counts: the sign of zero, but no bits of a NaN.
func text(v any) string {
	return fmt.Sprintf("%v", reflect.ValueOf(v))
}

func limitsOf[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | int | uint](values ...T) {
	for _, x := range values {
		for _, n := range []uint8{0, 3, 7, 31, 33, 64, 255} {
			check(fmt.Sprintf("limits[%T](%[1]v, %d)", x, n), backend.Grid1(1, 2), func() []T { return make([]T, 16) },
				func(it gpu.Item, out []T) { limits(it, out, x, n) },
				func(s *linalg.Session, out []T) error { return launchLimits[T](s, backend.Grid1(1, 2), out, x, n) })
		}
	}
}

func main() {
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		s, err := linalg.Open(spec)
		if err != nil {
			log.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	one := backend.Grid1(1, 1)
	check("order", one, func() []int64 { return make([]int64, 16) }, func(it gpu.Item, o []int64) { order(it, o) },
		func(s *linalg.Session, o []int64) error { return launchOrder(s, one, o) })

	limitsOf[int8](-128, 127, -1, 50)
	limitsOf[uint8](0, 255, 128)
	limitsOf[int16](-32768, 12345)
	limitsOf[uint16](65535, 300)
	limitsOf[int32](math.MinInt32, 1<<30, -7)
	limitsOf[uint32](math.MaxUint32, 9)
	limitsOf[int64](math.MinInt64, 1<<62, -7)
	limitsOf[uint64](math.MaxUint64, 9)
	limitsOf[int](math.MinInt64, 5)
	limitsOf[uint](math.MaxUint64, 5)

	f32 := []float32{0, float32(math.Copysign(0, -1)), 1, -2.5, float32(math.Inf(1)), float32(math.NaN()),
		1e-40, 3e38, 16777217, -1. / 3, 1e-45}
	var f64 []float64
	for _, x := range f32 {
		f64 = append(f64, float64(x))
	}
	f64 = append(f64, 1e300, 5e-324, 0.1)
	grid := backend.Grid1(4, 4)
	check("floats[float32]", grid, func() []float32 { return make([]float32, 16*12) }, func(it gpu.Item,
		o []float32) {
		floats(it, o, f32)
	},
		func(s *linalg.Session, o []float32) error { return launchFloats[float32](s, grid, o, f32) })
	check("floats[float64]", grid, func() []float64 { return make([]float64, 16*12) }, func(it gpu.Item,
		o []float64) {
		floats(it, o, f64)
	},
		func(s *linalg.Session, o []float64) error { return launchFloats[float64](s, grid, o, f64) })

	wide := backend.Grid1(3, 16)
	for _, n := range []int{0, 1, 5, 6} {
		for _, stop := range []bool{false, true} {
			check("group", wide, func() []int32 { return make([]int32, 48) }, func(it gpu.Item,
				o []int32) {
				group(it, o, n, stop)
			},
				func(s *linalg.Session, o []int32) error { return launchGroup(s, wide, o, n, stop) })
		}
	}
	newBodies := func() []body {
		b := make([]body, 20)
		for i := range b {
			b[i] = body{vec: vec{float32(i), 1, 2}, mass: float64(i) / 3, tag: int8(i * 9), id: i, ok: i%2 == 0}
		}
		return b
	}
	check("bodies", wide, newBodies, func(it gpu.Item, b []body) { bodies(it, b, make([]uint16, 7), true, -3, 0.25) },
		func(s *linalg.Session, b []body) error {
			return launchBodies(s, wide, b, make([]uint16, 7), true, -3, 0.25)
		})
	type counts struct {
		bins []int32
		wide []uint64
		seen []uint32
	}
	newCounts := func() counts {
		return counts{make([]int32, 6), []uint64{0, 0, 1<<64 - 1}, []uint32{7: 0, 8: 1<<32 - 1, 9: 40, 11: 0}}
	}
	many := backend.Grid1(5, 32)
	check("count", many, newCounts, func(it gpu.Item, c counts) { count(it, c.bins, c.wide, c.seen) },
		func(s *linalg.Session, c counts) error { return launchCount(s, many, c.bins, c.wide, c.seen) })

	zeros := func() []int64 { return make([]int64, 150) }
	for _, grid := range []backend.Grid{
		backend.Grid1(1, 1), backend.Grid1(9, 3), backend.Grid2(2, 3, 4, 1), backend.Grid2(3, 2, 2, 3),
		backend.Grid3(2, 1, 2, 1, 2, 2),
	} {
		check("edges "+grid.String(), grid, zeros, func(it gpu.Item, o []int64) { edges(it, o, 5, 7) },
			func(s *linalg.Session, o []int64) error { return launchEdges(s, grid, o, 5, 7) })
		if grid.Groups[2] == 1 {
			check("steps "+grid.String(), grid, zeros, func(it gpu.Item, o []int64) { steps(it, o, 6, 23, 20) },
				func(s *linalg.Session, o []int64) error { return launchSteps(s, grid, o, 6, 23, 20) })
		}
		if grid.Groups[1]*grid.Local[1]*grid.Groups[2] > 1 {
			continue
		}
		for i, plain := range []func(gpu.Item, []int64, int){slots, sums, ends, hops} {
			launch := []func(*linalg.Session, backend.Grid, []int64, int) error{
				launchSlots[[]int64], launchSums[[]int64], launchEnds[[]int64], launchHops[[]int64],
			}[i]
			check(fmt.Sprint("turns ", i, grid), grid, zeros, func(it gpu.Item, o []int64) { plain(it, o, 100) },
				func(s *linalg.Session, o []int64) error { return launch(s, grid, o, 100) })
		}
	}

	viewsOf[float32]()
	viewsOf[float64]()
	type words struct {
		out  []int64
		text []uint8
		f    []float32
	}
	newWords := func() words {
		return words{make([]int64, 16), []uint8("12.5 x. 7 8.9. 1234567890.....  "),
			[]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}
	}
	few := backend.Grid1(4, 1)
	check("subset", few, newWords, func(it gpu.Item, w words) { subset(it, w.out, w.text, w.f) },
		func(s *linalg.Session, w words) error { return launchSubset(s, few, w.out, w.text, w.f) })

	conversions()
	specialsOf(f32, launchSpecials[float32])
	specialsOf(f64, launchSpecials[float64])
	wordsOf()
	votesIn()
	agreedIn()
	functorsIn()
	slicesIn(launchSlicesOf[int32, []int32, []int32])
	slicesIn(launchSlicesOf[float64, []float64, []float64])
	fmt.Println("done")
}

func viewsOf[T float32 | float64]() {
	v := view[T]{
		min: [2]T{-1.5, 2}, max: [2]T{4, 1e10}, vec: vec{1, 0.5, -3}, scale: 36.6, steps: -1 << 40, small: 200, flip: true,
	}
	grid := backend.Grid1(2, 4)
	check("values", grid, func() []float64 { return make([]float64, 64) },
		func(it gpu.Item, out []float64) { values(it, out, v, [3]int16{-1, 300, 7}, vec{1, 2, 4}) },
		func(s *linalg.Session, out []float64) error {
			return launchValues[T](s, grid, out, v, [3]int16{-1, 300, 7}, vec{1, 2, 4})
		})
}

// conversions are what Go leaves open, and division by 0, which panics in plain Go.
func conversions() {
	in := []float64{0.9, -0.9, 1e30, -1e30, math.NaN(), math.Inf(1), math.Inf(-1), 127.99, -128.99, 255.5, 1e19,
		4294967295.5}
	sat := func(v, low, high float64) int64 {
		switch {
		case v != v:
			return 0
		case v >= high:
			return int64(high - 1)
		case v <= low:
			return int64(low)
		}
		return int64(v)
	}
	want := make([]int64, 16*len(in))
	for i, v := range in {
		f, out := float64(float32(v)), want[16*i:]
		out[0], out[1], out[2], out[4], out[5], out[6] = sat(v, -128, 128), sat(f, -32768, 32768), sat(v,
			-1<<31, 1<<31), sat(f, 0, 256),
			sat(v, 0, 65536), sat(f, 0, 1<<32)
		out[3], out[13] = sat64(v), sat64(f)
		out[7] = int64(satu64(v) >> 1)
		out[11] = math.MinInt32
	}
	grid := backend.Grid1(1, 16)
	compare("convert", func() []int64 { return make([]int64, 16*len(in)) }, want,
		func(s *linalg.Session, out []int64) error { return launchConvert(s, grid, out, in, 0) })
}

func sat64(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= 1<<63:
		return math.MaxInt64
	case v <= -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

func satu64(v float64) uint64 {
	switch {
	case !(v > 0):
		return 0
	case v >= 1<<64:
		return math.MaxUint64
	}
	return uint64(v)
}

func specialsOf[T float32 | float64](in []T, launch func(*linalg.Session, backend.Grid, []float64, []T, []T,
	int) error) {
	type results struct {
		out  []float64
		sums []T
	}
	grid := backend.Grid1(4, 4)
	for sign := -1; sign <= 1; sign++ {
		check(fmt.Sprintf("specials[%T] %d", in[0], sign), grid,
			func() results { return results{make([]float64, 16*16), make([]T, 16)} },
			func(it gpu.Item, r results) { specials(it, r.out, r.sums, in, sign) },
			func(s *linalg.Session, r results) error { return launch(s, grid, r.out, r.sums, in, sign) })
	}
}

func wordsOf() {
	in := []uint64{0, 1, 2, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, math.MaxUint64}
	for x := uint64(1); len(in) < 64; {
		x = x*6364136223846793005 + 1442695040888963407
		in = append(in, x>>(len(in)))
	}
	grid := backend.Grid1(4, 16)
	check("words", grid, func() []uint64 { return make([]uint64, 64*64) },
		func(it gpu.Item, out []uint64) { words(it, out, in) },
		func(s *linalg.Session, out []uint64) error { return launchWords(s, grid, out, in) })
}

func slicesIn[T int32 | float64](launch func(*linalg.Session, backend.Grid, []T, []T) error) {
	x := make([]T, 48)
	for i := range x {
		x[i] = T(i*i%37) - 5
	}
	grid := backend.Grid1(3, 16)
	check("slicesOf", grid, func() []T { return make([]T, 48) }, func(it gpu.Item, out []T) { slicesOf(it, out, x) },
		func(s *linalg.Session, out []T) error { return launch(s, grid, out, x) })
}

func votesIn() {
	x, bounds := make([]int32, 64), []int32{0, 3, 40, 1}
	for i := range x {
		x[i] = int32(i*29%41) - int32(i/16)
	}
	for _, grid := range []backend.Grid{backend.Grid1(4, 16), backend.Grid2(4, 1, 8, 2)} {
		check("votes "+grid.String(), grid, func() []int32 { return make([]int32, 64) },
			func(it gpu.Item, out []int32) { votes(it, out, x, bounds) },
			func(s *linalg.Session, out []int32) error { return launchVotes(s, grid, out, x, bounds) })
	}
}

func functorsIn() {
	x := []int32{5, -7, 100, 3, 3, 8, -90, 21, 5, 6, 7, 8, 9, 10, 11, 12, 99, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, -5, -6, 7, 8}
	f := make([]float64, len(x))
	for i, v := range x {
		f[i] = float64(v) / 4
	}
	grid := backend.Grid1(2, 16)
	check("reduceBy plus", grid, func() []int32 { return make([]int32, 2) },
		func(it gpu.Item, out []int32) { reduceBy(it, plus{}, out, x) },
		func(s *linalg.Session, out []int32) error {
			return launchReduceBy[int32, plus](s, grid, plus{}, out, x)
		})
	check("reduceBy larger", grid, func() []float64 { return make([]float64, 2) },
		func(it gpu.Item, out []float64) { reduceBy(it, larger[float64]{}, out, f) },
		func(s *linalg.Session, out []float64) error {
			return launchReduceBy[float64, larger[float64]](s, grid, larger[float64]{}, out, f)
		})
	check("functors", grid, func() []int32 { return make([]int32, 32) },
		func(it gpu.Item, out []int32) { functors(it, plus{}, both{scale: 3}, out, x) },
		func(s *linalg.Session, out []int32) error {
			return launchFunctors(s, grid, plus{}, both{scale: 3}, out, x)
		})
}

func agreedIn() {
	x, count := make([]int32, 32), []int32{3, 8}
	for i := range x {
		x[i] = int32(i * 29 % 41)
	}
	x[20] = 97
	grid := backend.Grid1(2, 16)
	check("agreed", grid, func() []int32 { return make([]int32, 32) },
		func(it gpu.Item, out []int32) { agreed(it, out, x, count) },
		func(s *linalg.Session, out []int32) error { return launchAgreed(s, grid, out, x, count) })
	check("helpers", grid, func() []int32 { return make([]int32, 32) },
		func(it gpu.Item, out []int32) { helpers(it, out, x) },
		func(s *linalg.Session, out []int32) error { return launchHelpers(s, grid, out, x) })
	f := make([]float32, 200)
	for i := range f {
		f[i] = float32(i) / 3
	}
	check("once", backend.Grid1(4, 64), func() []float32 { return make([]float32, 200) },
		func(it gpu.Item, y []float32) { once(it, 2, f, y) },
		func(s *linalg.Session, y []float32) error {
			x := f
			return launchOnce[float32](s, backend.GridFor(len(x)), 2, x, y)
		})
}
