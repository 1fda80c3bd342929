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
		want := "device: *\ncannot reach the host's memory; use Upload\n"
		if x, err := linalg.Register(s, linalg.NewMatrix[float32](1, 16, nil)); err == nil {
			x.Free()
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
