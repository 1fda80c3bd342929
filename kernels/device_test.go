package kernels_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	_ "github.com/tandem-gpu/tandem/backend/cuda"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	_ "github.com/tandem-gpu/tandem/backend/opencl"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// onDevices runs f on every device of every driver. Where a driver has none the test is skipped, or
// fails if TANDEM_REQUIRE asks for it.
func onDevices(t *testing.T, f func(t *testing.T, d *device)) {
	for _, name := range []string{"cpu", "cuda", "cudasim", "opencl"} {
		infos, err := backend.Lookup(name).Devices()
		if err != nil {
			t.Run(name, func(t *testing.T) { backendtest.Require(t, name, err) })
		}
		for i, info := range infos {
			t.Run(fmt.Sprintf("%s:%d", name, i), func(t *testing.T) {
				t.Log(info.Name)
				backendtest.Require(t, name, nil)
				// All calls of a test come from one thread: Oclgrind's check for uninitialized
				// values keeps its state by thread.
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				d, err := backend.Lookup(name).Open(i)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				q, err := d.NewQueue()
				if err != nil {
					t.Fatal(err)
				}
				f(t, &device{d, q, d.Info()})
			})
		}
	}
}

func required(name string) bool {
	return slices.Contains(strings.Split(os.Getenv("TANDEM_REQUIRE"), ","), name)
}

// runs tells whether the device takes a kernel. CUDA has no CPU shapes, and needs NVRTC for
// parameters that come without PTX.
func (d *device) runs(t *testing.T, s *backend.Source, cpuShape bool) bool {
	if d.info.Driver != "cuda" && d.info.Driver != "cudasim" {
		return true
	}
	if cpuShape || ptxOf(t, s) != nil {
		return !cpuShape
	}
	k, err := d.Compile(s)
	if errors.Is(err, backend.ErrUnsupported) && !required("nvrtc") {
		t.Logf("%s %v is left out: %v", s.Name, s.Defines(), err)
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	k.Release()
	return true
}

// A device is one to test on.
type device struct {
	*backend.Device
	queue *backend.Queue
	info  backend.Info
}

func (d *device) compile(t *testing.T, s *backend.Source) *backend.Kernel {
	t.Helper()
	k, err := d.Compile(backendtest.WithMFMA(s))
	if err != nil {
		t.Fatalf("%s with %v: %v", s.Name, s.Defines(), err)
	}
	return k
}

// A layout is how an operand lies in its buffer: at an offset, with pad elements between rows, all
// in elements.
type layout struct{ off, pad int }

// array is a matrix of rows by cols within data, which ends with its last element.
type array[T element.Element] struct {
	data                    []T
	rows, cols, off, stride int
}

// newArray fills the matrix and what surrounds it with values. Strides are pad elements longer than
// rows.
func newArray[T element.Element](rows, cols int, l layout, value func() T) array[T] {
	a := array[T]{rows: rows, cols: cols, off: l.off, stride: cols + l.pad}
	n := l.off
	if rows > 0 && cols > 0 {
		n += (rows-1)*a.stride + cols
	}
	a.data = make([]T, n)
	for i := range a.data {
		a.data[i] = value()
	}
	return a
}

// from is the elements from (0, 0) on, for package host.
func (a array[T]) from() []T { return a.data[a.off:] }

// upload copies an array to the device.
func upload[T element.Element](t *testing.T, d *device, a array[T]) kernels.Operand {
	t.Helper()
	buf, err := d.Alloc(int64(len(backend.Bytes(a.data))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { buf.Free() })
	o := kernels.Operand{Buffer: buf, Offset: int64(a.off), Stride: int64(a.stride)}
	refill(t, d, o, a)
	return o
}

// refill writes what upload of a has written once more.
func refill[T element.Element](t *testing.T, d *device, o kernels.Operand, a array[T]) {
	t.Helper()
	if err := d.queue.Write(o.Buffer, 0, backend.Bytes(a.data)); err != nil {
		t.Fatal(err)
	}
}

// launch runs k and compares all of output's buffer with want, which includes what lies around the
// matrix.
func launch[T element.Element](t *testing.T, d *device, name string, k *backend.Kernel, g backend.Grid,
	args []backend.Arg, output *backend.Buffer, want array[T],
) {
	t.Helper()
	name = fmt.Sprintf("%s %s %dx%d off %d stride %d, grid of %s", name, k.Name(), want.rows, want.cols, want.off,
		want.stride, g)
	if err := d.queue.Launch(k, g, args...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got := make([]T, len(want.data))
	if err := d.queue.Read(backend.Bytes(got), output, 0); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	bad := 0
	for i := range got {
		if bits(got[i]) == bits(want.data[i]) {
			continue
		}
		if bad++; bad == 1 {
			t.Errorf("%s: element %d of the buffer is %v (%#x), want %v (%#x)", name, i, got[i], bits(got[i]),
				want.data[i], bits(want.data[i]))
		}
	}
	if bad > 1 {
		t.Errorf("%s: %d of %d elements are wrong", name, bad, len(got))
	}
}

// bits is x as comparable bits, all NaN alike.
func bits[T element.Element](x T) uint64 {
	switch x := any(x).(type) {
	case float32:
		if x != x {
			return 1 << 63
		}
		return uint64(math.Float32bits(x))
	case float64:
		if x != x {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(x)
	}
	return uint64(uint32(any(x).(int32)))
}

// The kinds of values that operands are filled with.
const (
	plain   = iota // -1 to 1; small integers
	tiny           // products that underflow and subnormal numbers, with zeros of both signs
	special        // infinities, NaN, zeros and the largest numbers among plain ones; any int32
	kinds
)

// values makes random elements of a kind.
func values[T element.Element](rng *rand.Rand, kind int) func() T {
	smallest, halfway, largest := 0x1p-149, 0x1p-75, math.MaxFloat32
	if _, ok := any(T(0)).(float64); ok {
		smallest, halfway, largest = math.SmallestNonzeroFloat64, 0x1p-537, math.MaxFloat64
	}
	return func() T {
		if _, ok := any(T(0)).(int32); ok {
			if kind == plain {
				return T(rng.IntN(2001) - 1000)
			}
			return T(int32(rng.Uint32()))
		}
		v := 2*rng.Float64() - 1
		switch r := rng.IntN(32); {
		case kind == tiny && r < 8:
			v = [...]float64{0, math.Copysign(0, -1), smallest, -smallest, math.Copysign(0, -1), 3 * smallest, 1, -1}[r]
		case kind == tiny:
			v *= halfway
		case kind == special && r < 8 && rng.IntN(4) == 0:
			v = [...]float64{
				0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), largest, -largest,
				smallest,
			}[r]
		}
		return T(v)
	}
}

// productShapes are m, n, k: single elements, off every tile, on tiles, without products, long and
// narrow.
func (d *device) productShapes() [][3]int {
	if d.simulated() {
		return [][3]int{{5, 7, 23}, {32, 32, 16}, {33, 33, 12}, {3, 30, 0}, {0, 5, 3}}
	}
	s := [][3]int{{1, 1, 1}, {5, 7, 23}, {64, 64, 64}, {3, 300, 0}, {33, 17, 40}, {130, 70, 17}, {0, 5, 3}, {5, 0, 3}}
	if !testing.Short() {
		s = append(s, [3]int{128, 128, 128}, [3]int{127, 129, 257}, [3]int{1, 200, 300}, [3]int{200, 1, 300})
	}
	return s
}

// simulated tells whether the device is Oclgrind or the simulated GPU, which look for wrong
// accesses and data races and take thousands of times longer.
func (d *device) simulated() bool { return d.info.Platform == "Oclgrind" || d.info.Driver == "cudasim" }

// grids is the grids to run a kernel on, given the one that covers the shape exactly: that one, one
// too large, one with two groups, and one with a single group.
func (d *device) grids(g backend.Grid) []backend.Grid {
	more, two, one := g, g, g
	more.Groups[0] += 2
	more.Groups[1]++
	two.Groups = [3]int{1, 2, 1}
	one.Groups = [3]int{1, 1, 1}
	if d.simulated() {
		return []backend.Grid{more, two}
	}
	return []backend.Grid{g, more, two, one}
}

// skips tells whether a shape leaves out grid i: they take turns where a launch takes a second.
func (d *device) skips(i, shape int) bool { return d.info.Platform == "Oclgrind" && i != shape/2%2 }

// layouts is how A, B and C lie in their buffers.
func (d *device) layouts() [][3]layout {
	l := [][3]layout{
		{{0, 0}, {0, 0}, {0, 0}},
		{{1, 3}, {2, 1}, {5, 7}}, // off every vector's alignment
		{{8, 16}, {16, 8}, {4, 32}},
	}
	if d.simulated() {
		return l[1:]
	}
	return l
}

func TestProducts(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		testProducts[float32](t, d)
		testProducts[float64](t, d)
		if d.info.Platform != "Oclgrind" { // where it would access what float32 does
			testProducts[int32](t, d)
		}
	})
}

// variants is parameters of matmul that are run whatever the device would choose: both shapes, with
// tiles that small shapes pass several times.
func variants(t element.Type, info *backend.Info) []kernels.MatMulParams {
	v := 32 / t.Size()
	chosen := []kernels.MatMulParams{
		tuning.ChooseMatMul(info, t, 64, 64, 64),
		tuning.ChooseMatMul(info, t, 5, 3000, 3000),
		tuning.ChooseMatMul(info, t, 3000, 3, 3000),
	}
	if !testing.Short() {
		chosen = append(chosen, tuning.ChooseMatMul(info, t, 5000, 5000, 5000))
	}
	all := append([]kernels.MatMulParams{
		{BM: 32, BN: 32, BK: 8, TM: 4, TN: 4, KU: 4},
		{BM: 16, BN: 4, BK: 16, TM: 1, TN: 2, KU: 8, Items: 32},
		{BM: 4, BN: 16, BK: 16, TM: 2, TN: 2, KU: 16, Items: 64},
		{CPU: true, BM: 12, BN: 4 * v, BK: 16, TM: 6, TN: 2 * v, KU: 2, VW: v},
		{CPU: true, BM: 4, BN: 4, BK: 5, TM: 2, TN: 2, KU: 1, VW: 1},
		{BM: 32, BN: 16, BK: 16, TM: 2, TN: 2, KU: 8, Items: 128},
		{BM: 16, BN: 32, BK: 16, TM: 2, TN: 2, KU: 8, Items: 128},
	}, chosen...)
	// A processor's OpenCL compiler takes a second for a kernel: shapes for GPUs run there in
	// float32 alone, in all types on the simulated GPU.
	slow := info.Driver == "opencl" && !info.GPU && info.Platform != "Oclgrind" && t != element.Float32
	all = slices.DeleteFunc(all, func(p kernels.MatMulParams) bool {
		return !p.Fits(info, t) || slow && !p.CPU && !slices.Contains(chosen, p)
	})
	// What AMD's matrix instructions do is put in their place.
	if f32, f64 := "mfma_f32_16x16x4f32", "mfma_f64_16x16x4f64"; info.Driver == "opencl" {
		all = append(all, element.ByType(t,
			[]kernels.MatMulParams{{BM: 32, BN: 32, BK: 16, TM: 32, TN: 16, KU: 2, Unit: f32}},
			[]kernels.MatMulParams{{BM: 32, BN: 128, BK: 8, TM: 32, TN: 128, KU: 2, Unit: f64}}, nil)...)
	}
	return all
}

func testProducts[T element.Element](t *testing.T, d *device) {
	typ := element.TypeOf[T]()
	if !kernels.Supports(&d.info, typ) {
		t.Logf("the device does not keep the contract in %s", typ)
		return
	}
	naive, tiled := d.compile(t, kernels.MatMulNaive(typ)), d.compile(t, kernels.MatMulTiled(typ))
	fast := map[kernels.MatMulParams]*backend.Kernel{}
	list := variants(typ, &d.info)
	again := d.info.Platform == "Oclgrind" && typ != element.Float32 // accesses what float32 has accessed
	if again {
		seen := variants(element.Float32, &d.info)
		list = slices.DeleteFunc(list, func(p kernels.MatMulParams) bool { return slices.Contains(seen, p) })
	}
	for _, p := range list {
		// Oclgrind does not unroll what GPUs do, and takes minutes for large tiles and for long
		// loops: these are cudasim's to check.
		large := d.info.Platform == "Oclgrind" && !p.CPU && (p.BM*p.BN > 32*32 || p.KU > 16)
		if !large && d.runs(t, kernels.MatMul(typ, p), p.CPU) {
			fast[p] = d.compile(t, kernels.MatMul(typ, p))
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for nr, shape := range d.productShapes() {
		m, n, k := shape[0], shape[1], shape[2]
		for turn, l := range d.layouts() {
			if d.info.Platform == "Oclgrind" && turn != nr%2 {
				continue // one layout a shape
			}
			kind := turn % kinds
			a, b := newArray(m, k, l[0], values[T](rng, kind)), newArray(k, n, l[1], values[T](rng, kind))
			c := newArray(m, n, l[2], values[T](rng, plain))
			da, db, out := upload(t, d, a), upload(t, d, b), upload(t, d, c)
			name := fmt.Sprintf("k = %d, kind %d:", k, kind)

			start := newArray(m, n, l[2], values[T](rng, kind)) // of chains, with zeros of both signs
			want, continued := reference(1, a, b, 0, c), chains(a, b, start)
			for kernel, grid := range map[*backend.Kernel]backend.Grid{
				naive: kernels.NaiveGrid(m, n), tiled: kernels.TiledGrid(m, n),
			} {
				if again {
					continue
				}
				for i, g := range d.grids(grid) {
					if d.skips(i, nr) {
						continue
					}
					refill(t, d, out, c)
					launch(t, d, name, kernel, g, kernels.ProductArgs(nil, m, n, k, da, db, out), out.Buffer, want)
				}
			}

			// A pair of alpha and beta for each grid.
			alphas, betas := [...]T{1, 3, 1, -5}, [...]T{0, 0, 1, -3}
			wants := make([]array[T], len(d.grids(backend.Grid{})))
			for i := range wants {
				if k == 0 {
					alphas[i], betas[i] = 1, 0
				}
				wants[i] = reference(alphas[i], a, b, betas[i], c)
			}
			for p, kernel := range fast {
				for i, g := range d.grids(kernels.MatMulGrid(p, m, n)) {
					if d.skips(i, nr) {
						continue
					}
					refill(t, d, out, c)
					launch(t, d, fmt.Sprintf("%s %+v, alpha %v, beta %v:", name, p, alphas[i], betas[i]), kernel, g,
						kernels.MatMulArgs(nil, m, n, k, alphas[i], da, db, betas[i], out), out.Buffer, wants[i])
				}
				testChains(t, d, name, kernel, p, k, da, db, start, continued, turn)
			}
		}
	}
}

// chain is c after C + A*B in chains that start from C, or C - A*B.
func chain[T element.Element](negate bool, a, b, c array[T]) array[T] {
	c.data = slices.Clone(c.data)
	host.AddMulReference(negate, c.rows, c.cols, a.cols, a.from(), a.stride, b.from(), b.stride, c.from(), c.stride)
	return c
}

// chains are the sum and the difference.
func chains[T element.Element](a, b, c array[T]) [2]array[T] {
	return [2]array[T]{chain(false, a, b, c), chain(true, a, b, c)}
}

// testChains compares the sum and the difference with want, cut in two at the edges of tiles and
// within them: at one of these, by turns, on a device that takes long.
func testChains[T element.Element](t *testing.T, d *device, name string, kernel *backend.Kernel, p kernels.MatMulParams,
	k int, a, b kernels.Operand, c array[T], want [2]array[T], turn int,
) {
	t.Helper()
	m, n := c.rows, c.cols
	g := kernels.MatMulGrid(p, m, n)
	cuts := []int{0, 1, p.BK - 1, p.BK, p.BK + 1, k - 1}
	if d.simulated() {
		cuts = []int{[]int{p.BK + 1, k / 2, p.BK}[turn%3]}
	}
	for i, cut := range cuts {
		cut = min(max(cut, 0), k)
		sign := (i + turn) % 2
		update := [2]func([]backend.Arg, kernels.Batch, int, int, int, kernels.Operand, kernels.Operand,
			kernels.Operand) []backend.Arg{kernels.AddMulArgs[T], kernels.SubMulArgs[T]}[sign]
		out, restA, restB := upload(t, d, c), a, b
		if err := d.queue.Launch(kernel, g, update(nil, kernels.Batch{}, m, n, cut, a, b, out)...); err != nil {
			t.Fatal(err)
		}
		restA.Offset += int64(cut)
		restB.Offset += int64(cut) * b.Stride
		launch(t, d, fmt.Sprintf("%s %+v, from C, sign %d, cut at %d:", name, p, sign, cut), kernel, g,
			update(nil, kernels.Batch{}, m, n, k-cut, restA, restB, out), out.Buffer, want[sign])
	}
}

// reference is c after C = alpha*A*B + beta*C.
func reference[T element.Element](alpha T, a, b array[T], beta T, c array[T]) array[T] {
	c.data = slices.Clone(c.data)
	host.GemmReference(c.rows, c.cols, a.cols, alpha, a.from(), a.stride, b.from(), b.stride, beta, c.from(), c.stride)
	return c
}

// beta == 0 must not read C: its poison, NaN, would show.
func TestMatMulDoesNotReadC(t *testing.T) {
	const n = 32
	onDevices(t, func(t *testing.T, d *device) {
		for _, p := range variants(element.Float32, &d.info)[:5] {
			if !d.runs(t, kernels.MatMul(element.Float32, p), p.CPU) {
				continue
			}
			a, b := newArray(n, n, layout{}, func() float32 { return 1 }),
				newArray(n, n, layout{}, func() float32 { return 2 })
			c := newArray(n, n, layout{}, func() float32 { return float32(math.NaN()) })
			out := upload(t, d, c)
			launch(t, d, fmt.Sprintf("%+v", p), d.compile(t, kernels.MatMul(element.Float32, p)),
				kernels.MatMulGrid(p, n, n),
				kernels.MatMulArgs(nil, n, n, n, float32(1), upload(t, d, a), upload(t, d, b), 0, out), out.Buffer,
				reference(1, a, b, 0, c))
		}
	})
}

// More than 65,535 tiles down: the kernels loop where a grid may not have so many groups.
func TestTallMatrices(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	const m = 1_100_000
	onDevices(t, func(t *testing.T, d *device) {
		if d.simulated() {
			t.Skip("large")
		}
		rng := rand.New(rand.NewPCG(7, 8))
		a, b := newArray(m, 1, layout{0, 0}, values[int32](rng, special)),
			newArray(1, 1, layout{}, values[int32](rng, plain))
		c := newArray(m, 1, layout{}, func() int32 { return 77 })
		da, db := upload(t, d, a), upload(t, d, b)
		want := reference(1, a, b, 0, c)
		run := func(s *backend.Source, g backend.Grid, args func(out kernels.Operand) []backend.Arg) {
			out := upload(t, d, c)
			launch(t, d, "tall:", d.compile(t, s), g, args(out), out.Buffer, want)
		}
		product := func(out kernels.Operand) []backend.Arg { return kernels.ProductArgs(nil, m, 1, 1, da, db, out) }
		run(kernels.MatMulNaive(element.Int32), kernels.NaiveGrid(m, 1), product)
		run(kernels.MatMulTiled(element.Int32), kernels.TiledGrid(m, 1), product)
		for _, p := range []kernels.MatMulParams{
			variants(element.Int32, &d.info)[1],
			tuning.ChooseMatMul(&d.info, element.Int32, m, 1, 1),
		} {
			if !d.runs(t, kernels.MatMul(element.Int32, p), p.CPU) {
				continue
			}
			run(kernels.MatMul(element.Int32, p), kernels.MatMulGrid(p, m, 1), func(out kernels.Operand) []backend.Arg {
				return kernels.MatMulArgs(nil, m, 1, 1, int32(1), da, db, 0, out)
			})
		}

		want = c
		want.rows, want.cols, want.stride, want.data = 1, m, m, a.data
		transpose := func(out kernels.Operand) []backend.Arg {
			out.Stride = m
			return kernels.TransposeArgs(nil, m, 1, da, out)
		}
		run(kernels.TransposeNaive(element.Int32), kernels.NaiveGrid(m, 1), func(out kernels.Operand) []backend.Arg {
			out.Stride = m
			return kernels.TransposeNaiveArgs(nil, m, 1, da, out)
		})
		for _, p := range []kernels.TransposeParams{{Tile: 16, Step: 8}, {CPU: true, Tile: 16, Rows: 32}} {
			if !d.runs(t, kernels.Transpose(element.Int32, p), p.CPU) {
				continue
			}
			run(kernels.Transpose(element.Int32, p), kernels.TransposeGrid(p, m, 1), transpose)
		}
	})
}

func TestTransposes(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		testTransposes[float32](t, d)
		testTransposes[float64](t, d)
		if d.info.Platform != "Oclgrind" { // where it would access what float32 does
			testTransposes[int32](t, d)
		}
	})
}

func testTransposes[T element.Element](t *testing.T, d *device) {
	typ := element.TypeOf[T]()
	if !kernels.Supports(&d.info, typ) {
		t.Logf("the device does not keep the contract in %s", typ)
		return
	}
	type tiled struct {
		kernel *backend.Kernel
		grid   func(rows, cols int) backend.Grid
		args   func(args []backend.Arg, rows, cols int, a, c kernels.Operand) []backend.Arg
	}
	all := []tiled{{d.compile(t, kernels.TransposeNaive(typ)), kernels.NaiveGrid, kernels.TransposeNaiveArgs}}
	for _, p := range []kernels.TransposeParams{
		kernels.TextbookTranspose,
		{CPU: true, Tile: 32, Rows: 16},
		{CPU: true, Tile: 16, Rows: 48},
		{Tile: 8, Step: 8},
		tuning.ChooseTranspose(&d.info, typ, 999, 999),
	} {
		if !d.runs(t, kernels.Transpose(typ, p), p.CPU) {
			continue
		}
		all = append(all, tiled{
			d.compile(t, kernels.Transpose(typ, p)),
			func(rows, cols int) backend.Grid { return kernels.TransposeGrid(p, rows, cols) },
			kernels.TransposeArgs,
		})
	}
	rng := rand.New(rand.NewPCG(9, 10))
	shapes := [][2]int{{1, 1}, {5, 7}, {64, 64}, {33, 100}, {47, 64}, {64, 31}, {0, 5}, {5, 0}, {1, 300}}
	if d.simulated() {
		shapes = [][2]int{{1, 1}, {0, 5}, {5, 7}, {32, 16}, {20, 35}, {15, 16}, {16, 15}}
	} else if !testing.Short() {
		shapes = append(shapes, [2]int{1000, 777}, [2]int{300, 1}, [2]int{256, 128})
	}
	for _, shape := range shapes {
		rows, cols := shape[0], shape[1]
		for _, l := range d.layouts() {
			a := newArray(rows, cols, l[0], values[T](rng, special))
			c := newArray(cols, rows, l[2], values[T](rng, plain))
			want := c
			want.data = slices.Clone(c.data)
			for i := range rows {
				for j := range cols {
					want.data[want.off+j*want.stride+i] = a.data[a.off+i*a.stride+j]
				}
			}
			da, out := upload(t, d, a), upload(t, d, c)
			for _, k := range all {
				for _, g := range d.grids(k.grid(rows, cols)) {
					refill(t, d, out, c)
					launch(t, d, "transpose:", k.kernel, g, k.args(nil, rows, cols, da, out), out.Buffer, want)
				}
			}
		}
	}
}

func TestElementwise(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		testElementwise[float32](t, d)
		testElementwise[float64](t, d)
		if d.info.Platform != "Oclgrind" { // where it would access what float32 does
			testElementwise[int32](t, d)
		}
	})
}

func testElementwise[T element.Element](t *testing.T, d *device) {
	typ := element.TypeOf[T]()
	if !kernels.Supports(&d.info, typ) {
		t.Logf("the device does not keep the contract in %s", typ)
		return
	}
	rng := rand.New(rand.NewPCG(11, 12))
	shapes := [][2]int{{1, 1}, {1, 4096}, {7, 5}, {64, 64}, {0, 5}, {5, 0}, {300, 3}, {2, 2049}}
	if d.simulated() {
		shapes = [][2]int{{1, 1}, {0, 5}, {7, 5}, {1, 2050}}
	} else if !testing.Short() {
		shapes = append(shapes, [2]int{1, 100_003}, [2]int{70_000, 1})
	}
	for i, shape := range shapes {
		rows, cols := shape[0], shape[1]
		grids := append(d.grids(kernels.ElementwiseGrid(&d.info, int64(rows), int64(cols))),
			backend.Grid1(36, 36), backend.Grid2(6, 6, 6, 6), backend.Grid2(1, 3, 1, 1))
		for turn, l := range d.layouts() {
			if turn > 0 && rows*cols > 10_000 {
				continue // large ones are for the grid
			}
			x, y := newArray(rows, cols, l[0], values[T](rng, i%kinds)),
				newArray(rows, cols, l[1], values[T](rng, i%kinds))
			z := newArray(rows, cols, l[2], values[T](rng, plain))
			dx, dy, dz := upload(t, d, x), upload(t, d, y), upload(t, d, z)
			for op, o := range kernels.Elementwises() {
				if op > 0 && d.info.Platform == "Oclgrind" && typ != element.Float32 {
					continue // where it would access what float32 does
				}
				apart, own := inPlainGo(t, o, x, y, z), inPlainGo(t, o, x, y, x)
				k := d.compile(t, o.Source(typ))
				for _, g := range grids {
					for _, to := range []struct {
						name string
						o    kernels.Operand
						want array[T]
					}{{o.Name, dz, apart}, {o.Name + " in place", dx, own}} {
						refill(t, d, dx, x)
						refill(t, d, dy, y)
						refill(t, d, dz, z)
						args := elementwiseArgs[T](o, rows, cols, dx, dy, to.o)
						launch(t, d, to.name+":", k, g, args, to.o.Buffer, to.want)
					}
				}
			}
		}
	}
}

// elementwiseArgs is the arguments of o with alpha = -3.
func elementwiseArgs[T element.Element](o *kernels.Elementwise, rows, cols int, x, y, z kernels.Operand) []backend.Arg {
	return o.Args(nil, kernels.Scalar(T(-3)), int64(rows), int64(cols),
		append([]kernels.Operand{x, y}[:o.Inputs:o.Inputs], z)...)
}

// inPlainGo is what the kernel of o, as it is written, makes of z.
func inPlainGo[T element.Element](t *testing.T, o *kernels.Elementwise, x, y, z array[T]) array[T] {
	t.Helper()
	z.data = slices.Clone(z.data)
	operand := func(a array[T]) kernels.Operand {
		mem := backend.HostMemory(backend.Bytes(a.data))
		return kernels.Operand{Buffer: mem, Offset: int64(a.off), Stride: int64(a.stride)}
	}
	args := elementwiseArgs[T](o, z.rows, z.cols, operand(x), operand(y), operand(z))
	if err := o.Source(element.TypeOf[T]()).Checks.Go(backend.Grid1(1, 1), 0, 1, args); err != nil {
		t.Fatal(err)
	}
	return z
}
