package bench

import (
	"time"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// experiments are what is measured in one element type.
type experiments struct {
	firstCalls, smallCalls, probe func(r *runner) error
	products, batches             func(r *runner, d shape) error
	transposes, elementwise       func(r *runner, n int) error
	scaling                       func(r *runner, sizes []int) error
	tuneTranspose, tuneMatMul     func(r *tuneRun, n int, until time.Time) error
	tuneCrossover                 func(r *tuneRun, until time.Time) error
	chains                        func() chains
}

func experimentsOf[T linalg.Element]() experiments {
	return experiments{
		firstCalls: firstCalls[T], smallCalls: smallCalls[T], probe: probe[T], products: products[T],
		batches: batches[T], transposes: transposes[T], elementwise: elementwise[T],
		scaling: scalingOf[T], tuneTranspose: tuneTranspose[T], tuneMatMul: tuneMatMul[T],
		tuneCrossover: tuneCrossover[T], chains: chainsOf[T],
	}
}

// in chooses the experiments of a type.
func in(t element.Type) experiments {
	return element.ByType(t, experimentsOf[float32], experimentsOf[float64], experimentsOf[int32])()
}

// functionsIn is the functions of a type of floats.
func functionsIn(t element.Type) func(r *runner, group string) []build {
	return element.ByType(t, functionsOf[float32], functionsOf[float64], nil)
}
