package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

func TestRun(t *testing.T) {
	exampletest.Run(t, run, `device: *
first sample: [2.5497 0.0000 6.9905 0.0000 0.0000 0.0000 0.8134 1.6839 8.9411 0.0000]
digest of all 64: 553851f7721a8937b38769c3a34ba324471b1c341b3ae035a9ef1d5b140dde44
`)
}
