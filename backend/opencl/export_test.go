package opencl

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

// Sharing is how the host and a device share memory: the ways that memory.go tells apart.
type Sharing int

const (
	AsFound  Sharing = iota
	Mapped           // the host maps registered memory before it touches it
	Discrete         // the device has memory of its own
)

// Fresh is a driver that has listed no devices yet, and whose devices share memory as s says. The
// test is skipped where there is no device.
func Fresh(t testing.TB, s Sharing) backend.Driver {
	need(t)
	return sharing{newDriver(), s}
}

type sharing struct {
	backend.Driver
	s Sharing
}

func (s sharing) Open(i int) (*backend.Device, error) {
	d, err := s.Driver.Open(i)
	if err != nil {
		return nil, err
	}
	switch s.s {
	case Mapped:
		own(d).mapped = true
	case Discrete:
		own(d).info.UnifiedMemory = false
	}
	return d, nil
}

// SeveralPlatforms tells whether there is a platform besides the first.
func SeveralPlatforms() bool {
	platforms, err := cl.GetPlatforms()
	return err == nil && len(platforms) > 1
}

// OpenAMD opens the first device as if it were one of AMD's CDNA, whose matrix instructions the
// probe finds. Kernels need [backendtest.WithMFMA].
func OpenAMD(t testing.TB, units int) *backend.Device {
	t.Helper()
	d := must[*backend.Device](t)(Fresh(t, AsFound).Open(0))
	old := prelude
	prelude += backendtest.MFMA + mfmaPrelude
	defer func() { prelude = old }()
	own(d).amd = true
	must[*findings](t)(own(d).examine(d)).apply(&own(d).info)
	info := &own(d).info
	info.GPU, info.Arch, info.ComputeUnits, info.LocalMemory, info.MaxGroup = true, "gfx90a", units, 64<<10, 256
	info.Platform, info.Vendor = "AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc."
	return d
}

// Used is how many bytes the buffers of a device have.
func Used(d *backend.Device) int64 { return d.Used() }

// own is what the driver has of d.
func own(d *backend.Device) *device { return d.Driver().(*device) }
