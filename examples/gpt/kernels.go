package main

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// What linalg and array have no function for. Activations lie feature by feature: for each of n
// positions of a sequence a column of d features. So a work-item that goes down a column has its
// neighbours beside it, and every sum is a chain. Work-item (t, s) has position t of sequence s.

// embed makes x the vectors of the tokens, rows of wte, plus those of positions, columns of wpe.
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

// quantize is x over the most of its vector, times 127, to the nearest integer, each step rounded.
//
//tandem:map
func quantize(x, most float32) int8 { return int8(gpu.RoundToEven(x / most * 127)) }

// rescale is y and a sum of products of such numbers as what it stands for, each step rounded.
//
//tandem:map
func rescale(y float32, sum int32, byRow, byColumn float32) float32 {
	return y + float32(sum)*(byRow/127)*(byColumn/127)
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

// softmax makes every column t of p, of matrices of rows by n, the softmax of scale times it. Where
// it is causal it is that of the first t+1 elements: position t heeds those up to itself.
//
//tandem:kernel
func softmax(it gpu.Item, p []float32, scale float32, rows, n int, causal bool) {
	if t, s := it.Global(0), it.Global(1); t < n {
		at := s*rows*n + t
		most, sum := float32(math.Inf(-1)), float32(0)
		for j := range rows {
			if j <= t || !causal {
				most = max(most, p[at+j*n])
			}
		}
		for j := range rows {
			e := float32(0)
			if j <= t || !causal {
				e = gpu.Exp((p[at+j*n] - most) * scale)
			}
			sum += e
			p[at+j*n] = e
		}
		for j := range rows {
			p[at+j*n] /= sum
		}
	}
}

// softmaxBack makes dp, the slopes of a causal softmax's results p, those of what it was given.
//
//tandem:kernel
func softmaxBack(it gpu.Item, dp, p []float32, scale float32, n int) {
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

// gelu is x times about the normal distribution up to x, as GPT-2 has it; geluBack is its slope at
// x, times dy.
//
//tandem:map
func gelu(x float32) float32 { return 0.5 * x * (1 + gpu.Tanh(bend*(x+0.044715*x*x*x))) }

//tandem:map
func geluBack(dy, x float32) float32 {
	t := gpu.Tanh(bend * (x + 0.044715*x*x*x))
	return dy * (0.5*(1+t) + 0.5*x*(1-t*t)*bend*(1+3*0.044715*x*x))
}

// crossEntropy makes losses how little likelihoods p of the vocabulary, in each column, say of the
// token that follows, at most 87, and p weight times the slopes of the scores that gave it.
//
//tandem:kernel
func crossEntropy(it gpu.Item, losses, p []float32, next []int32, weight float32, vocab, n int) {
	if t, s := it.Global(0), it.Global(1); t < n {
		at, truth := s*vocab*n+t, int(next[s*n+t])*n
		losses[s*n+t] = -gpu.Log(max(p[at+truth], 1e-38))
		p[at+truth]--
		for i := range vocab {
			p[at+i*n] *= weight
		}
	}
}

// chance is a score and, times the temperature, what luck from 0 to 1 adds to it.
//
//tandem:map
func chance(score, luck, temperature float32) float32 {
	return score - temperature*gpu.Log(-gpu.Log(max(luck, 1e-30)))
}

// merge makes sum the sum of count parts of its size, by a tree: neighbours first, then neighbours
// of these sums, and so on. count is a power of two. It uses up parts.
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

// adamW moves the weights against slopes g, made shorter where their norm is above 1. m and v are
// means of g and its square, which by and bySquare free of their start at 0.
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

const bend, beta1, beta2, decay = 0.7978845608028654, 0.9, 0.99, 0.1 // bend is sqrt(2/pi)
