package cudasim

import (
	"errors"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

func TestArch(t *testing.T) {
	for name, want := range map[string]int{"": 75, "sm_75": 75, "sm_90": 90, "sm_120": 120} {
		if got, err := archOf(name); got != want || err != nil {
			t.Errorf("%q: %d, %v", name, got, err)
		}
	}
	for _, name := range []string{"90", "sm_", "sm_90x", "sm_60", "sm_1000", "gfx90a"} {
		if got, err := archOf(name); !errors.Is(err, backend.ErrArgument) {
			t.Errorf("%q: %d, %v", name, got, err)
		}
	}
}
