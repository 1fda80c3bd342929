package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Curve is what products of n by n by n cost on the device with a number of threads, over n.
type Curve struct {
	Type    string       `json:"type"`
	Name    string       `json:"name"`    // "fast"; with the number of threads where the device is a processor
	Threads int          `json:"threads"` // GOMAXPROCS; only the cpu device runs in Go's threads
	Unit    string       `json:"unit"`    // of Rate
	Points  []CurvePoint `json:"points"`  // in ascending order
}

// A CurvePoint is one size.
type CurvePoint struct {
	N       int       `json:"n"`
	Seconds []float64 `json:"seconds"` // of one run: every sample
	Time    Summary   `json:"time"`
	Rate    float64   `json:"rate"` // 10^9 operations a second, at the median
}

// A Jump is the largest rise of the time per operation from one size of a curve to the next.
type Jump struct {
	From, To int
	Rise     float64 // 0.15: 15 %
}

// add adds samples to the point of size n.
func (c *Curve) add(n int, seconds []float64, work float64) {
	i, found := c.find(n)
	if !found {
		c.Points = slices.Insert(c.Points, i, CurvePoint{N: n})
	}
	e := Entry{Status: OK, Seconds: append(c.Points[i].Seconds, seconds...)}
	e.summarize(work)
	c.Points[i] = CurvePoint{n, e.Seconds, *e.Time, e.Rate}
}

// find is where the point of size n is, or belongs.
func (c *Curve) find(n int) (i int, found bool) {
	return slices.BinarySearchFunc(c.Points, n, func(p CurvePoint, n int) int { return p.N - n })
}

// LargestJump is that of the sizes from n on, by the fastest sample of each, as what the machine
// does beside makes others slow; zero where none rises.
func (c *Curve) LargestJump(n int) (j Jump) {
	each := func(p *CurvePoint) float64 { return p.Time.Min / math.Pow(float64(p.N), 3) }
	for i := 1; i < len(c.Points); i++ {
		p, q := &c.Points[i-1], &c.Points[i]
		if rise := each(q)/each(p) - 1; p.N >= n && rise > j.Rise {
			j = Jump{p.N, q.N, rise}
		}
	}
	return j
}

// scalingSizes rise by factors up to 512, are close from there to 1100, where tiles and their edges
// show, and rise by factors again.
func (r *runner) scalingSizes() []int {
	switch {
	case r.o.Sizes != nil:
		return slices.Compact(slices.Sorted(slices.Values(r.o.Sizes)))
	case r.o.Quick:
		return []int{16, 24, 33}
	}
	sizes := []int{16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 513, 767, 768, 769, 1023, 1024, 1025}
	for n := 533; n <= 1100; n += 21 {
		sizes = append(sizes, n)
	}
	sizes = append(sizes, 1280, 1536, 2048, 2049, 3072, 4096)
	if r.s.Info().GPU {
		sizes = append(sizes, 6144, 8192, 12288, 16384)
	}
	return slices.Compact(slices.Sorted(slices.Values(sizes)))
}

// scaling measures the curves of all types.
func (r *runner) scaling() error {
	sizes := r.scalingSizes()
	r.done, r.steps = 0, len(r.o.Types)*len(sizes)*r.rounds
	for _, t := range r.o.Types {
		if !kernels.Supports(ptr(r.s.Info()), t) {
			r.note("%s: the device does not keep the numerics contract in it (%s)", t, r.s.Info().Note)
			r.done += len(sizes) * r.rounds
			continue
		}
		if err := in(t).scaling(r, sizes); err != nil {
			return err
		}
	}
	r.step("done")
	return nil
}

// threadCounts are what the curves are for: one thread, two, four and so on up to all on the cpu
// device, and nothing in particular on others.
func (r *runner) threadCounts() (counts []int) {
	all := runtime.GOMAXPROCS(0)
	if r.s.Info().Host {
		for n := 1; n < all; n *= 2 {
			counts = append(counts, n)
		}
	}
	return append(counts, all)
}

func scalingOf[T linalg.Element](r *runner, sizes []int) error {
	t := element.TypeOf[T]()
	var curves []*Curve
	for _, threads := range r.threadCounts() {
		c := &Curve{Type: t.String(), Name: nameFast, Threads: threads, Unit: operations(t), Points: []CurvePoint{}}
		if r.s.Info().Host {
			c.Name = fmt.Sprintf("%s, threads: %d", nameFast, threads)
		}
		curves = append(curves, c)
	}
	defer func() {
		for _, c := range curves {
			r.report.Scaling = append(r.report.Scaling, *c)
		}
	}()
	// Each pass takes a sample of every size, in an order of its own: when the machine is slow for
	// a while, other sizes are each time.
	rng := rand.New(rand.NewPCG(1, uint64(t)))
	done := r.done + len(sizes)*r.rounds
	for pass := range r.rounds {
		for _, n := range sizes {
			if pass > 0 && r.isOver() {
				if len(curves[0].Points) > 0 { // otherwise it is noted already
					r.note("scaling of %s products: %d or %d samples of each size, not %d, as the time limit of %v "+
						"is over", t, pass, pass+1, r.rounds, r.o.Limit)
				}
				r.done = done
				return nil
			}
			if !r.step(fmt.Sprintf("scaling of %s products: sample %d of n = %d", t, pass+1, n)) {
				continue
			}
			if pass == 0 && !r.fits(3, float64(n)*float64(n)*float64(t.Size())) {
				r.note("scaling of %s products: n = %d is left out, as it does not fit the memory", t, n)
				continue
			}
			if err := scalingAt[T](r, n, pass, curves); err != nil {
				return err
			}
		}
		sizes = slices.Clone(sizes)
		rng.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	}
	return nil
}

// scalingAt takes a sample of a size for each curve. The curves take turns, as contenders do. What
// the first pass could not measure is not tried again.
func scalingAt[T linalg.Element](r *runner, n, pass int, curves []*Curve) error {
	if pass > 0 {
		curves = slices.DeleteFunc(slices.Clone(curves), func(c *Curve) bool { _, found := c.find(n); return !found })
	}
	if len(curves) == 0 {
		return nil
	}
	p := randomProblem[T](n, n, n)
	d, err := newOnDevice(r.s, p, newReference(p, checkOperations()/100))
	if err != nil {
		return err
	}
	defer d.free()
	row := Row{Type: element.TypeOf[T]().String(), M: n, N: n, K: n, Work: 2 * math.Pow(float64(n), 3)}
	var list []*contender
	for _, c := range curves {
		x := d.contender(c.Name, d.mul)
		run := x.run
		x.run = func(runs int) error {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Threads))
			return run(runs)
		}
		list = append(list, x)
	}
	once := r.timing
	once.rounds = 1
	if err := once.measure(r.ctx, &row, list); err != nil {
		return err
	}
	for i, e := range row.Entries {
		if e.Status == OK {
			curves[i].add(n, e.Seconds, row.Work)
			continue
		}
		r.note("%s, %s: %s: %s", row.Title(), e.Name, e.Status, e.Note)
		if e.Status != Skipped {
			r.report.failed = append(r.report.failed, row.Title()+", "+e.Name+": "+e.Note)
		}
	}
	return nil
}
