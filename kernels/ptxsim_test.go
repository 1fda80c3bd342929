package kernels_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// The PTX that ships runs on the simulator, whatever driver there is, and gives the bits of package
// host. The simulator also fails a launch that accesses memory outside its buffers, reads what
// nothing has written, or races.

// A simKernel is a kernel's PTX on a simulated device.
type simKernel struct {
	dev *ptxsim.Device
	fn  *ptxsim.Function
	src *backend.Source
}

func loadPTX(t *testing.T, s *backend.Source, ptx []byte) *simKernel {
	t.Helper()
	k := &simKernel{dev: ptxsim.New(ptxsim.Config{Arch: 90}), src: s}
	m, err := k.dev.Load(ptx)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	if k.fn, err = m.Function(s.Name); err != nil {
		t.Fatal(err)
	}
	return k
}

// addresses are those of buffers on simulated devices: uint64 by *backend.Buffer.
var addresses sync.Map

func addressOf(b *backend.Buffer) uint64 {
	addr, _ := addresses.Load(b)
	return addr.(uint64)
}

// place copies an array to a simulated device, where nothing lies around it. It is freed with the
// test.
func place[T element.Element](t *testing.T, k *simKernel, a array[T]) kernels.Operand {
	t.Helper()
	mem := backend.Bytes(a.data)
	addr, err := k.dev.Alloc(uint64(len(mem)))
	if err == nil {
		err = k.dev.Write(addr, mem)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := backend.HostMemory(nil) // a handle alone: the memory is not in this process
	addresses.Store(b, addr)
	t.Cleanup(func() {
		addresses.Delete(b)
		k.dev.Free(addr)
	})
	return kernels.Operand{Buffer: b, Offset: int64(a.off), Stride: int64(a.stride)}
}

// launchSim runs k and says how all of output's buffer differs from want, which includes what lies
// around the matrix.
func launchSim[T element.Element](k *simKernel, g backend.Grid, args []backend.Arg, output kernels.Operand,
	want array[T],
) error {
	if len(args) != len(k.fn.Params) {
		return fmt.Errorf("%d arguments, the PTX has %d parameters", len(args), len(k.fn.Params))
	}
	params := make([]byte, k.fn.ParamSize)
	for i, a := range args {
		word, size := a.Bits, a.Size
		if a.Buffer != nil {
			word, size = addressOf(a.Buffer)+uint64(a.Offset), 8
		}
		p := k.fn.Params[i]
		if size != p.Size {
			return fmt.Errorf("argument %d has %d bytes, the PTX's parameter %d", i, size, p.Size)
		}
		copy(params[p.Offset:][:size], binary.LittleEndian.AppendUint64(nil, word))
	}
	if err := k.dev.Launch(k.fn, g.Groups, g.Local, 0, params); err != nil {
		return fmt.Errorf("grid of %s: %w", g, err)
	}
	got := make([]T, len(want.data))
	if err := k.dev.Read(backend.Bytes(got), addressOf(output.Buffer)); err != nil {
		return err
	}
	for i := range got {
		if bits(got[i]) != bits(want.data[i]) {
			return fmt.Errorf("grid of %s: element %d of the buffer is %v (%#x), want %v (%#x)", g, i, got[i],
				bits(got[i]), want.data[i], bits(want.data[i]))
		}
	}
	return nil
}

func TestPTXOnSimulator(t *testing.T) {
	for name, s := range tuning.PTXSources() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := loadPTX(t, s, ptxOf(t, s))
			for _, err := range runPTX(t, k) {
				t.Error(err)
			}
		})
	}
}

// Broken PTX must show: what runs is what ships.
func TestCorruptedPTXOnSimulator(t *testing.T) {
	unit := &backend.Info{GPU: true, Arch: "sm_90", Int8Unit: "m16n8k32"}
	ints := tuning.OfferedMatMul(unit, element.Int32)[0]
	bytesTile := tuning.OfferedMatMul(unit, element.Int8)[0]
	for _, c := range []struct {
		src      *backend.Source
		old, new string
	}{
		{kernels.Scale.Source(element.Float32), "mul.rn.f32", "add.rn.f32"},
		{kernels.Add.Source(element.Float64), "add.rn.f64", "mul.rn.f64"},
		{kernels.MatMulTiled(element.Float64), "fma.rn.f64", "fma.rz.f64"},
		{kernels.MatMulNaive(element.Float32), "fma.rn.f32", "fma.rn.ftz.f32"},
		{kernels.TransposeTiled(element.Int32), "bar.sync", "//"},
		{kernels.MatMul(element.Int32, ints), ", 0x7632;", ", 0x5410;"},
		{kernels.MatMul(element.Int32, ints), "cp.async.wait_group 1", "cp.async.wait_group 2"},
		{kernels.MatMul(element.Int32, ints), "shl.b32", "or.b32"},
		{kernels.MatMulBytes(unit, bytesTile, false), ".s32.s8.s8.s32", ".s32.u8.s8.s32"},
		{kernels.MatMulBytes(unit, bytesTile, true), "bar.sync", "//"},
		{
			kernels.MatMulTiled(element.Int32), ".shared .align 4 .b8 matmulTiled_int32_$_as_[1024]",
			".shared .align 4 .b8 matmulTiled_int32_$_as_[1020]",
		},
	} {
		ptx := ptxOf(t, c.src)
		if !bytes.Contains(ptx, []byte(c.old)) {
			t.Errorf("%s: the PTX has no %s", c.src.Name, c.old)
			continue
		}
		k := loadPTX(t, c.src, bytes.ReplaceAll(ptx, []byte(c.old), []byte(c.new)))
		if len(runPTX(t, k)) == 0 {
			t.Errorf("%s with %s in place of %s gives the right results", c.src.Name, c.new, c.old)
		}
	}
}

// Every CUDA device takes all the PTX that ships.
func TestPTXLoads(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		if d.info.Driver != "cuda" && d.info.Driver != "cudasim" {
			t.Skip("takes no PTX")
		}
		sources := tuning.PTXSources()
		arch, _ := strconv.Atoi(strings.TrimPrefix(d.info.Arch, "sm_"))
		for name, src := range sources {
			if !ptxgen.Takes(arch, src) {
				continue
			}
			k, err := d.Compile(src)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			k.Release()
		}
		t.Logf("all kernels for it, of %d, load on %s, %s", len(sources), d.info.Name, d.info.Arch)
	})
}

// The driver runs the PTX, and never the same kernel's text or implementation in Go, which are
// there too.
func TestCorruptedPTXOnDriver(t *testing.T) {
	dev, err := backend.Lookup("cudasim").Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	x := []float32{1, 2, 3, 4, 5, 6}
	for _, test := range []struct {
		old, new string
		want     []float32
	}{
		{"", "", []float32{-3, -6, -9, -12, -15, -18}},
		{"mul.rn.f32", "add.rn.f32", []float32{-2, -1, 0, 1, 2, 3}},
		{"st.global.f32", "ld.global.f32", nil}, // a load has its operands the other way round: no PTX
	} {
		src := *kernels.Scale.Source(element.Float32)
		src.PTX = ptxOf(t, &src)
		if src.Go == nil || src.Unpacked().Text == "" || !bytes.Contains(src.PTX, []byte(test.old)) {
			t.Fatalf("a source without text or Go, or PTX without %q", test.old)
		}
		src.PTX = bytes.ReplaceAll(src.PTX, []byte(test.old), []byte(test.new))
		got, err := scaleOn(dev, &src, x)
		if !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("%q in place of %q: %v, %v, want %v", test.new, test.old, got, err, test.want)
		}
	}
}

// scaleOn is -3*x by a kernel like scale.
func scaleOn(dev *backend.Device, src *backend.Source, x []float32) ([]float32, error) {
	k, err := dev.Compile(src)
	if err != nil {
		return nil, err
	}
	defer k.Release()
	q, err := dev.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	b, err := dev.Alloc(int64(4 * len(x)))
	if err != nil {
		return nil, err
	}
	defer b.Free()
	z := make([]float32, len(x))
	n := int64(len(x))
	row := kernels.Operand{Buffer: b, Stride: n}
	if err := q.Write(b, 0, backend.Bytes(x)); err != nil {
		return nil, err
	}
	args := kernels.Scale.Args(nil, kernels.Scalar(float32(-3)), 1, n, row, row)
	if err := q.Launch(k, backend.Grid1(1, 32), args...); err != nil {
		return nil, err
	}
	if err := q.Read(backend.Bytes(z), b, 0); err != nil {
		return nil, err
	}
	return z, nil
}

// runPTX runs a kernel on shapes and values of all kinds and returns what is wrong.
func runPTX(t *testing.T, k *simKernel) []error {
	switch elementOf(k.src) {
	case "float":
		return runPTXOf[float32](t, k)
	case "double":
		return runPTXOf[float64](t, k)
	}
	return runPTXOf[int32](t, k)
}

// simShapes are m, n, k: off every tile, on every tile, a single element, less than a tile, some
// tiles one after the other and a part of one, and in each direction a tile that is whole and a
// part of one. A simulated group takes as long for a part of a tile as for all of it, so what has
// tiles gets shapes that are made for them.
func simShapes(t *testing.T, k *simKernel) [][3]int {
	bm, bn, bk := 64, 64, 8
	if k.src.Macros["KU"] != "" {
		bm, bn, bk = number(t, k, "BM"), number(t, k, "BN"), number(t, k, "BK")
	}
	two := func(tile int) int { return max(tile, min(2*tile, 128)) }
	s := [][3]int{{33, 65, 17}, {two(bm), two(bn), 2 * bk}}
	if !testing.Short() {
		s = append(s, [3]int{1, 1, 1}, [3]int{5, 7, 23}, [3]int{40, 24, min(4*bk+2, 130)},
			[3]int{bm + 2, min(bn+6, 70), 2*bk + 4})
	}
	return s
}

// simLayouts is how A, B and C lie in their buffers: packed, off every vector's alignment, and with
// aligned gaps.
var simLayouts = [][3]layout{
	{{0, 0}, {0, 0}, {0, 0}},
	{{1, 3}, {2, 1}, {5, 7}},
	{{8, 16}, {16, 8}, {4, 32}},
}

func runPTXOf[T element.Element](t *testing.T, k *simKernel) (failures []error) {
	rng := rand.New(rand.NewPCG(11, 12))
	for i, shape := range simShapes(t, k) {
		for j, l := range simLayouts {
			kind, one := (i+j)%kinds, (i+j/2)%2 == 1 // each shape with one group and with a whole grid
			if err := runPTXShape[T](t, k, shape, l, kind, one, rng); err != nil {
				err = fmt.Errorf("%s, %v, layout %v, kind %d: %w", k.src.Name, shape, l, kind, err)
				failures = append(failures, err)
			}
		}
	}
	return failures
}

// runPTXShape runs a kernel once, on a grid that covers the shape, or on one group that walks over
// all of it.
func runPTXShape[T element.Element](t *testing.T, k *simKernel, shape [3]int, l [3]layout, kind int, one bool,
	rng *rand.Rand,
) error {
	m, n, depth := shape[0], shape[1], shape[2]
	a := newArray(m, n, l[0], values[T](rng, kind))
	out := newArray(m, n, l[2], values[T](rng, plain))
	grid := func(g backend.Grid) backend.Grid {
		if one {
			g.Groups = [3]int{1, 1, 1}
		}
		return g
	}
	flat := grid(kernels.ElementwiseGrid(&backend.Info{GPU: true, ComputeUnits: 2}, int64(m), int64(n)))
	name := strings.TrimSuffix(k.src.Name, "_"+element.TypeOf[T]().String())
	for _, o := range kernels.Elementwises() {
		if o.Name == name {
			b := newArray(m, n, l[1], values[T](rng, kind))
			pa, pb, pc := place(t, k, a), place(t, k, b), place(t, k, out)
			return launchSim(k, flat, elementwiseArgs[T](o, m, n, pa, pb, pc), pc, inPlainGo(t, o, a, b, out))
		}
	}
	switch name {
	case "transposeNaive", "transpose_tiled":
		out = newArray(n, m, l[2], values[T](rng, plain))
		want := out
		want.data = slices.Clone(out.data)
		for i := range m {
			for j := range n {
				want.data[want.off+j*want.stride+i] = a.data[a.off+i*a.stride+j]
			}
		}
		pa, pc := place(t, k, a), place(t, k, out)
		if name == "transposeNaive" {
			args := kernels.TransposeNaiveArgs(nil, m, n, pa, pc)
			return launchSim(k, grid(kernels.NaiveGrid(m, n)), args, pc, want)
		}
		p := kernels.TransposeParams{Tile: number(t, k, "TILE"), Step: number(t, k, "STEP")}
		args := kernels.TransposeArgs(nil, m, n, pa, pc)
		return launchSim(k, grid(kernels.TransposeGrid(p, m, n)), args, pc, want)
	}
	a, b := newArray(m, depth, l[0], values[T](rng, kind)), newArray(depth, n, l[1], values[T](rng, kind))
	pa, pb, pc := place(t, k, a), place(t, k, b), place(t, k, out)
	if k.src.Macros["KU"] == "" {
		return launchSim(k, grid(kernels.NaiveGrid(m, n)), kernels.ProductArgs(nil, m, n, depth, pa, pb, pc), pc,
			reference(1, a, b, 0, out))
	}
	alpha, beta := T(1), T(0)
	if one {
		alpha, beta = -2, 3
	}
	p := kernels.MatMulParams{
		BM: number(t, k, "BM"), BN: number(t, k, "BN"), BK: number(t, k, "BK"),
		TM: number(t, k, "TM"), TN: number(t, k, "TN"), KU: number(t, k, "KU"),
	}
	p.Unit = map[string]string{"8": "m8n8k4", "16": "m16n8k4"}[k.src.Macros["UM"]]
	if p.Unit != "" && k.src.Macros["T_INT32"] != "" {
		p.Unit = "m16n8k32"
	}
	if k.src.Macros["ITEMS"] != "" {
		p.Items = number(t, k, "ITEMS")
	}
	g := grid(kernels.MatMulGrid(p, m, n))
	if k.src.Macros["BYTES"] != "" {
		beta = min(beta, 1)
		args := kernels.MatMulArgs(nil, m, n, depth, 1, pa, pb, beta, pc)
		return launchSim(k, g, args, pc, bytesReference(k.src, a, b, beta, out))
	}
	args := kernels.MatMulArgs(nil, m, n, depth, alpha, pa, pb, beta, pc)
	if err := launchSim(k, g, args, pc, reference(alpha, a, b, beta, out)); err != nil || one {
		return err
	}
	out = newArray(m, n, l[2], values[T](rng, kind))
	pc = place(t, k, out)
	args = kernels.SubMulArgs[T](nil, kernels.Batch{}, m, n, depth, pa, pb, pc)
	return launchSim(k, g, args, pc, chain(true, a, b, out))
}

// bytesReference is the product of words of four bytes by the definition, as numbers of T.
func bytesReference[T element.Element](src *backend.Source, a, b array[T], beta T, c array[T]) array[T] {
	c.data = slices.Clone(c.data)
	out, unsigned := c.from(), src.Macros["BYTES"] == "2"
	for i := range c.rows {
		for j := range c.cols {
			acc := int32(beta * out[i*c.stride+j])
			for p := range a.cols {
				x, y := int32(a.from()[i*a.stride+p]), int32(b.from()[p*b.stride+j])
				for s := 0; s < 32; s += 8 {
					left := int32(int8(x >> s))
					if unsigned {
						left = int32(uint8(x >> s))
					}
					acc += left * int32(int8(y>>s))
				}
			}
			out[i*c.stride+j] = T(acc)
		}
	}
	return c
}

// number is the value of a kernel's macro.
func number(t *testing.T, k *simKernel, macro string) int {
	t.Helper()
	n, err := strconv.Atoi(k.src.Macros[macro])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
