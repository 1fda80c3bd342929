//go:build !race && !purego

package array

import (
	"os"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/tandem-gpu/tandem/linalg"
)

// A call on small arrays of the cpu device needs no memory, where kernels have machine code: those
// in Go may.
func TestSmallCallsAllocateNothing(t *testing.T) {
	if !cpu.X86.HasAVX2 || os.Getenv("TANDEM_NATIVE") == "off" {
		t.Skip("kernels run as Go")
	}
	s := openCPU(t)
	for _, n := range []int{10, 1000} {
		x, y, sum := ones(t, s, n), ones(t, s, n), ones(t, s, 1)
		for name, f := range map[string]func() error{
			"Add":  func() error { return Add(y, x, x) },
			"Exp":  func() error { return Exp(y, x) },
			"Sum":  func() error { return Sum(sum, x) },
			"Mean": func() error { return Mean(sum, x) },
			"Norm": func() error { return Norm(sum, x, 2) },
			"Max":  func() error { return Max(sum, x) },
		} {
			allocs := testing.AllocsPerRun(100, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			})
			if allocs > 0 {
				t.Errorf("%s of %d elements: %v allocations", name, n, allocs)
			}
		}
	}
}

func ones(t *testing.T, s *linalg.Session, n int) *linalg.Array[float32] {
	t.Helper()
	a, err := linalg.NewArray[float32](s, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := Fill(a, 1); err != nil {
		t.Fatal(err)
	}
	return a
}
