// Package tuning chooses the parameters of the built-in kernels for a device: tiles, and the size
// from which a product pays there. They are data: those of tune.json come with the program, for
// kinds of devices, and a user's file holds what `tandem tune` measured, for one device and driver.
// Parameters and grids decide the speed, never a bit of a result. Package kernels/tuning is its
// public face.
package tuning

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
)

// A process looks at the tuning data of the user and of the program once for each device, and then
// chooses among few parameters. A chooser is what it found.
type chooser struct {
	user func() (*Data, error) // of the user's file, read once

	mu      sync.Mutex
	devices map[backend.Info]*device
}

// A device is its choices by type: those of arithmetic, and Int8 for products of bytes.
type device [element.Int8 + 1]choice

// A choice is what there is for one device and type.
type choice struct {
	matmul     offer[kernels.MatMulParams]
	tall, wide [maxThin + 1][]kernels.MatMulParams // for so many columns or rows of C
	transpose  offer[kernels.TransposeParams]
	crossover  int
	crossed    bool // crossover is known
}

// An offer is parameters of a kernel that fit the device.
type offer[P params] struct {
	tuned   []Tuned[P]  // by the user, from small sizes to large ones
	shipped []P         // of the closest rule, from large tiles to small ones
	cycles  [][]float64 // of the rule, for each of shipped, if it has them
}

// Products with few rows or columns in C read one large operand once, so that memory is their
// limit, and the tiles of square products would be mostly empty. They have parameters of their own.
// The chain of an element stays in one work-item: only the long dimension is spread over groups.
const (
	maxThin  = 16      // rows or columns of a thin C
	thinWork = 1 << 16 // elements of the large operand from which a kernel of its own pays
)

func newChooser(user func() (*Data, error)) *chooser {
	return &chooser{user: sync.OnceValues(user), devices: map[backend.Info]*device{}}
}

func readUser() (*Data, error) { return read(fileName()) }

var current atomic.Pointer[chooser]

func init() { Reload() }

// Reload makes the process read the user's tuning file anew when parameters are next chosen.
func Reload() { current.Store(newChooser(readUser)) }

// Forget makes the process ignore what the user's tuning file has for the device of info, until the
// file is read anew: its parameters do not compile there.
func Forget(info *backend.Info) {
	c := current.Load()
	user, err := c.user()
	if err != nil || user.Find(info) == nil {
		return
	}
	rest := *user
	rest.Devices = slices.DeleteFunc(slices.Clone(rest.Devices),
		func(d Record) bool { return d.Device == DeviceIDOf(info) })
	// otherwise another goroutine was faster, or has read the file anew
	current.CompareAndSwap(c, newChooser(func() (*Data, error) { return &rest, nil }))
}

// User is the user's tuning data as this process reads them, and the name of their file, "" where
// there is none. With an error, which says what is wrong with the file, nothing of it is used.
func User() (d *Data, file string, err error) {
	d, err = current.Load().user()
	return d, fileName(), err
}

// choiceOf is the choice for a device and type.
func choiceOf(info *backend.Info, t element.Type) *choice {
	return &current.Load().device(info)[t]
}

// maxDevices bounds what a process keeps; a machine has fewer.
const maxDevices = 1024

func (c *chooser) device(info *backend.Info) *device {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.devices[*info]
	if d == nil {
		if len(c.devices) >= maxDevices {
			clear(c.devices)
		}
		d = c.newDevice(info)
		c.devices[*info] = d
	}
	return d
}

func (c *chooser) newDevice(info *backend.Info) *device {
	own := &Record{}
	if all, err := c.user(); err == nil {
		if found := all.Find(info); found != nil {
			own = found
		}
	}
	d := new(device)
	for _, t := range element.Types() {
		c := choice{
			matmul:    newOffer(own.MatMul, builtin.MatMul, info, t),
			transpose: newOffer(own.Transpose, builtin.Transpose, info, t),
		}
		for n := 1; n <= maxThin; n++ {
			c.tall[n], _ = closest(builtin.MatMul, info, t, "tall", n)
			c.wide[n], _ = closest(builtin.MatMul, info, t, "wide", n)
		}
		c.crossover, c.crossed = findCrossover(own.Crossover, builtin.Crossover, info, t)
		d[t] = c
	}
	bytes := d[element.Int32]
	if o := newOffer(nil, builtin.MatMul, info, element.Int8); o.shipped != nil {
		bytes.matmul = o
	}
	d[element.Int8] = bytes
	return d
}

// newOffer is what the user tuned for t that the device can run, and what comes with the program.
func newOffer[P params](user []Tuned[P], rules []rule[P], info *backend.Info, t element.Type) offer[P] {
	var o offer[P]
	o.shipped, o.cycles = closest(rules, info, t, "", 0)
	for i := range user {
		if w := &user[i]; w.Type == t.String() && used(w, info) {
			o.tuned = append(o.tuned, Tuned[P]{N: w.N, Params: w.Params})
		}
	}
	slices.SortStableFunc(o.tuned, func(a, b Tuned[P]) int { return a.N - b.N })
	return o
}

// measured is the user's parameters for the measured size that is nearest to size, on a scale of
// ratios. What is smaller than half of all measured sizes gets none of them: a large tile would be
// mostly empty.
func (o *offer[P]) measured(size float64) (p P, ok bool) {
	if len(o.tuned) == 0 || 2*size < float64(o.tuned[0].N) {
		return p, false
	}
	best, distance := 0, math.Inf(1)
	for i := range o.tuned {
		if d := math.Abs(math.Log(size / float64(o.tuned[i].N))); d < distance {
			best, distance = i, d
		}
	}
	return o.tuned[best].Params, true
}

// fastest is the parameters whose tiles take the fewest cycles a step of k, the first of equals.
// units multiprocessors take tiles in rounds of as many as they hold, and share the last round
// evenly. So a small product gets tiles that reach more multiprocessors, and a large one those that
// multiply the most a cycle.
func fastest[P any](list []P, cycles [][]float64, units int, tiles func(P) int) P {
	best, least := 0, math.Inf(1)
	for i, p := range list {
		held := len(cycles[i])
		rounds, rest := tiles(p)/(units*held), tiles(p)%(units*held)
		time := float64(rounds) * cycles[i][held-1]
		if rest > 0 {
			time += cycles[i][(rest-1)/units]
		}
		if time < least {
			best, least = i, time
		}
	}
	return list[best]
}

// largest is the first parameters that cut the work into enough tiles, or the last.
func largest[P any](list []P, enough int, tiles func(P) int) (p P, ok bool) {
	for i := range list {
		if p, ok = list[i], true; tiles(p) >= enough {
			break
		}
	}
	return p, ok
}

// pocl is the name of PoCL's platform. It gives a core its share of the tiles at once, row by row:
// where the last ones are smaller, one core waits for the other.
const pocl = "Portable Computing Language"

// enough is how many tiles keep a device busy: a GPU runs a tile on all of a compute unit, and a
// CPU should not wait long for the last tiles.
func enough(info *backend.Info) int {
	units := max(info.ComputeUnits, 1)
	if info.GPU {
		return units
	}
	return 8 * units
}

// ChooseMatMul chooses the parameters of [kernels.MatMul] for the device of info and a C of m by n,
// with k products an element. They are valid for t, and fit the device. It takes what the user's
// tuning file has for exactly this device and driver, at the size nearest to the harmonic mean of
// m, n and k, and else what comes with the program for the device, its architecture, its vendor, or
// any. The file is read once in a process. With element.Int8 they are those of
// [kernels.MatMulBytes], and k is in words.
func ChooseMatMul(info *backend.Info, t element.Type, m, n, k int) kernels.MatMulParams {
	return ChooseMatMulBatch(info, t, 1, m, n, k)
}

// ChooseMatMulBatch is [ChooseMatMul] for count products of one shape.
func ChooseMatMulBatch(info *backend.Info, t element.Type, count, m, n, k int) kernels.MatMulParams {
	c, units := choiceOf(info, t), max(info.ComputeUnits, 1)
	tiles := func(p kernels.MatMulParams) int { return kernels.MatMulGrid(p, m, n).Count() * max(count, 1) }
	p, ok := largest(c.thin(m, n, k), 2*units, tiles)
	if !ok {
		p, ok = c.matmul.measured(harmonicMean(m, n, k))
	}
	switch {
	case ok:
	case c.matmul.cycles != nil:
		p, ok = fastest(c.matmul.shipped, c.matmul.cycles, units, tiles), true
	default:
		p, ok = largest(c.matmul.shipped, enough(info), func(p kernels.MatMulParams) int {
			switch {
			case !p.CPU && (p.BM >= 2*m || p.BN >= 2*n):
				return 0 // a GPU's tiles would be more than half empty
			case info.Platform == pocl && count <= 1 && (m+p.BM-1)/p.BM*p.BM > m+m/8:
				return 0 // the last row's tiles would be much smaller than the others
			}
			return tiles(p)
		})
	}
	if !ok { // fits every device that has any local memory to speak of
		w := vector(info, t)
		p = kernels.MatMulParams{CPU: true, BM: 4, BN: w, BK: 8, TM: 4, TN: w, KU: 1, VW: w}
	}
	p.Whole = info.Host
	return p
}

// thin is the parameters for a thin C; nil for any other.
func (c *choice) thin(m, n, k int) []kernels.MatMulParams {
	switch {
	case min(m, n) < 1 || min(m, n) > maxThin || max(m, n) < thinWork/max(k, 1):
		return nil
	case n <= m:
		return c.tall[n]
	}
	return c.wide[m]
}

// ChooseTranspose chooses the parameters of [kernels.Transpose] for the device of info and an A of
// rows by cols, as [ChooseMatMul] does. They are valid for t, and fit the device.
func ChooseTranspose(info *backend.Info, t element.Type, rows, cols int) kernels.TransposeParams {
	size := 2 / (1/float64(rows) + 1/float64(cols))
	o := &choiceOf(info, t).transpose
	p, ok := o.measured(size)
	if !ok {
		p, ok = largest(o.shipped, enough(info),
			func(p kernels.TransposeParams) int { return kernels.TransposeGrid(p, rows, cols).Count() })
	}
	if !ok { // needs no local memory
		const cacheLine = 64 // bytes
		p = kernels.TransposeParams{CPU: true, Tile: cacheLine / t.Size(), Rows: cacheLine / t.Size()}
	}
	p.Whole = info.Host
	return p
}

// harmonicMean is 0 where one of the dimensions is.
func harmonicMean(m, n, k int) float64 { return 3 / (1/float64(m) + 1/float64(n) + 1/float64(k)) }
