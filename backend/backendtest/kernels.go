package backendtest

import (
	_ "embed" // the kernels' text and PTX

	"github.com/tandem-gpu/tandem/backend"
)

var (
	//go:embed kernels.cl
	kernelsText string
	//go:embed float64.cl
	float64Text string
)

//go:generate go run ./internal/ptxgen

// The PTX of all kernels of a text, so that a driver without a compiler can run the suite.
var (
	//go:embed ptx/kernels.ptx
	kernelsPTX []byte
	//go:embed ptx/kernels_step3.ptx
	triplePTX []byte
	//go:embed ptx/float64.ptx
	float64PTX []byte
)

// source is an entry point of kernels.cl with its Go implementation.
func source(name string, f backend.GoKernel) *backend.Source {
	return &backend.Source{Name: name, File: "kernels.cl", Text: kernelsText, PTX: kernelsPTX, Go: f}
}

// source64 is an entry point of float64.cl.
func source64(name string, f backend.GoKernel) *backend.Source {
	return &backend.Source{Name: name, File: "float64.cl", Text: float64Text, PTX: float64PTX, Go: f}
}

var (
	idsSource     = source("ids", idsGo)
	affineSource  = source("affine", affineGo(1))
	chainSource   = source("chain", chainGo)
	wordsSource   = source("words", wordsGo)
	typedSource   = source("typed", typedGo)
	reverseSource = source("reverse", reverseGo)
	reduceSource  = source("reduce", reduceGo)
	doublesSource = source64("doubles", doublesGo)
)

// tripleSource is the affine kernel with STEP = 3.
func tripleSource() *backend.Source {
	s := source("affine", affineGo(3))
	s.Macros, s.PTX = map[string]string{"STEP": "3"}, triplePTX
	return s
}

func idsGo(g backend.Grid, lo, hi int, args []backend.Arg) error {
	out := backend.Mem[int32](args[0])
	for i := lo; i < hi; i++ {
		var group, local, global [3]int
		group[0], group[1], group[2] = g.Group(i)
		for l := range g.Items() {
			local[0], local[1], local[2] = l%g.Local[0], l/g.Local[0]%g.Local[1], l/g.Local[0]/g.Local[1]
			for d := range 3 {
				global[d] = group[d]*g.Local[d] + local[d]
			}
			p := out[16*flatID(g, global):]
			for d := range 3 {
				p[d], p[3+d], p[6+d] = int32(group[d]), int32(local[d]), int32(global[d])
				p[9+d], p[12+d] = int32(g.Groups[d]), int32(g.Local[d])
			}
			p[15]++
		}
	}
	return nil
}

// flatID numbers the work-items of g with x fastest.
func flatID(g backend.Grid, global [3]int) int {
	return (global[2]*g.Groups[1]*g.Local[1]+global[1])*g.Groups[0]*g.Local[0] + global[0]
}

func affineGo(step int32) backend.GoKernel {
	return func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		dst, src := backend.Mem[int32](args[0]), backend.Mem[int32](args[1])
		a, n := args[2].Int32(), int(args[3].Int32())
		stride := g.Count() * g.Items()
		for first := lo * g.Items(); first < hi*g.Items(); first++ {
			for i := first; i < n; i += stride {
				dst[i] = step*src[i] + a
			}
		}
		return nil
	}
}

func chainGo(_ backend.Grid, lo, _ int, args []backend.Arg) error {
	if lo == 0 {
		p := backend.Mem[uint32](args[0])
		p[0] = chain(p[0], args[1].Uint32())
	}
	return nil
}

// chain is what the kernel of that name computes.
func chain(x, rounds uint32) uint32 {
	for range rounds {
		x = x*1664525 + 1013904223
	}
	return x
}

// slow is a number of rounds that keeps a device busy for about a millisecond.
const slow = 300_000

func typedGo(_ backend.Grid, lo, _ int, args []backend.Arg) error {
	if lo == 0 {
		backend.Mem[int32](args[0])[0]++
	}
	return nil
}

func wordsGo(_ backend.Grid, lo, _ int, args []backend.Arg) error {
	if lo == 0 {
		out, b, e := backend.Mem[uint32](args[0]), args[2].Uint64(), args[5].Uint64()
		copy(out, []uint32{
			args[1].Uint32(), uint32(b), uint32(b >> 32), args[3].Uint32(), args[4].Uint32(), uint32(e),
			uint32(e >> 32), args[6].Uint32(),
		})
	}
	return nil
}

func doublesGo(_ backend.Grid, lo, _ int, args []backend.Arg) error {
	if out := backend.Mem[uint64](args[0]); lo == 0 && args[2].Int32() == 7 {
		out[0], out[1] = args[1].Uint64(), args[3].Uint64()
	}
	return nil
}

func reverseGo(_ backend.Grid, lo, hi int, args []backend.Arg) error {
	out, in := backend.Mem[int32](args[0]), backend.Mem[int32](args[1])
	for g := lo; g < hi; g++ {
		for l := range 64 {
			out[64*g+l] = in[64*g+63-l]
		}
	}
	return nil
}

func reduceGo(_ backend.Grid, lo, hi int, args []backend.Arg) error {
	out, in := backend.Mem[uint32](args[0]), backend.Mem[uint32](args[1])
	for g := lo; g < hi; g++ {
		out[g] = 0
		for _, x := range in[64*g : 64*g+64] {
			out[g] += x
		}
	}
	return nil
}

// affine launches the affine kernel on q: dst = src + a for n elements.
func (e *env) affine(q *backend.Queue, k *backend.Kernel, dst, src *backend.Buffer, a int32, n int) error {
	return q.Launch(k, backend.Grid1(4, 16), backend.Buf(dst), backend.Buf(src),
		backend.Int32(a), backend.Int32(int32(n)))
}
