package kernels

import (
	"slices"

	"github.com/tandem-gpu/tandem/backend"
)

// A search for fast parameters starts at seeds, the likeliest first, and goes on to the neighbours of the best so far.

// MatMulSeeds lists parameters of [MatMul] from which a search for the fastest ones starts, on the device of info for products of n by n by n: what [ChooseMatMul] chooses,
// then all other tuned ones of the shape that suits the device.
func MatMulSeeds(info *backend.Info, t Type, n int) []MatMulParams {
	return seeds(ChooseMatMul(info, t, n, n, n), TunedMatMul(info, t), func(p MatMulParams) bool { return p.CPU != info.GPU })
}

// TransposeSeeds is [MatMulSeeds] for [Transpose] of n by n.
func TransposeSeeds(info *backend.Info, t Type, n int) []TransposeParams {
	return seeds(ChooseTranspose(info, t, n, n), TunedTranspose(info, t), func(p TransposeParams) bool { return p.CPU != info.GPU })
}

func seeds[P comparable](chosen P, tuned []P, suits func(P) bool) []P {
	list := []P{chosen}
	for _, p := range tuned {
		if suits(p) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// MatMulNeighbours lists the parameters that are one step away from p, are valid for t and fit the device of info. A step changes one parameter, or
// on GPUs, where a tile and its blocks decide the size of a group together, two.
func MatMulNeighbours(info *backend.Info, t Type, p MatMulParams) []MatMulParams {
	steps := gpuSteps()
	if p.CPU {
		steps = cpuSteps(p)
	}
	return neighbours(p, steps, func(q MatMulParams) bool { return q.runs(info, t) })
}

// TransposeNeighbours is [MatMulNeighbours] for transposes.
func TransposeNeighbours(info *backend.Info, t Type, p TransposeParams) []TransposeParams {
	double, halve := func(v *int) { *v *= 2 }, func(v *int) { *v /= 2 }
	other := func(q *TransposeParams) *int { return &q.Step }
	if p.CPU {
		other = func(q *TransposeParams) *int { return &q.Rows }
	}
	steps := []func(*TransposeParams){}
	for _, change := range []func(*int){double, halve} {
		steps = append(steps, func(q *TransposeParams) { change(&q.Tile) }, func(q *TransposeParams) { change(other(q)) })
	}
	steps = append(steps, func(q *TransposeParams) { double(&q.Tile); halve(other(q)) }, func(q *TransposeParams) { halve(&q.Tile); double(other(q)) })
	return neighbours(p, steps, func(q TransposeParams) bool { return q.runs(info, t) })
}

func neighbours[P comparable](p P, steps []func(*P), fit func(P) bool) (list []P) {
	for _, step := range steps {
		q := p
		if step(&q); q != p && fit(q) && !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// cpuSteps are the steps from p in the shape for CPUs. The rows of a block change one or two at a time, as registers are few; those of the tile stay about as many.
func cpuSteps(p MatMulParams) (steps []func(*MatMulParams)) {
	for _, field := range []func(*MatMulParams) *int{
		func(q *MatMulParams) *int { return &q.BM },
		func(q *MatMulParams) *int { return &q.BN },
		func(q *MatMulParams) *int { return &q.BK },
		func(q *MatMulParams) *int { return &q.KU },
	} {
		steps = append(steps, func(q *MatMulParams) { *field(q) *= 2 }, func(q *MatMulParams) { *field(q) /= 2 })
	}
	for _, rows := range []int{-2, -1, 1, 2} {
		steps = append(steps, func(q *MatMulParams) { q.TM += rows; q.BM = multiple(q.BM, q.TM) })
	}
	for _, vectors := range []int{-1, 1} {
		steps = append(steps, func(q *MatMulParams) { q.TN += vectors * q.VW; q.BN = multiple(q.BN, q.TN) })
	}
	return append(steps,
		func(q *MatMulParams) { q.VW *= 2; q.TN = multiple(q.TN, q.VW); q.BN = multiple(q.BN, q.TN) },
		func(q *MatMulParams) { q.VW /= 2 })
}

// multiple is the multiple of unit that is nearest to n, and not 0.
func multiple(n, unit int) int {
	if unit < 1 {
		return n // not valid, which is found out later
	}
	return max(1, (n+unit/2)/unit) * unit
}

// gpuSteps are the steps in the shape for GPUs: each of the tile's sides and the block's is halved or doubled, alone or with another one, and the depth and
// the unrolling alone.
func gpuSteps() (steps []func(*MatMulParams)) {
	fields := []func(*MatMulParams) *int{
		func(q *MatMulParams) *int { return &q.BM },
		func(q *MatMulParams) *int { return &q.BN },
		func(q *MatMulParams) *int { return &q.TM },
		func(q *MatMulParams) *int { return &q.TN },
		func(q *MatMulParams) *int { return &q.BK },
		func(q *MatMulParams) *int { return &q.KU },
	}
	const sides = 4
	changes := []func(*int){func(v *int) { *v *= 2 }, func(v *int) { *v /= 2 }}
	for i, field := range fields {
		for _, change := range changes {
			steps = append(steps, func(q *MatMulParams) { change(field(q)) })
			for j := i + 1; j < sides; j++ {
				for _, other := range changes {
					steps = append(steps, func(q *MatMulParams) { change(field(q)); other(fields[j](q)) })
				}
			}
		}
	}
	return steps
}
