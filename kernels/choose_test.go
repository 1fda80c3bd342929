package kernels

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// Every entry of tune.json is valid for its type, of its device's shape, and misspells no name.
func TestTuneJSON(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(tuneJSON))
	d.DisallowUnknownFields()
	var table shippedTuning
	if err := d.Decode(&table); err != nil {
		t.Fatal(err)
	}
	names := map[string]Type{}
	for _, typ := range Types() {
		names[typ.String()] = typ
	}
	for i, r := range table.MatMul {
		typ, ok := names[r.Type]
		if !ok || r.Kind != "gpu" && r.Kind != "cpu" || len(r.Params) == 0 {
			t.Errorf("matmul rule %d: %+v", i, r)
		}
		for _, p := range r.Params {
			if err := p.Validate(typ); err != nil || p.CPU != (r.Kind == "cpu") {
				t.Errorf("matmul rule %d for a %s: %v", i, r.Kind, err)
			}
		}
	}
	for i, r := range table.Transpose {
		typ, ok := names[r.Type]
		if !ok || r.Kind != "gpu" && r.Kind != "cpu" || len(r.Params) == 0 {
			t.Errorf("transpose rule %d: %+v", i, r)
		}
		for _, p := range r.Params {
			if err := p.Validate(typ); err != nil || p.CPU != (r.Kind == "cpu") {
				t.Errorf("transpose rule %d for a %s: %v", i, r.Kind, err)
			}
		}
	}
	for i, r := range table.Crossover {
		if _, ok := names[r.Type]; !ok || r.Kind != "gpu" && r.Kind != "cpu" || r.Never == (r.N > 0) {
			t.Errorf("crossover rule %d: %+v", i, r)
		}
	}
}

// randomInfo is a device with any limits, sensible or not.
func randomInfo(rng *rand.Rand) backend.Info {
	pick := func(v ...int) int { return v[rng.IntN(len(v))] }
	name := func(v ...string) string { return v[rng.IntN(len(v))] }
	limit := func() int { return pick(0, 1, 2, 3, 7, 16, 63, 64, 100, 128, 256, 1024) }
	return backend.Info{
		Driver: name("cpu", "opencl", "cuda", ""), Vendor: name("", "Advanced Micro Devices, Inc.", "NVIDIA Corporation"),
		Arch: name("", "gfx90a", "sm_90", "amd64"), GPU: rng.IntN(2) == 0, ComputeUnits: pick(-1, 0, 1, 2, 64, 304),
		LocalMemory: int64(pick(0, 1, 512, 1024, 4096, 16<<10, 48<<10, 64<<10, 512<<10)),
		MaxGroup:    limit(), MaxGroupDims: [3]int{limit(), limit(), limit()},
		VectorFloat32: pick(0, 1, 4, 5, 8, 16, 64), VectorFloat64: pick(-1, 0, 1, 2, 4, 8), VectorInt32: pick(0, 1, 4, 8, 16),
	}
}

func TestChoicesAreValidOnEveryDevice(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	dim := func() int { return rng.IntN(2) * rng.IntN(1<<rng.IntN(31)) }
	for range 20_000 {
		info := randomInfo(rng)
		rows, cols, k := dim(), dim(), dim()
		for _, typ := range Types() {
			p := ChooseMatMul(&info, typ, rows, cols, k)
			if err := p.Validate(typ); err != nil {
				t.Fatalf("%+v: %v", info, err)
			}
			if !p.Fits(&info, typ) && info.LocalMemory >= 1024 {
				t.Fatalf("%+v: %+v does not fit", info, p)
			}
			q := ChooseTranspose(&info, typ, rows, cols)
			if err := q.Validate(typ); err != nil {
				t.Fatalf("%+v: %v", info, err)
			}
			if !q.Fits(&info, typ) {
				t.Fatalf("%+v: %+v does not fit", info, q)
			}
			checkGrid(t, &info, MatMulGrid(p, rows, cols), rows, cols)
			checkGrid(t, &info, TransposeGrid(q, rows, cols), rows, cols)
		}
		checkGrid(t, &info, ElementwiseGrid(&info, int64(rows), int64(cols)), rows, cols)
	}
}

// checkGrid fails when a grid does not fit a device, or is empty for other reasons than an empty matrix.
func checkGrid(t *testing.T, info *backend.Info, g backend.Grid, rows, cols int) {
	t.Helper()
	if g.Empty() != (rows == 0 || cols == 0) {
		t.Fatalf("%s for %dx%d", g, rows, cols)
	}
	if g.Groups[2] != 1 || g.Local[2] != 1 || g.Groups[1] > 65535 || g.Items() > 256 {
		t.Fatalf("%s for %dx%d", g, rows, cols)
	}
	limits := *info
	limits.MaxGroupDims[2] = max(limits.MaxGroupDims[2], 1)
	if err := backend.CheckLaunch(&limits, "kernel", nil, [3]int{}, g, nil); err != nil {
		t.Fatalf("%s for %dx%d on %+v: %v", g, rows, cols, info, err)
	}
	if info.Driver == "cpu" && g.Count() > 1 {
		t.Fatalf("%s on the cpu device, want one group", g)
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
		{MatMulGrid(MatMulParams{CPU: true, BM: 8, BN: 64, BK: 8, TM: 8, TN: 4, KU: 8, VW: 4}, 1_100_000, MaxDim), backend.Grid2(1<<24, 65535, 1, 1)},
		{ElementwiseGrid(&backend.Info{GPU: true, ComputeUnits: 100}, 1, 10_000_000), backend.Grid2(800, 1, 256, 1)},
		{ElementwiseGrid(&backend.Info{GPU: true, ComputeUnits: 1}, 1000, 3), backend.Grid2(1, 8, 4, 64)},
		{ElementwiseGrid(&backend.Info{ComputeUnits: 2}, 1, 10_000_000), backend.Grid2(16, 1, 1, 1)},
	} {
		if c.got != c.want {
			t.Errorf("grid is %s, want %s", c.got, c.want)
		}
	}
}

// A rule for the device wins over one for its architecture, that over its vendor's, and that over the default; the first parameters that keep
// the device busy are taken.
func TestChooseOrder(t *testing.T) {
	p := func(tile int) []TransposeParams { return []TransposeParams{{Tile: tile, Step: 1}} }
	rules := []rule[TransposeParams]{
		{match{Kind: "gpu", Type: "int32"}, p(1)},
		{match{Kind: "gpu", Type: "int32", Vendor: "acme"}, p(2)},
		{match{Kind: "gpu", Type: "int32", Arch: "ac100"}, p(3)},
		{match{Kind: "gpu", Type: "int32", Device: "rocket"}, p(4)},
		{match{Kind: "cpu", Type: "int32", Vector: 8}, p(5)},
		{match{Kind: "cpu", Type: "int32"}, p(6)},
		{match{Kind: "gpu", Type: "float32"}, []TransposeParams{{Tile: 64, Step: 1}, {Tile: 16, Step: 1}, {Tile: 8, Step: 1}}},
		{match{Kind: "gpu", Type: "float64", Arch: "big"}, p(200)},
		{match{Kind: "gpu", Type: "float64"}, p(7)},
	}
	for _, c := range []struct {
		info  backend.Info
		typ   Type
		tiles int // of 16x16
		want  int
	}{
		{backend.Info{GPU: true}, Int32, 1, 1},
		{backend.Info{GPU: true, Vendor: "ACME Inc."}, Int32, 1, 2},
		{backend.Info{GPU: true, Vendor: "ACME Inc.", Arch: "AC100"}, Int32, 1, 3},
		{backend.Info{GPU: true, Vendor: "ACME Inc.", Arch: "AC100", Name: "The Rocket"}, Int32, 1, 4},
		{backend.Info{VectorInt32: 8}, Int32, 1, 5},
		{backend.Info{VectorInt32: 4}, Int32, 1, 6},
		{backend.Info{GPU: true, ComputeUnits: 10}, Float32, 160, 64},
		{backend.Info{GPU: true, ComputeUnits: 10}, Float32, 10, 16},
		{backend.Info{GPU: true, ComputeUnits: 10}, Float32, 1, 8},
		{backend.Info{GPU: true, ComputeUnits: 10, MaxGroup: 20}, Float32, 160, 16}, // 64 do not fit
		{backend.Info{GPU: true, Arch: "big"}, Float64, 1, 200},
		{backend.Info{GPU: true, Arch: "big", MaxGroup: 100}, Float64, 1, 7}, // nothing fits at the closer level
	} {
		o := offer[TransposeParams]{shipped: shipped(rules, &c.info, c.typ, func(p TransposeParams) bool { return p.Fits(&c.info, c.typ) })}
		got, ok := o.pick(1, enough(&c.info), func(p TransposeParams) int { return c.tiles * 256 / (p.Tile * p.Tile) })
		if !ok || got.Tile != c.want {
			t.Errorf("%+v, %s, %d tiles: chose %+v, %v, want tile %d", c.info, c.typ, c.tiles, got, ok, c.want)
		}
	}
	if got := shipped(rules, &backend.Info{GPU: true}, Float64, func(p TransposeParams) bool { return false }); got != nil {
		t.Errorf("%+v do not fit", got)
	}
	if p, ok := new(offer[TransposeParams]).pick(1, 1, nil); ok {
		t.Errorf("chose %+v of nothing", p)
	}
}

// What matters most on real machines.
func TestChooseOnRealDevices(t *testing.T) {
	pocl := backend.Info{Driver: "opencl", ComputeUnits: 2, LocalMemory: 512 << 10, MaxGroup: 4096, VectorFloat32: 8, VectorFloat64: 4, VectorInt32: 8}
	for _, typ := range Types() {
		p := ChooseMatMul(&pocl, typ, 1024, 1024, 1024)
		if !p.CPU || p.VW != 32/typ.Size() || p.BK != 256 || p.Whole {
			t.Errorf("PoCL with 32-byte vectors, %s: %+v", typ, p)
		}
		if q := ChooseTranspose(&pocl, typ, 4096, 4096); q != (TransposeParams{CPU: true, Tile: 4096 / typ.Size(), Rows: 128}) {
			t.Errorf("PoCL, %s: %+v", typ, q)
		}
	}
	amd := backend.Info{Driver: "opencl", GPU: true, Arch: "gfx90a", ComputeUnits: 104, LocalMemory: 64 << 10, MaxGroup: 256}
	if p := ChooseMatMul(&amd, Float32, 4096, 4096, 4096); p.CPU || p.BM != 128 || p.KU != 4 {
		t.Errorf("gfx90a: %+v", p)
	}
	if p := ChooseMatMul(&amd, Float32, 256, 256, 256); p.BM != 32 {
		t.Errorf("gfx90a, few tiles: %+v", p)
	}
	nvidia := backend.Info{Driver: "cuda", GPU: true, Arch: "sm_90", ComputeUnits: 132, LocalMemory: 48 << 10, MaxGroup: 1024}
	if p := ChooseMatMul(&nvidia, Float64, 4096, 4096, 4096); p.CPU || p.BM != 64 || p.KU != 8 {
		t.Errorf("sm_90: %+v", p)
	}
	if q := ChooseTranspose(&nvidia, Float64, 4096, 4096); q != TextbookTranspose {
		t.Errorf("sm_90: %+v", q)
	}
	host := backend.Info{Driver: "cpu"}
	if p := ChooseMatMul(&host, Float64, 4096, 4096, 4096); !p.Whole || MatMulGrid(p, 4096, 4096).Count() != 1 {
		t.Errorf("cpu: %+v", p)
	}
	if p := ChooseTranspose(&host, Float64, 4096, 4096); !p.Whole || TransposeGrid(p, 4096, 4096).Count() != 1 {
		t.Errorf("cpu: %+v", p)
	}
}
