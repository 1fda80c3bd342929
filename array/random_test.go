package array

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

// philoxWord is word i of a block, from the definition.
func philoxWord(seed, stream, block, attempt uint64, i int) uint32 {
	c := [4]uint32{uint32(block), uint32(block>>32 | attempt<<16), uint32(stream), uint32(stream >> 32)}
	k := [2]uint32{uint32(seed), uint32(seed >> 32)}
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c[i]
}

func word32(seed, stream uint64, k int) uint32 { return philoxWord(seed, stream, uint64(k/4), 0, k%4) }

func word64(seed, stream uint64, k int) uint64 {
	i := 2 * (k % 2)
	return uint64(philoxWord(seed, stream, uint64(k/2), 0, i+1))<<32 |
		uint64(philoxWord(seed, stream, uint64(k/2), 0, i))
}

func uniform32(seed, stream uint64, k int) float32 {
	return float32(word32(seed, stream, k)>>8) * 0x1p-24
}

func uniform64(seed, stream uint64, k int) float64 {
	return float64(word64(seed, stream, k)>>11) * 0x1p-53
}

func normal32(seed, stream uint64, k int) float32 {
	p := k / 2 * 2
	u := (float32(word32(seed, stream, p)>>1) + 0.5) * 0x1p-31
	r := float32(math.Sqrt(float64(-2 * f32.Log(u))))
	angle := float32(int32(word32(seed, stream, p+1))>>7) * 0x1p-24
	if k%2 == 0 {
		return r * f32.CosPi(angle)
	}
	return r * f32.SinPi(angle)
}

func normal64(seed, stream uint64, k int) float64 {
	p := k / 2 * 2
	r := math.Sqrt(-2 * rmath.Log(uniform64(seed, stream, p)+0x1p-54))
	angle := 2*uniform64(seed, stream, p+1) - 1
	if k%2 == 0 {
		return r * rmath.CosPi(angle)
	}
	return r * rmath.SinPi(angle)
}

func integer(lo, hi int32) func(seed, stream uint64, k int) int32 {
	return func(seed, stream uint64, k int) int32 {
		span := uint64(int64(hi) - int64(lo))
		for attempt := uint64(0); ; attempt++ {
			w := uint64(philoxWord(seed, stream, uint64(k/4), attempt, k%4))
			if uint64(uint32(w*span)) >= (1<<32)%span {
				return int32(int64(lo) + int64(w*span>>32))
			}
		}
	}
}

// Every number is that of its place, whatever the array's shape, stride and device.
func TestRandom(t *testing.T) {
	const guard = 77
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for _, seed := range []uint64{0, 1<<40 + 7} {
			testRandom(t, s, "Uniform", seed, guard, uniform32, Uniform[float32])
			testRandom(t, s, "Uniform", seed, guard, uniform64, Uniform[float64])
			testRandom(t, s, "Normal", seed, guard, normal32, Normal[float32])
			testRandom(t, s, "Normal", seed, guard, normal64, Normal[float64])
			for _, r := range [][2]int32{{-5, -4}, {0, 1000}, {-1 << 31, 1 << 30}, {-1 << 31, 1<<31 - 1}} {
				testRandom(t, s, fmt.Sprint("Integers ", r), seed, guard, integer(r[0], r[1]),
					func(r2 *Stream, c *linalg.Array[int32]) error { return Integers(r2, c, r[0], r[1]) })
			}
		}
	})
}

func testRandom[T linalg.Element](t *testing.T, s *linalg.Session, what string, seed uint64, guard T,
	number func(seed, stream uint64, k int) T, fill func(*Stream, *linalg.Array[T]) error,
) {
	t.Helper()
	r := &Stream{Seed: seed, Next: 1<<32 - 2}
	for _, shape := range [][2]int{{1, 1}, {1, 7}, {3, 1}, {5, 3}, {2, 4}, {4, 30}, {1, 2100}} {
		for _, strided := range []bool{false, true} {
			rows, cols := shape[0], shape[1]
			c := newTarget(t, s, rows, cols, strided, guard)
			stream := r.Next
			if err := fill(r, c.Array); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if r.Next != stream+1 {
				t.Fatalf("%s: the stream after %d is %d", what, stream, r.Next)
			}
			want := make([]T, rows*cols)
			for k := range want {
				want[k] = number(seed, stream, k)
			}
			c.check(t, what, want)
		}
	}
}

// The moments of many numbers are those of their distributions, to five standard deviations.
func TestMoments(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n = 1 << 20
	r := &Stream{Seed: 1}
	c, err := linalg.NewArray[float64](s, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name       string
		fill       func(*Stream, *linalg.Array[float64]) error
		mean, vari float64
		fourth     float64 // central moment
	}{
		{"Uniform", Uniform[float64], 0.5, 1.0 / 12, 1.0 / 80},
		{"Normal", Normal[float64], 0, 1, 3},
	} {
		if err := test.fill(r, c); err != nil {
			t.Fatal(err)
		}
		m, err := c.Download()
		if err != nil {
			t.Fatal(err)
		}
		mean, vari := 0.0, 0.0
		for _, x := range m.Data {
			mean += x / n
			vari += (x - test.mean) * (x - test.mean) / n
		}
		if d := math.Abs(mean - test.mean); d > 5*math.Sqrt(test.vari/n) {
			t.Errorf("%s: the mean is off by %g", test.name, d)
		}
		if d := math.Abs(vari - test.vari); d > 5*math.Sqrt((test.fourth-test.vari*test.vari)/n) {
			t.Errorf("%s: the variance is off by %g", test.name, d)
		}
	}
}

func TestRandomRefuses(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := newTarget[int32](t, s, 2, 3, true, 77)
	floats, err := linalg.NewArray[float32](s, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	r, end := &Stream{Next: 5}, &Stream{Seed: 3, Next: math.MaxUint64}
	for _, test := range []struct {
		err, want error
		text      string
	}{
		{Uniform[float64](r, nil), backend.ErrArgument, "Uniform: the destination is nil"},
		{Normal(nil, floats), backend.ErrArgument, "Normal: the stream is nil"},
		{Integers(end, c.Array, 0, 9), backend.ErrArgument, "Integers: the stream of seed 3 is at its end"},
		{Integers(r, c.Array, 4, 4), backend.ErrArgument, "Integers: there are none from 4 to 4-1"},
	} {
		if !errors.Is(test.err, test.want) || !contains(test.err, test.text) {
			t.Errorf("%v, want %v with %q", test.err, test.want, test.text)
		}
	}
	c.check(t, "refused", c.was[:0])
	if r.Next != 5 {
		t.Errorf("a refused call takes a stream: %d", r.Next)
	}
	if err := Uniform(r, floats); err != nil || r.Next != 6 {
		t.Errorf("an array without elements: %v, the next stream is %d", err, r.Next)
	}
}

func TestShuffle(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		const rows, cols = 50, 3
		x := make([]int32, rows*cols)
		for i := range x {
			x[i] = int32(i)
		}
		index := newTarget[int32](t, s, 1, rows, true, 77)
		try(t, Permutation(&Stream{Seed: 4}, index.Array))
		order, err := index.Download()
		try(t, err)
		c := newTarget[int32](t, s, rows, cols, true, 77)
		try(t, Shuffle(&Stream{Seed: 4}, c.Array, upload(t, s, rows, cols, false, x)))
		c.check(t, "Shuffle", elements(rows, cols, func(i, j int) int32 { return order.Data[i]*cols + int32(j) }))
	})
}

func TestChoice(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testChoice(t, s, uniform32)
		testChoice(t, s, uniform64)
	})
}

func testChoice[T Float](t *testing.T, s *linalg.Session, uniform func(seed, stream uint64, k int) T) {
	for _, weights := range [][]T{{3}, {0, 1, 0, 0.1, 7, 0}, {0x1p-101, 0x1p-101}} {
		var sum exact.Acc
		sums := make([]T, len(weights))
		for i, w := range weights {
			sum.Add(float64(w))
			sums[i] = rounded[T](&sum)
		}
		for _, column := range []bool{false, true} {
			rows, cols := 1, len(weights)
			if column {
				rows, cols = cols, 1
			}
			index := newTarget[int32](t, s, 7, 30, true, 77)
			try(t, Choice(&Stream{Seed: 9}, index.Array, upload(t, s, rows, cols, true, weights)))
			index.check(t, "Choice", elements(7, 30, func(i, j int) int32 {
				x := uniform(9, 0, i*30+j) * sums[len(sums)-1]
				return int32(slices.IndexFunc(sums, func(v T) bool { return v > x }))
			}))
		}
	}
	index := newTarget[int32](t, s, 1, 3, true, 77)
	for _, weights := range [][]T{{1, -1, 2}, {0, 0}, {T(math.NaN())}, {1, T(math.Inf(1))}, {0x1p-101}} {
		r := &Stream{}
		err := Choice(r, index.Array, upload(t, s, 1, len(weights), false, weights))
		if !errors.Is(err, backend.ErrArgument) || r.Next != 0 {
			t.Errorf("%v: %v, the next stream is %d", weights, err, r.Next)
		}
	}
	index.check(t, "a refused Choice", index.was[:0])
}
