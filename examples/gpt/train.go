package main

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
)

// A trainer has a model on each device, which have the same weights and share each batch with those
// of other ranks. It is cut into parts, a power of two, so that each has a branch of merge's tree;
// the models of all ranks take them in turn. Only sums travel.
type trainer struct {
	*options
	vocabulary
	models  []*model
	devices []string
	text    []int32
	trained int // characters to learn from; the others, kept back, show what was learned
	parts   int // of a batch
	done    int // steps
	stop    bool
	losses  []float64
	starts  *ints
}

func newTrainer(sessions []*linalg.Session, o *options, v vocabulary, text []int32) *trainer {
	devices := o.ranks * len(sessions)
	t := &trainer{options: o, vocabulary: v, text: text, trained: len(text) / 10 * 9}
	t.parts = 1 << bits.Len(uint(devices-1))
	if o.batch%t.parts != 0 {
		check(fmt.Errorf("%d devices cannot share batches of %d", devices, o.batch))
	}
	for _, s := range sessions {
		t.models = append(t.models, newModel(s, o.shape, o.batch/t.parts, o.seed))
		t.devices = append(t.devices, s.Info().Name)
	}
	t.starts = t.models[0].ints(1, o.batch)
	return t
}

// train makes the steps that are left, and says how far it is.
func (t *trainer) train(ctx context.Context) {
	for start, said, first := time.Now(), time.Now(), t.done; t.done < t.steps && !t.stop; {
		t.stop = ctx.Err() != nil
		loss := t.step()
		if time.Since(said) < 2*time.Second {
			continue
		}
		said = time.Now()
		each := time.Since(start) / time.Duration(t.done-first)
		fmt.Fprintf(t.progress, "step %d of %d: loss %.3f, %.0f tokens/s, %v left\n", t.done, t.steps, loss,
			float64(t.batch*t.context)/each.Seconds(), (each * time.Duration(t.steps-t.done)).Round(time.Second))
	}
}

// step is one step of training, and gives the loss before it. The batch of step i is that of stream
// i+1 of the seed. The rate rises for 20 steps, and falls to a tenth with half a cosine.
func (t *trainer) step() float64 {
	stream, end := &array.Stream{Seed: t.seed, Next: uint64(t.done) + 1}, int32(t.trained-t.context)
	check(array.Integers(stream, t.starts, 0, end))
	loss := t.share(must(t.starts.Download()).Data, func(m *model) {
		m.forward()
		m.backward(t.batch * t.context)
	})
	t.done++
	i := float64(t.done)
	rate := 8e-3 * min(i/20, 0.55+float64(0.45*rmath.CosPi(i/float64(t.steps))))
	for _, m := range t.models {
		m.update(float32(rate), float32(1/(1-rmath.Pow(beta1, i))), float32(1/(1-rmath.Pow(beta2, i))))
	}
	t.losses = append(t.losses, loss)
	return loss
}

// share calls f for all parts of the batch whose sequences begin at starts, and gives the models of
// all ranks the sums of what the parts have. It returns the mean loss. Where one rank is to stop,
// all are.
func (t *trainer) share(starts []int32, f func(m *model)) (loss float64) {
	here, size := len(t.models), t.models[0].size+t.context+1
	var all []float32
	for first := 0; first < t.parts; first += t.ranks * here {
		mine := linalg.NewMatrix[float32](here, size, nil)
		var work sync.WaitGroup
		errs := make([]error, here)
		for i, m := range t.models {
			part := first + t.rank*here + i
			work.Go(func() {
				defer catch(&errs[i])
				if part < t.parts {
					m.take(t.text, starts[part*m.batch:][:m.batch])
					f(m)
					check(m.sums.CopyTo(mine.Slice(i, i+1, 0, size)))
				}
			})
		}
		work.Wait()
		check(errs...)
		if t.stop {
			mine.Row(0)[size-1] = 1
		}
		all = append(all, must(t.gather(mine.Data))...)
	}
	for _, m := range t.models {
		check(launchMerge(m.s, backend.GridFor(size), m.sums, slices.Clone(all[:t.parts*size]), t.parts))
	}
	last := must(t.models[0].sums.Slice(0, 1, size-1-t.context, size).Download()).Data
	t.stop = last[t.context] > 0
	for _, x := range last[:t.context] {
		loss += float64(x)
	}
	return loss / float64(t.batch*t.context)
}

// evaluate is the loss of a batch that is spread over the text kept back.
func (t *trainer) evaluate() float64 {
	starts, apart := make([]int32, t.batch), (len(t.text)-t.trained-t.context-1)/t.batch
	for i := range starts {
		starts[i] = int32(t.trained + i*apart)
	}
	return t.share(starts, func(m *model) {
		m.forward()
		m.entropy(1)
	})
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
