package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestSuite(t *testing.T) { backendtest.Run(t, &counting{launches: map[string]int{}}) }

func TestRun(t *testing.T) {
	exampletest.Check(t, run, "counting", `[372 230] [230 142]
add_float32: 3 launches
matmul_cpu: 3 launches
`)
}

// The environment variable chooses the driver as any other; auto never does.
func TestSelection(t *testing.T) {
	t.Setenv(backend.EnvBackend, "counting")
	if e := backend.Explain(""); len(e.Chosen) != 1 || e.Chosen[0].Driver != "counting" {
		t.Errorf("TANDEM_BACKEND=counting: %s", e.String())
	}
	if e := backend.Explain("auto"); len(e.Chosen) != 1 || e.Chosen[0].Driver == "counting" {
		t.Errorf("auto: %s", e.String())
	}
}
