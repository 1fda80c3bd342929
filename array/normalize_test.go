package array

import (
	"errors"
	"math/rand/v2"
	"testing"

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
			"Softmax":   {Softmax[float32], soft},
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
