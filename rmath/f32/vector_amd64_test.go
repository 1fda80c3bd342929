//go:build !purego

package f32

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// All functions of one argument have vector code.
func TestVectors(t *testing.T) {
	if !cpu.X86.HasAVX2 {
		t.Skip("a processor without AVX2")
	}
	for _, d := range definitions {
		if vectorOf(d.f) == nil {
			t.Errorf("Apply has no vector code for %s", d.name)
		}
	}
}
