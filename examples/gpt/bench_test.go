package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// BenchmarkStep is a step of training on the cpu device, BenchmarkWrite a character of writing.
func BenchmarkStep(b *testing.B) {
	t, o := usualTrainer(b)
	t.step()
	for b.Loop() {
		t.step()
	}
	check(t.models[0].s.Wait())
	b.ReportMetric(float64(b.N*o.batch*o.context)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"float32", "int8"} {
		b.Run(name, func(b *testing.B) {
			t, o := usualTrainer(b)
			m := t.writer()
			if name == "int8" {
				m.shrink()
			}
			b.ResetTimer()
			o.length = b.N
			m.write(b.Context(), []int32{5}, o, func(int32) {})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

func usualTrainer(b *testing.B) (*trainer, *options) {
	o := usual()
	v := vocabularyOf(opticks)
	o.vocab = len(v)
	s := must(linalg.Open("cpu"))
	b.Cleanup(func() { check(s.Close()) })
	return newTrainer(s.Sessions(), o, v, v.tokens(opticks)), o
}
