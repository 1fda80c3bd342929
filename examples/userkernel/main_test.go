package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
saxpy: [11 12 13 14 15 16 17 18 19 20]
jacobi: row  0, middle 100.000000
jacobi: row 12, middle 44.799427
jacobi: row 24, middle 12.909443
jacobi: row 36, middle 2.278837
jacobi: row 48, middle 0.238143
`)
}
