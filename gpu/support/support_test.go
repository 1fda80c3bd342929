package support_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/gpu/support"
)

// A float that an integer does not have becomes the nearest that it has; NaN becomes 0.
func TestInt(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	testInt(t, []float64{0.9, -0.9, 127.9, 128, -128.9, -129, inf, -inf, nan},
		[]int8{0, 0, 127, 127, -128, -128, 127, -128, 0})
	testInt(t, []float64{-0.9, -5, 255.9, 256, inf, nan}, []uint8{0, 0, 255, 255, 255, 0})
	testInt(t, []float32{1e30, -1e30, 2147483520, -2147483648},
		[]int32{math.MaxInt32, math.MinInt32, 2147483520, math.MinInt32})
	testInt(t, []float64{1 << 63, -1 << 63, 1<<63 - 1024}, []int64{math.MaxInt64, math.MinInt64, 1<<63 - 1024})
	testInt(t, []float64{1 << 64, -1, 1<<64 - 2048, 1 << 63}, []uint64{math.MaxUint64, 0, 1<<64 - 2048, 1 << 63})
}

func testInt[F gpu.Float, I gpu.Integer](t *testing.T, x []F, want []I) {
	t.Helper()
	for i, v := range x {
		if got := support.Int[I](v); got != want[i] {
			t.Errorf("%T of %v is %v, want %v", got, v, got, want[i])
		}
	}
}

// Integers become the nearest float32, on 32-bit machines, too.
func TestFloat32(t *testing.T) {
	rng := rand.New(rand.NewPCG(49, 50))
	for range 200000 {
		x := rng.Uint64() >> rng.IntN(64)
		if rng.IntN(2) == 0 { // beside the middle of two
			x &^= 1<<rng.IntN(64) - 1
			x += uint64(rng.IntN(3)) - 1
		}
		want, _ := new(big.Float).SetUint64(x).Float32()
		signed, _ := new(big.Float).SetInt64(int64(x)).Float32()
		if y, z := support.Float32(x), support.Float32(int64(x)); y != want || z != signed {
			t.Fatalf("%d is %v, want %v, and as int64 %v, want %v", x, y, want, z, signed)
		}
	}
}

func TestDivRem(t *testing.T) {
	if support.Div(7, 0) != 0 || support.Rem(7, 0) != 0 || support.Div(-7, 2) != -3 || support.Rem(-7, 2) != -1 {
		t.Error("quotients")
	}
	if least := int32(math.MinInt32); support.Div(least, -1) != least || support.Rem(least, -1) != 0 {
		t.Error("the least number by -1")
	}
}

func TestArg(t *testing.T) {
	for _, c := range []struct {
		got  uint64
		size int
		want uint64
		n    int
	}{
		{support.Arg(int8(-1)).Bits, support.Arg(int8(-1)).Size, math.MaxUint32, 4},
		{support.Arg(int64(-1)).Bits, support.Arg(int64(-1)).Size, math.MaxUint64, 8},
		{support.Arg(float32(1)).Bits, support.Arg(float32(1)).Size, uint64(math.Float32bits(1)), 4},
		{support.Arg(1.0).Bits, support.Arg(1.0).Size, math.Float64bits(1), 8},
		{support.Bool(true).Bits, support.Bool(false).Size, 1, 4},
	} {
		if c.got != c.want || c.size != c.n {
			t.Errorf("%#x of %d bytes, want %#x of %d", c.got, c.size, c.want, c.n)
		}
	}
}

// On local memory there are the same atomic operations as package gpu's.
func TestLocal(t *testing.T) {
	testLocal[int32](t)
	testLocal[uint32](t)
	testLocal[int64](t)
	testLocal[uint64](t)
}

func testLocal[T gpu.Atomic](t *testing.T) {
	for i, c := range []struct{ local, atomic func(p *T, v T) T }{
		{support.LocalAdd[T], gpu.AtomicAdd[T]},
		{support.LocalMin[T], gpu.AtomicMin[T]},
		{support.LocalMax[T], gpu.AtomicMax[T]},
		{support.LocalAnd[T], gpu.AtomicAnd[T]},
		{support.LocalOr[T], gpu.AtomicOr[T]},
		{support.LocalXor[T], gpu.AtomicXor[T]},
		{support.LocalExchange[T], gpu.AtomicExchange[T]},
		{
			func(p *T, v T) T { return support.LocalCompareExchange(p, 12, v) },
			func(p *T, v T) T { return gpu.AtomicCompareExchange(p, 12, v) },
		},
	} {
		for _, x := range []T{0, 12, 33, ^T(0)} {
			for _, v := range []T{0, 5, 40, ^T(0)} {
				got, want := x, x
				if c.local(&got, v) != c.atomic(&want, v) || got != want {
					t.Errorf("operation %d of %T: %v and %v make %v, want %v", i, x, x, v, got, want)
				}
			}
		}
	}
}

// Of a map what was compiled runs, also in a program that is built with -race.
func TestMapRunsCompiled(t *testing.T) {
	ran := ""
	form := func(name string) backend.GoKernel {
		return func(backend.Grid, int, int, []backend.Arg) error {
			ran = name
			return nil
		}
	}
	p := support.Packed{PTX: support.PTX(""), Text: support.Texts("")}
	s := p.Map("f", nil, support.Params{}, form("compiled"), form("plain"))
	if err := s.Go(backend.Grid{}, 0, 0, nil); err != nil || ran != "compiled" {
		t.Errorf("%s, %v", ran, err)
	}
}
