package cuda

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cuda/internal/capi"
)

// Fresh is the driver under test over the same library, which has listed no devices yet.
func Fresh(t testing.TB) backend.Driver { return fresh(t) }

// Table is the function table of the driver under test.
func Table(t testing.TB) *capi.API { return table(t) }
