package main

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// What linalg and array have no function for. Activations lie feature by feature: for each sequence
// a matrix with a row for each feature and a column for each of its positions. So a work-item that
// goes down a column has its neighbours beside it in memory, and every sum is a chain in one order.
//
// Work-item (t, s) of a grid has position t of sequence s; d is the number of features, n that of
// positions.

// draw makes a sequence of a text, from starts[first+s] on: its tokens, the ones that follow each,
// and the rows that the tokens have in a table with vocab rows for each sequence.
//
//tandem:kernel
func draw(it gpu.Item, tokens, next, rows, text, starts []int32, first, vocab, n int) {
	if t, s := it.Global(0), it.Global(1); t < n {
		from := int(starts[first+s]) + t
		tokens[s*n+t], next[s*n+t] = text[from], text[from+1]
		rows[s*n+t] = text[from] + int32(s*vocab)
	}
}

// embed makes x the vectors of the tokens, rows of wte, plus those of their positions, columns of
// wpe.
//
//tandem:kernel
func embed(it gpu.Item, x []float32, tokens []int32, wte, wpe []float32, d, n int) {
	if t, s := it.Global(0), it.Global(1); t < n {
		row := int(tokens[s*n+t]) * d
		for i := range d {
			x[(s*d+i)*n+t] = wte[row+i] + wpe[i*n+t]
		}
	}
}

// byRows makes row s*n+t of y the column of position t of sequence s of x.
//
//tandem:kernel
func byRows(it gpu.Item, y, x []float32, d, n int) {
	if t, s := it.Global(0), it.Global(1); t < n {
		for i := range d {
			y[(s*n+t)*d+i] = x[(s*d+i)*n+t]
		}
	}
}

// layerNorm makes every column of y that of x less its mean, over its standard deviation, whose
// inverse goes to scale. It has no gain and no bias: the products that follow have them.
//
//tandem:kernel
func layerNorm(it gpu.Item, y, scale, x []float32, d, n int) {
	if t, s := it.Global(0), it.Global(1); t < n {
		at := s*d*n + t
		var mean, variance float32
		for i := range d {
			mean += x[at+i*n]
		}
		mean /= float32(d)
		for i := range d {
			v := x[at+i*n] - mean
			variance = gpu.FMA(v, v, variance)
		}
		r := gpu.Rsqrt(variance/float32(d) + 1e-5)
		for i := range d {
			y[at+i*n] = (x[at+i*n] - mean) * r
		}
		scale[s*n+t] = r
	}
}

// layerNormBack adds to dx the slopes of layerNorm's x, given its y and scale, and dy.
//
//tandem:kernel
func layerNormBack(it gpu.Item, dx, dy, y, scale []float32, d, n int) {
	if t, s := it.Global(0), it.Global(1); t < n {
		at := s*d*n + t
		var mean, along float32
		for i := range d {
			mean += dy[at+i*n]
			along = gpu.FMA(dy[at+i*n], y[at+i*n], along)
		}
		mean /= float32(d)
		along /= float32(d)
		for i := range d {
			dx[at+i*n] += (dy[at+i*n] - mean - y[at+i*n]*along) * scale[s*n+t]
		}
	}
}

// attend makes every column t of p, of n by n for each head, the softmax of scale times its first
// t+1 elements: how much position t heeds those up to itself. What is later it does not heed.
//
//tandem:kernel
func attend(it gpu.Item, p []float32, scale float32, n int) {
	if t, head := it.Global(0), it.Global(1); t < n {
		at := head*n*n + t
		most, sum := float32(math.Inf(-1)), float32(0)
		for j := range n {
			if j <= t {
				most = max(most, p[at+j*n])
			}
		}
		for j := range n {
			e := float32(0)
			if j <= t {
				e = gpu.Exp((p[at+j*n] - most) * scale)
			}
			sum += e
			p[at+j*n] = e
		}
		for j := range n {
			p[at+j*n] /= sum
		}
	}
}

// attendBack makes dp, the slopes of attend's results p, those of what it was given.
//
//tandem:kernel
func attendBack(it gpu.Item, dp, p []float32, scale float32, n int) {
	if t, head := it.Global(0), it.Global(1); t < n {
		at := head*n*n + t
		var along float32
		for j := range n {
			along = gpu.FMA(dp[at+j*n], p[at+j*n], along)
		}
		for j := range n {
			dp[at+j*n] = (dp[at+j*n] - along) * p[at+j*n] * scale
		}
	}
}

// gelu is x times about the normal distribution up to x, by tanh as GPT-2 has it.
//
//tandem:map
func gelu(x float32) float32 { return 0.5 * x * (1 + gpu.Tanh(bend*(x+0.044715*x*x*x))) }

// geluBack is the slope of gelu at x, times dy.
//
//tandem:map
func geluBack(dy, x float32) float32 {
	t := gpu.Tanh(bend * (x + 0.044715*x*x*x))
	return dy * (0.5*(1+t) + 0.5*x*(1-t*t)*bend*(1+3*0.044715*x*x))
}

const bend = 0.7978845608028654 // sqrt(2/pi)

// crossEntropy makes losses how little the scores in each column, one for each of the vocabulary,
// say of the token that follows, and the scores weight times their slopes.
//
//tandem:kernel
func crossEntropy(it gpu.Item, losses, scores []float32, next []int32, weight float32, vocab, n int) {
	if t, s := it.Global(0), it.Global(1); t < n {
		at, truth := s*vocab*n+t, int(next[s*n+t])
		most, sum := float32(math.Inf(-1)), float32(0)
		for i := range vocab {
			most = max(most, scores[at+i*n])
		}
		right := scores[at+truth*n] - most
		for i := range vocab {
			e := gpu.Exp(scores[at+i*n] - most)
			sum += e
			scores[at+i*n] = e
		}
		losses[s*n+t] = gpu.Log(sum) - right
		for i := range vocab {
			p := scores[at+i*n] / sum
			if i == truth {
				p--
			}
			scores[at+i*n] = p * weight
		}
	}
}

// merge makes sum the sum of count matrices of its size, one for each sequence, in the order of a
// tree: neighbours first, then neighbours of these sums, and so on. count is a power of two. It
// uses up parts.
//
//tandem:kernel
func merge(it gpu.Item, sum, parts []float32, count int) {
	n := len(sum)
	if i := it.Global(0); i < n {
		for step := 1; step < count; step *= 2 {
			for s := 0; s < count; s += 2 * step {
				parts[s*n+i] += parts[(s+step)*n+i]
			}
		}
		sum[i] = parts[i]
	}
}

// adamW moves the weights against their slopes g, which are made shorter where their norm is above
// 1. m and v are running means of g and its square, which by and bySquare free of their start at 0.
//
//tandem:kernel
func adamW(it gpu.Item, w, m, v, g, norm []float32, rate, by, bySquare float32) {
	if i := it.Global(0); i < len(w) {
		d := g[i] / max(norm[0], 1)
		m[i] = gpu.FMA(beta1, m[i], (1-beta1)*d)
		v[i] = gpu.FMA(beta2, v[i], (1-beta2)*d*d)
		step := m[i] * by / (float32(math.Sqrt(float64(v[i]*bySquare))) + 1e-8)
		w[i] -= rate * gpu.FMA(decay, w[i], step)
	}
}

const beta1, beta2, decay = 0.9, 0.99, 0.1
