//go:build !purego && scalarfma

package host

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// The tag leaves no path but the scalar one, where the processor has it.
func TestScalarFMA(t *testing.T) {
	if !cpu.X86.HasFMA {
		t.Skip("the processor has no FMA")
	}
	for typ, got := range map[string]string{
		"float32": kernelsF32[0].name, "float64": kernelsF64[0].name, "int32": kernelsI32[0].name,
	} {
		want := "fma"
		if typ == "int32" {
			want = "avx"
		}
		if got != want {
			t.Errorf("products of %s run on %s, want %s", typ, got, want)
		}
	}
	if got := InstructionSet(); got != "fma" {
		t.Errorf("InstructionSet is %s, want fma", got)
	}
	if got := transposer().name; got != "go" {
		t.Errorf("transposes run on %s, want go", got)
	}
}
