package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
at 1 the curve is 0.848; without noise it is 0.841
at 5 the curve is -0.959; without noise it is -0.959
at 9 the curve is 0.413; without noise it is 0.412
log likelihood: 653.303
digest of the weights: 366606322f6d35d61199d62a6559bb46033e13584fd65541e9a4cd27423d59c8
factorization: *, gonum *
`)
}
