package kernels

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

// maxItems is the most work-items of a group of any kernel: AMD's OpenCL takes no more unless asked
// to.
const maxItems = 256

// MatMulParams are the parameters of [MatMul]. They decide its speed, never a bit of its result.
// They are comparable: together with the [Type] they identify a compiled kernel.
type MatMulParams struct {
	CPU bool `json:"cpu,omitempty"` // the shape for CPUs: one work-item computes a tile
	BM  int  `json:"bm"`            // rows of a tile of C, which a group computes
	BN  int  `json:"bn"`            // columns of a tile of C
	BK  int  `json:"bk"`            // columns of A and rows of B that are staged at once
	TM  int  `json:"tm"`            // rows of a block of C in registers
	TN  int  `json:"tn"`            // columns of a block of C in registers
	KU  int  `json:"ku"`            // steps of k that are unrolled
	VW  int  `json:"vw,omitempty"`  // CPU shape: elements of a vector

	// Items makes it the GPU shape for a C of few rows or columns: work-items of a group, all of
	// which load, while (BM/TM)*(BN/TN) of them compute C. C has few columns where BM > BN.
	Items int `json:"items,omitempty"`

	// Unit makes it the shape for the matrix instruction of that name: "m8n8k4" or "m16n8k4", of
	// float64, or "m16n8k32", of int32 and of bytes, on NVIDIA's GPUs, or "mfma_f32_16x16x4f32",
	// "mfma_f64_16x16x4f64" or, of bytes, "mfma_i32_16x16" on AMD's. TM by TN is the block of a
	// warp of 32 work-items, or a wave of 64; KU how many tiles lie in local memory.
	Unit string `json:"unit,omitempty"`

	// Whole: one group computes all tiles. It is for the cpu device, whose implementation in Go
	// spreads a whole product over the cores.
	Whole bool `json:"-"`
}

// Validate returns nil when the parameters fit type t and each other, or says which rule is broken.
// element.Int8 stands for [MatMulBytes].
func (p MatMulParams) Validate(t Type) error {
	if err := p.validate(t); err != nil {
		return &backend.Error{
			Op: "kernels.MatMulParams", Err: backend.ErrArgument,
			Detail: fmt.Sprintf("%v in %s %+v", err, t, p),
		}
	}
	return nil
}

// Bounds on what a person may set, so that sizes do not overflow and private memory stays small.
const (
	maxTile      = 4096      // rows, columns and depth of a tile
	maxBlock     = 32        // rows of a block in registers, and vectors across it
	maxSumsBytes = 512 << 10 // the sums that a work-item of the CPU shape keeps between blocks of k
)

func (p MatMulParams) validate(t Type) error {
	for _, v := range []struct {
		name       string
		value, max int
	}{
		{"bm", p.BM, maxTile},
		{"bn", p.BN, maxTile},
		{"bk", p.BK, maxTile},
		{"tm", p.TM, maxBlock},
		{"tn", p.TN, 16 * maxBlock},
		{"ku", p.KU, maxTile},
	} {
		if v.value < 1 || v.value > v.max {
			return fmt.Errorf("%s must be 1 to %d, not %d", v.name, v.max, v.value)
		}
	}
	if p.BM%p.TM != 0 || p.BN%p.TN != 0 {
		return fmt.Errorf("tm must divide bm, and tn must divide bn")
	}
	switch w := words(t); {
	case p.CPU:
		return p.validateCPU(w)
	case p.VW != 0:
		return fmt.Errorf("vw is for the CPU shape; it must be 0, not %d", p.VW)
	case p.Unit != "" && p.Unit == mfma(t):
		return p.validateMFMA(t)
	case p.Unit != "":
		return p.validateUnit(t)
	case p.Items != 0:
		return p.validateThin(w)
	default:
		return p.validateGPU(w)
	}
}

func (p MatMulParams) validateCPU(t Type) error {
	switch {
	case p.VW < 1 || p.VW > 16 || p.VW&(p.VW-1) != 0:
		return fmt.Errorf("vw must be 1, 2, 4, 8 or 16, not %d", p.VW)
	case p.Items != 0:
		return fmt.Errorf("items is for GPUs; it must be 0, not %d", p.Items)
	case p.Unit != "":
		return fmt.Errorf("unit is for GPUs; it must be empty, not %q", p.Unit)
	case p.TN%p.VW != 0 || p.TN/p.VW > maxBlock:
		return fmt.Errorf("tn must be a multiple of vw, %d times at most", maxBlock)
	case p.BM*p.BN*t.Size() > maxSumsBytes:
		return fmt.Errorf("bm*bn elements take %d bytes, more than %d", p.BM*p.BN*t.Size(), maxSumsBytes)
	}
	return nil
}

func (p MatMulParams) validateGPU(t Type) error {
	vw := 16 / t.Size()
	if p.TM%vw != 0 || p.TN%vw != 0 || p.BK%vw != 0 {
		return fmt.Errorf("tm, tn and bk must be multiples of %d", vw)
	}
	items := p.items()
	switch ax, bx := p.BK/vw, p.BN/vw; {
	case items > maxItems:
		return fmt.Errorf("(bm/tm)*(bn/tn) is %d work-items a group, more than %d", items, maxItems)
	case items%ax != 0 || items%bx != 0 || p.BM%(items/ax) != 0 || p.BK%(items/bx) != 0:
		return fmt.Errorf("%d work-items a group do not share the loads of a tile evenly", items)
	}
	return nil
}

func (p MatMulParams) validateUnit(t Type) error {
	items, vw := p.items(), 16/words(t).Size()
	banks := 8 * vw                                                        // elements side by side in local memory
	least := map[Type]int{Float64: 8, Int32: 32, element.Int8: 16}[t]      // of bk
	known := p.unitRows() != 0 && (p.Unit == "m16n8k32") == (t != Float64) // of t
	switch ax, bx := p.BK/vw, p.BN/vw; {
	case least == 0 || !known || p.Items != 0:
		return fmt.Errorf("unit must be m8n8k4 or m16n8k4 in float64 or m16n8k32 in int32, without items, or AMD's "+
			"for %s, not %q", t, p.Unit)
	case p.TM%p.unitRows() != 0 || p.TN%8 != 0 || p.BN%banks != 0:
		return fmt.Errorf("tm must be a multiple of the instruction's rows, tn of 8 and bn of %d", banks)
	case p.BK < least || p.BK&(p.BK-1) != 0:
		return fmt.Errorf("bk must be a power of two from %d on, not %d", least, p.BK)
	case p.KU < 2 || p.KU > 8:
		return fmt.Errorf("ku must be 2 to 8 tiles in local memory, not %d", p.KU)
	case items > maxItems:
		return fmt.Errorf("32*(bm/tm)*(bn/tn) is %d work-items a group, more than %d", items, maxItems)
	case items%ax != 0 || items%bx != 0 || p.BM%(items/ax) != 0 || p.BK%(items/bx) != 0:
		return fmt.Errorf("%d work-items a group do not share the copies of a tile evenly", items)
	case items/ax%(max(p.BK, banks)/4) != 0 || items/bx%4 != 0: // the rows of a work-item have one order of elements
		return fmt.Errorf("%d work-items a group copy too few rows of a tile at once", items)
	}
	return nil
}

func (p MatMulParams) validateMFMA(t Type) error {
	items, vw, step := p.items(), 16/words(t).Size(), 4
	if t == element.Int8 {
		step = 8
	}
	switch ax, bx := p.BK/vw, p.BN/vw; {
	case p.Items != 0:
		return fmt.Errorf("items must be 0 with a unit, not %d", p.Items)
	case p.TM%16 != 0 || p.TN%16 != 0 || p.BM%32 != 0 || p.BN%32 != 0 || p.BK%step != 0:
		return fmt.Errorf("tm and tn must be multiples of 16, bm and bn of 32, and bk of %d", step)
	case p.KU != 2:
		return fmt.Errorf("ku must be 2, the tiles in local memory, not %d", p.KU)
	case items > maxItems:
		return fmt.Errorf("64*(bm/tm)*(bn/tn) is %d work-items a group, more than %d", items, maxItems)
	case items%ax != 0 || items%bx != 0 || p.BM%(items/ax) != 0 || p.BK%(items/bx) != 0:
		return fmt.Errorf("%d work-items a group do not share the loads of a tile evenly", items)
	}
	return nil
}

// unitRows is the rows of NVIDIA's matrix instruction, 0 of any other.
func (p MatMulParams) unitRows() int {
	switch p.Unit {
	case "m8n8k4":
		return 8
	case "m16n8k4", "m16n8k32":
		return 16
	}
	return 0
}

func (p MatMulParams) validateThin(t Type) error {
	vw := 16 / t.Size()
	thin, rows, cols := p.BM, p.BK, p.BN // rows and columns of a tile of the large operand
	if p.BM > p.BN {
		thin, rows, cols = p.BN, p.BM, p.BK
	}
	switch across := cols / vw; { // vectors of a row
	case p.Items < 1 || p.Items > maxItems:
		return fmt.Errorf("items must be 1 to %d, not %d", maxItems, p.Items)
	case p.BM == p.BN:
		return fmt.Errorf("bm and bn must differ")
	case p.items() > p.Items:
		return fmt.Errorf("(bm/tm)*(bn/tn) is %d, more than the work-items of a group", p.items())
	case p.KU%(2*vw) != 0 || p.BK%p.KU != 0:
		return fmt.Errorf("ku must be a multiple of %d, and divide bk", 2*vw)
	case cols%vw != 0 || p.Items%across != 0 || rows%(p.Items/across) != 0 ||
		p.Items%thin != 0 || p.BK%(p.Items/thin) != 0:
		return fmt.Errorf("%d work-items a group do not share the loads of a tile evenly", p.Items)
	}
	return nil
}

// items is the number of work-items of a group of the GPU shape that compute.
func (p MatMulParams) items() int {
	n := p.BM / p.TM * (p.BN / p.TN)
	switch {
	case strings.HasPrefix(p.Unit, "mfma"):
		n *= 64
	case p.Unit != "":
		n *= 32
	}
	return n
}

func (p MatMulParams) group() [3]int {
	if p.CPU {
		return [3]int{1, 1, 1}
	}
	if p.Items != 0 {
		return [3]int{p.Items, 1, 1}
	}
	return [3]int{p.items(), 1, 1}
}

// LocalMemory is the local memory of a group in bytes.
func (p MatMulParams) LocalMemory(t Type) int {
	t = words(t)
	if p.CPU {
		return p.BK * p.BN * t.Size()
	}
	if p.Unit != "" {
		return p.KU * p.BK * (p.BM + p.BN) * t.Size()
	}
	if p.Items != 0 {
		padded := p.BN * p.BK // of the longer side
		if p.BM > p.BN {
			padded = p.BM * (p.BK + 16/t.Size())
		}
		return (padded + min(p.BM, p.BN)*(p.BK+16/t.Size())) * t.Size()
	}
	return 2 * p.BK * (p.BM + 16/t.Size() + p.BN) * t.Size()
}

// Runs tells whether the device of info can run [MatMul] with these parameters: they are valid and
// fit, a GPU gets no CPU shape, which CUDA cannot compile, and a matrix instruction is the one of
// the device that keeps the numerics contract.
func (p MatMulParams) Runs(info *backend.Info, t Type) bool {
	return p.Validate(t) == nil && p.Fits(info, t) && !(info.GPU && p.CPU) &&
		(p.Unit == "" || p.Unit == unit(info, words(t)))
}

// Fits tells whether the device of info can run [MatMul] with these parameters, as far as its
// limits tell.
func (p MatMulParams) Fits(info *backend.Info, t Type) bool {
	return fits(info, p.group(), p.LocalMemory(t))
}

// fits tells whether a group stays below the limits of a device. A limit of 0 is unknown.
func fits(info *backend.Info, group [3]int, local int) bool {
	for d, limit := range info.MaxGroupDims {
		if limit > 0 && group[d] > limit {
			return false
		}
	}
	return (info.MaxGroup <= 0 || group[0]*group[1]*group[2] <= info.MaxGroup) &&
		(info.LocalMemory <= 0 || int64(local) <= info.LocalMemory)
}

func (p MatMulParams) macros() map[string]string {
	m := map[string]string{
		"BM": strconv.Itoa(p.BM), "BN": strconv.Itoa(p.BN), "BK": strconv.Itoa(p.BK),
		"TM": strconv.Itoa(p.TM), "TN": strconv.Itoa(p.TN), "KU": strconv.Itoa(p.KU),
	}
	if p.CPU {
		m["VW"] = strconv.Itoa(p.VW)
	}
	if rows := p.unitRows(); rows != 0 {
		m["UM"] = strconv.Itoa(rows)
	}
	if p.Items != 0 {
		m["ITEMS"] = strconv.Itoa(p.Items)
	}
	return m
}

// TransposeParams are the parameters of [Transpose]. They decide its speed, never a bit of its
// result. They are comparable: together with the [Type] they identify a compiled kernel.
type TransposeParams struct {
	CPU  bool `json:"cpu,omitempty"`  // the shape for CPUs: one work-item moves a tile
	Tile int  `json:"tile"`           // columns of a tile of A, which a group moves; in the GPU shape its rows as well
	Rows int  `json:"rows,omitempty"` // CPU shape: rows of a tile
	Step int  `json:"step,omitempty"` // GPU shape: work-items of a group in y; there are Tile in x

	// Whole: one group moves all tiles. It is for the cpu device, whose implementation in Go
	// spreads a whole transpose over the cores.
	Whole bool `json:"-"`
}

// TextbookTranspose is the padded tile of [TransposeTiled]: 32x33 elements, moved by 32x8
// work-items that loop.
var TextbookTranspose = TransposeParams{Tile: 32, Step: 8}

// Validate returns nil when the parameters fit type t and each other, or says which rule is broken.
func (p TransposeParams) Validate(t Type) error {
	if err := p.validate(t); err != nil {
		return &backend.Error{
			Op: "kernels.TransposeParams", Err: backend.ErrArgument,
			Detail: fmt.Sprintf("%v in %s %+v", err, t, p),
		}
	}
	return nil
}

func (p TransposeParams) validate(t Type) error {
	line := cacheLine / t.Size()
	switch {
	case p.Tile < 1 || p.Tile > maxTile:
		return fmt.Errorf("tile must be 1 to %d, not %d", maxTile, p.Tile)
	case p.CPU && p.Step != 0:
		return fmt.Errorf("step is for the GPU shape; it must be 0, not %d", p.Step)
	case p.CPU && (p.Rows < 1 || p.Rows > maxTile):
		return fmt.Errorf("rows must be 1 to %d, not %d", maxTile, p.Rows)
	case p.CPU && (p.Tile%line != 0 || p.Rows%line != 0):
		return fmt.Errorf("tile and rows must be multiples of the %d elements in a cache line, not %d and %d", line,
			p.Tile, p.Rows)
	case !p.CPU && p.Rows != 0:
		return fmt.Errorf("rows is for the CPU shape; it must be 0, not %d", p.Rows)
	case !p.CPU && (p.Step < 1 || p.Tile%p.Step != 0):
		return fmt.Errorf("step must divide tile; it is %d", p.Step)
	case !p.CPU && p.Tile*p.Step > maxItems:
		return fmt.Errorf("tile*step is %d work-items a group, more than %d", p.Tile*p.Step, maxItems)
	}
	return nil
}

// cacheLine is the bytes of a line of the caches of every CPU that matters here; a wrong guess
// costs speed alone.
const cacheLine = 64

// rows is how many rows of A a tile has.
func (p TransposeParams) rows() int {
	if p.CPU {
		return p.Rows
	}
	return p.Tile
}

func (p TransposeParams) group() [3]int {
	if p.CPU {
		return [3]int{1, 1, 1}
	}
	return [3]int{p.Tile, p.Step, 1}
}

// LocalMemory is the local memory of a group in bytes.
func (p TransposeParams) LocalMemory(t Type) int {
	if p.CPU {
		return 0
	}
	return p.Tile * (p.Tile + 1) * t.Size()
}

// Runs is [MatMulParams.Runs] for [Transpose].
func (p TransposeParams) Runs(info *backend.Info, t Type) bool {
	return p.Validate(t) == nil && p.Fits(info, t) && !(info.GPU && p.CPU)
}

// Fits tells whether the device of info can run [Transpose] with these parameters, as far as its
// limits tell.
func (p TransposeParams) Fits(info *backend.Info, t Type) bool {
	return fits(info, p.group(), p.LocalMemory(t))
}

func (p TransposeParams) macros() map[string]string {
	if p.CPU {
		return map[string]string{"TILE": strconv.Itoa(p.Tile), "ROWS": strconv.Itoa(p.Rows)}
	}
	return map[string]string{"TILE": strconv.Itoa(p.Tile), "STEP": strconv.Itoa(p.Step)}
}
