package mistakes

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/linalg"
)

// What a kernel only reads may be memory that nobody can write, on devices with memory of their own
// as well.
func TestReadOnlyMemory(t *testing.T) {
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(mem)
	x := unsafe.Slice((*int32)(unsafe.Pointer(&mem[0])), 8)
	each(t, func(t *testing.T, s *linalg.Session) {
		s.SetChecked(false)
		out := []int32{1, 2, 3, 4, 5, 6, 7, 0}
		if err := LaunchLoads(s, grid, out, x); err != nil || out[3] != 0 {
			t.Errorf("%v, %v", out, err)
		}
	})
}
