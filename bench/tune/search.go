package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

// A space is where a search goes.
type space[P comparable] struct {
	seeds      []P         // the first is what is used without the search
	neighbours func(P) []P // candidates beside a good one
	source     func(P) *backend.Source
	contenders func(*backend.Kernel, P) []*measure.Contender // all are checked; the last is timed
}

const (
	sample = 10 * time.Millisecond // that one lasts at least

	// turns that a candidate takes with the best so far; what counts is the fastest, as nothing
	// makes a run faster than it is
	duelRounds = 4
	lastRounds = 7    // turns that the winner takes with what was used before
	clearly    = 1.25 // times the best: slower than that in the first sample, a candidate is dropped
	hopelessly = 4.0  // the same for the first run
	gain       = 0.99 // times the best: what a candidate must reach, so that noise changes nothing
)

// A candidate is parameters that were found right.
type candidate[P any] struct {
	trial  *tuning.Trial[P]
	kernel *backend.Kernel
	timed  *measure.Contender
	runs   int // of a sample
}

// A searcher is a search under way.
type searcher[P comparable] struct {
	r      *run
	sp     space[P]
	until  time.Time
	trials []*tuning.Trial[P]
	seen   map[P]bool
	first  *candidate[P] // the first seed; nil if that does not work
	best   *candidate[P]
}

// search finds the fastest parameters, and what the first seed took, in seconds. Without any that
// work won is nil. When the context of r is done, it is what was found so far, beside the error.
func search[P comparable](r *run, sp space[P], until time.Time) (won *tuning.Tuned[P], before float64, err error) {
	sr := &searcher[P]{r: r, sp: sp, until: until, seen: map[P]bool{}}
	defer sr.close()
	if err = sr.descend(); sr.best == nil {
		return nil, 0, err
	}
	seconds := median(sr.best.trial)
	if before = seconds; err == nil && sr.first != nil && sr.first != sr.best {
		seconds, before, err = sr.rematch()
	}
	won = &tuning.Tuned[P]{Params: sr.best.trial.Params, Seconds: seconds}
	for _, t := range sr.trials {
		won.Trials = append(won.Trials, *t)
	}
	return won, before, err
}

func median[P any](t *tuning.Trial[P]) float64  { return measure.Median(t.Seconds) }
func fastest[P any](t *tuning.Trial[P]) float64 { return slices.Min(t.Seconds) }

// rematch lets the best take turns with the first seed, and gives way to that if it gained nothing
// after all. It returns what the best and the first seed took, in the median; when the context is
// done, in the turns before.
func (sr *searcher[P]) rematch() (seconds, before float64, err error) {
	var turns [2][]float64
	for range lastRounds {
		for i, c := range []*candidate[P]{sr.first, sr.best} {
			s, err := sr.sample(c)
			if err = cmp.Or(err, sr.r.ctx.Err()); err != nil {
				return median(sr.best.trial), median(sr.first.trial), err
			}
			turns[i] = append(turns[i], s)
		}
	}
	before, seconds = measure.Median(turns[0]), measure.Median(turns[1])
	if seconds > gain*before {
		sr.first, sr.best = sr.best, sr.first
		seconds = before
	}
	return seconds, before, nil
}

// descend tries the seeds, and then the neighbours of the best as long as one of them is better.
func (sr *searcher[P]) descend() error {
	if _, err := sr.any(sr.sp.seeds, false); err != nil || sr.best == nil {
		return err
	}
	for {
		better, err := sr.any(sr.sp.neighbours(sr.best.trial.Params), true)
		if err != nil || !better {
			return err
		}
	}
}

// any tries the candidates, all or until one is the new best. The error is that of the context, or
// that of a device that fails with the best, which did work.
func (sr *searcher[P]) any(list []P, stop bool) (better bool, err error) {
	for _, p := range list {
		if sr.seen[p] {
			continue
		}
		if err := sr.r.ctx.Err(); err != nil {
			return better, err
		}
		if sr.over() {
			return better, nil
		}
		sr.seen[p] = true
		won, err := sr.try(p)
		if err != nil {
			return better, err
		}
		if better = better || won; won && stop {
			break
		}
	}
	return better, nil
}

// over tells whether the search has to end. The first candidate is tried in any case.
func (sr *searcher[P]) over() bool {
	limit := sr.r.o.Trials
	return len(sr.trials) > 0 && (!time.Now().Before(sr.until) || limit > 0 && len(sr.trials) >= limit)
}

// try measures one candidate, and tells whether it is the new best.
func (sr *searcher[P]) try(p P) (won bool, err error) {
	src := sr.sp.source(p)
	ptx, err := src.Prebuilt()
	if err != nil || sr.r.prebuilt && ptx == nil {
		return false, err
	}
	c := &candidate[P]{trial: &tuning.Trial[P]{Params: p}}
	c.kernel, err = sr.r.s.CompileSource(src)
	if errors.Is(err, backend.ErrUnsupported) && ptx == nil {
		sr.r.prebuilt = true
		sr.r.note("only kernels that come compiled were searched: %v", err)
		return false, nil
	}
	sr.trials = append(sr.trials, c.trial)
	if err != nil {
		c.trial.Note = err.Error()
		return false, nil
	}
	won, err = sr.measure(c)
	if won && len(sr.trials) == 1 {
		sr.first = c
	}
	if won {
		c, sr.best = sr.best, c
	}
	if c != nil && c != sr.first {
		c.kernel.Release()
	}
	return won, err
}

// measure checks and times a candidate.
func (sr *searcher[P]) measure(c *candidate[P]) (won bool, err error) {
	list := sr.sp.contenders(c.kernel, c.trial.Params)
	for _, x := range list {
		switch check, err := x.Check(); {
		case err != nil:
			c.trial.Note = err.Error()
			return false, nil
		case check.Wrong > 0 || check.Elements == 0:
			c.trial.Note = fmt.Sprintf("%d of %d elements are wrong", check.Wrong, check.Elements)
			sr.r.note("%+v: %s", c.trial.Params, c.trial.Note)
			return false, nil
		}
	}
	c.timed = list[len(list)-1]
	s, err := sr.r.time(c.timed, 1)
	if err != nil {
		c.trial.Note = err.Error()
		return false, nil
	}
	if sr.best != nil && s > hopelessly*fastest(sr.best.trial)+0.01 {
		c.trial.Seconds, c.trial.Note = []float64{s}, "far slower"
		return false, nil
	}
	c.runs = int(math.Max(1, math.Min(measure.MaxRuns, math.Ceil(sample.Seconds()/math.Max(s, 1e-6)))))
	return sr.duel(c)
}

// sample times a candidate, and notes it.
func (sr *searcher[P]) sample(c *candidate[P]) (seconds float64, err error) {
	seconds, err = sr.r.time(c.timed, c.runs)
	if err == nil {
		c.trial.Seconds = append(c.trial.Seconds, seconds)
	}
	return seconds, err
}

// duel lets a candidate take turns with the best so far.
func (sr *searcher[P]) duel(c *candidate[P]) (won bool, err error) {
	own, best := math.Inf(1), math.Inf(1) // the fastest of the turns
	for round := range duelRounds {
		s, err := sr.sample(c)
		if err != nil {
			c.trial.Note = err.Error()
			return false, nil
		}
		own = min(own, s)
		if sr.best == nil {
			continue
		}
		if round == 0 && s > clearly*fastest(sr.best.trial) {
			c.trial.Note = "slower"
			return false, nil
		}
		if s, err = sr.sample(sr.best); err != nil {
			return false, err
		}
		best = min(best, s)
	}
	return sr.best == nil || own < gain*best, sr.r.ctx.Err()
}

func (sr *searcher[P]) close() {
	for _, c := range []*candidate[P]{sr.best, sr.first} {
		if c != nil {
			c.kernel.Release() // idempotent: both may be the same
		}
	}
}
