// Command program has a kernel that a test of "tandem run" runs, from package main.
package main

import (
	"os"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

// twice makes out twice in. Groups of 4 go through local memory.
//
//tandem:kernel
//tandem:group 4
func twice(it gpu.Item, in, out []float32) {
	tile := gpu.Local[[4]float32](it)
	i := it.Global(0)
	tile[it.Local(0)] = in[i]
	it.Barrier()
	out[i] = 2 * tile[it.Local(0)]
}

func main() {
	if launchTwice(nil, backend.Grid{}, []float32{}, []float32{}) != nil { // which is yet to be generated
		os.Exit(1)
	}
}
