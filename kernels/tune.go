package kernels

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
)

//go:embed tune.json
var tuneJSON []byte

// A match says which devices, and which type, a rule is for. Its empty fields match every device; it names at most one of Device, Arch and Vendor.
type match struct {
	Kind   string `json:"kind"`             // "gpu" or "cpu": the shape that suits the device
	Device string `json:"device,omitempty"` // a part of Info.Name, in any case
	Arch   string `json:"arch,omitempty"`   // a part of Info.Arch
	Vendor string `json:"vendor,omitempty"` // a part of Info.Vendor
	Type   string `json:"type"`             // "float32", "float64" or "int32"
	Vector int    `json:"vector,omitempty"` // the device's native vector width in that type; such rules come first
}

// A rule offers parameters to devices.
type rule[P any] struct {
	match
	Params []P `json:"params"` // from large tiles to small ones
}

// shippedTuning is the content of tune.json.
type shippedTuning struct {
	MatMul    []rule[MatMulParams]    `json:"matmul"`
	Transpose []rule[TransposeParams] `json:"transpose"`
	Crossover []crossRule             `json:"crossover"`
}

var builtin = mustParse(tuneJSON)

func mustParse(data []byte) *shippedTuning {
	t := new(shippedTuning)
	if err := json.Unmarshal(data, t); err != nil {
		panic(fmt.Sprintf("kernels: tune.json: %v", err))
	}
	return t
}

// maxLevel is the highest level.
const maxLevel = 4

// level is how closely a rule matches a device: 4 by its name, 3 by its architecture, 2 by its vendor, 1 by nothing in particular, 0 not at all.
func (r *match) level(info *backend.Info, t Type) int {
	has := func(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }
	switch {
	case r.Kind != kind(info) || r.Type != t.String() || r.Vector != 0 && r.Vector != vector(info, t):
		return 0
	case !has(info.Name, r.Device) || !has(info.Arch, r.Arch) || !has(info.Vendor, r.Vendor):
		return 0
	case r.Device != "":
		return maxLevel
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

// A process looks at the tuning data of the user and of the program once for each device, and then chooses among few parameters. A tuner is what it found.
type tuner struct {
	user func() (*Tuning, error) // of the user's file, read once

	last    [len(types)]atomic.Pointer[choice] // of each type, as most programs use one device; comparing is faster than hashing
	mu      sync.RWMutex
	choices map[choiceKey]*choice
}

type choiceKey struct {
	info backend.Info
	t    Type
}

// A choice is all that matters for one device and type.
type choice struct {
	info      backend.Info
	matmul    offer[MatMulParams]
	transpose offer[TransposeParams]
	crossover int
	crossed   bool // crossover is known
}

// An offer is parameters of a kernel that fit the device.
type offer[P any] struct {
	tuned   []Tuned[P] // by the user, from small sizes to large ones
	shipped []P        // of the closest rule, from large tiles to small ones
}

func newTuner() *tuner {
	return &tuner{
		user:    sync.OnceValues(func() (*Tuning, error) { return ReadTuning(TuningFile()) }),
		choices: map[choiceKey]*choice{},
	}
}

var current atomic.Pointer[tuner]

func init() { current.Store(newTuner()) }

func tuning() *tuner { return current.Load() }

// ReloadTuning makes the process read the user's tuning file anew when parameters are next chosen.
func ReloadTuning() { current.Store(newTuner()) }

// ForgetTuning makes the process ignore what the user's tuning file has for the device of info, until the file is read anew: its parameters do not compile there.
func ForgetTuning(info *backend.Info) {
	u := tuning()
	t, err := u.user()
	if err != nil || t.Find(info) == nil {
		return
	}
	rest := &Tuning{Format: t.Format}
	for _, d := range t.Devices {
		if d.Device != DeviceIDOf(info) {
			rest.Devices = append(rest.Devices, d)
		}
	}
	without := newTuner()
	without.user = func() (*Tuning, error) { return rest, nil }
	current.CompareAndSwap(u, without) // otherwise another goroutine was faster, or has read the file anew
}

// UserTuning is the user's tuning data as this process reads them, and the name of their file, "" where there is none. With an error, which says what is wrong
// with the file, nothing of it is used.
func UserTuning() (t *Tuning, file string, err error) {
	t, err = tuning().user()
	return t, TuningFile(), err
}

// of is the choice for a device and type.
func (u *tuner) of(info *backend.Info, t Type) *choice {
	if c := u.last[t].Load(); c != nil && c.info == *info {
		return c
	}
	c := u.search(info, t)
	u.last[t].Store(c)
	return c
}

// search is of without the shortcut.
func (u *tuner) search(info *backend.Info, t Type) *choice {
	key := choiceKey{*info, t}
	u.mu.RLock()
	c := u.choices[key]
	u.mu.RUnlock()
	if c != nil {
		return c
	}
	c = u.find(info, t)
	u.mu.Lock()
	defer u.mu.Unlock()
	if first := u.choices[key]; first != nil {
		return first
	}
	if len(u.choices) >= maxChoices {
		clear(u.choices)
	}
	u.choices[key] = c
	return c
}

// maxChoices bounds what a process keeps; a machine has fewer devices.
const maxChoices = 1024

func (u *tuner) find(info *backend.Info, t Type) *choice {
	var device *DeviceTuning
	if all, err := u.user(); err == nil {
		device = all.Find(info)
	}
	c := &choice{info: *info}
	c.matmul.shipped = shipped(builtin.MatMul, info, t, func(p MatMulParams) bool { return p.runs(info, t) })
	c.transpose.shipped = shipped(builtin.Transpose, info, t, func(p TransposeParams) bool { return p.runs(info, t) })
	if device != nil {
		c.matmul.tuned = usable(device.MatMul, t, func(p MatMulParams) bool { return p.runs(info, t) })
		c.transpose.tuned = usable(device.Transpose, t, func(p TransposeParams) bool { return p.runs(info, t) })
	}
	c.crossover, c.crossed = findCrossover(device, builtin.Crossover, info, t)
	return c
}

// runs tells whether the device of info can run the parameters: they are valid and fit, and a GPU gets no CPU shape, which CUDA cannot compile.
func (p MatMulParams) runs(info *backend.Info, t Type) bool {
	return p.Validate(t) == nil && p.Fits(info, t) && !(info.GPU && p.CPU)
}

func (p TransposeParams) runs(info *backend.Info, t Type) bool {
	return p.Validate(t) == nil && p.Fits(info, t) && !(info.GPU && p.CPU)
}

// shipped is the parameters that fit of the rule that matches the device most closely and has any.
func shipped[P any](rules []rule[P], info *backend.Info, t Type, fit func(P) bool) (list []P) {
	for level := maxLevel; level > 0; level-- {
		for i := range rules {
			if rules[i].level(info, t) != level {
				continue
			}
			for _, p := range rules[i].Params {
				if fit(p) {
					list = append(list, p)
				}
			}
			if list != nil {
				return list
			}
		}
	}
	return nil
}

// usable is what the user tuned for t that fits.
func usable[P any](all []Tuned[P], t Type, fit func(P) bool) (list []Tuned[P]) {
	for _, w := range all {
		if w.Type == t.String() && w.N > 0 && fit(w.Params) {
			list = append(list, Tuned[P]{Type: w.Type, N: w.N, Params: w.Params})
		}
	}
	slices.SortStableFunc(list, func(a, b Tuned[P]) int { return a.N - b.N })
	return list
}

// pick is the user's parameters for the measured size that is nearest to size, on a scale of ratios. What is smaller than half of all measured sizes gets none of them:
// a large tile would be mostly empty. Else it is the first of the shipped ones that cuts the work into enough tiles, or the last. ok is false where there is nothing.
func (o *offer[P]) pick(size float64, enough int, tiles func(P) int) (p P, ok bool) {
	if len(o.tuned) > 0 && 2*size >= float64(o.tuned[0].N) {
		best, distance := 0, math.Inf(1)
		for i := range o.tuned {
			if d := math.Abs(math.Log(size / float64(o.tuned[i].N))); d < distance {
				best, distance = i, d
			}
		}
		return o.tuned[best].Params, true
	}
	for i := range o.shipped {
		if p, ok = o.shipped[i], true; tiles(p) >= enough {
			break
		}
	}
	return p, ok
}

// enough is how many tiles keep a device busy: a GPU runs a tile on all of a compute unit, and a CPU should not wait long for the last tiles.
func enough(info *backend.Info) int {
	units := max(info.ComputeUnits, 1)
	if info.GPU {
		return units
	}
	return 8 * units
}

// ChooseMatMul chooses the parameters of [MatMul] for the device of info and a C of m by n, with k products an element. They are valid for t, and fit the device. It
// takes what the user's tuning file has for exactly this device and driver, at the size nearest to the harmonic mean of m, n and k, and else what comes with the program
// for the device, its architecture, its vendor, or any. The file is read once in a process.
func ChooseMatMul(info *backend.Info, t Type, m, n, k int) MatMulParams {
	return ChooseMatMulBatch(info, t, 1, m, n, k)
}

// ChooseTranspose chooses the parameters of [Transpose] for the device of info and an A of rows by cols, as [ChooseMatMul] does. They are valid for t, and fit the device.
func ChooseTranspose(info *backend.Info, t Type, rows, cols int) TransposeParams {
	o := &tuning().of(info, t).transpose
	size := 2 / (1/float64(rows) + 1/float64(cols))
	p, ok := o.pick(size, enough(info), func(p TransposeParams) int { return tileCount(rows, p.rows()) * tileCount(cols, p.Tile) })
	if !ok { // needs no local memory
		line := cacheLine / t.Size()
		p = TransposeParams{CPU: true, Tile: line, Rows: line}
	}
	p.Whole = info.Driver == cpuDriver
	return p
}

func tileCount(n, tile int) int { return (n + tile - 1) / tile }

// harmonicMean is 0 where one of the dimensions is.
func harmonicMean(m, n, k int) float64 { return 3 / (1/float64(m) + 1/float64(n) + 1/float64(k)) }
