package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
[14 32]
[32 77]
`)
}
