package kernels

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

func TestSourcesAreCached(t *testing.T) {
	p := MatMulParams{BM: 32, BN: 32, BK: 8, TM: 4, TN: 4, KU: 8}
	q := TransposeParams{CPU: true, Tile: 16, Rows: 16}
	whole := p
	whole.Whole = true
	for _, c := range []struct {
		name        string
		first, next *backend.Source
		same        bool
	}{
		{"Scale", Scale.Source(Int32), Scale.Source(Int32), true},
		{"Add", Add.Source(element.Float64), Add.Source(Float64), true},
		{"MatMul", MatMul(Float32, p), MatMul(Float32, p), true},
		{"MatMul, Whole", MatMul(Float32, p), MatMul(Float32, whole), true},
		{"Transpose", Transpose(Int32, q), Transpose(Int32, q), true},
		{"TransposeTiled", TransposeTiled(Int32), Transpose(Int32, TextbookTranspose), true},
		{"types", Scale.Source(Int32), Scale.Source(Float32), false},
		{"kernels", MatMulNaive(Int32), MatMulTiled(Int32), false},
		{
			"parameters", MatMul(Float32, p), MatMul(Float32, MatMulParams{BM: 32, BN: 32, BK: 8, TM: 4, TN: 4, KU: 1}),
			false,
		},
	} {
		if (c.first == c.next) != c.same {
			t.Errorf("%s: the same Source is %v, want %v", c.name, !c.same, c.same)
		}
	}
}

func TestSupports(t *testing.T) {
	no64 := &backend.Info{Float32: true}
	if !Supports(no64, Float32) || Supports(no64, Float64) || !Supports(&backend.Info{}, Int32) ||
		Supports(&backend.Info{Float64: true}, Float32) {
		t.Error("Supports is wrong")
	}
}

// onDevice is a buffer whose memory is not in this process.
func onDevice() *backend.Buffer { return backend.HostMemory(nil) }

// The argument lists fit the kernels' parameters, in number and width.
func TestArgsFitParams(t *testing.T) {
	b := Operand{Buffer: onDevice(), Offset: 3, Stride: 70}
	gemm := MatMulParams{CPU: true, BM: 4, BN: 4, BK: 8, TM: 4, TN: 4, KU: 1, VW: 4}
	prefix := []backend.Arg{backend.Int32(9)}
	check := func(name string, s *backend.Source, args []backend.Arg) {
		t.Helper()
		if !reflect.DeepEqual(args[0], prefix[0]) {
			t.Errorf("%s: the arguments were not appended", name)
		}
		sig := backend.Signature{Name: s.Name, Params: s.Params}
		if err := sig.Check(&backend.Info{}, backend.Grid1(1, 1), args[1:]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("scale float32", Scale.Source(Float32), Scale.Args(prefix, Scalar(float32(2)), 4, 5, b, b))
	check("scale float64", Scale.Source(Float64), Scale.Args(prefix, Scalar(2.0), 4, 5, b, b))
	check("scale int32", Scale.Source(Int32), Scale.Args(prefix, Scalar(int32(2)), 4, 5, b, b))
	check("add", Add.Source(Int32), Add.Args(prefix, Scalar(int32(0)), 4, 5, b, b, b))
	check("matmul_naive", MatMulNaive(Float64), ProductArgs(prefix, 4, 5, 6, b, b, b))
	check("matmul_tiled", MatMulTiled(Float64), ProductArgs(prefix, 4, 5, 6, b, b, b))
	check("transpose_naive", TransposeNaive(Float64), TransposeNaiveArgs(prefix, 4, 5, b, b))
	check("transpose", TransposeTiled(Float64), TransposeArgs(prefix, 4, 5, b, b))
	check("matmul float32", MatMul(Float32, gemm), MatMulArgs(prefix, 4, 5, 6, float32(2), b, b, 3, b))
	check("matmul int32", MatMul(Int32, gemm), MatMulArgs(prefix, 4, 5, 6, int32(2), b, b, 3, b))
	check("matmul float64", MatMul(Float64, MatMulParams{CPU: true, BM: 1, BN: 1, BK: 1, TM: 1, TN: 1, KU: 1, VW: 1}),
		MatMulArgs(prefix, 4, 5, 6, 2.0, b, b, 3, b))
}

// Vectors of 16 bytes are for operands whose rows all begin at multiples of 16 bytes.
func TestMatMulArgsAlignment(t *testing.T) {
	mem := make([]byte, 1024)
	for addressOf(mem)%16 != 0 {
		mem = mem[1:]
	}
	dev := onDevice()
	even := Operand{Buffer: dev, Offset: 8, Stride: 16}
	for _, c := range []struct {
		name    string
		a, b, c Operand
		want    int32
	}{
		{"all aligned", even, even, even, 7},
		{"a's offset", Operand{dev, 7, 16}, even, even, 6},
		{"b's stride", even, Operand{dev, 8, 18}, even, 5},
		{"c's stride", even, even, Operand{dev, 8, 15}, 3},
		{"a in aligned host memory", Operand{backend.HostMemory(mem), 8, 16}, even, even, 7},
		{"b in host memory at another address", even, Operand{backend.HostMemory(mem[4:]), 8, 16}, even, 5},
		{"b in host memory, aligned by its offset alone", even, Operand{backend.HostMemory(mem[4:]), 3, 16}, even, 5},
		{"c in host memory at another address", even, even, Operand{backend.HostMemory(mem[8:]), 8, 16}, 3},
	} {
		args := MatMulArgs(nil, 4, 4, 4, float32(1), c.a, c.b, 0, c.c)
		if got := args[14].Int32(); got != c.want {
			t.Errorf("%s: flags = %d, want %d", c.name, got, c.want)
		}
	}
	for want, args := range map[int32][]backend.Arg{
		15: AddMulArgs[float32](nil, Batch{}, 4, 4, 4, even, even, even),
		31: SubMulArgs[float32](nil, Batch{}, 4, 4, 4, even, even, even),
	} {
		if got := args[14].Int32(); got != want {
			t.Errorf("from C: flags = %d, want %d", got, want)
		}
	}
	double := Operand{dev, 2, 6} // 16 and 48 bytes
	if args := MatMulArgs(nil, 4, 4, 4, 1.0, double, double, 0, double); args[14].Int32() != 7 {
		t.Error("float64 at 16 bytes is not aligned")
	}
}

func TestValidate(t *testing.T) {
	gpu := MatMulParams{BM: 64, BN: 64, BK: 16, TM: 4, TN: 4, KU: 8}
	thin := MatMulParams{BM: 32, BN: 8, BK: 256, TM: 1, TN: 1, KU: 16, Items: 256}
	cpu := MatMulParams{CPU: true, BM: 48, BN: 64, BK: 256, TM: 6, TN: 16, KU: 1, VW: 8}
	for _, p := range []MatMulParams{gpu, thin, cpu} {
		if err := p.Validate(Float32); err != nil {
			t.Errorf("valid parameters: %v", err)
		}
	}
	unit := MatMulParams{BM: 64, BN: 64, BK: 16, TM: 32, TN: 32, KU: 3, Unit: "m16n8k4"}
	if err := unit.Validate(Float64); err != nil {
		t.Errorf("valid parameters: %v", err)
	}
	ints := MatMulParams{BM: 64, BN: 64, BK: 32, TM: 32, TN: 32, KU: 3, Unit: "m16n8k32"}
	for _, typ := range []Type{Int32, element.Int8} {
		if err := ints.Validate(typ); err != nil {
			t.Errorf("valid parameters: %v", err)
		}
	}
	bytes := MatMulParams{BM: 128, BN: 128, BK: 16, TM: 32, TN: 64, KU: 3, Unit: "m16n8k32"}
	if err := bytes.Validate(element.Int8); err != nil {
		t.Errorf("valid parameters: %v", err)
	}
	if err := gpu.Validate(element.Int8); err != nil {
		t.Errorf("valid parameters: %v", err)
	}
	amd := MatMulParams{BM: 64, BN: 64, BK: 16, TM: 32, TN: 32, KU: 2, Unit: "mfma_f32_16x16x4f32"}
	if err := amd.Validate(Float32); err != nil {
		t.Errorf("valid parameters: %v", err)
	}
	amdBytes := amd
	amdBytes.Unit = "mfma_i32_16x16"
	if err := amdBytes.Validate(element.Int8); err != nil {
		t.Errorf("valid parameters: %v", err)
	}
	with := func(p MatMulParams, f func(*MatMulParams)) MatMulParams { f(&p); return p }
	for _, c := range []struct {
		p    MatMulParams
		t    Type
		want string
	}{
		{MatMulParams{}, Float32, "bm must be 1 to 4096, not 0"},
		{with(gpu, func(p *MatMulParams) { p.BK = math.MaxInt }), Float32, "bk must be 1 to 4096"},
		{with(gpu, func(p *MatMulParams) { p.KU = -1 }), Float32, "ku must be"},
		{with(gpu, func(p *MatMulParams) { p.BM = 66 }), Float32, "tm must divide bm"},
		{with(gpu, func(p *MatMulParams) { p.TM = 2 }), Float32, "tm, tn and bk must be multiples of 4"},
		{with(gpu, func(p *MatMulParams) { p.TM, p.TN, p.BK = 1, 1, 1 }), Float64, "multiples of 2"},
		{with(gpu, func(p *MatMulParams) { p.BM = 128 }), Float32, "512 work-items a group, more than 256"},
		{with(gpu, func(p *MatMulParams) { p.VW = 4 }), Float32, "vw is for the CPU shape"},
		{with(gpu, func(p *MatMulParams) { p.BK = 12 }), Float32, "do not share the loads of a tile evenly"},
		{with(gpu, func(p *MatMulParams) { p.Items = 256 }), Float32, "bm and bn must differ"},
		{with(thin, func(p *MatMulParams) { p.Items = 512 }), Float32, "items must be 1 to 256, not 512"},
		{with(thin, func(p *MatMulParams) { p.Items = 128 }), Float32, "is 256, more than the work-items of a group"},
		{with(thin, func(p *MatMulParams) { p.KU = 48 }), Float32, "ku must be a multiple of 8, and divide bk"},
		{with(thin, func(p *MatMulParams) { p.BK = 16 }), Float32, "do not share the loads of a tile evenly"},
		{unit, Float32, "m16n8k32 in int32, without items"},
		{unit, Int32, "m16n8k32 in int32, without items"},
		{ints, Float64, "unit must be m8n8k4 or m16n8k4 in float64"},
		{ints, Float32, "unit must be m8n8k4 or m16n8k4 in float64"},
		{bytes, Int32, "bk must be a power of two from 32 on, not 16"},
		{with(bytes, func(p *MatMulParams) { p.BK = 8 }), element.Int8, "bk must be a power of two from 16 on, not 8"},
		{with(ints, func(p *MatMulParams) { p.BN, p.TN = 48, 24 }), Int32, "bn of 32"},
		{with(ints, func(p *MatMulParams) { p.BK = 256 }), Int32, "copy too few rows of a tile at once"},
		{with(unit, func(p *MatMulParams) { p.Unit = "m16n8k5" }), Float64, "unit must be m8n8k4 or m16n8k4"},
		{with(unit, func(p *MatMulParams) { p.TM = 8 }), Float64, "a multiple of the instruction's rows"},
		{with(unit, func(p *MatMulParams) { p.BN, p.TN = 24, 24 }), Float64, "bn of 16"},
		{with(unit, func(p *MatMulParams) { p.BK = 24 }), Float64, "bk must be a power of two"},
		{with(unit, func(p *MatMulParams) { p.KU = 1 }), Float64, "ku must be 2 to 8"},
		{with(unit, func(p *MatMulParams) { p.TM, p.TN = 16, 8 }), Float64, "1024 work-items a group, more than 256"},
		{with(unit, func(p *MatMulParams) { p.BK = 64 }), Float64, "copy too few rows of a tile at once"},
		{amd, Float64, "or AMD's for float64, not \"mfma_f32_16x16x4f32\""},
		{with(amd, func(p *MatMulParams) { p.Items = 64 }), Float32, "items must be 0 with a unit"},
		{amdBytes, Int32, "or AMD's for int32, not \"mfma_i32_16x16\""},
		{with(amdBytes, func(p *MatMulParams) { p.BK = 12 }), element.Int8, "bk of 8"},
		{with(amd, func(p *MatMulParams) { p.BK = 6 }), Float32, "bk of 4"},
		{with(amd, func(p *MatMulParams) { p.TM = 8 }), Float32, "tm and tn must be multiples of 16"},
		{with(amd, func(p *MatMulParams) { p.BM, p.TM = 48, 16 }), Float32, "bm and bn of 32"},
		{with(amd, func(p *MatMulParams) { p.KU = 3 }), Float32, "ku must be 2"},
		{with(amd, func(p *MatMulParams) { p.BN = 256 }), Float32, "1024 work-items a group, more than 256"},
		{with(amd, func(p *MatMulParams) { p.BK = 12 }), Float32, "do not share the loads of a tile evenly"},
		{with(cpu, func(p *MatMulParams) { p.Unit = "m8n8k4" }), Float64, "unit is for GPUs"},
		{with(cpu, func(p *MatMulParams) { p.Items = 1 }), Float32, "items is for GPUs"},
		{with(cpu, func(p *MatMulParams) { p.VW = 3 }), Float32, "vw must be 1, 2, 4, 8 or 16"},
		{with(cpu, func(p *MatMulParams) { p.VW = 0 }), Float32, "vw must be 1, 2, 4, 8 or 16"},
		{with(cpu, func(p *MatMulParams) { p.TN, p.VW = 8, 16 }), Float32, "tn must be a multiple of vw"},
		{with(cpu, func(p *MatMulParams) { p.BM, p.BN = 1200, 128 }), Float32, "bytes, more than"},
	} {
		err := c.p.Validate(c.t)
		if !errors.Is(err, backend.ErrArgument) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Validate(%+v) = %v, want %q", c.p, err, c.want)
		}
	}
	for _, c := range []struct {
		p    TransposeParams
		t    Type
		want string
	}{
		{TransposeParams{}, Float32, "tile must be 1 to 4096, not 0"},
		{TransposeParams{Tile: 32}, Float32, "step must divide tile"},
		{TransposeParams{Tile: 32, Step: 5}, Float32, "step must divide tile"},
		{TransposeParams{Tile: 32, Step: 16}, Float32, "512 work-items a group, more than 256"},
		{TransposeParams{CPU: true, Tile: 32, Rows: 16, Step: 8}, Float32, "step is for the GPU shape"},
		{TransposeParams{CPU: true, Tile: 32}, Float32, "rows must be 1 to 4096, not 0"},
		{TransposeParams{CPU: true, Tile: 32, Rows: 8}, Float32, "multiples of the 16 elements in a cache line, not " +
			"32 and 8"},
		{TransposeParams{Tile: 32, Step: 8, Rows: 32}, Float32, "rows is for the CPU shape"},
		{TransposeParams{CPU: true, Tile: 24, Rows: 16}, Int32, "multiples of the 16 elements in a cache line, not " +
			"24 and 16"},
		{TransposeParams{CPU: true, Tile: 20, Rows: 8}, Float64, "multiples of the 8 elements in a cache line, not " +
			"20 and 8"},
	} {
		err := c.p.Validate(c.t)
		if !errors.Is(err, backend.ErrArgument) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Validate(%+v) = %v, want %q", c.p, err, c.want)
		}
	}
}

func TestInvalidParametersPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"MatMul":    func() { MatMul(Float32, MatMulParams{}) },
		"Transpose": func() { Transpose(Float32, TransposeParams{}) },
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, backend.ErrArgument) {
					t.Errorf("%s of invalid parameters: recovered %v", name, err)
				}
			}()
			f()
		}()
	}
}

func TestGridsCoverEverythingOnce(t *testing.T) {
	for _, c := range []struct {
		got, want backend.Grid
	}{
		{NaiveGrid(17, 33), backend.Grid2(3, 2, 16, 16)},
		{TiledGrid(16, 32), backend.Grid2(2, 1, 16, 16)},
		{TiledGrid(0, 32), backend.Grid2(2, 0, 16, 16)},
		{TransposeGrid(TextbookTranspose, 1000, 777), backend.Grid2(25, 32, 32, 8)},
		{NaiveGrid(1_100_000, 1), backend.Grid2(1, 65535, 16, 16)},
		{MatMulGrid(MatMulParams{BM: 128, BN: 64, BK: 8, TM: 8, TN: 4, KU: 8}, 129, 64), backend.Grid2(1, 2, 256, 1)},
		{
			MatMulGrid(MatMulParams{CPU: true, BM: 8, BN: 64, BK: 8, TM: 8, TN: 4, KU: 8, VW: 4}, 1_100_000, MaxDim),
			backend.Grid2(1<<24, 65535, 1, 1),
		},
		{ElementwiseGrid(&backend.Info{GPU: true, ComputeUnits: 100}, 1, 10_000_000), backend.Grid2(9766, 1, 256, 1)},
		{ElementwiseGrid(&backend.Info{GPU: true, ComputeUnits: 1}, 1000, 3), backend.Grid2(1, 16, 4, 64)},
		{ElementwiseGrid(&backend.Info{ComputeUnits: 2}, 1, 10_000_000), backend.Grid2(16, 1, 1, 1)},
		{MapGrid(&backend.Info{ComputeUnits: 2}, nil, 1, 10_000_000), backend.Grid2(16, 1, 1, 1)},
		{MapGrid(&backend.Info{Host: true}, Add.Source(element.Float32).Params, 3, 5000), backend.Grid2(5, 3, 16, 1)},
		{MapGrid(&backend.Info{Host: true}, Add.Source(element.Float64).Params, 3, 5000), backend.Grid2(5, 3, 8, 1)},
	} {
		if c.got != c.want {
			t.Errorf("grid is %s, want %s", c.got, c.want)
		}
	}
}
