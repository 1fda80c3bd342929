package gpu_test

import (
	"fmt"
	"log"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

// A kernel is plain Go: Run calls it without a device, as a test or a debugger wants it.
func ExampleRun() {
	saxpy := func(it gpu.Item, a float32, x, y []float32) {
		for i := it.Global(0); i < len(x); i += it.GlobalSize(0) {
			y[i] = gpu.FMA(a, x[i], y[i])
		}
	}
	x, y := []float32{1, 2, 3}, []float32{10, 20, 30}
	err := gpu.Run(backend.Grid1(1, 4), func(it gpu.Item) { saxpy(it, 2, x, y) })
	fmt.Println(y, err)
	// Output: [12 24 36] <nil>
}

// The work-items of a group add up numbers in memory that they share.
func ExampleLocal() {
	sum := func(it gpu.Item, x, sums []int32) {
		t := gpu.Local[[4]int32](it)
		me := it.Local(0)
		t[me] = x[it.Global(0)]
		it.Barrier() // all have written
		for half := 2; half > 0; half /= 2 {
			if me < half {
				t[me] += t[me+half]
			}
			it.Barrier()
		}
		if me == 0 {
			sums[it.Group(0)] = t[0]
		}
	}
	x, sums := []int32{1, 2, 3, 4, 10, 20, 30, 40}, make([]int32, 2)
	if err := gpu.Run(backend.Grid1(2, 4), func(it gpu.Item) { sum(it, x, sums) }); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sums)
	// Output: [10 100]
}

// Counts are the same in whatever order the work-items come.
func ExampleAtomicAdd() {
	x, count := []int{0, 1, 1, 2, 1, 0}, make([]int32, 3)
	err := gpu.Run(backend.Grid1(2, 3), func(it gpu.Item) { gpu.AtomicAdd(&count[x[it.Global(0)]], 1) })
	fmt.Println(count, err)
	// Output: [2 3 1] <nil>
}
