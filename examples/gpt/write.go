package main

import (
	"errors"
	"iter"
	"slices"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
)

// read makes scores those of a sequence of tokens, which is no longer than the context. What is
// behind them changes none of theirs.
func (m *model) read(tokens []int32) {
	all := linalg.NewMatrix[int32](1, m.context, nil)
	copy(all.Data, tokens)
	check(m.tokens.CopyFrom(all))
	m.forward()
}

// write gives the tokens that follow a prompt, one after the other. It sees as many before them as
// the context has.
func (m *model) write(seen []int32, o *options) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		luck := m.floats(1, o.length)
		check(array.Uniform(&array.Stream{Seed: o.seed, Next: 1 << 32}, luck))
		for _, luck := range must(luck.Download()).Data {
			m.read(seen)
			scores := must(m.scores.Slice(0, m.vocab, len(seen)-1, len(seen)).Download()).Data
			token := pick(scores, o.temperature, luck)
			if token < 0 {
				check(errors.New("the scores are no numbers"))
			}
			if !yield(token) {
				return
			}
			seen = append(seen, token)
			seen = seen[max(0, len(seen)-m.context):]
		}
	}
}

// pick is a token by its score: the higher, the likelier, and the more so the lower the
// temperature. luck is from 0 to 1. It is -1 where a score is no number.
func pick(scores []float32, temperature float64, luck float32) int32 {
	most := slices.Max(scores)
	if temperature == 0 {
		return int32(slices.Index(scores, most))
	}
	sums, sum := make([]float64, len(scores)), 0.0
	for i, score := range scores {
		sum += rmath.Exp(float64(score-most) / temperature)
		sums[i] = sum
	}
	at := float64(luck) * sum
	return int32(slices.IndexFunc(sums, func(sum float64) bool { return at < sum }))
}
