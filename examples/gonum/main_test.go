package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	exampletest.Run(t, run, `coefficients: [2.000000 3.000000 -1.000000]
device: *
`)
}
