package array

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program links the kernels that it uses, with their machine code, and no others.
func TestLinksWhatItUses(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/add").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("go", "tool", "nm", program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]bool{
		"array.addFloat32Kernel": true, "array/nativecode.Code_add": true,
		"array.subFloat32Kernel": false, "array/nativecode.Code_sub": false,
		"sums.AlongFloat32SinglePlainKernel": false,
	} {
		if strings.Contains(string(out), name) != want {
			t.Errorf("it links %s: %t, want %t", name, !want, want)
		}
	}
}
