package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"
)

// A contender is something to measure.
type contender struct {
	name  string
	peer  bool
	place string

	skip  string                // why it is not to run
	check func() (Check, error) // runs it once on fresh memory and checks the result
	run   func(runs int) error  // runs it so many times, and returns when the results are there
	close func()                // may be nil
}

// timing is how samples are taken.
type timing struct {
	rounds int
	sample time.Duration // that a sample lasts at least
	rest   time.Duration // before each sample
	limit  time.Duration // of a single run
	steady bool          // rounds go on, up to four times as many, until all spreads are below steadySpread
}

// steadySpread is how far apart the quartiles of steady samples lie at most, as a fraction of the
// median.
const steadySpread = 0.05

// maxRuns bounds the runs of a sample on a device: a queue should not grow without bound.
const maxRuns = 10000

// mostRuns bounds the runs of a sample.
func (c *contender) mostRuns() int {
	if c.place == "host" {
		return 100 * maxRuns
	}
	return maxRuns
}

// measure checks the contenders, takes samples of those that are right, and notes their figures in
// the row's entries. The error is that of ctx.
func (t *timing) measure(ctx context.Context, row *Row, list []*contender) error {
	row.Entries = make([]Entry, len(list))
	var live []int
	for i, c := range list {
		e := &row.Entries[i]
		*e = Entry{Name: c.name, Peer: c.peer, Place: c.place, Status: OK, Seconds: []float64{}}
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.prepare(c, e); e.Status == OK {
			live = append(live, i)
		}
	}
	runtime.GC() // what the checks used should not be collected during the samples
	for round := 0; round < t.rounds || t.steady && round < 4*t.rounds && row.unsteady() != ""; round++ {
		if err := t.round(ctx, row, list, live, round); err != nil {
			return err
		}
	}
	for _, i := range live {
		row.Entries[i].summarize(row.Work)
	}
	return nil
}

// round takes a sample of each contender; each round begins with another one.
func (t *timing) round(ctx context.Context, row *Row, list []*contender, live []int, round int) error {
	for j := range live {
		i := live[(round+j)%len(live)]
		if err := ctx.Err(); err != nil {
			return err
		}
		e := &row.Entries[i]
		if e.Status != OK {
			continue
		}
		s, err := t.take(list[i], e.Runs)
		if err != nil {
			e.fail(Failed, err.Error())
			continue
		}
		e.Seconds = append(e.Seconds, s)
	}
	return nil
}

// unsteady says which entries have a spread that is too large, "" if none has. Textbook kernels do
// not count.
func (r *Row) unsteady() string {
	var list []string
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Status == OK && e.Name != nameNaive && e.Name != nameTiled {
			if s := quartiles(e.Seconds); s > steadySpread {
				list = append(list, fmt.Sprintf("%s by %s", e.title(), formatPercent(s)))
			}
		}
	}
	return strings.Join(list, ", ")
}

func (e *Entry) fail(status, note string) {
	e.Status, e.Note, e.Seconds, e.Runs = status, note, []float64{}, 0
}

func (e *Entry) summarize(work float64) {
	if e.Status != OK {
		return
	}
	s := Summarize(e.Seconds)
	e.Time = &s
	if s.Median > 0 {
		e.Rate = work / s.Median / 1e9
	}
}

// prepare checks a contender, and finds how many runs make a sample.
func (t *timing) prepare(c *contender, e *Entry) {
	if c.skip != "" {
		e.fail(Skipped, c.skip)
		return
	}
	check, err := c.check()
	if err != nil {
		e.fail(Failed, err.Error())
		return
	}
	e.Check = &check
	if check.Wrong > 0 || check.Elements == 0 {
		e.fail(Wrong, fmt.Sprintf("%d of %d elements are wrong", check.Wrong, check.Elements))
		return
	}
	for e.Runs = 1; ; {
		d, err := elapsed(func() error { return c.run(e.Runs) })
		switch {
		case err != nil:
			e.fail(Failed, err.Error())
			return
		case e.Runs == 1 && d > t.limit:
			e.fail(Skipped, fmt.Sprintf("a run takes longer than %v", t.limit))
			return
		case d >= t.sample || e.Runs >= c.mostRuns():
			return
		}
		e.Runs = moreRuns(e.Runs, d, t.sample, c.mostRuns())
	}
}

// moreRuns is the number of runs that should last as long as a sample, where so many lasted d: a
// little more than in proportion.
func moreRuns(runs int, d, sample time.Duration, most int) int {
	want := 1.2 * float64(runs) * float64(sample) / math.Max(float64(d), 1)
	return min(int(math.Min(math.Max(math.Ceil(want), float64(runs+1)), 100*float64(runs))), most)
}

// take is one sample: the seconds of a run.
func (t *timing) take(c *contender, runs int) (float64, error) {
	time.Sleep(t.rest)
	if runs > 1 { // wakes threads and caches up
		if err := c.run(1); err != nil {
			return 0, err
		}
	}
	d, err := elapsed(func() error { return c.run(runs) })
	return d.Seconds() / float64(runs), err
}

func elapsed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

func closeAll(list []*contender) {
	for _, c := range list {
		if c.close != nil {
			c.close()
		}
	}
}
