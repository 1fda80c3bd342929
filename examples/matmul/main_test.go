package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	t.Setenv(backend.EnvBackend, "") // restored after run has set it
	exampletest.Run(t, run, `[58 64]
[139 154]
⎡2  1⎤
⎣1  1⎦
device: *
`)
}
