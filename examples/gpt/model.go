package main

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
)

type (
	floats = linalg.Array[float32]
	ints   = linalg.Array[int32]
)

// A shape is the sizes of a model. The width of its middle layers is four times dim.
type shape struct{ vocab, context, dim, heads, layers int }

// A weight is a matrix of the model, and its slopes. Both are parts of the model's arrays.
type weight struct {
	name        string
	rows, cols  int
	w, g, parts *floats // parts has the slopes of each sequence, below each other
}

// A layer is x += o*attention(q*h, k*h, v*h) with h = layerNorm(x), and then x +=
// down*gelu(up*layerNorm(x)). Of what it computes on the way the slopes need much.
type layer struct {
	q, k, v, o, up, down           *weight
	qx, kx, vx, ox, p, upx, middle *floats // what they give; p is how much positions heed each other
	h1, h2, scale1, scale2         *floats
}

// A model works on a batch of sequences, each of one chain of operations, so that it has the same
// bits in whatever batch it is, on whatever device.
type model struct {
	shape
	s                          *linalg.Session
	batch, size                int     // size counts the weights
	weights, slopes, mean, sq  *floats // all weights, one after the other, and what adamW keeps of them
	norm                       *floats
	all, saved                 []*weight // saved has the means, too
	wte, wpe                   *weight   // vectors of tokens, which also read the result, and of positions
	layers                     []*layer
	text, starts               *ints
	tokens, next, rows         *ints
	x, h, scale, scores        *floats
	dx, dh, dmiddle, dup, byDx *floats
	do, dq, dk, dv, dp, losses *floats
}

// newModel makes a model whose weights are those of a seed.
func newModel(s *linalg.Session, sh shape, batch int, seed uint64) *model {
	m := &model{shape: sh, s: s, batch: batch}
	d, n := sh.dim, sh.context
	m.wpe = m.add("wpe", d, n)
	for i := range sh.layers {
		name := fmt.Sprintf("h.%d.", i)
		m.layers = append(m.layers, &layer{
			q: m.add(name+"attn.q", d, d), k: m.add(name+"attn.k", d, d), v: m.add(name+"attn.v", d, d),
			o: m.add(name+"attn.o", d, d), up: m.add(name+"mlp.up", 4*d, d), down: m.add(name+"mlp.down", d, 4*d),
		})
	}
	m.wte = m.add("wte", sh.vocab, d) // the last: those behind would not be aligned for every device
	most := 0
	for _, w := range m.all {
		m.size, most = m.size+w.rows*w.cols, max(most, w.rows*w.cols)
	}
	like := func() *floats { return m.floats(1, m.size) }
	m.weights, m.slopes, m.mean, m.sq, m.norm = like(), like(), like(), like(), m.floats(1, 1)
	m.saved = append(m.all[:len(m.all):len(m.all)], &weight{name: "adamw.mean", rows: 1, cols: m.size, w: m.mean},
		&weight{name: "adamw.square", rows: 1, cols: m.size, w: m.sq})
	check(array.Normal(&array.Stream{Seed: seed}, m.weights))
	parts, from := m.floats(1, batch*most), 0
	for _, w := range m.all {
		to := from + w.rows*w.cols
		w.w = must(m.weights.Slice(0, 1, from, to).Reshape(w.rows, w.cols))
		w.g = must(m.slopes.Slice(0, 1, from, to).Reshape(w.rows, w.cols))
		w.parts = must(parts.Slice(0, 1, 0, batch*(to-from)).Reshape(batch*w.rows, w.cols))
		variance := 1 / float64(w.cols)
		if strings.HasSuffix(w.name, ".o") || strings.HasSuffix(w.name, ".down") {
			variance /= float64(2 * sh.layers) // as many such are added to x
		}
		check(array.Mul(w.w, w.w, array.Value(float32(math.Sqrt(variance)))))
		from = to
	}
	m.wte.parts = m.floats(batch*sh.vocab, d) // which are added to until the end of the way back

	column := func(rows int) *floats { return m.floats(batch*rows, n) }
	for _, l := range m.layers {
		l.qx, l.kx, l.vx, l.ox, l.p = column(d), column(d), column(d), column(d), column(sh.heads*n)
		l.upx, l.middle, l.h1, l.h2 = column(4*d), column(4*d), column(d), column(d)
		l.scale1, l.scale2 = column(1), column(1)
	}
	m.x, m.h, m.scale, m.scores = column(d), column(d), column(1), column(sh.vocab)
	m.dx, m.dh, m.dmiddle, m.dup, m.byDx = column(d), column(d), column(4*d), column(4*d), m.floats(batch*n, d)
	m.do, m.dq, m.dk, m.dv, m.dp, m.losses = column(d), column(d), column(d), column(d), column(sh.heads*n), column(1)
	m.tokens, m.next, m.rows = m.ints(batch, n), m.ints(batch, n), m.ints(1, batch*n)
	return m
}

func (m *model) add(name string, rows, cols int) *weight {
	w := &weight{name: name, rows: rows, cols: cols}
	m.all = append(m.all, w)
	return w
}

func (m *model) floats(rows, cols int) *floats {
	return must(linalg.NewArray[float32](m.s, rows, cols))
}
func (m *model) ints(rows, cols int) *ints { return must(linalg.NewArray[int32](m.s, rows, cols)) }

// grid has a work-item for each position of each sequence, or of each of count times as many.
func (m *model) grid(count int) backend.Grid {
	return backend.Grid2((m.context+63)/64, count*m.batch, 64, 1)
}

// project makes y w times x, for each sequence. It and projectOnto are all that reads the layers'
// weights on the way forward: a writer with weights of fewer bits has other products here alone.
func (m *model) project(y *floats, w *weight, x *floats) {
	check(y.GemmBatched(m.batch, 1, blas.NoTrans, w.w, blas.NoTrans, x, 0))
}

// projectOnto adds w times x to y.
func (m *model) projectOnto(y *floats, w *weight, x *floats) {
	check(y.AddMulBatched(m.batch, w.w, x))
}

// projectBack makes the slopes of w those of project: those of a sequence are a chain over its
// positions, and merge adds them up. Those of x are beta*dx and theirs.
func (m *model) projectBack(w *weight, dy, x, dx *floats, beta float32) {
	check(
		w.parts.GemmBatched(m.batch, 1, blas.NoTrans, dy, blas.Trans, x, 0),
		dx.GemmBatched(m.batch, 1, blas.Trans, w.w, blas.NoTrans, dy, beta))
	if w != m.wte {
		m.merge(w)
	}
}

func (m *model) merge(w *weight) {
	check(launchMerge(m.s, backend.GridFor(w.rows*w.cols), w.g, w.parts, m.batch))
}

// forward makes scores, for each position a column with how likely each token is to follow.
func (m *model) forward() {
	check(launchEmbed(m.s, m.grid(1), m.x, m.tokens, m.wte.w, m.wpe.w, m.dim, m.context))
	heads, root := m.batch*m.heads, m.root()
	for _, l := range m.layers {
		check(launchLayerNorm(m.s, m.grid(1), l.h1, l.scale1, m.x, m.dim, m.context))
		m.project(l.qx, l.q, l.h1)
		m.project(l.kx, l.k, l.h1)
		m.project(l.vx, l.v, l.h1)
		check(
			l.p.GemmBatched(heads, 1, blas.Trans, l.kx, blas.NoTrans, l.qx, 0),
			launchAttend(m.s, m.grid(m.heads), l.p, root, m.context),
			l.ox.GemmBatched(heads, 1, blas.NoTrans, l.vx, blas.NoTrans, l.p, 0))
		m.projectOnto(m.x, l.o, l.ox)
		check(launchLayerNorm(m.s, m.grid(1), l.h2, l.scale2, m.x, m.dim, m.context))
		m.project(l.upx, l.up, l.h2)
		check(launchGelu(m.s, l.middle, l.upx))
		m.projectOnto(m.x, l.down, l.middle)
	}
	check(launchLayerNorm(m.s, m.grid(1), m.h, m.scale, m.x, m.dim, m.context))
	m.project(m.scores, m.wte, m.h)
}

// draw makes a batch of the part of the text from each of starts on, from the first one on.
func (m *model) draw(first int) {
	check(launchDraw(m.s, m.grid(1), m.tokens, m.next, m.rows, m.text, m.starts, first, m.vocab, m.context))
}

// root is what scores are multiplied by before their softmax: 1 over the root of a head's features.
func (m *model) root() float32 { return 1 / float32(math.Sqrt(float64(m.dim/m.heads))) }

// entropy makes losses those of the scores, and the scores their slopes times a weight.
func (m *model) entropy(weight float32) {
	check(launchCrossEntropy(m.s, m.grid(1), m.losses, m.scores, m.next, weight, m.vocab, m.context))
}

// backward makes slopes those of the losses' mean over total positions, for the batch that forward
// has worked on.
func (m *model) backward(total int) {
	m.entropy(1 / float32(total))
	m.projectBack(m.wte, m.scores, m.h, m.dh, 0)
	check(
		array.Fill(m.dx, 0),
		launchLayerNormBack(m.s, m.grid(1), m.dx, m.dh, m.h, m.scale, m.dim, m.context))
	heads, root := m.batch*m.heads, m.root()
	for i := range m.layers {
		l := m.layers[m.shape.layers-1-i]
		m.projectBack(l.down, m.dx, l.middle, m.dmiddle, 0)
		check(launchGeluBack(m.s, m.dup, m.dmiddle, l.upx))
		m.projectBack(l.up, m.dup, l.h2, m.dh, 0)
		check(launchLayerNormBack(m.s, m.grid(1), m.dx, m.dh, l.h2, l.scale2, m.dim, m.context))
		m.projectBack(l.o, m.dx, l.ox, m.do, 0)
		check(
			m.dp.GemmBatched(heads, 1, blas.Trans, l.vx, blas.NoTrans, m.do, 0),
			m.dv.GemmBatched(heads, 1, blas.NoTrans, m.do, blas.Trans, l.p, 0),
			launchAttendBack(m.s, m.grid(m.heads), m.dp, l.p, root, m.context),
			m.dq.GemmBatched(heads, 1, blas.NoTrans, l.kx, blas.NoTrans, m.dp, 0),
			m.dk.GemmBatched(heads, 1, blas.NoTrans, l.qx, blas.Trans, m.dp, 0))
		m.projectBack(l.q, m.dq, l.h1, m.dh, 0)
		m.projectBack(l.k, m.dk, l.h1, m.dh, 1)
		m.projectBack(l.v, m.dv, l.h1, m.dh, 1)
		check(launchLayerNormBack(m.s, m.grid(1), m.dx, m.dh, l.h1, l.scale1, m.dim, m.context))
	}
	// The vectors of tokens have slopes from both ends: those of the result are there already.
	check(
		launchByRows(m.s, m.grid(1), m.byDx, m.dx, m.dim, m.context),
		launchMerge(m.s, backend.GridFor(m.dim*m.context), m.wpe.g, m.dx, m.batch),
		array.AddRows(m.wte.parts, m.byDx, m.rows))
	m.merge(m.wte)
}

// update moves the weights by a step of adamW.
func (m *model) update(rate, by, bySquare float32) {
	check(
		array.Norm(m.norm, m.slopes, 2),
		launchAdamW(m.s, backend.GridFor(m.size), m.weights, m.mean, m.sq, m.slopes, m.norm, rate, by, bySquare))
}

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
				check(fmt.Errorf("the scores are no numbers"))
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
