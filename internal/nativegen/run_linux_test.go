package nativegen

import (
	"bytes"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/internal/ptxgen/ptxtest"
)

// A nativeCall is struct call of native.h.
type nativeCall struct {
	lo, hi        int64
	local, groups [3]int64
	scratch       unsafe.Pointer
	bad           [4]int64
	saved         [16]uintptr
	arg           *uint64
}

// eachLevel calls f with a function that runs the entry k of text, for each level that the machine
// has.
func eachLevel(t *testing.T, text string, f func(t *testing.T, run func(c *nativeCall, arg ...uint64))) {
	ptxtest.Clang(t)
	has := map[string]bool{"avx2": cpu.X86.HasAVX2, "avx512": cpu.X86.HasAVX512, "neon": runtime.GOARCH == "arm64"}
	for _, l := range Levels {
		if !has[l.Name] {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			b, err := Compile(l, "k", text)
			if err != nil {
				t.Fatal(err)
			}
			mem, err := unix.Mmap(-1, 0, len(b.Code), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Munmap(mem)
			copy(mem, b.Code)
			if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC); err != nil {
				t.Fatal(err)
			}
			f(t, func(c *nativeCall, arg ...uint64) {
				c.arg = unsafe.SliceData(arg)
				dl.Call(uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(unsafe.Pointer(c)))
				runtime.KeepAlive(c)
			})
		})
	}
}

// address is where x lies, which is not on a stack: these move.
func address[T any](x []T) uint64 {
	kept = x
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(x))))
}

var kept any

func TestRuns(t *testing.T) {
	eachLevel(t, plain, func(t *testing.T, run func(c *nativeCall, arg ...uint64)) {
		x, want := make([]float32, 100), make([]float32, 100)
		for i := range x {
			x[i] = float32(i) / 7
			want[i] = float32(x[i]*[]float32{1.1, 2.2, 3.3, 4.4}[i%4]) + 0.1 // rounded twice
		}
		run(&nativeCall{hi: 100}, address(x))
		if !slices.Equal(x, want) {
			t.Errorf("%v, want %v", x, want)
		}
	})
}

// The code fails from any depth, and what it has done before stays.
func TestFail(t *testing.T) {
	eachLevel(t, `
static __attribute__((noinline)) i64 deep(call *c, i64 n, i64 *x) {
  volatile i64 here[9] = {n};
  if (n == 0) fail(c, FAIL_INDEX, 3000017, -5, 1ll << 40);
  x[n] = n;
  return deep(c, n - 1, x) + here[0];
}
KERNEL(k) { return deep(c, 20, (i64 *)c->arg[0]); }
`+constants, func(t *testing.T, run func(c *nativeCall, arg ...uint64)) {
		for range 1000 {
			x := make([]int64, 21)
			c := &nativeCall{}
			run(c, address(x))
			if want := [4]int64{1, 3000017, -5, 1 << 40}; c.bad != want || x[1] != 1 || x[20] != 20 {
				t.Fatalf("%v, want %v; %v", c.bad, want, x)
			}
		}
	})
}

// Copies that clang makes calls of functions are in the code.
func TestMemory(t *testing.T) {
	eachLevel(t, `
KERNEL(k) {
  u8 *x = (u8 *)c->arg[0];
  __builtin_memmove(x + c->lo, x + c->hi, c->local[0]);
  __builtin_memcpy(x + 500, x, c->local[1]);
  __builtin_memset(x + 900, 7, c->local[2]);
  return 0;
}
`+constants, func(t *testing.T, run func(c *nativeCall, arg ...uint64)) {
		for n := range int64(90) {
			for _, at := range [][2]int64{{0, 10}, {10, 0}, {5, 5}, {0, 64}, {100, 64}} {
				x := make([]byte, 1000)
				for i := range x {
					x[i] = byte(i * i >> 3)
				}
				want := slices.Clone(x)
				copy(want[at[0]:][:n], want[at[1]:][:n])
				copy(want[500:][:n], want)
				copy(want[900:][:n], bytes.Repeat([]byte{7}, int(n)))
				run(&nativeCall{lo: at[0], hi: at[1], local: [3]int64{n, n, n}}, address(x))
				if !bytes.Equal(x, want) {
					t.Fatalf("%d bytes from %d to %d: other bytes", n, at[1], at[0])
				}
			}
		}
	})
}
