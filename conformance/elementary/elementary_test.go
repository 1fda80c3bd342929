package elementary

import (
	"testing"

	"github.com/tandem-gpu/tandem/internal/compiler"
)

// The kernels are what the compiler makes of packages rmath and rmath/f32 as they are.
func TestGenerated(t *testing.T) {
	ptx := compiler.Clang()
	if testing.Short() || ptx == nil {
		t.Skip("compiles the kernels, with clang-19")
	}
	if err := compiler.Check(".", compiler.Options{NoLaunch: true, PTX: ptx}); err != nil {
		t.Error(err)
	}
}
