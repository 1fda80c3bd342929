package main

import (
	_ "embed"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

//go:embed kernels.cl
var text string

// The two kernels of kernels.cl. A GPU, or any OpenCL device, compiles the text; the cpu device
// runs the function in Go. Without the function, Compile fails there and says so; nothing else
// changes.
var (
	saxpy  = &backend.Source{Name: "saxpy", File: "kernels.cl", Text: text, Go: saxpyGo}
	jacobi = &backend.Source{Name: "jacobi", File: "kernels.cl", Text: text, Go: jacobiGo}
)

// saxpyGo runs the work-items of the groups lo to hi-1, as the kernel does. gpu.FMA rounds once,
// as the kernel's fma.
func saxpyGo(g backend.Grid, lo, hi int, args []backend.Arg) error {
	n, a := int(args[0].Int32()), args[1].Float32()
	x, y := backend.Mem[float32](args[2]), backend.Mem[float32](args[3])
	step, _, _ := g.Size()
	g.Each(lo, hi, func(first, _, _ int) {
		for i := first; i < n; i += step {
			y[i] = gpu.FMA(a, x[i], y[i])
		}
	})
	return nil
}

// jacobiGo computes the points of the groups lo to hi-1.
func jacobiGo(g backend.Grid, lo, hi int, args []backend.Arg) error {
	rows, cols := int(args[0].Int32()), int(args[1].Int32())
	in, out := backend.Mem[float32](args[2]), backend.Mem[float32](args[3])
	for group := lo; group < hi; group++ {
		gx, gy, _ := g.Group(group)
		x, y := gx*g.Local[0], gy*g.Local[1]
		for i := max(y, 1); i < min(y+g.Local[1], rows-1); i++ {
			for j := max(x, 1); j < min(x+g.Local[0], cols-1); j++ {
				p := i*cols + j
				out[p] = 0.25 * ((in[p-cols] + in[p+cols]) + (in[p-1] + in[p+1]))
			}
		}
	}
	return nil
}
