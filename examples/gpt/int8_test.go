package main

import (
	"bytes"
	"flag"
	"math"
	"testing"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
	"github.com/tandem-gpu/tandem/linalg"
)

// plainQuantize is the numbers of a vector in 8 bits, and their largest magnitude.
func plainQuantize(x []float32) (q []int32, most float32) {
	for _, v := range x {
		most = max(most, v, -v)
	}
	for _, v := range x {
		v := math.RoundToEven(float64(float32(v/most) * 127))
		if most == 0 {
			v = 0
		}
		q = append(q, int32(v))
	}
	return q, most
}

// plainProject is y and w times x with 8 bits, number by number.
func plainProject(y, w, x linalg.Matrix[float32]) {
	for j := range y.Cols {
		var column []float32
		for k := range x.Rows {
			column = append(column, x.At(k, j))
		}
		b, byColumn := plainQuantize(column)
		for i := range y.Rows {
			a, byRow := plainQuantize(w.Row(i))
			var sum int32
			for k := range a {
				sum += a[k] * b[k]
			}
			scaled := float32(float32(float32(sum)*float32(byRow/127)) * float32(byColumn/127))
			y.Set(i, j, y.At(i, j)+scaled)
		}
	}
}

// A product with 8 bits has the bits of the plain one on every device, with columns and rows of
// zeros, of subnormal numbers and of halves, which are rounded to even.
func TestInt8(t *testing.T) {
	exampletest.Each(t, func(t *testing.T, spec string) {
		s := must(linalg.Open(spec))
		defer s.Close()
		sh := shape{vocab: 9, context: 16, dim: 8, heads: 2, layers: 1}
		m := newModel(s, sh, 1, 5)
		w := m.layers[0].up
		x, y := m.floats(sh.dim, sh.context), m.floats(w.rows, sh.context)
		check(array.Normal(&array.Stream{Seed: 6}, x), array.Normal(&array.Stream{Seed: 7}, y))
		hx, hw := must(x.Download()), must(w.w.Download())
		for i := range sh.dim {
			hx.Set(i, 1, 0)
			hx.Set(i, 2, float32(math.Ldexp(float64(i-3), -149)))
			hx.Set(i, 3, float32(i)+0.5)
			hw.Set(2, i, 0)
		}
		hx.Set(0, 3, 127)
		check(x.CopyFrom(hx), w.w.CopyFrom(hw))
		m.shrink()
		want := must(y.Download())
		plainProject(want, hw, hx)
		check(m.project(y, w, x, true))
		if got := must(y.Download()); !bytes.Equal(backend.Bytes(got.Data), backend.Bytes(want.Data)) {
			t.Errorf("added to y it is\n%v, want\n%v", got, want)
		}
		want = linalg.NewMatrix[float32](w.rows, sh.context, nil)
		plainProject(want, hw, hx)
		check(m.project(y, w, x, false))
		if got := must(y.Download()); !bytes.Equal(backend.Bytes(got.Data), backend.Bytes(want.Data)) {
			t.Errorf("it is\n%v, want\n%v", got, want)
		}
	})
}

// What -int8 writes, and the scores, are one on every device.
func TestWriteInt8(t *testing.T) {
	o := small()
	o.int8, o.steps = true, 2
	exampletest.Run(t, printed(o), `*: 4560 weights, 132391 characters of 77 kinds
loss by step: *
loss after 2 steps, of text kept back: 4.8600

The hhGGGh/K

digest of the weights: 3e712a1fec7f7612306e45462a1de8529fab5ed4ecd027a44b9b1e52d61d6a11
digest of the prompt's scores: 15d76ab313a3bdbc0d3ef312be228264edb867cb3ba8ca072995de955e781a47
`)
}

var steps = flag.Int("steps", 50, "steps before TestAgreement")

// With 8 bits the likeliest character is mostly the one of float32: the test logs how often in the
// text kept back.
func TestAgreement(t *testing.T) {
	if testing.Short() {
		t.Skip("50 steps of the usual model; left out by -short")
	}
	o := usual()
	o.steps = *steps
	tr := trainers(t, o, 1)
	tr.train(t.Context())
	full, narrow := tr.writer(), tr.writer()
	narrow.shrink()
	same := 0
	for i := range o.batch {
		from := tr.trained + i*(len(tr.text)-tr.trained-o.context)/o.batch
		var likeliest [2][]int32
		for i, m := range []*model{full, narrow} {
			index := m.ints(1, o.context)
			m.read(tr.text[from:][:o.context])
			check(array.ArgMax(index, m.scores))
			likeliest[i] = must(index.Download()).Data
		}
		for i, token := range likeliest[0] {
			if token == likeliest[1][i] {
				same++
			}
		}
	}
	t.Logf("after %d steps the same for %d of %d characters", o.steps, same, o.batch*o.context)
	if same < 9*o.batch*o.context/10 {
		t.Error("8 bits are too few")
	}
}
