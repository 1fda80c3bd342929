package kernels

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

//go:embed tune.json
var tuneJSON []byte

// A rule offers parameters to devices. Its empty fields match every device; it names at most one of Device, Arch and Vendor.
type rule[P any] struct {
	Kind   string `json:"kind"`             // "gpu" or "cpu": the shape that suits the device
	Device string `json:"device,omitempty"` // a part of Info.Name, in any case
	Arch   string `json:"arch,omitempty"`   // a part of Info.Arch
	Vendor string `json:"vendor,omitempty"` // a part of Info.Vendor
	Type   string `json:"type"`             // "float32", "float64" or "int32"
	Vector int    `json:"vector,omitempty"` // the device's native vector width in that type; such rules come first
	Params []P    `json:"params"`           // from large tiles to small ones
}

// tuning is the content of tune.json.
type tuning struct {
	MatMul    []rule[MatMulParams]    `json:"matmul"`
	Transpose []rule[TransposeParams] `json:"transpose"`
}

var builtin = mustParse(tuneJSON)

func mustParse(data []byte) *tuning {
	t := new(tuning)
	if err := json.Unmarshal(data, t); err != nil {
		panic(fmt.Sprintf("kernels: tune.json: %v", err))
	}
	return t
}

// level is how closely a rule matches a device: 4 by its name, 3 by its architecture, 2 by its vendor, 1 by nothing in particular, 0 not at all.
func (r *rule[P]) level(info *backend.Info, t Type) int {
	has := func(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }
	switch {
	case r.Kind != kind(info) || r.Type != t.String() || r.Vector != 0 && r.Vector != vector(info, t):
		return 0
	case !has(info.Name, r.Device) || !has(info.Arch, r.Arch) || !has(info.Vendor, r.Vendor):
		return 0
	case r.Device != "":
		return 4
	case r.Arch != "":
		return 3
	case r.Vendor != "":
		return 2
	}
	return 1
}

func kind(info *backend.Info) string {
	if info.GPU {
		return "gpu"
	}
	return "cpu"
}

// vector is the native vector width of a device in type t, as OpenCL C has it.
func vector(info *backend.Info, t Type) int {
	native := [...]int{Float32: info.VectorFloat32, Float64: info.VectorFloat64, Int32: info.VectorInt32}[t]
	w := 1
	for 2*w <= min(native, 16) {
		w *= 2
	}
	return w
}

// choose returns the parameters that the rules offer for a device. Of the rule that matches it most closely it takes the first that fit the
// device and cut the work into enough tiles for its compute units, or the last that fit at all. ok is false when no rule has any.
func choose[P any](rules []rule[P], info *backend.Info, t Type, fit func(P) bool, tiles func(P) int) (best P, ok bool) {
	for level := 4; level > 0 && !ok; level-- {
		for i := range rules {
			if ok || rules[i].level(info, t) != level {
				continue
			}
			for _, p := range rules[i].Params {
				if !fit(p) {
					continue
				}
				best, ok = p, true
				if tiles(p) >= enough(info) {
					break
				}
			}
		}
	}
	return best, ok
}

// enough is how many tiles keep a device busy: a GPU runs a tile on all of a compute unit, and a CPU should not wait long for the last tiles.
func enough(info *backend.Info) int {
	units := max(info.ComputeUnits, 1)
	if info.GPU {
		return units
	}
	return 8 * units
}

// ChooseMatMul chooses the parameters of [MatMul] for the device of info and a C of m by n, with k products an element. They are valid for t, and fit
// the device.
func ChooseMatMul(info *backend.Info, t Type, m, n, k int) MatMulParams {
	p, ok := choose(builtin.MatMul, info, t,
		func(p MatMulParams) bool { return p.Fits(info, t) },
		func(p MatMulParams) int { return tileCount(m, p.BM) * tileCount(n, p.BN) })
	if !ok { // fits every device that has any local memory to speak of
		w := vector(info, t)
		p = MatMulParams{CPU: true, BM: 4, BN: w, BK: 8, TM: 4, TN: w, KU: 1, VW: w}
	}
	p.Whole = info.Driver == cpuDriver
	return p
}

// ChooseTranspose chooses the parameters of [Transpose] for the device of info and an A of rows by cols. They are valid for t, and fit the device.
func ChooseTranspose(info *backend.Info, t Type, rows, cols int) TransposeParams {
	p, ok := choose(builtin.Transpose, info, t,
		func(p TransposeParams) bool { return p.Fits(info, t) },
		func(p TransposeParams) int { return tileCount(rows, p.Tile) * tileCount(cols, p.Tile) })
	if !ok { // needs no local memory
		p = TransposeParams{CPU: true, Tile: cacheLine / t.Size()}
	}
	p.Whole = info.Driver == cpuDriver
	return p
}

func tileCount(n, tile int) int { return (n + tile - 1) / tile }
