package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestRun(t *testing.T) {
	exampletest.Each(t, func(t *testing.T, spec string) {
		s, err := linalg.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		want := "device: *\ndoes not share the host's memory; use Upload\n"
		if s.Info().UnifiedMemory {
			want = `device: *
first call:  *s
second call: *s
c[0,0] = 60.736217
c[0,0] = 61.214592
`
		}
		exampletest.Check(t, run, spec, want)
	})
}
