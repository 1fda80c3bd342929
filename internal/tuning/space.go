package tuning

import (
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
)

// A search for fast parameters starts at seeds, the likeliest first, and goes on to the neighbours
// of the best so far.

// MatMulSeeds lists parameters of [kernels.MatMul] from which a search for the fastest ones starts,
// on the device of info for products of n by n by n: what [ChooseMatMul] chooses, then all other
// tuned ones of the shape that suits the device, but for thin products.
func MatMulSeeds(info *backend.Info, t element.Type, n int) []kernels.MatMulParams {
	return seeds(ChooseMatMul(info, t, n, n, n), builtin.MatMul, &choiceOf(info, t).matmul, info, t)
}

// TransposeSeeds is [MatMulSeeds] for [kernels.Transpose] of n by n.
func TransposeSeeds(info *backend.Info, t element.Type, n int) []kernels.TransposeParams {
	return seeds(ChooseTranspose(info, t, n, n), builtin.Transpose, &choiceOf(info, t).transpose, info, t)
}

func seeds[P params](chosen P, rules []rule[P], o *offer[P], info *backend.Info, t element.Type) []P {
	suit := slices.DeleteFunc(slices.Clone(rules),
		func(r rule[P]) bool { return r.Thin != "" || r.Kind != kind(info) })
	return distinct(slices.Concat([]P{chosen}, ruled(suit, info, t), o.all()))
}

// MatMulNeighbours lists the parameters that are one step away from p, are valid for t and fit the
// device of info. A step changes one parameter, or on GPUs, where a tile and its blocks decide the
// size of a group together, two.
func MatMulNeighbours(info *backend.Info, t element.Type, p kernels.MatMulParams) []kernels.MatMulParams {
	steps := gpuSteps()
	if p.CPU {
		steps = cpuSteps()
	}
	return neighbours(p, steps, info, t)
}

// TransposeNeighbours is [MatMulNeighbours] for transposes.
func TransposeNeighbours(info *backend.Info, t element.Type, p kernels.TransposeParams) []kernels.TransposeParams {
	double, halve := func(v *int) { *v *= 2 }, func(v *int) { *v /= 2 }
	other := func(q *kernels.TransposeParams) *int { return &q.Step }
	if p.CPU {
		other = func(q *kernels.TransposeParams) *int { return &q.Rows }
	}
	steps := []func(*kernels.TransposeParams){}
	for _, change := range []func(*int){double, halve} {
		steps = append(steps, func(q *kernels.TransposeParams) { change(&q.Tile) },
			func(q *kernels.TransposeParams) { change(other(q)) })
	}
	steps = append(steps, func(q *kernels.TransposeParams) { double(&q.Tile); halve(other(q)) },
		func(q *kernels.TransposeParams) { halve(&q.Tile); double(other(q)) })
	return neighbours(p, steps, info, t)
}

func neighbours[P params](p P, steps []func(*P), info *backend.Info, t element.Type) (list []P) {
	for _, step := range steps {
		q := p
		if step(&q); q != p && q.Runs(info, t) && !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// cpuSteps are the steps in the shape for CPUs. The rows of a block change one or two at a
// time, as registers are few; those of the tile stay about as many.
func cpuSteps() (steps []func(*kernels.MatMulParams)) {
	for _, field := range []func(*kernels.MatMulParams) *int{
		func(q *kernels.MatMulParams) *int { return &q.BM },
		func(q *kernels.MatMulParams) *int { return &q.BN },
		func(q *kernels.MatMulParams) *int { return &q.BK },
		func(q *kernels.MatMulParams) *int { return &q.KU },
	} {
		steps = append(steps, func(q *kernels.MatMulParams) { *field(q) *= 2 },
			func(q *kernels.MatMulParams) { *field(q) /= 2 })
	}
	for _, rows := range []int{-2, -1, 1, 2} {
		steps = append(steps, func(q *kernels.MatMulParams) { q.TM += rows; q.BM = multiple(q.BM, q.TM) })
	}
	for _, vectors := range []int{-1, 1} {
		steps = append(steps, func(q *kernels.MatMulParams) { q.TN += vectors * q.VW; q.BN = multiple(q.BN, q.TN) })
	}
	return append(steps,
		func(q *kernels.MatMulParams) { q.VW *= 2; q.TN = multiple(q.TN, q.VW); q.BN = multiple(q.BN, q.TN) },
		func(q *kernels.MatMulParams) { q.VW /= 2 })
}

// multiple is the multiple of unit that is nearest to n, and not 0.
func multiple(n, unit int) int {
	if unit < 1 {
		return n // not valid, which is found out later
	}
	return max(1, (n+unit/2)/unit) * unit
}

// gpuSteps are the steps in the shape for GPUs: each of the tile's sides and the block's is halved
// or doubled, alone or with another one, and the depth and the unrolling alone.
func gpuSteps() (steps []func(*kernels.MatMulParams)) {
	fields := []func(*kernels.MatMulParams) *int{
		func(q *kernels.MatMulParams) *int { return &q.BM },
		func(q *kernels.MatMulParams) *int { return &q.BN },
		func(q *kernels.MatMulParams) *int { return &q.TM },
		func(q *kernels.MatMulParams) *int { return &q.TN },
		func(q *kernels.MatMulParams) *int { return &q.BK },
		func(q *kernels.MatMulParams) *int { return &q.KU },
	}
	const sides = 4
	changes := []func(*int){func(v *int) { *v *= 2 }, func(v *int) { *v /= 2 }}
	for i, field := range fields {
		for _, change := range changes {
			steps = append(steps, func(q *kernels.MatMulParams) { change(field(q)) })
			for j := i + 1; j < sides; j++ {
				for _, other := range changes {
					steps = append(steps, func(q *kernels.MatMulParams) { change(field(q)); other(fields[j](q)) })
				}
			}
		}
	}
	return steps
}
