package main

import (
	"fmt"
	"log"
	"math"
	"os"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

var sessions []*linalg.Session

// check compares what a kernel makes of its arguments on each device with what plain Go does.
func check[T any](name string, grid backend.Grid, newArgs func() T, plain func(gpu.Item, T), launch func(*linalg.Session, T) error) {
	want := newArgs()
	if err := gpu.Run(grid, func(it gpu.Item) { plain(it, want) }); err != nil {
		fmt.Println(name, "plain Go:", err)
	}
	for _, s := range sessions {
		got := newArgs()
		if err := launch(s, got); err != nil {
			fmt.Println(name, s.Info().Driver, err)
		} else if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
			fmt.Printf("%s %s: %s, want %s\n", name, s.Info().Driver, a, b)
		}
	}
}

var one = backend.Grid1(1, 1)

func main() {
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		s, err := linalg.Open(spec)
		if err != nil {
			log.Fatal(err)
		}
		s.SetChecked(os.Getenv("CHECKED") != "")
		sessions = append(sessions, s)
	}
	numbers := func() []int64 { return slices.Repeat([]int64{3}, 32) }
	for name, k := range map[string]struct {
		plain  func(gpu.Item, []int64)
		launch func(*linalg.Session, backend.Grid, []int64) error
	}{
		"calls":       {calls, launchCalls[[]int64]},
		"assignments": {assignments, launchAssignments[[]int64]},
		"names":       {names, launchNames[[]int64]},
		"flat":        {flat, launchFlat[[]int64]},
		"unread":      {unread, launchUnread[[]int64]},
		"strangers":   {strangers, launchStrangers[[]int64]},
	} {
		check(name, one, numbers, k.plain, func(s *linalg.Session, o []int64) error { return k.launch(s, one, o) })
	}
	check("kinds less", one, numbers, func(it gpu.Item, o []int64) { kinds(it, less{}, o) },
		func(s *linalg.Session, o []int64) error { return launchKinds(s, one, less{}, o) })
	check("kinds more", one, numbers, func(it gpu.Item, o []int64) { kinds(it, more{}, o) },
		func(s *linalg.Session, o []int64) error { return launchKinds(s, one, more{}, o) })
	check("convert", one, func() []int { return []int{3} }, convert[int],
		func(s *linalg.Session, o []int) error { return launchConvert[int](s, one, o) })
	check("div", one, func() []i32 { return []i32{3} }, div[i32],
		func(s *linalg.Session, o []i32) error { return launchDiv[i32](s, one, o) })
	type rangeArgs struct {
		out   []int64
		boxes []box
	}
	check("ranges", one, func() rangeArgs {
		b := box{list: [4]int32{1, 2, 3, 4}, deep: [2][3]int32{{5, 6, 7}, {8, 9, 10}}}
		return rangeArgs{numbers(), []box{b, b}}
	}, func(it gpu.Item, a rangeArgs) { ranges(it, a.out, a.boxes) },
		func(s *linalg.Session, a rangeArgs) error { return launchRanges(s, one, a.out, a.boxes) })
	check("constants", one, func() []float64 { return slices.Repeat([]float64{math.NaN()}, 16) }, constants,
		func(s *linalg.Session, o []float64) error { return launchConstants(s, one, o) })
	for n := range 5 {
		grid := backend.Grid1(2, 8)
		check(fmt.Sprint("parting ", n), grid, func() []int64 { return make([]int64, 16) },
			func(it gpu.Item, out []int64) { parting(it, out, n) },
			func(s *linalg.Session, out []int64) error { return launchParting(s, grid, out, n) })
	}
	for _, grid := range []backend.Grid{
		backend.Grid1(1, 1), backend.Grid1(4, 3), backend.Grid1(6, 8), backend.Grid1(4, 32),
	} {
		for name, k := range map[string]struct {
			plain  func(gpu.Item, []int64, int)
			launch func(*linalg.Session, backend.Grid, []int64, int) error
		}{
			"chains": {chains, launchChains[[]int64]},
			"shares": {shares, launchShares[[]int64]},
			"fills":  {fills, launchFills[[]int64]},
		} {
			check(fmt.Sprint(name, grid), grid, func() []int64 { return make([]int64, 1000) },
				func(it gpu.Item, out []int64) { k.plain(it, out, 999) },
				func(s *linalg.Session, out []int64) error { return k.launch(s, grid, out, 999) })
		}
	}
	pair := backend.Grid2(2, 1, 8, 4)
	check("folds", pair, func() []int64 { return make([]int64, 64) },
		func(it gpu.Item, out []int64) { folds(it, out, 45) },
		func(s *linalg.Session, out []int64) error { return launchFolds(s, pair, out, 45) })
	tiles := backend.Grid2(2, 2, 8, 4)
	x := make([]int32, 40)
	for i := range x {
		x[i] = int32(i * 29 % 41)
	}
	for _, n := range []int{0, 1, 7, 8, 19, 37, -5, math.MinInt64 + 20} {
		for _, low := range []int{3, -9, 6} {
			check(fmt.Sprint("paces ", n, low), tiles, func() []int64 { return make([]int64, 512) },
				func(it gpu.Item, out []int64) { paces(it, out, x, n, low) },
				func(s *linalg.Session, out []int64) error { return launchPaces(s, tiles, out, x, n, low) })
		}
	}
	for n := range 6 {
		grid, b := backend.Grid1(2, 8), box{k: 2, list: [4]int32{2, 1, 2, 3}}
		for name, k := range map[string]struct {
			plain  func(gpu.Item, []int64, box, int)
			launch func(*linalg.Session, backend.Grid, []int64, box, int) error
		}{
			"conditions": {conditions, launchConditions[[]int64]},
			"loops":      {loops, launchLoops[[]int64]},
			"switches":   {switches, launchSwitches[[]int64]},
			"fields":     {fields, launchFields[[]int64]},
		} {
			check(fmt.Sprint(name, n), grid, func() []int64 { return make([]int64, 16) },
				func(it gpu.Item, out []int64) { k.plain(it, out, b, n) },
				func(s *linalg.Session, out []int64) error { return k.launch(s, grid, out, b, n) })
		}
	}
	for _, m := range []linalg.Matrix[int32]{
		{Cols: 3, Stride: 4}, {Rows: 3, Stride: 4}, {Rows: 3, Cols: 2, Stride: 4, Data: x}, {Rows: 1, Cols: 3, Stride: 9, Data: x},
	} {
		n := 0
		if m.Rows > 0 && m.Cols > 0 {
			n = (m.Rows-1)*m.Stride + m.Cols
		}
		check(fmt.Sprint("lengths ", m.Rows, m.Cols), one, numbers, func(it gpu.Item, out []int64) {
			lengths(it, out, gpu.Matrix[int32]{Data: x[:n], Rows: m.Rows, Cols: m.Cols, Stride: m.Stride})
		}, func(s *linalg.Session, out []int64) error { return launchLengths(s, one, out, m) })
	}
	if os.Getenv("CHECKED") == "" { // which fails for a division by 0
		divide[int8]()
		divide[int16]()
		divide[int32]()
		divide[int64]()
		divide[int]()
		divide[uint8]()
		divide[uint16]()
		divide[uint32]()
		divide[uint64]()
		divide[uint]()
		divideMap[int32]()
		divideMap[uint8]()
	}
	fmt.Println("done")
}

// parts is a/b and a%b, 0 where b is.
func parts[T gpu.Integer](a, b T) (quotient, rest T) {
	if b == 0 {
		return 0, 0
	}
	return a / b, a % b
}

// dividends has some zeros.
func dividends[T gpu.Integer]() (x []T) {
	for i := range 20 {
		x = append(x, T(i*i%7*i-20)*T(i*i%3))
	}
	return x
}

func divide[T int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint]() {
	x, grid := dividends[T](), backend.Grid1(2, 16)
	check(fmt.Sprintf("zeros %T", x[0]), grid, func() []T { return make([]T, 101) }, func(it gpu.Item, out []T) {
		if i := it.Global(0); i < len(x) {
			b := x[(i+1)%len(x)]
			out[i], out[20+i] = parts(x[i], b)
			for j := range 3 {
				if b < T(j) {
					q, _ := parts(9, b)
					_, r := parts(T(j), b)
					out[80+i] += q + r
				}
			}
		}
	}, func(s *linalg.Session, out []T) error { return launchZeros[T](s, grid, out, x, 0) })
}

func divideMap[T int32 | uint8]() {
	x := dividends[T]()
	y := slices.Concat(x[3:], x[:3])
	check(fmt.Sprintf("over %T", x[0]), one, func() []T { return make([]T, 20) }, func(_ gpu.Item, out []T) {
		for i, a := range x {
			q, _ := parts(a, y[i])
			_, r := parts(y[i], a-y[i])
			out[i] = q + r
		}
	}, func(s *linalg.Session, out []T) error { return launchOver[T](s, out, x, y) })
}
