package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

// The variances are those of NumPy's eigvalsh(cov(x.T)).
func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
component 1 explains [179.01] of [1202.15]
component 2 explains [163.72] of [1202.15]
component 3 explains [141.79] of [1202.15]
digest of the components: bccf6661e92030926e51683182668e7fbdd49b0f18bebfeecb4c8fc7d4628b6e
`)
}
