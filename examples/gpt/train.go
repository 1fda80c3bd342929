package main

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
)

// A trainer has a model on each device of a session, which have the same weights and share each
// batch: the devices must be 1, 2, 4, ..., so that merge's tree has a branch for each. Only slopes
// travel between them.
type trainer struct {
	*options
	models  []*model
	devices []string
	trained int // tokens to learn from
	kept    int // the others, which show what was learned
	done    int // steps
	losses  []float64
}

// rate is how far a step goes at most: it rises for 20 steps, and falls to a tenth with half a
// cosine.
const rate = 8e-3

func newTrainer(sessions []*linalg.Session, o *options, tokens []int32) (*trainer, error) {
	t := &trainer{options: o, trained: len(tokens) / 10 * 9}
	t.kept = len(tokens) - t.trained
	if n := len(sessions); bits.OnesCount(uint(n)) != 1 || bits.OnesCount(uint(o.batch)) != 1 || n > o.batch {
		return nil, fmt.Errorf("%d devices for a batch of %d: both must be powers of two", n, o.batch)
	}
	for _, s := range sessions {
		if err := fits(s.Info()); err != nil {
			return nil, err
		}
		m := newModel(s, o.shape, o.batch/len(sessions), o.seed)
		m.text, m.starts = must(linalg.Upload(s, linalg.NewMatrix(1, len(tokens), tokens))), m.ints(1, o.batch)
		t.models, t.devices = append(t.models, m), append(t.devices, s.Info().Name)
	}
	return t, nil
}

// fits says what a device lacks.
func fits(i backend.Info) error {
	if !i.Float32 || !i.Float64 {
		return fmt.Errorf("%w: %s needs float32, and float64 for elementary functions", backend.ErrUnsupported, i.Name)
	}
	return nil
}

// step is one step of training: the batch of step i is that of stream i+1 of the seed. It gives the
// loss before it.
func (t *trainer) step() float64 {
	t.each(func(i int, m *model) {
		check(array.Integers(&array.Stream{Seed: t.seed, Next: uint64(t.done) + 1}, m.starts, 0,
			int32(t.trained-t.context)))
		m.draw(i * m.batch)
		m.forward()
		m.backward(t.batch * t.context)
	})
	loss := t.loss()
	t.share()
	t.done++
	i := float64(t.done)
	r := rate * min(i/20, 0.55+float64(0.45*rmath.CosPi(i/float64(t.steps))))
	for _, m := range t.models {
		m.update(float32(r), float32(1/(1-rmath.Pow(beta1, i))), float32(1/(1-rmath.Pow(beta2, i))))
	}
	t.losses = append(t.losses, loss)
	return loss
}

// share makes the slopes of all models the sums of theirs, in the order of merge.
func (t *trainer) share() {
	for by := 1; by < len(t.models); by *= 2 {
		for i := 0; i < len(t.models); i += 2 * by {
			m, other := t.models[i], t.models[i+by]
			check(linalg.WithScratch(m.s, 1, m.size, func(x *floats) error {
				check(array.Copy(x, other.slopes), array.Add(m.slopes, m.slopes, x))
				return nil
			}))
		}
	}
	for _, m := range t.models[1:] {
		check(array.Copy(m.slopes, t.models[0].slopes))
	}
}

// loss is the mean of the losses of the last batch, which are added sequence by sequence.
func (t *trainer) loss() (sum float64) {
	for _, m := range t.models {
		for _, loss := range must(m.losses.Download()).Data {
			sum += float64(loss)
		}
	}
	return sum / float64(t.batch*t.context)
}

// evaluate is the loss of a batch that is spread over the text kept back.
func (t *trainer) evaluate() float64 {
	t.each(func(i int, m *model) {
		check(array.Range(m.starts, int32(t.trained), int32((t.kept-t.context-1)/t.batch)))
		m.draw(i * m.batch)
		m.forward()
		m.entropy(1)
	})
	return t.loss()
}

// each calls f for every model at once.
func (t *trainer) each(f func(i int, m *model)) {
	var all sync.WaitGroup
	failed := make([]any, len(t.models))
	for i, m := range t.models {
		all.Go(func() {
			defer func() { failed[i] = recover() }()
			f(i, m)
		})
	}
	all.Wait()
	for _, r := range failed {
		if r != nil {
			panic(r)
		}
	}
}

// writer is the model for one sequence.
func (t *trainer) writer() *model {
	m := newModel(t.models[0].s, t.shape, 1, t.seed)
	check(array.Copy(m.weights, t.models[0].weights))
	return m
}

// curve draws losses from 1 to 5, at most 64 of them.
func curve(losses []float64) (line string) {
	for i, n := 0, min(len(losses), 64); i < n; i++ {
		loss := losses[(i+1)*len(losses)/n-1]
		line += string([]rune("▁▂▃▄▅▆▇█")[max(min(int(2*loss)-2, 7), 0)])
	}
	return line
}
