package tuning

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
)

//go:embed tune.json
var tuneJSON []byte

// A match says which devices, and which types, a rule is for. Its empty fields match every device;
// it names at most one of Device, Arch and Vendor.
type match struct {
	Kind   string   `json:"kind"`             // "gpu" or "cpu": the shape that suits the device
	Device string   `json:"device,omitempty"` // a part of Info.Name, in any case
	Arch   string   `json:"arch,omitempty"`   // a part of Info.Arch
	Vendor string   `json:"vendor,omitempty"` // a part of Info.Vendor
	Types  []string `json:"types"`            // of "float32", "float64", "int32", and "int8" for products of bytes
	Vector int      `json:"vector,omitempty"` // the device's native vector width in that type; such rules come first
}

// A rule offers parameters to devices.
type rule[P any] struct {
	match
	Thin   string `json:"thin,omitempty"` // "tall" or "wide": for products with few columns or rows in C alone
	UpTo   int    `json:"upto,omitempty"` // columns of a tall C, or rows of a wide one; rules for fewer come first
	Params []P    `json:"params"`         // from large tiles to small ones

	// Cycles of a step of k on a multiprocessor that works on one tile, on two, and so on to as
	// many as it holds, for each of Params: modelled from the machine code for sm_90, and for
	// matrix instructions an H200's times, in proportion to the others' there. What nobody has
	// measured or can, as on AMD's GPUs, has none, and is one rule for all of an architecture.
	// A rule without them offers the largest tiles that keep the device busy.
	Cycles [][]float64 `json:"cycles,omitempty"`
}

// A crossRule is a [Crossing] that comes with the program, for the devices that it matches. It was
// measured beside a host with assembly for products.
type crossRule struct {
	match
	N     int  `json:"n,omitempty"`
	Never bool `json:"never,omitempty"`
}

// shipped is the content of tune.json.
type shipped struct {
	MatMul    []rule[kernels.MatMulParams]    `json:"matmul"`
	Transpose []rule[kernels.TransposeParams] `json:"transpose"`
	Crossover []crossRule                     `json:"crossover"`
}

var builtin = mustParse(tuneJSON)

func mustParse(data []byte) *shipped {
	s := new(shipped)
	if err := json.Unmarshal(data, s); err != nil {
		panic(fmt.Sprintf("tuning: tune.json: %v", err))
	}
	return s
}

// level is how closely a rule matches a device: 4 by its name, 3 by its architecture, 2 by its
// vendor, 1 by nothing in particular, 0 not at all.
func (m *match) level(info *backend.Info, t element.Type) int {
	has := func(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }
	switch {
	case m.Kind != kind(info) || !m.has(t) || m.Vector != 0 && m.Vector != vector(info, t):
		return 0
	case !has(info.Name, m.Device) || !has(info.Arch, m.Arch) || !has(info.Vendor, m.Vendor):
		return 0
	case m.Device != "":
		return 4
	case m.Arch != "":
		return 3
	case m.Vendor != "":
		return 2
	}
	return 1
}

func (m *match) has(t element.Type) bool { return slices.Contains(m.Types, t.String()) }

func kind(info *backend.Info) string {
	if info.GPU {
		return "gpu"
	}
	return "cpu"
}

// vector is the native vector width of a device in type t, as OpenCL C has it.
func vector(info *backend.Info, t element.Type) int {
	native := kernels.VectorWidth(info, t)
	w := 1
	for 2*w <= min(native, 16) {
		w *= 2
	}
	return w
}

// params are the parameters of a kernel.
type params interface {
	comparable
	Runs(info *backend.Info, t element.Type) bool
}

// closest is the parameters that the device can run of the rule that matches it most closely and
// has any, among those for a thin C, "tall" or "wide", of n columns or rows, or for all others, "".
// Of rules that have cycles those come with the parameters.
func closest[P params](rules []rule[P], info *backend.Info, t element.Type, thin string, n int,
) (list []P, cycles [][]float64) {
	best := 0
	for _, r := range rules {
		level := r.level(info, t)
		if r.Thin != thin || n > r.UpTo || level <= best {
			continue
		}
		var fit []P
		var theirs [][]float64
		for i, p := range r.Params {
			if !p.Runs(info, t) {
				continue
			}
			fit = append(fit, p)
			if r.Cycles != nil {
				theirs = append(theirs, r.Cycles[i])
			}
		}
		if fit != nil {
			list, cycles, best = fit, theirs, level
		}
	}
	return list, cycles
}
