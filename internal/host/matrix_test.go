package host

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// shapes has every kind of edge, and sizes on both sides of where several goroutines start.
var shapes = [][2]int{
	{0, 0},
	{0, 5},
	{5, 0},
	{1, 1},
	{1, 100},
	{100, 1},
	{3, 5},
	{7, 8},
	{8, 8},
	{16, 16},
	{15, 17},
	{33, 31},
	{64, 64},
	{65, 130},
	{1, 200_000},
	{200_000, 1},
	{5, 40_001},
	{40_001, 5},
	{300, 517},
	{517, 300},
	{512, 512},
}

func testTypes(t *testing.T, f32, f64, i32 func(t *testing.T)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	t.Run("float32", f32)
	t.Run("float64", f64)
	t.Run("int32", i32)
}

func TestTranspose(t *testing.T) {
	eachTransposer(t, func(t *testing.T) {
		testTypes(t, testTranspose[float32], testTranspose[float64], testTranspose[int32])
	})
}

func eachTransposer(t *testing.T, f func(t *testing.T)) {
	t.Run("chosen", f)
	defer func(old bool) { hasVectors = old }(hasVectors)
	hasVectors = false
	t.Run("go", f)
}

// Rows that are aligned to a cache line, of matrices so large that the result is written past the
// caches.
func TestTransposeStreams(t *testing.T) {
	eachTransposer(t, func(t *testing.T) {
		testTypes(t, testTransposeStreams[float32], testTransposeStreams[float64], testTransposeStreams[int32])
	})
}

func testTransposeStreams[T element.Element](t *testing.T) {
	size := int(unsafe.Sizeof(T(0)))
	for _, s := range [][2]int{{1500, 1000}, {37, 40_000}, {70_000, 19}, {1024, 2048}} {
		rows, cols := s[0], s[1]
		ldd := roundUp(rows, cacheLine/size) + cacheLine/size
		memory, all := Take[T]((cols + 2) * ldd)
		dst := all[ldd:][:(cols-1)*ldd+rows]
		if transposesOf(size).stream != nil && !streams(rows, cols, dst, ldd) {
			t.Errorf("%dx%d does not stream", rows, cols)
		}
		src := make([]T, rows*(cols+1))
		for i := range src {
			src[i] = T(i % 65_537)
		}
		for i := range all {
			all[i] = guard[T](i)
		}
		Transpose(rows, cols, src, cols+1, dst, ldd)
		for at, got := range all {
			i, j, want := at%ldd, at/ldd-1, guard[T](at)
			if j >= 0 && j < cols && i < rows {
				want = src[i*(cols+1)+j]
			}
			if got != want {
				t.Fatalf("%dx%d: dst(%d, %d) is %v, want %v", rows, cols, j, i, got, want)
			}
		}
		memory.Give()
	}
}

func testTranspose[T element.Element](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	in := input[T]{"bits", randomBits[T]}
	for _, s := range shapes {
		for _, gap := range []int{3, 0} {
			if isShort() && gap == 0 {
				continue
			}
			src := in.matrix(rng, s[0], s[1], gap)
			dst := newMatrix(s[1], s[0], gap*2, func(int, int) T { return poison[T]() })
			want := newMatrix(s[1], s[0], gap*2, func(i, j int) T { return src.data[j*src.ld+i] })
			Transpose(s[0], s[1], src.data, src.ld, dst.data, dst.ld)
			if err := dst.diff(want); err != nil {
				t.Errorf("%dx%d, gap %d: %v", s[0], s[1], gap, err)
			}
		}
	}
}

// randomBits is any number, NaN of every payload included.
func randomBits[T element.Element](rng *rand.Rand) T {
	u := rng.Uint64()
	return *(*T)(unsafe.Pointer(&u))
}

func TestAddAndScale(t *testing.T) {
	testTypes(t, testAddAndScale[float32], testAddAndScale[float64], testAddAndScale[int32])
}

func testAddAndScale[T element.Element](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n, in := range inputs[T]() {
		for _, s := range shapes {
			if n > 0 && s[0]*s[1] > 10_000 {
				continue // the size matters there, not the kind of input
			}
			x := in.matrix(rng, s[0], s[1], 1)
			alpha := in.next(rng)
			z := newMatrix(s[0], s[1], 3, func(int, int) T { return poison[T]() })
			product := newMatrix(s[0], s[1], 3, func(i, j int) T { return alpha * x.data[i*x.ld+j] })
			name := fmt.Sprintf("%s, %dx%d", in.name, s[0], s[1])
			ScaleMatrix(s[0], s[1], alpha, x.data, x.ld, z.data, z.ld)
			if err := z.diff(product); err != nil {
				t.Errorf("ScaleMatrix, %s: %v", name, err)
			}
			// In place.
			z = newMatrix(s[0], s[1], 3, func(i, j int) T { return x.data[i*x.ld+j] })
			ScaleMatrix(s[0], s[1], alpha, z.data, z.ld, z.data, z.ld)
			if err := z.diff(product); err != nil {
				t.Errorf("in place, %s: %v", name, err)
			}
		}
	}
}

func TestMatrixChecksItsArguments(t *testing.T) {
	x, y := make([]int32, 11), make([]int32, 12)
	for name, f := range map[string]func(){
		"short src": func() { Transpose(3, 4, x, 4, y, 3) },
		"short dst": func() { Transpose(3, 4, y, 4, x, 3) },
		"lds":       func() { Transpose(3, 4, y, 3, y, 3) },
		"scale x":   func() { ScaleMatrix(3, 4, 2, x, 4, y, 4) },
		"scale z":   func() { ScaleMatrix(3, 4, 2, y, 4, x, 4) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, n := range []int{64, 512, 1000, 4096} {
		b.Run(fmt.Sprint("4bytes/", n), benchmarkTranspose[float32](n))
		b.Run(fmt.Sprint("8bytes/", n), benchmarkTranspose[float64](n))
	}
}

func benchmarkTranspose[T element.Element](n int) func(*testing.B) {
	return func(b *testing.B) {
		x, y := make([]T, n*n), make([]T, n*n)
		b.SetBytes(2 * int64(n*n) * int64(unsafe.Sizeof(T(0))))
		for b.Loop() {
			Transpose(n, n, x, n, y, n)
		}
	}
}
