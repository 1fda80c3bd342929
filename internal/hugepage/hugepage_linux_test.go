package hugepage

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// isAdvised tells whether the system remembers the advice for the mapping that holds p.
func isAdvised(t *testing.T, p *byte) bool {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the system has no large pages: ", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	at, inside := uintptr(unsafe.Pointer(p)), false
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && inside {
			return slices.Contains(strings.Fields(flags), "hg")
		}
	}
	t.Skip("the system does not tell flags of mappings")
	return false
}

func TestAdvise(t *testing.T) {
	b, err := unix.Mmap(-1, 0, 4*MinBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	Advise(b[:MinBytes-1])
	if isAdvised(t, &b[0]) {
		t.Error("small memory is advised")
	}
	Advise(b[1 : 2*MinBytes+1]) // pages in part
	for at, want := range map[int]bool{
		0: false, os.Getpagesize(): true, 2*MinBytes - 1: true, 2 * MinBytes: false, 3 * MinBytes: false,
	} {
		if got := isAdvised(t, &b[at]); got != want {
			t.Errorf("byte %d: advised %t, want %t", at, got, want)
		}
	}
	if b[os.Getpagesize()] != 0 {
		t.Error("the memory has changed")
	}
	Advise(nil)
}

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 100, MinBytes - 1, MinBytes + 4097} {
		for _, align := range []int{1, 64, os.Getpagesize()} {
			b := Make(n, align)
			if b == nil || len(b) != n || cap(b) != n || n > 0 && uintptr(unsafe.Pointer(&b[0]))%uintptr(align) != 0 {
				t.Errorf("Make(%d, %d) is %d bytes of %d at %p", n, align, len(b), cap(b), b)
			}
			if n > 0 && slices.Max(b) != 0 {
				t.Errorf("Make(%d, %d) is not zero", n, align)
			}
		}
	}
	for _, n := range []int{0, 1, 8, 100, MinBytes + 5} {
		b := Dirty(n)
		for i := range b {
			b[i] = 1
		}
		if len(b) != n || cap(b) != n || n >= 8 && uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
			t.Errorf("Dirty(%d) is %d bytes of %d at %p", n, len(b), cap(b), b)
		}
	}
	if b := Make(4*MinBytes, 64); !isAdvised(t, &b[2*MinBytes]) {
		t.Error("large memory is not advised")
	}
}
