package opencl_test

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/opencl"
)

func TestSuite(t *testing.T) { backendtest.Run(t, backend.Lookup("opencl")) }
