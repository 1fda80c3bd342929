package main

import (
	"math"
	"testing"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

// plain is the mean loss of a model in float64, one position after the other, as the formulas have
// it: w gives the weights by name.
func plain(sh shape, w map[string]linalg.Matrix[float64], tokens, next []int32) (loss float64) {
	n, d, width := sh.context, sh.dim, sh.dim/sh.heads
	times := func(name string, x []float64) []float64 {
		y := make([]float64, w[name].Rows)
		for i := range y {
			for j, v := range x {
				y[i] += w[name].At(i, j) * v
			}
		}
		return y
	}
	add := func(x, y []float64) {
		for i := range x {
			x[i] += y[i]
		}
	}
	for s := range len(tokens) / n {
		var x [][]float64
		for t := range n {
			v := make([]float64, d)
			for i := range v {
				v[i] = w["wte"].At(int(tokens[s*n+t]), i) + w["wpe"].At(i, t)
			}
			x = append(x, v)
		}
		for l := range sh.layers {
			name := "h." + string(rune('0'+l)) + "."
			var q, k, v [][]float64
			for t := range n {
				h := plainNorm(x[t])
				q, k, v = append(q, times(name+"attn.q", h)), append(k, times(name+"attn.k", h)),
					append(v, times(name+"attn.v", h))
			}
			for t := range n {
				out := make([]float64, d)
				for head := range sh.heads {
					p, sum := make([]float64, t+1), 0.0
					for j := range p {
						for i := head * width; i < (head+1)*width; i++ {
							p[j] += q[t][i] * k[j][i]
						}
						p[j] = math.Exp(p[j] / math.Sqrt(float64(width)))
						sum += p[j]
					}
					for j := range p {
						for i := head * width; i < (head+1)*width; i++ {
							out[i] += p[j] / sum * v[j][i]
						}
					}
				}
				add(x[t], times(name+"attn.o", out))
			}
			for t := range n {
				h := times(name+"mlp.up", plainNorm(x[t]))
				for i, v := range h {
					h[i] = 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
				}
				add(x[t], times(name+"mlp.down", h))
			}
		}
		for t := range n {
			scores, sum := times("wte", plainNorm(x[t])), 0.0
			for _, v := range scores {
				sum += math.Exp(v)
			}
			loss += (math.Log(sum) - scores[next[s*n+t]]) / float64(len(tokens))
		}
	}
	return loss
}

func plainNorm(x []float64) []float64 {
	var mean, variance float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v - mean
		variance += y[i] * y[i] / float64(len(x))
	}
	for i := range y {
		y[i] /= math.Sqrt(variance + 1e-5)
	}
	return y
}

// The slope of a weight is what the loss of the plain model, in float64, does when the weight
// moves.
func TestSlopes(t *testing.T) {
	s := must(linalg.Open("cpu"))
	defer s.Close()
	sh := shape{vocab: 5, context: 6, dim: 8, heads: 2, layers: 2}
	m := newModel(s, sh, 2, 3)
	text := []int32{0, 3, 1, 4, 4, 2, 0, 1, 3, 2, 2, 4, 0}
	check(array.Mul(m.weights, m.weights, array.Value[float32](1.5)))
	m.take(text, []int32{0, 6})
	m.forward()
	m.backward(12)

	weights := map[string]linalg.Matrix[float64]{}
	for _, w := range m.all {
		x := must(w.w.Download())
		weights[w.name] = linalg.NewMatrix[float64](x.Rows, x.Cols, nil)
		for i, v := range x.Data {
			weights[w.name].Data[i] = float64(v)
		}
	}
	loss := func() float64 { return plain(sh, weights, text[:12], text[1:]) }
	if got, want := mean(must(m.loss.g.Download()).Data)/2, loss(); math.Abs(got-want) > 1e-6 {
		t.Errorf("loss %v, want %v", got, want)
	}
	const step = 1e-4
	for _, w := range m.all {
		most, x := 0.0, weights[w.name].Data
		for i, got := range must(w.g.Download()).Data {
			if i%3 != 0 { // a third of them will do
				continue
			}
			old := x[i]
			x[i] = old + step
			up := loss()
			x[i] = old - step
			want := (up - loss()) / (2 * step)
			x[i] = old
			most = max(most, math.Abs(float64(got)-want))
		}
		if !(most < 2e-6) {
			t.Errorf("%s: a slope is wrong by %v", w.name, most)
		}
		t.Logf("%s: slopes within %.1g", w.name, most)
	}
}

func mean(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) / float64(len(x))
	}
	return sum
}
