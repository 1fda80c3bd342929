package array

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestNormalize(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rng := rand.New(rand.NewPCG(28, 4))
		const rows, cols = 5, 37
		x, gain, bias := make([]float32, rows*cols), make([]float32, cols), make([]float32, cols)
		for _, list := range [][]float32{x, gain, bias} {
			for i := range list {
				list[i] = float32(rng.NormFloat64() * 3)
			}
		}
		row := func(i int) []float32 { return x[i*cols : (i+1)*cols] }
		a := upload(t, s, rows, cols, true, x)
		g, b := upload(t, s, 1, cols, false, gain), upload(t, s, 1, cols, true, bias)

		var soft, layer, rms, sums []float32
		for i := range rows {
			largest := row(i)[0]
			for _, v := range row(i) {
				largest = max(largest, v)
			}
			var e []float32
			for _, v := range row(i) {
				e = append(e, gpu.Exp(v-largest))
			}
			total := exact.Sum(e)
			sums = append(sums, largest+gpu.Log(total))
			mean := mean(row(i))
			scale := 1 / sqrt(squared(row(i), mean, cols, false)+1e-3)
			root := 1 / sqrt(squared(row(i), 0, cols, false)+1e-3)
			for j, v := range row(i) {
				soft = append(soft, e[j]/total)
				layer = append(layer, float32(float32((v-mean)*scale)*gain[j])+bias[j])
				rms = append(rms, v*root*gain[j])
			}
		}
		c := newTarget(t, s, rows, cols, true, float32(7))
		for name, f := range map[string]struct {
			run  func(c, a *Array[float32]) error
			want []float32
		}{
			"Softmax":   {func(c, a *Array[float32]) error { return Softmax(c, a) }, soft},
			"LayerNorm": {func(c, a *Array[float32]) error { return LayerNorm(c, a, g, b, 1e-3) }, layer},
			"RMSNorm":   {func(c, a *Array[float32]) error { return RMSNorm(c, a, g, 1e-3) }, rms},
		} {
			if err := f.run(c.Array, a); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c.check(t, name, f.want)
			own := upload(t, s, rows, cols, false, x)
			if err := f.run(own, own); err != nil {
				t.Fatalf("%s in place: %v", name, err)
			}
			equal(t, name+" in place", own, f.want)
			if err := f.run(own, own.Slice(0, rows, 0, cols-1)); !errors.Is(err, linalg.ErrShape) {
				t.Errorf("%s of another shape: %v", name, err)
			}
			if err := f.run(own.Slice(0, 4, 0, cols), own.Slice(1, 5, 0, cols)); !errors.Is(err, linalg.ErrOverlap) {
				t.Errorf("%s of what overlaps: %v", name, err)
			}
		}
		column := upload(t, s, rows, 1, true, make([]float32, rows))
		if err := LogSumExp(column, a); err != nil {
			t.Fatal(err)
		}
		equal(t, "LogSumExp", column, sums)
	})
}

// Of infinities and NaN the logarithm of the sum is what the sum is.
func TestLogSumExpOfInfinities(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		a := upload(t, s, 5, 3, true, []float32{
			-inf, -inf, -inf,
			1, inf, 2,
			inf, nan, 0,
			-inf, 7, -inf,
			inf, -inf, inf,
		})
		c := newTarget(t, s, 5, 1, true, float32(77))
		try(t, LogSumExp(c.Array, a))
		c.check(t, "LogSumExp", []float32{-inf, inf, nan, 7, inf})
	})
}

// What does not fit is named, and nothing is written.
func TestNormalizeRefuses(t *testing.T) {
	s, other := openCPU(t), openCPU(t)
	c := newTarget(t, s, 4, 6, true, float32(77))
	a, row := upload(t, s, 4, 6, false, make([]float32, 24)), upload(t, s, 1, 6, false, make([]float32, 6))
	far, wide := upload(t, other, 1, 6, false, make([]float32, 6)), upload(t, s, 1, 7, false, make([]float32, 7))
	whole := upload(t, other, 4, 6, false, make([]float32, 24))
	var none *Array[float32]
	one := Value[float32](1)
	for _, test := range []struct {
		err, want error
		text      string
	}{
		{Softmax(c.Array, none), backend.ErrArgument, "Softmax: a is nil"},
		{Softmax(c.Array, row), linalg.ErrShape, "Softmax: c is 4x6 float32"},
		{RMSNorm(c.Array, whole, row, 1), backend.ErrArgument, "RMSNorm: c"},
		{RMSNorm(c.Array, a, none, 1), backend.ErrArgument, "RMSNorm: gain is nil"},
		{RMSNorm(c.Array, a, c.Slice(0, 1, 0, 6), 1), linalg.ErrOverlap, "RMSNorm: c and gain"},
		{LayerNorm(c.Array, a, wide, one, 1), linalg.ErrShape, "LayerNorm: gain is 1x7"},
		{LayerNorm(c.Array, a, row, far, 1), backend.ErrArgument, "LayerNorm: bias belongs to another session"},
		{LayerNorm(c.Array, a, row, make([]float32, 5), 1), linalg.ErrShape, "LayerNorm: bias is 1x5"},
		{LayerNorm(c.Array, a, linalg.Matrix[float32]{Rows: 1, Cols: 6}, one, 1), linalg.ErrShape, "LayerNorm: gain"},
		{LogSumExp(c.Slice(0, 1, 0, 6), none), backend.ErrArgument, "LogSumExp: the operand is nil"},
		{LogSumExp(c.Slice(0, 4, 0, 1), a.Slice(0, 4, 0, 0)), linalg.ErrShape, "there is none of no elements"},
	} {
		if !errors.Is(test.err, test.want) || !contains(test.err, test.text) {
			t.Errorf("%v, want %v with %q", test.err, test.want, test.text)
		}
	}
	c.check(t, "after what is refused", c.was[:0])
}
