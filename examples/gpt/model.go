package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

type (
	floats = linalg.Array[float32]
	ints   = linalg.Array[int32]
)

// A shape is the sizes of a model. The width of its middle layers is four times dim.
type shape struct{ vocab, context, dim, heads, layers int }

// A weight is a matrix of the model, and its slopes: parts of the model's arrays, from a place on.
type weight struct {
	name             string
	rows, cols, from int
	w, g, parts      *floats             // parts has the slopes of each sequence, below each other
	small            *linalg.Array[int8] // the weight in 8 bits, if writing uses them
	most             *floats             // the largest magnitude of each row
	bytes            *linalg.Array[int8] // what small is multiplied by
	products         *ints
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
	batch, size                int       // size counts the weights
	weights, slopes, mean, sq  *floats   // all weights, one after the other, and what adamW keeps of them
	sums, norm                 *floats   // sums is slopes, behind them losses, and at the end a word to stop
	root                       float32   // what scores are multiplied by before their softmax
	all, saved                 []*weight // saved has the means, too
	wte, wpe, loss             *weight   // vectors of tokens, which also read the result, and of positions
	layers                     []*layer
	tokens, next               *ints
	most, x, h, scale, scores  *floats
	dx, dh, dmiddle, dup, byDx *floats
	do, dq, dk, dv, dp         *floats
}

// newModel makes a model whose weights are those of a seed.
func newModel(s *linalg.Session, sh shape, batch int, seed uint64) *model {
	m := &model{shape: sh, s: s, batch: batch, root: 1 / float32(math.Sqrt(float64(sh.dim/sh.heads)))}
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
	like := func() *floats { return m.floats(1, m.size) }
	m.weights, m.mean, m.sq, m.norm, m.sums = like(), like(), like(), m.floats(1, 1), m.floats(1, m.size+n+1)
	m.slopes = m.sums.Slice(0, 1, 0, m.size)
	m.saved = append(m.all[:len(m.all):len(m.all)], &weight{name: "adamw.mean", rows: 1, cols: m.size, w: m.mean},
		&weight{name: "adamw.square", rows: 1, cols: m.size, w: m.sq})
	check(array.Fill(m.sums, 0), array.Normal(&array.Stream{Seed: seed}, m.weights))
	for _, w := range m.all {
		to := w.from + w.rows*w.cols
		w.w = must(m.weights.Slice(0, 1, w.from, to).Reshape(w.rows, w.cols))
		w.g = must(m.slopes.Slice(0, 1, w.from, to).Reshape(w.rows, w.cols))
		w.parts = m.floats(batch*w.rows, w.cols)
		variance := 1 / float64(w.cols)
		if strings.HasSuffix(w.name, ".o") || strings.HasSuffix(w.name, ".down") {
			variance /= float64(2 * sh.layers) // as many such are added to x
		}
		check(array.Mul(w.w, w.w, array.Value(float32(math.Sqrt(variance)))))
	}
	column := func(rows int) *floats { return m.floats(batch*rows, n) }
	for _, l := range m.layers {
		l.qx, l.kx, l.vx, l.ox, l.p = column(d), column(d), column(d), column(d), column(sh.heads*n)
		l.upx, l.middle, l.h1, l.h2 = column(4*d), column(4*d), column(d), column(d)
		l.scale1, l.scale2 = column(1), column(1)
	}
	m.x, m.h, m.scale, m.scores = column(d), column(d), column(1), column(sh.vocab)
	m.dx, m.dh, m.dmiddle, m.dup, m.byDx = column(d), column(d), column(4*d), column(4*d), m.floats(n, d)
	m.wpe.parts = m.dx
	m.do, m.dq, m.dk, m.dv, m.dp = column(d), column(d), column(d), column(d), column(sh.heads*n)
	m.loss = &weight{rows: 1, cols: n, g: m.sums.Slice(0, 1, m.size, m.size+n), parts: column(1)}
	m.tokens, m.next, m.most = m.ints(batch, n), m.ints(batch, n), m.floats(1, n)
	return m
}

func (m *model) add(name string, rows, cols int) *weight {
	w := &weight{name: name, rows: rows, cols: cols, from: m.size}
	m.all, m.size = append(m.all, w), m.size+rows*cols
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

// project makes y w times x, for each sequence, or adds that to y.
func (m *model) project(y *floats, w *weight, x *floats, add bool) error {
	if w.small != nil {
		return m.projectSmall(y, w, x, add)
	} else if add {
		return y.AddMul(w.w, x, linalg.Batch(m.batch))
	}
	return y.Gemm(1, blas.NoTrans, w.w, blas.NoTrans, x, 0, linalg.Batch(m.batch))
}

// projectSmall is project of one sequence with 8 bits, whose products and their sums are exact.
func (m *model) projectSmall(y *floats, w *weight, x *floats, add bool) error {
	if !add {
		check(array.Fill(y, 0))
	}
	return cmp.Or(
		array.Norm(m.most, x, math.Inf(1)),
		launchQuantize(m.s, w.bytes, x, m.most),
		linalg.GemmInt8Arrays(blas.NoTrans, w.small, blas.NoTrans, w.bytes, 0, w.products),
		launchRescale(m.s, y, y, w.products, w.most, m.most))
}

// shrink makes the weights that project reads ones of 8 bits.
func (m *model) shrink() {
	for _, w := range m.all[1:] { // wpe is only added
		w.small, w.most = must(linalg.NewArray[int8](m.s, w.rows, w.cols)), m.floats(w.rows, 1)
		w.bytes, w.products = must(linalg.NewArray[int8](m.s, w.cols, m.context)), m.ints(w.rows, m.context)
		check(array.Norm(w.most, w.w, math.Inf(1)), launchQuantize(m.s, w.small, w.w, w.most))
	}
}

// projectBack makes parts of w the slopes of project, of each sequence a chain over its positions,
// and dx beta*dx and those of x.
func (m *model) projectBack(w *weight, dy, x, dx *floats, beta float32) error {
	return cmp.Or(
		w.parts.Gemm(1, blas.NoTrans, dy, blas.Trans, x, 0, linalg.Batch(m.batch)),
		dx.Gemm(1, blas.Trans, w.w, blas.NoTrans, dy, beta, linalg.Batch(m.batch)))
}

// merge makes slopes of those of each sequence.
func (m *model) merge(weights ...*weight) {
	for _, w := range weights {
		check(launchMerge(m.s, backend.GridFor(w.rows*w.cols), w.g, w.parts, m.batch))
	}
}

// forward makes scores, for each position a column with how likely each token is to follow.
func (m *model) forward() {
	check(launchEmbed(m.s, m.grid(1), m.x, m.tokens, m.wte.w, m.wpe.w, m.dim, m.context))
	heads := m.batch * m.heads
	for _, l := range m.layers {
		check(
			launchLayerNorm(m.s, m.grid(1), l.h1, l.scale1, m.x, m.dim, m.context),
			m.project(l.qx, l.q, l.h1, false),
			m.project(l.kx, l.k, l.h1, false),
			m.project(l.vx, l.v, l.h1, false),
			l.p.Gemm(1, blas.Trans, l.kx, blas.NoTrans, l.qx, 0, linalg.Batch(heads)),
			launchSoftmax(m.s, m.grid(m.heads), l.p, m.root, m.context, m.context, true),
			l.ox.Gemm(1, blas.NoTrans, l.vx, blas.NoTrans, l.p, 0, linalg.Batch(heads)),
			m.project(m.x, l.o, l.ox, true),
			launchLayerNorm(m.s, m.grid(1), l.h2, l.scale2, m.x, m.dim, m.context),
			m.project(l.upx, l.up, l.h2, false),
			launchGelu(m.s, l.middle, l.upx),
			m.project(m.x, l.down, l.middle, true))
	}
	check(
		launchLayerNorm(m.s, m.grid(1), m.h, m.scale, m.x, m.dim, m.context),
		m.project(m.scores, m.wte, m.h, false))
}

// take makes a batch of the parts of a text that begin at starts.
func (m *model) take(text, starts []int32) {
	tokens, next := linalg.NewMatrix[int32](m.batch, m.context, nil), linalg.NewMatrix[int32](m.batch, m.context, nil)
	for s, from := range starts {
		copy(tokens.Row(s), text[from:])
		copy(next.Row(s), text[from+1:])
	}
	check(m.tokens.CopyFrom(tokens), m.next.CopyFrom(next))
}

// entropy makes loss those of the scores, added up over the batch, and the scores their slopes
// times a weight.
func (m *model) entropy(weight float32) {
	check(
		launchSoftmax(m.s, m.grid(1), m.scores, 1, m.vocab, m.context, false),
		launchCrossEntropy(m.s, m.grid(1), m.loss.parts, m.scores, m.next, weight, m.vocab, m.context))
	m.merge(m.loss)
}

// backward makes slopes those of the losses' mean over total positions, for the batch that forward
// has worked on.
func (m *model) backward(total int) {
	m.entropy(1 / float32(total))
	check(
		m.projectBack(m.wte, m.scores, m.h, m.dh, 0),
		array.Fill(m.dx, 0),
		launchLayerNormBack(m.s, m.grid(1), m.dx, m.dh, m.h, m.scale, m.dim, m.context))
	heads := m.batch * m.heads
	for _, l := range slices.Backward(m.layers) {
		check(
			m.projectBack(l.down, m.dx, l.middle, m.dmiddle, 0),
			launchGeluBack(m.s, m.dup, m.dmiddle, l.upx),
			m.projectBack(l.up, m.dup, l.h2, m.dh, 0),
			launchLayerNormBack(m.s, m.grid(1), m.dx, m.dh, l.h2, l.scale2, m.dim, m.context),
			m.projectBack(l.o, m.dx, l.ox, m.do, 0),
			m.dp.Gemm(1, blas.Trans, l.vx, blas.NoTrans, m.do, 0, linalg.Batch(heads)),
			m.dv.Gemm(1, blas.NoTrans, m.do, blas.Trans, l.p, 0, linalg.Batch(heads)),
			launchSoftmaxBack(m.s, m.grid(m.heads), m.dp, l.p, m.root, m.context),
			m.dq.Gemm(1, blas.NoTrans, l.kx, blas.NoTrans, m.dp, 0, linalg.Batch(heads)),
			m.dk.Gemm(1, blas.NoTrans, l.qx, blas.Trans, m.dp, 0, linalg.Batch(heads)),
			m.projectBack(l.q, m.dq, l.h1, m.dh, 0),
			m.projectBack(l.k, m.dk, l.h1, m.dh, 1),
			m.projectBack(l.v, m.dv, l.h1, m.dh, 1),
			launchLayerNormBack(m.s, m.grid(1), m.dx, m.dh, l.h1, l.scale1, m.dim, m.context))
	}
	// The vectors of tokens have slopes from both ends: those of the result are there already.
	d, n, vocab := m.dim, m.context, m.vocab
	for s := range m.batch {
		check(
			m.byDx.Transpose(m.dx.Slice(s*d, (s+1)*d, 0, n)),
			array.AddRows(m.wte.parts.Slice(s*vocab, (s+1)*vocab, 0, d), m.byDx, m.tokens.Slice(s, s+1, 0, n)))
	}
	m.merge(m.all...)
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
	m.take(slices.Concat(tokens, make([]int32, m.context+1)), []int32{0})
	m.forward()
}

// write says the tokens that follow a prompt: each time the one whose score, over the temperature,
// and luck are the highest, which makes it as likely as softmax has it (Gumbel). It sees as many
// before as the context has.
func (m *model) write(ctx context.Context, seen []int32, o *options, say func(token int32)) {
	luck, token := m.floats(m.vocab, 1), m.ints(1, 1)
	for i := 0; i < o.length && ctx.Err() == nil; i++ {
		m.read(seen)
		scores := m.scores.Slice(0, m.vocab, len(seen)-1, len(seen))
		check(
			array.Uniform(&array.Stream{Seed: o.seed, Next: 1<<32 + uint64(i)}, luck),
			launchChance(m.s, luck, scores, luck, array.Value(float32(o.temperature))),
			array.ArgMax(token, luck))
		seen = append(seen, must(token.At(0, 0)))
		say(seen[len(seen)-1])
		seen = seen[max(0, len(seen)-m.context):]
	}
}
