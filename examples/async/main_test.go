package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
time on the device: *s
2097152 elements doubled in 8 pieces
`)
}
