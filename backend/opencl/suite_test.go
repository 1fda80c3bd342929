package opencl_test

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/opencl"
)

// Oclgrind would log the mistakes that some cases make on purpose: its log must be empty.
func TestSuite(t *testing.T) {
	d := backend.Lookup("opencl")
	var opts []backendtest.Option
	if infos, _ := d.Devices(); len(infos) > 0 && infos[0].Platform == "Oclgrind" {
		opts = append(opts, backendtest.ValidCallsOnly())
	}
	backendtest.Run(t, d, opts...)
}
