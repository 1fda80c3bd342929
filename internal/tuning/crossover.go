package tuning

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/internal/host"
)

// Crossover is the size from which a product in type t, of operands in host memory, is not slower
// on the device of info than on the host, as it was measured: the harmonic mean of m, n and k,
// since the work grows with m*n*k and the copies with m*k + k*n + m*n. math.MaxInt stands for
// never. It looks in the user's tuning file, and then in the data that come with the program. ok is
// false where neither knows.
func Crossover(info *backend.Info, t element.Type) (size int, ok bool) {
	c := choiceOf(info, t)
	return c.crossover, c.crossed
}

// findCrossover is [Crossover], for the caches.
func findCrossover(user []Crossing, rules []crossRule, info *backend.Info, t element.Type) (size int, ok bool) {
	for _, c := range user {
		if c.Type == t.String() && c.Host == HostName() && (c.Never || c.N > 0) {
			return c.Size(), true
		}
	}
	if !info.Host && host.InstructionSet() == "go" {
		return 0, false
	}
	best := 0
	for _, r := range rules {
		if level := r.level(info, t); level > best {
			best, size, ok = level, (&Crossing{N: r.N, Never: r.Never}).Size(), true
		}
	}
	return size, ok
}

// Size is N, or math.MaxInt for never.
func (c *Crossing) Size() int {
	if c.Never {
		return math.MaxInt
	}
	return c.N
}

// HostName tells apart the hosts that a device can be compared with in one machine: by the
// instructions that products use there, and the number of threads.
func HostName() string {
	return fmt.Sprintf("%s, %d threads", host.InstructionSet(), runtime.GOMAXPROCS(0))
}

const (
	hopeless     = 32 // times slower than the host, from hopelessFrom on: there is no crossover
	hopelessFrom = 256
)

// FindCrossing finds the size from which products in type t are not slower on a device than on the
// host: the first of two of the sizes in a row at which it is not. product gives the two ways to
// compute a product of n by n by n, from host memory to host memory. done is false where late said
// that the time was over before all that matters was known; c is then what is known so far.
func FindCrossing(t element.Type, sizes []int, product func(n int) (device, host func() error),
	late func() bool,
) (c Crossing, done bool, err error) {
	c, done, err = findCrossing(sizes, func(n int) (CrossingPair, error) {
		device, host := product(n)
		return compare(n, device, host)
	}, late)
	c.Type, c.Host = t.String(), HostName()
	return c, done, err
}

func findCrossing(sizes []int, measure func(n int) (CrossingPair, error), late func() bool) (c Crossing, done bool,
	err error,
) {
	c.Never = true
	for _, n := range sizes {
		if late() {
			return c, false, nil
		}
		p, err := measure(n)
		if err != nil {
			return c, false, err
		}
		c.Points = append(c.Points, p)
		switch faster := p.Device <= p.Host; {
		case faster && !c.Never:
			return c, true, nil
		case faster:
			c.N, c.Never = n, false
		case n >= hopelessFrom && p.Device > hopeless*p.Host:
			c.N, c.Never = 0, true
			return c, true, nil
		default:
			c.N, c.Never = 0, true
		}
	}
	return c, true, nil
}

// compare times the device and the host in turns, after a run of each, which compiles.
func compare(n int, device, host func() error) (p CrossingPair, err error) {
	const rounds = 3
	ways := [2]func() error{device, host}
	var samples [2][rounds]float64
	for _, run := range ways {
		if err := run(); err != nil {
			return p, err
		}
	}
	for round := range rounds {
		for i, run := range ways {
			if samples[i][round], err = sample(run); err != nil {
				return p, err
			}
		}
	}
	for i := range samples {
		slices.Sort(samples[i][:])
	}
	return CrossingPair{N: n, Device: samples[0][rounds/2], Host: samples[1][rounds/2]}, nil
}

// sample is the seconds of a run, of as many as make the figure sound.
func sample(run func() error) (seconds float64, err error) {
	const enough = 10 * time.Millisecond
	start := clock.Now()
	for runs := 1; ; runs++ {
		if err := run(); err != nil {
			return 0, err
		}
		if d := clock.Now() - start; d >= enough {
			return d.Seconds() / float64(runs), nil
		}
	}
}
