package cuda_test

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cuda"
	_ "github.com/tandem-gpu/tandem/backend/cudasim" // under the other tests, too
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// The suite's kernels come with PTX: without NVRTC only the cases that compile text are left out.
func TestSuite(t *testing.T) { backendtest.Run(t, backend.Lookup("cuda")) }

// The same kernels compiled by NVRTC.
func TestSuiteNVRTC(t *testing.T) {
	_, err := capi.LoadNVRTC(0)
	backendtest.Require(t, "nvrtc", err)
	every := backendtest.Skip("Conformance/Parameters", "TestBuiltInKernelsThroughNVRTC compiles them all")
	for _, name := range []string{"cuda", "cudasim"} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, textDriver{backend.Lookup(name)}, backendtest.Again(), every)
		})
	}
}

// A textDriver compiles the text of kernels, even of those that have PTX.
type textDriver struct{ backend.Driver }

func (d textDriver) Open(i int) (*backend.Device, error) {
	dev, err := d.Driver.Open(i)
	if err != nil {
		return nil, err
	}
	return backendtest.Hook(dev, &backendtest.Hooks{Compile: func(s *backend.Source) *backend.Source {
		text := *s
		text.PTX, text.Packed = nil, nil
		return &text
	}}), nil
}
