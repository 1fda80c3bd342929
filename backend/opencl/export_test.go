package opencl

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
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

// Used is how many bytes the buffers of a device have.
func Used(d *backend.Device) int64 { return d.Used() }

// own is what the driver has of d.
func own(d *backend.Device) *device { return d.Driver().(*device) }
