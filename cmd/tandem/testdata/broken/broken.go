// Package broken has a kernel that does not compile.
package broken

import "github.com/tandem-gpu/tandem/gpu"

//tandem:kernel
func broken(it gpu.Item, x []float32) {
	m := map[int]float32{}
	x[it.Global(0)] = m[0]
}
