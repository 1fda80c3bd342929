package host

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fenced is memory for n elements between two pages that nobody may touch, at the end or, with low,
// at the beginning: assembly that reads beyond it ends the test.
func fenced[T Float](t *testing.T, n int, low bool) []T {
	t.Helper()
	page := unix.Getpagesize()
	size := n * int(unsafe.Sizeof(T(0)))
	pages := (size + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, pages+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	for _, fence := range [][]byte{memory[:page], memory[page+pages:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	at := page
	if !low {
		at += pages - size
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[at])), n)
}

// Products with vectors, and sums, touch nothing before or behind their operands.
func TestVectorFences(t *testing.T) {
	t.Run("float32", testVectorFences[float32])
	t.Run("float64", testVectorFences[float64])
}

func testVectorFences[T Float](t *testing.T) {
	const most = 40
	var other [most]T
	for _, low := range []bool{false, true} {
		a, x, y := fenced[T](t, most*most, low), fenced[T](t, most, low), fenced[T](t, most, low)
		part := func(s []T, n int) []T { // that lies at the fence
			if low {
				return s[:n]
			}
			return s[len(s)-n:]
		}
		for m := 1; m <= most; m++ {
			n := (7*m)%most + 1
			x, y := part(x, m), part(y, n)
			Gemv(true, m, n, 1, part(a, m*n), n, x, 0, y)
			Gemv(false, m, n, 1, part(a, m*n), n, y, 0, x)
			Gemv(false, m, n, 2, part(a, m*n), n, y, 1, x)
			Ger(m, n, 0, x, y, part(a, m*n), n)
			square := part(a, m*m)
			for i := range m {
				square[i*(m+1)] = 1
			}
			for _, lower := range []bool{false, true} {
				Syr(lower, m, 0, x, square, m)
				Syr2(lower, m, 0, x, x, square, m)
				Symv(lower, m, 1, square, m, x, 0, other[:m])
				for _, trans := range []bool{false, true} {
					Trsv(lower, trans, false, m, square, m, x)
					Trmv(lower, trans, true, m, square, m, x)
				}
			}
			Axpy(0, x[:min(m, n)], y)
			Scal(0, x)
			if s := Dot(x, x) + Asum(x) + Nrm2(x); s != 0 {
				t.Fatalf("the sums of %d zeros are %v", m, s)
			}
		}
	}
}

// At the end of a page, where a whole register would reach beyond it, the last lanes are right.
func TestGerAtFence(t *testing.T) {
	t.Run("float32", testGerAtFence[float32])
	t.Run("float64", testGerAtFence[float64])
}

func testGerAtFence[T Float](t *testing.T) {
	const most = 19
	rng := rand.New(rand.NewPCG(61, 62))
	a, y := fenced[T](t, most*most, false), fenced[T](t, most, false)
	for n := 1; n <= most; n++ {
		for m := 1; m <= 3; m++ {
			for behind := range 3 { // elements between the last one and the fence
				c, v := a[len(a)-m*n-behind:][:m*n], y[max(0, len(y)-n-behind):][:n]
				x, want := make([]T, m), make([]T, m*n)
				fillRandom(rng, x, c, v)
				for i := range want {
					want[i] = FMA(2*x[i/n], v[i%n], c[i])
				}
				Ger(m, n, 2, x, v, c, n)
				if !slices.Equal(c, want) {
					t.Fatalf("%dx%d, %d elements before the fence: %v, want %v", m, n, behind, c, want)
				}
			}
		}
	}
}

func fillRandom[T Float](rng *rand.Rand, all ...[]T) {
	for _, x := range all {
		for i := range x {
			x[i] = T(rng.Float64() - 0.5)
		}
	}
}
