package cuda

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/simapi"
)

// Fresh is the driver under test over the same library, which has listed no devices yet.
func Fresh(t testing.TB) backend.Driver { return fresh(t) }

// Table is the function table of the driver under test.
func Table(t testing.TB) *capi.API { return table(t) }

// IsHardware tells whether the driver under test is NVIDIA's.
func IsHardware() bool { return *driverName == "cuda" }

// Used is how many bytes the buffers of a device have.
func Used(d *backend.Device) int64 { return d.Used() }

// own is what the driver has of d.
func own(d *backend.Device) *device { return d.Driver().(*device) }

// OpenSimulated opens a simulated GPU of an architecture, such as 90 for sm_90, which says that it
// is of NVIDIA: it gets the tiles of theirs.
func OpenSimulated(t testing.TB, arch int) *backend.Device {
	t.Helper()
	api := simapi.New(ptxsim.Config{Arch: arch})
	d := newDriver("cudasim", "NVIDIA", "", func() (*capi.API, error) { return api, nil })
	return must[*backend.Device](t)(d.Open(0))
}
