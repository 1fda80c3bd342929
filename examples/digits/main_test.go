package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
neighbours 1: 767 of 797 right, accuracy 0.96236
neighbours 3: 769 of 797 right, accuracy 0.96487
digest of the distances: af3001f0efd8b1c389e79487a53d0bb85cc25aa9885b01020d82202f0bfa3ea2
`)
}

func TestVote(t *testing.T) {
	for _, c := range []struct {
		what      string
		distances []float32
		digits    []int32
		k         int
		want      int32
	}{
		{"the nearest", []float32{3, 1, 2}, []int32{7, 8, 9}, 1, 8},
		{"the first of the nearest", []float32{3, 1, 1, 1}, []int32{7, 8, 2, 2}, 1, 8},
		{"a majority beats the nearest", []float32{3, 1, 2, 9}, []int32{7, 8, 7, 8}, 3, 7},
		{"the lowest of as many", []float32{3, 1, 2, 9}, []int32{7, 8, 5, 0}, 3, 5},
		{"ties at the edge go to the first", []float32{5, 1, 5, 5}, []int32{7, 8, 8, 8}, 2, 7},
	} {
		if got := vote(c.distances, c.digits, c.k); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
