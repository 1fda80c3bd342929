package compiler

import (
	"errors"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
)

// Kernels that Intel's compiler for processors has had wrong, which make intel runs there: a
// condition on what was negated before a barrier, and the sum of a row of a sparse matrix.
func TestTraps(t *testing.T) {
	dir := newModule(t, map[string]string{"main.go": `package main

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

//tandem:kernel float32 float64
func behind[T gpu.Float](it gpu.Item, out, f []T, n int) {
	i := it.Global(0)
	v, w := -f[i] < T(n), -(f[i] + 1)
	u, q := -1*f[i] < T(n), f[i]/-1 < T(n)
	it.Barrier()
	if v {
		out[i] = 1
	}
	if u {
		out[i] += 4
	}
	if q {
		out[i] += 8
	}
	if w > T(n) {
		out[i] += 2
	}
}

//tandem:kernel float32 float64
func rows[T gpu.Float](it gpu.Item, out, x []T, ptr, col []int32) {
	i := it.Global(0)
	if i >= len(out) {
		return
	}
	var s T
	for j := ptr[i]; j < ptr[i+1]; j++ {
		s += x[j] * x[col[j]]
	}
	out[i] = s
}

func check[T float32 | float64](s *linalg.Session) {
	const n = 256
	x, ptr, col := make([]T, 32*n), make([]int32, n+1), make([]int32, 32*n)
	for i := range x {
		x[i] = T(i*7919%1001) / 7 - 70
		col[i] = int32(i * 31 % len(x))
	}
	for i := range n {
		ptr[i+1] = ptr[i] + int32(i*13%32)
	}
	grid := backend.Grid1(n/32, 32)
	want, got := make([]T, n), make([]T, n)
	gpu.Run(grid, func(it gpu.Item) { behind(it, want, x, 3) })
	fmt.Println(launchBehind[T](s, grid, got, x, 3), fmt.Sprint(got) == fmt.Sprint(want))
	gpu.Run(grid, func(it gpu.Item) { rows(it, want, x, ptr, col) })
	fmt.Println(launchRows[T](s, grid, got, x, ptr, col), fmt.Sprint(got) == fmt.Sprint(want))
}

func main() {
	s, err := linalg.Open("opencl")
	if err != nil {
		fmt.Println("no device:", err)
		return
	}
	check[float32](s)
	check[float64](s)
}
`})
	if err := Write(dir, Options{NoPTX: true, NoNative: true}); err != nil {
		t.Fatal(err)
	}
	out, err := goTool(t, dir, "run", ".")
	if strings.Contains(out, "no device") {
		backendtest.Require(t, "opencl", errors.New(out))
	}
	if err != nil || out != strings.Repeat("<nil> true\n", 4) {
		t.Errorf("%v\n%s", err, out)
	}
}
