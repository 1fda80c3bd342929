package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

// The digests are the same on every device and processor.
func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
curve: 1.266 + 1.130*T1 + 0.271*T2 + ..., digest acce563455df20a8, in *, gonum *
components: they explain 14.9% 13.6% 11.8% ..., digest dd94436a536bd1ec, in *, gonum *
truss: its middle sinks by 13.417, it swings at 0.00100 and 0.00306, digest 2263605fe44450bb, in *, gonum *
`)
}
