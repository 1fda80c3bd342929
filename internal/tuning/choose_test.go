package tuning

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/kernels"
)

// Every entry of tune.json is valid for its types, of its device's shape, and misspells no name.
func TestTuneJSON(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(tuneJSON))
	d.DisallowUnknownFields()
	var table shipped
	if err := d.Decode(&table); err != nil {
		t.Fatal(err)
	}
	for i, r := range table.MatMul {
		checkRule(t, fmt.Sprintf("matmul rule %d", i), &r, func(p kernels.MatMulParams) bool { return p.CPU })
		if r.Cycles != nil && len(r.Cycles) != len(r.Params) {
			t.Errorf("matmul rule %d: %d parameters have cycles, of %d", i, len(r.Cycles), len(r.Params))
		}
		for _, c := range r.Cycles {
			if len(c) == 0 || !slices.IsSorted(c) || c[0] <= 0 {
				t.Errorf("matmul rule %d: cycles %v", i, c)
			}
		}
		for _, p := range r.Params {
			if r.Thin == "tall" && p.CPU && p.BN < r.UpTo || r.Thin == "wide" && p.CPU && p.BM < r.UpTo {
				t.Errorf("matmul rule %d, %s up to %d: %+v", i, r.Thin, r.UpTo, p)
			}
		}
	}
	for i, r := range table.Transpose {
		checkRule(t, fmt.Sprintf("transpose rule %d", i), &r, func(p kernels.TransposeParams) bool { return p.CPU })
		if r.Thin != "" || r.Cycles != nil {
			t.Errorf("transpose rule %d: %+v", i, r)
		}
	}
	for i, r := range table.Crossover {
		if checkMatch(t, fmt.Sprintf("crossover rule %d", i), &r.match); r.Never == (r.N > 0) {
			t.Errorf("crossover rule %d: %+v", i, r)
		}
	}
}

func checkMatch(t *testing.T, name string, m *match) (types []element.Type) {
	t.Helper()
	for _, n := range m.Types {
		typ, err := element.ParseType(n)
		if n == element.Int8.String() { // products of bytes
			typ, err = element.Int8, nil
		}
		if err != nil || typ.String() != n {
			t.Errorf("%s: %v", name, err)
		}
		types = append(types, typ)
	}
	if len(types) == 0 || m.Kind != "gpu" && m.Kind != "cpu" {
		t.Errorf("%s: %+v", name, m)
	}
	return types
}

func checkRule[P interface {
	params
	Validate(element.Type) error
}](t *testing.T, name string, r *rule[P], isCPU func(P) bool) {
	t.Helper()
	if len(r.Params) == 0 || r.Thin != "" && r.Thin != "tall" && r.Thin != "wide" || (r.Thin != "") != (r.UpTo > 0) ||
		r.UpTo > maxThin {
		t.Errorf("%s: %+v", name, r)
	}
	for _, typ := range checkMatch(t, name, &r.match) {
		for _, p := range r.Params {
			if err := p.Validate(typ); err != nil || isCPU(p) != (r.Kind == "cpu") {
				t.Errorf("%s for a %s: %v", name, r.Kind, err)
			}
		}
	}
}

// randomInfo is a device with any limits, sensible or not.
func randomInfo(rng *rand.Rand) backend.Info {
	pick := func(v ...int) int { return v[rng.IntN(len(v))] }
	name := func(v ...string) string { return v[rng.IntN(len(v))] }
	limit := func() int { return pick(0, 1, 2, 3, 7, 16, 63, 64, 100, 128, 256, 1024) }
	return backend.Info{
		Driver: name("cpu", "opencl", "cuda", ""), Vendor: name("", "Advanced Micro Devices, Inc.",
			"NVIDIA Corporation"),
		Arch: name("", "gfx90a", "sm_90", "amd64"), Host: rng.IntN(4) == 0,
		GPU: rng.IntN(2) == 0, ComputeUnits: pick(-1, 0, 1, 2, 64, 304),
		LocalMemory: int64(pick(0, 1, 512, 1024, 4096, 16<<10, 48<<10, 64<<10, 512<<10)),
		MaxGroup:    limit(), MaxGroupDims: [3]int{limit(), limit(), limit()},
		VectorFloat32: pick(0, 1, 4, 5, 8, 16, 64), VectorFloat64: pick(-1, 0, 1, 2, 4, 8),
		VectorInt32: pick(0, 1, 4, 8, 16),
	}
}

func TestChoicesAreValidOnEveryDevice(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	rng := rand.New(rand.NewPCG(3, 4))
	most := min(31, bits.UintSize/2) // as the host's int counts the elements
	dim := func() int { return rng.IntN(2) * rng.IntN(1<<rng.IntN(most)) }
	for range 20_000 {
		info := randomInfo(rng)
		rows, cols, k := dim(), dim(), dim()
		for _, typ := range element.Types() {
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
			for _, g := range []backend.Grid{kernels.MatMulGrid(p, rows, cols), kernels.TransposeGrid(q, rows, cols)} {
				checkGrid(t, &info, g, rows, cols)
				if info.Host && g.Count() > 1 {
					t.Fatalf("%s on the cpu device, want one group", g)
				}
			}
		}
		checkGrid(t, &info, kernels.ElementwiseGrid(&info, int64(rows), int64(cols)), rows, cols)
	}
}

// checkGrid fails when a grid does not fit a device, or is empty for other reasons than an empty
// matrix.
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
	if err := new(backend.Signature).Check(&limits, g, nil); err != nil {
		t.Fatalf("%s for %dx%d on %+v: %v", g, rows, cols, info, err)
	}
}

// A rule for the device wins over one for its architecture, that over its vendor's, and that over
// the default; the first parameters that keep the device busy are taken.
func TestChooseOrder(t *testing.T) {
	p := func(tile int) []kernels.TransposeParams { return []kernels.TransposeParams{{Tile: tile, Step: 1}} }
	ofFloat32, ofFloat64, ofInt32 := []string{"float32"}, []string{"float64"}, []string{"int32"}
	rules := []rule[kernels.TransposeParams]{
		{match: match{Kind: "gpu", Types: ofInt32}, Params: p(1)},
		{match: match{Kind: "gpu", Types: ofInt32, Vendor: "acme"}, Params: p(2)},
		{match: match{Kind: "gpu", Types: ofInt32, Arch: "ac100"}, Params: p(3)},
		{match: match{Kind: "gpu", Types: ofInt32, Device: "rocket"}, Params: p(4)},
		{match: match{Kind: "cpu", Types: ofInt32, Vector: 8}, Params: p(5)},
		{match: match{Kind: "cpu", Types: ofInt32}, Params: p(6)},
		{
			match:  match{Kind: "gpu", Types: ofFloat32},
			Params: []kernels.TransposeParams{{Tile: 64, Step: 1}, {Tile: 16, Step: 1}, {Tile: 8, Step: 1}},
		},
		{match: match{Kind: "gpu", Types: ofFloat64, Arch: "big"}, Params: p(200)},
		{match: match{Kind: "gpu", Types: ofFloat64}, Params: p(7)},
	}
	for _, c := range []struct {
		info  backend.Info
		typ   element.Type
		tiles int // of 16x16
		want  int
	}{
		{backend.Info{GPU: true}, element.Int32, 1, 1},
		{backend.Info{GPU: true, Vendor: "ACME Inc."}, element.Int32, 1, 2},
		{backend.Info{GPU: true, Vendor: "ACME Inc.", Arch: "AC100"}, element.Int32, 1, 3},
		{backend.Info{GPU: true, Vendor: "ACME Inc.", Arch: "AC100", Name: "The Rocket"}, element.Int32, 1, 4},
		{backend.Info{VectorInt32: 8}, element.Int32, 1, 5},
		{backend.Info{VectorInt32: 4}, element.Int32, 1, 6},
		{backend.Info{GPU: true, ComputeUnits: 10}, element.Float32, 160, 64},
		{backend.Info{GPU: true, ComputeUnits: 10}, element.Float32, 10, 16},
		{backend.Info{GPU: true, ComputeUnits: 10}, element.Float32, 1, 8},
		{backend.Info{GPU: true, ComputeUnits: 10, MaxGroup: 20}, element.Float32, 160, 16}, // 64 do not fit
		{backend.Info{GPU: true, Arch: "big"}, element.Float64, 1, 200},
		{backend.Info{GPU: true, Arch: "big", MaxGroup: 100}, element.Float64, 1, 7}, // too large
	} {
		list, _ := closest(rules, &c.info, c.typ, "", 0)
		got, ok := largest(list, enough(&c.info),
			func(p kernels.TransposeParams) int { return c.tiles * 256 / (p.Tile * p.Tile) })
		if !ok || got.Tile != c.want {
			t.Errorf("%+v, %s, %d tiles: chose %+v, %v, want tile %d", c.info, c.typ, c.tiles, got, ok, c.want)
		}
	}
	if got, _ := closest(rules, &backend.Info{GPU: true, MaxGroup: 1}, element.Float64, "", 0); got != nil {
		t.Errorf("%+v do not fit", got)
	}
	if p, ok := largest[kernels.TransposeParams](nil, 1, nil); ok {
		t.Errorf("chose %+v of nothing", p)
	}
}

// What matters most on real machines.
func TestChooseOnRealDevices(t *testing.T) {
	pocl := backend.Info{
		Driver: "opencl", ComputeUnits: 2, LocalMemory: 512 << 10, MaxGroup: 4096, VectorFloat32: 8,
		VectorFloat64: 4, VectorInt32: 8,
	}
	for _, typ := range element.Types() {
		p := ChooseMatMul(&pocl, typ, 1024, 1024, 1024)
		if !p.CPU || p.VW != 32/typ.Size() || p.BK != 256 || p.Whole {
			t.Errorf("PoCL with 32-byte vectors, %s: %+v", typ, p)
		}
		if q := ChooseTranspose(&pocl, typ, 4096, 4096); q != (kernels.TransposeParams{
			CPU:  true,
			Tile: 4096 / typ.Size(), Rows: 128,
		}) {
			t.Errorf("PoCL, %s: %+v", typ, q)
		}
	}
	pocl.Platform, pocl.VectorFloat32, pocl.VectorFloat64 = "Portable Computing Language", 16, 8
	for _, typ := range []element.Type{element.Float32, element.Float64} {
		for _, m := range []int{300, 600, 768, 900, 1023, 1024, 1100, 1280, 2048, 2049} {
			if p := ChooseMatMul(&pocl, typ, m, 2048, 512); (m+p.BM-1)/p.BM*p.BM > m+m/8 {
				t.Errorf("PoCL, %s, %d rows: tiles of %d, of which the last ones are mostly empty", typ, m, p.BM)
			}
		}
		if p := ChooseMatMul(&pocl, typ, 2048, 2048, 2048); p.BM != 512 {
			t.Errorf("PoCL, %s, 2048 rows: tiles of %d", typ, p.BM)
		}
	}
	amd := backend.Info{
		Driver: "opencl", GPU: true, Arch: "gfx90a", ComputeUnits: 104, LocalMemory: 64 << 10,
		MaxGroup: 256,
	}
	for _, c := range []struct {
		typ       element.Type
		n, bm, bn int
	}{
		{element.Float32, 4096, 128, 256},
		{element.Float32, 1024, 128, 64},
		{element.Float32, 256, 32, 32},
		{element.Float64, 4096, 128, 128},
		{element.Int32, 4096, 64, 64},
	} {
		if p := ChooseMatMul(&amd, c.typ, c.n, c.n, c.n); p.CPU || p.BM != c.bm || p.BN != c.bn {
			t.Errorf("gfx90a, %d in %s: %+v", c.n, c.typ, p)
		}
	}
	// AMD's matrix instructions are for products that fill the compute units.
	amd.Float32Unit, amd.Float64Unit = "mfma_f32_16x16x4f32", "mfma_f64_16x16x4f64"
	for _, c := range []struct {
		arch     string
		m, n, bm int
		unit     bool
	}{
		{"gfx90a", 256, 256, 32, false},
		{"gfx90a", 512, 512, 32, false},
		{"gfx90a", 4096, 3, 32, false},
		{"gfx90a", 1024, 1024, 64, true},
		{"gfx90a", 4096, 4096, 128, true},
		{"gfx942", 4096, 4096, 128, true},
		{"gfx908", 512, 512, 32, false},
		{"gfx908", 4096, 4096, 128, true},
	} {
		amd.Arch = c.arch
		for _, typ := range []element.Type{element.Float32, element.Float64} {
			if p := ChooseMatMul(&amd, typ, c.m, c.n, 4096); (p.Unit != "") != c.unit || p.BM != c.bm {
				t.Errorf("%s, %dx%d in %s: %+v", c.arch, c.m, c.n, typ, p)
			}
		}
	}
	// So are those of bytes, without which int8 takes what int32 does.
	amd.Int8Unit = "mfma_i32_16x16"
	for _, c := range []struct {
		typ   element.Type
		arch  string
		n, bn int
		unit  bool
	}{
		{element.Int8, "gfx90a", 4096, 128, true},
		{element.Int8, "gfx90a", 256, 64, true},
		{element.Int8, "gfx942", 4096, 128, true},
		{element.Int8, "gfx908", 4096, 128, true},
		{element.Int8, "gfx1030", 4096, 64, false},
		{element.Int32, "gfx90a", 4096, 64, false},
	} {
		amd.Arch, amd.Int8Unit = c.arch, "mfma_i32_16x16"
		if c.arch == "gfx1030" {
			amd.Int8Unit = ""
		}
		if p := ChooseMatMul(&amd, c.typ, c.n, c.n, 1024); (p.Unit != "") != c.unit || p.BN != c.bn {
			t.Errorf("%s, %d in %s: %+v", c.arch, c.n, c.typ, p)
		}
	}
	nvidia := backend.Info{
		Driver: "cuda", GPU: true, Vendor: "NVIDIA Corporation", Arch: "sm_90",
		ComputeUnits: 132, LocalMemory: 48 << 10, MaxGroup: 1024,
	}
	// Few tiles are spread over the multiprocessors; many are as large as the registers allow.
	for _, c := range []struct {
		typ             element.Type
		count, n        int
		bm, bn, threads int
	}{
		{element.Float32, 1, 4096, 128, 128, 128},
		{element.Float32, 1, 1024, 64, 64, 256},
		{element.Float32, 1, 512, 32, 64, 128},
		{element.Float32, 1, 256, 32, 64, 128},
		{element.Float32, 1000, 32, 32, 32, 64},
		{element.Float32, 1000, 128, 128, 128, 128},
		{element.Int32, 1, 4096, 128, 128, 128},
		{element.Float64, 1, 4096, 128, 64, 128},
		{element.Float64, 1, 512, 32, 32, 64},
	} {
		p := ChooseMatMulBatch(&nvidia, c.typ, c.count, c.n, c.n, c.n)
		if p.CPU || p.BM != c.bm || p.BN != c.bn || p.BM/p.TM*(p.BN/p.TN) != c.threads {
			t.Errorf("sm_90, %d products of %d in %s: %+v", c.count, c.n, c.typ, p)
		}
	}
	// A matrix instruction that is the chain pays for products that fill the multiprocessors.
	for _, unit := range []string{"m8n8k4", "m16n8k4"} {
		nvidia.Float64Unit = unit
		for n, want := range map[int]string{256: "", 512: "", 1024: unit, 4096: unit} {
			if p := ChooseMatMul(&nvidia, element.Float64, n, n, n); p.Unit != want {
				t.Errorf("%s, %d: %+v", unit, n, p)
			}
		}
		if p := ChooseMatMul(&nvidia, element.Float32, 4096, 4096, 4096); p.Unit != "" {
			t.Errorf("%s in float32: %+v", unit, p)
		}
	}
	nvidia.Float64Unit = ""
	// That of bytes pays for every product that is not thin, and for int32.
	const unit = "m16n8k32"
	nvidia.Int8Unit = unit
	for _, c := range []struct {
		typ      element.Type
		m, n, bm int
		want     string
	}{
		{element.Int8, 4096, 4096, 128, unit},
		{element.Int8, 512, 512, 64, unit},
		{element.Int8, 32, 32, 64, unit},
		{element.Int8, 4096, 4, 32, ""},
		{element.Int32, 4096, 4096, 64, unit},
		{element.Int32, 256, 256, 64, unit},
		{element.Int32, 4, 4096, 8, ""},
	} {
		if p := ChooseMatMul(&nvidia, c.typ, c.m, c.n, 4096); p.Unit != c.want || p.BM != c.bm {
			t.Errorf("%s, %d by %d: %+v", c.typ, c.m, c.n, p)
		}
	}
	nvidia.Arch = "sm_89" // whose instruction is half as fast
	if p, q := ChooseMatMul(&nvidia, element.Int8, 512, 512, 512), ChooseMatMul(&nvidia, element.Int32, 512, 512,
		512); p.Unit != unit || q.Unit != "" {
		t.Errorf("sm_89: %+v for bytes, %+v for int32", p, q)
	}
	nvidia.Arch, nvidia.Int8Unit = "sm_90", ""
	if p, q := ChooseMatMul(&nvidia, element.Int8, 512, 512, 512), ChooseMatMul(&nvidia, element.Int32, 512, 512,
		512); p != q || p.Unit != "" {
		t.Errorf("without a unit %+v for bytes, %+v for int32", p, q)
	}
	if q := ChooseTranspose(&nvidia, element.Float64, 4096, 4096); q != kernels.TextbookTranspose {
		t.Errorf("sm_90: %+v", q)
	}
	host := backend.Info{Host: true}
	p := ChooseMatMul(&host, element.Float64, 4096, 4096, 4096)
	if !p.Whole || kernels.MatMulGrid(p, 4096, 4096).Count() != 1 {
		t.Errorf("cpu: %+v", p)
	}
	q := ChooseTranspose(&host, element.Float64, 4096, 4096)
	if !q.Whole || kernels.TransposeGrid(q, 4096, 4096).Count() != 1 {
		t.Errorf("cpu: %+v", q)
	}
}
