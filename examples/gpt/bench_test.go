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
	t, o := usualTrainer(b)
	b.ResetTimer()
	o.length = b.N
	for range t.writer().write([]int32{5}, o) {
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

func usualTrainer(b *testing.B) (*trainer, *options) {
	o := usual()
	v := vocabularyOf(opticks)
	o.vocab = len(v)
	s := must(linalg.Open("cpu"))
	b.Cleanup(func() { check(s.Close()) })
	return must(newTrainer(s.Sessions(), o, must(v.tokens(opticks)))), o
}
