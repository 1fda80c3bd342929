package ptxsim

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// The corpus is kernels of users, compiled by NVRTC (testdata/README.md says how). Each runs here,
// and its results are compared with the same computation in Go: bit for bit, but for functions like
// exp that CUDA's library builds on approximate instructions.

// A program is a loaded module under test.
type program struct {
	*testing.T
	dev *Device
	mod *Module
}

// output is an argument that the kernel only writes: device memory is not initialised.
type output struct{ slice any }

func load(t *testing.T, c Config, ptx []byte) *program {
	t.Helper()
	d := New(c)
	m, err := d.Load(ptx)
	if err != nil {
		t.Fatal(err)
	}
	return &program{t, d, m}
}

// try launches a kernel. Slices are copied to the device before and back after it; other arguments
// are passed as they are.
func (p *program) try(kernel string, grid, block [3]int, dynamic int, args ...any) error {
	p.Helper()
	f, err := p.mod.Function(kernel)
	if err != nil {
		p.Fatal(err)
	}
	if len(args) != len(f.Params) {
		p.Fatalf("%d arguments for %d parameters", len(args), len(f.Params))
	}
	params := make([]byte, f.ParamSize)
	for i, a := range args {
		if out, ok := a.(output); ok {
			addr, back := p.buffer(out.slice, false)
			defer back()
			a = addr
		} else if isSlice(a) {
			addr, back := p.buffer(a, true)
			defer back()
			a = addr
		}
		if _, err := binary.Encode(params[f.Params[i].Offset:][:f.Params[i].Size], binary.LittleEndian, a); err != nil {
			p.Fatalf("argument %d: %v", i, err)
		}
	}
	return p.dev.Launch(f, grid, block, dynamic, params)
}

// buffer allocates device memory of the size of a slice, and copies the slice there if it is to be
// read. back copies it back and frees the memory.
func (p *program) buffer(slice any, read bool) (addr uint64, back func()) {
	p.Helper()
	must := func(err error) {
		p.Helper()
		if err != nil {
			p.Fatal(err)
		}
	}
	mem, err := binary.Append(nil, binary.LittleEndian, slice)
	must(err)
	addr, err = p.dev.Alloc(uint64(len(mem)))
	must(err)
	if read {
		must(p.dev.Write(addr, mem))
	}
	return addr, func() {
		p.Helper()
		must(p.dev.Read(mem, addr))
		_, err := binary.Decode(mem, binary.LittleEndian, slice)
		must(err)
		must(p.dev.Free(addr))
	}
}

func isSlice(a any) bool { return reflect.TypeOf(a).Kind() == reflect.Slice }

func (p *program) launch(kernel string, grid, block [3]int, args ...any) {
	p.Helper()
	if err := p.try(kernel, grid, block, 0, args...); err != nil {
		p.Fatal(err)
	}
}

// same compares bit for bit, with every NaN alike.
func same[T comparable](t *program, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) || sign(got[i]) != sign(want[i]) {
			t.Fatalf("%s[%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

// sign tells the zeros apart.
func sign(x any) bool {
	switch x := x.(type) {
	case float32:
		return x == 0 && math.Signbit(float64(x))
	case float64:
		return x == 0 && math.Signbit(x)
	}
	return false
}

// near compares with a relative tolerance, for what is built on approximate instructions.
func near(t *program, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(math.Abs(want), 1e-30)) && got != want {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

func random() *rand.Rand { return rand.New(rand.NewPCG(5, 6)) }

// floats is n numbers between -1 and 1.
func floats[F float32 | float64](n int) []F {
	rng := random()
	x := make([]F, n)
	for i := range x {
		x[i] = F(2*rng.Float64() - 1)
	}
	return x
}

// ints is n numbers from 0 to limit-1.
func ints[I int8 | uint8 | int16 | uint16 | int32 | uint32 | uint64](n int, limit uint64) []I {
	rng := random()
	x := make([]I, n)
	for i := range x {
		x[i] = I(rng.Uint64N(limit))
	}
	return x
}

func x1(n int) [3]int { return [3]int{n, 1, 1} }

// prefill is a slice full of garbage, for outputs.
func prefill[T any](n int, v T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = v
	}
	return x
}

var corpus = map[string]func(*program){
	"reduce": testReduce, "dot": testDot, "stencil2d": testStencil2D, "stencil3d": testStencil3D,
	"histogram": testHistogram, "scan": testScan,
	"softmax": testSoftmax, "bitonic": testBitonic, "nbody": testNbody, "life": testLife, "mandelbrot": testMandelbrot,
	"matvec": testMatvec,
	"int64":  testInt64, "mathd": testMathD, "mathf": testMathF, "machine": testMachine, "median": testMedian,
	"particles": testParticles,
	"crc32":     testCRC32, "bits": testBits, "gcd": testGCD, "collatz": testCollatz, "convert": testConvert,
	"atomics":   testAtomics,
	"transpose": testTranspose, "horner": testHorner, "distance": testDistance, "montecarlo": testMonteCarlo,
	"sha256": testSHA256,
	"small":  testSmall, "nearest": testNearest, "convolve": testConvolve, "lastblock": testLastBlock, "warp": testWarp,
	"dynamic": testDynamic,
}

func TestCorpus(t *testing.T) {
	for name, test := range corpus {
		for _, arch := range []string{"sm75", "sm120"} {
			t.Run(name+"/"+arch, func(t *testing.T) {
				test(load(t, Config{Arch: 120, Workers: 4}, readPTX(t, "testdata/corpus/"+name+"."+arch+".ptx.gz")))
			})
		}
	}
}

// pack lays parameters out one behind the other, each at a multiple of its size.
func pack(args ...any) (p []byte) {
	for _, a := range args {
		for len(p)%binary.Size(a) != 0 {
			p = append(p, 0)
		}
		p, _ = binary.Append(p, binary.LittleEndian, a)
	}
	return p
}
