package exact

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// kinds is the kinds of numbers that number makes.
const kinds = 8

func number(r *rand.Rand, kind int) float64 {
	switch kind % kinds {
	case 0:
		return r.NormFloat64()
	case 1: // of any size
		return math.Ldexp(r.Float64()-0.5, r.IntN(2098)-1074)
	case 2: // ties
		return float64(r.IntN(7)-3) * math.Ldexp(1, r.IntN(60)-53)
	case 3: // subnormal
		return math.Ldexp(float64(r.IntN(9)-4), -1074+r.IntN(3))
	case 4: // float32, some of them subnormal
		return float64(float32(math.Ldexp(r.Float64()-0.5, r.IntN(270)-140)))
	case 5: // sums that overflow on the way
		return math.Ldexp(r.Float64()-0.5, 1024-r.IntN(3))
	case 6: // ties of float32 that a float64 would round to
		return math.Ldexp(float64(r.IntN(1<<26)), 0) + math.Ldexp(float64(r.IntN(3)-1), -60*r.IntN(2))
	default: // what rounds to the largest float32, or beyond
		return (0x1p128 - 0x1p103) * float64(1-2*r.IntN(2)) * float64(r.IntN(2))
	}
}

func numbers(r *rand.Rand, n, kind int) []float64 {
	x := make([]float64, n)
	for i := range x {
		if x[i] = number(r, kind); i > 0 && r.IntN(3) == 0 {
			x[i] = -x[r.IntN(i)] // cancellation
		}
	}
	return x
}

// reference is the exact sum of the products of x and y, or of x where y is nil.
func reference(x, y []float64) *big.Float {
	s := new(big.Float).SetPrec(5000)
	for i, v := range x {
		p := new(big.Float).SetPrec(200).SetFloat64(v)
		if y != nil {
			p.Mul(p, new(big.Float).SetFloat64(y[i]))
		}
		s.Add(s, p)
	}
	return s
}

func checkSum(t *testing.T, what string, got *Acc, want *big.Float) {
	t.Helper()
	if f, _ := want.Float64(); !same(got.Float64(), f) {
		t.Fatalf("%s: %v, want %v", what, got.Float64(), f)
	}
	if f, _ := want.Float32(); !same(float64(got.Float32()), float64(f)) {
		t.Fatalf("%s: %v as a float32, want %v", what, got.Float32(), f)
	}
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }

// Sums and dots are those of math/big, rounded once, in whatever parts they were added up.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60000 {
		x, y := numbers(r, r.IntN(12), i), numbers(r, 12, i/kinds)
		var sum, dot, part, rest Acc
		for k, v := range x {
			sum.Add(v)
			dot.AddProduct(v, y[k])
			if r.IntN(2) == 0 {
				part.Add(v)
			} else {
				rest.Add(v)
			}
		}
		want := reference(x, nil)
		checkSum(t, "sum", &sum, want)
		part.Merge(&rest)
		checkSum(t, "merged", &part, want)
		checkSum(t, "dot", &dot, reference(x, y))
	}
}

// Sum and Dot are what Acc gives, one number at a time; so for exponents that differ by any number
// of binades around what blocks take, and for numbers at both ends.
func TestSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		n := []int{1, 2, 7, 1023, 1024, 1025, 2100}[r.IntN(7)]
		x, y := numbers(r, n, i), numbers(r, n, i/kinds)
		if i%3 == 0 {
			span, at := 20+r.IntN(30), r.IntN(2046-50)-1022
			for k := range x {
				x[k] = math.Ldexp(1+r.Float64(), at+r.IntN(span)) * float64(r.IntN(2))
			}
		}
		checkSlices(t, x, y)
		checkSlices(t, narrow(x), narrow(y))
	}
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func checkSlices[T float32 | float64](t *testing.T, x, y []T) {
	t.Helper()
	var sum, dot Acc
	for i := range x {
		sum.Add(float64(x[i]))
		dot.AddProduct(float64(x[i]), float64(y[i]))
	}
	if got, want := Sum(x), rounded[T](&sum); !same(float64(got), float64(want)) {
		t.Fatalf("Sum of %d %T: %v, want %v", len(x), x, got, want)
	}
	if got, want := Dot(x, y), rounded[T](&dot); !same(float64(got), float64(want)) {
		t.Fatalf("Dot of %d %T: %v, want %v", len(x), x, got, want)
	}
}

// Zeros, infinities, NaN, and what overflows on the way or at the end.
func TestSpecial(t *testing.T) {
	inf, nan, most := math.Inf(1), math.NaN(), math.MaxFloat64
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{math.Copysign(0, -1)}, 0},
		{[]float64{1e-320, -1e-320}, 0},
		{[]float64{inf, 1}, inf},
		{[]float64{-inf, most, inf}, nan},
		{[]float64{1, nan, inf}, nan},
		{[]float64{-inf, -inf}, -inf},
		{[]float64{most, most, -most}, most},
		{[]float64{most, most}, inf},
		{[]float64{-most, -0x1p970}, -inf}, // the tie that rounds to 2^1024
		{[]float64{most, 0x1.fffffffffffffp969}, most},
		{[]float64{1, 0x1p-53, 0x1p-1074}, 1 + 0x1p-52},
	} {
		var a Acc
		for _, v := range c.x {
			a.Add(v)
		}
		if got := a.Float64(); !same(got, c.want) {
			t.Errorf("the sum of %v is %v, want %v", c.x, got, c.want)
		}
		if got := Sum(c.x); !same(got, c.want) {
			t.Errorf("Sum(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	var a Acc
	if a.AddProduct(0, inf); !math.IsNaN(a.Float64()) {
		t.Errorf("0*Inf is %v", a.Float64())
	}
	if got := float64(Sum([]float32{math.MaxFloat32, 0x1p102, 0x1p102})); !same(got, inf) {
		t.Errorf("a float32 beyond the largest is %v", got)
	}
	if got := Sum([]float32{math.MaxFloat32, 0x1p102}); got != math.MaxFloat32 {
		t.Errorf("a float32 below the tie with 2^128 is %v", got)
	}
	if got := Dot([]float64{0x1p-600}, []float64{-0x1p-600}); !same(got, math.Copysign(0, -1)) {
		t.Errorf("a product that rounds to zero is %v", got)
	}
}

// wild is number, or one in ten times what is none.
func wild(r *rand.Rand, kind int) float64 {
	if r.IntN(10) == 0 {
		return []float64{math.Inf(1), math.Inf(-1), math.NaN()}[r.IntN(3)]
	}
	return number(r, kind)
}

// A window that slides has the sum of what is in it, as a fresh sum has, with what is no number in
// it and without.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 300 {
		x, y := make([]float64, 60), make([]float64, 60)
		for k := range x {
			x[k], y[k] = wild(r, i), number(r, i/kinds)
		}
		width := 1 + r.IntN(9)
		var sum, dot Acc
		for k := range x {
			sum.Add(x[k])
			dot.AddProduct(x[k], y[k])
			from := max(0, k+1-width)
			if k >= width {
				sum.Sub(x[from-1])
				dot.SubProduct(x[from-1], y[from-1])
			}
			var freshSum, freshDot Acc
			for j := from; j <= k; j++ {
				freshSum.Add(x[j])
				freshDot.AddProduct(x[j], y[j])
			}
			checkEqual(t, "window", &sum, &freshSum)
			checkEqual(t, "window of products", &dot, &freshDot)
		}
	}
}

// checkEqual compares the sums of two Acc, in every form that they have.
func checkEqual(t *testing.T, what string, got, want *Acc) {
	t.Helper()
	if x, y := got.Float64(), want.Float64(); !same(x, y) {
		t.Fatalf("%s: %v, want %v", what, x, y)
	}
	if x, y := float64(got.Float32()), float64(want.Float32()); !same(x, y) {
		t.Fatalf("%s: %v as a float32, want %v", what, x, y)
	}
	x, err := got.MarshalBinary()
	y, err2 := want.MarshalBinary()
	if err != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Fatalf("%s: the binary forms of one sum differ, or %v, %v", what, err, err2)
	}
}

// Slices and other sums are added and taken away as their numbers are, one at a time.
func TestSlicesAway(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 600 {
		n := []int{1, 7, 1024, 1500}[r.IntN(4)]
		x, y := numbers(r, n, i), numbers(r, n, i/kinds)
		if i%5 == 0 {
			x[r.IntN(n)] = wild(r, i)
		}
		checkAway(t, x, y)
		checkAway(t, narrow(x), narrow(y))
	}
}

func checkAway[T float32 | float64](t *testing.T, x, y []T) {
	t.Helper()
	var added, away, one, oneAway, rest Acc
	AddSlice(&added, x)
	AddDot(&added, x, y)
	SubSlice(&away, x)
	SubDot(&away, x, y)
	for k, v := range x {
		one.Add(float64(v))
		one.AddProduct(float64(v), float64(y[k]))
		oneAway.Sub(float64(v))
		oneAway.SubProduct(float64(v), float64(y[k]))
	}
	checkEqual(t, "added", &added, &one)
	checkEqual(t, "taken away", &away, &oneAway)
	rest.Add(3)
	rest.Merge(&added)
	rest.Remove(&one)
	checkEqual(t, "removed", &rest, &Acc{w: three().w})
	rest.Merge(&added)
	rest.Merge(&away)
	checkEqual(t, "merged with what is away", &rest, three())
}

func three() *Acc {
	var a Acc
	a.Add(3)
	return &a
}

// What is taken away before it was added makes NaN of the sum, until it is added.
func TestSubBeforeAdd(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []float64{inf, -inf, math.NaN()} {
		a := three()
		a.Sub(x)
		if got := a.Float64(); !math.IsNaN(got) {
			t.Errorf("3 without %v is %v", x, got)
		}
		a.Add(inf)
		if got := a.Float64(); x != inf && !math.IsNaN(got) {
			t.Errorf("3 without %v and with +Inf is %v", x, got)
		}
		a.Sub(inf)
		if a.Add(x); a.Float64() != 3 {
			t.Errorf("3 without %v and with it is %v", x, a.Float64())
		}
	}
}

// A sum in its binary form is itself again, of which more can be added.
func TestMarshal(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for i := range 3000 {
		var whole, left Acc
		for k := range r.IntN(12) {
			x := wild(r, i)
			whole.Add(x)
			if k%2 == 0 {
				left.Sub(-x)
			} else {
				left.Add(x)
			}
		}
		data, err := left.MarshalBinary()
		if err != nil || len(data) != 569 || cap(data) != 569 {
			t.Fatalf("%d bytes: %v", len(data), err)
		}
		var back Acc
		back.Add(1) // goes
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if again, _ := back.AppendBinary([]byte("x")); !bytes.Equal(again[1:], data) || again[0] != 'x' {
			t.Fatalf("the binary form of the same sum is another")
		}
		x := number(r, i)
		back.Add(x)
		left.Add(x)
		checkEqual(t, "read again", &back, &left)
	}
	// the bytes of 3: no special ones, and 3 at bit 2176 of the integer
	want := make([]byte, 569)
	want[0], want[25+2176/8] = 1, 3
	if data, err := three().MarshalBinary(); err != nil || !bytes.Equal(data, want) {
		t.Errorf("the binary form of 3 is % x, %v", data, err)
	}
}

// Data that are no sum are an error, and change nothing.
func TestUnmarshalRefuses(t *testing.T) {
	good, err := three().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for _, c := range []struct {
		data []byte
		text string
	}{
		{nil, "version 1"},
		{changed(0, 2), "version 1"},
		{good[:568], "569 bytes of binary form, not 568"},
		{append(bytes.Clone(good), 0), "not 570"},
		{changed(568, 1), "larger than one can be"},
		{changed(564, 1), "larger than one can be"},
		{changed(561, 1), "larger than one can be"},
	} {
		a := three()
		if err := a.UnmarshalBinary(c.data); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
		checkEqual(t, "after an error", a, three())
	}
	large := Acc{}
	large.w[words-1] = 1
	if _, err := large.MarshalBinary(); err == nil {
		t.Error("a sum beyond what 2^63 products give has a binary form")
	}
}

// Any bytes are an error, or a sum whose binary form they are, which can be merged and rounded.
func FuzzUnmarshal(f *testing.F) {
	good, _ := three().MarshalBinary()
	f.Add(good)
	f.Add(good[:100])
	f.Add(bytes.Repeat([]byte{1}, 569))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b Acc
		if a.UnmarshalBinary(data) != nil {
			return
		}
		if again, err := a.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("% x has the binary form % x, %v", data, again, err)
		}
		b.Merge(&a)
		b.Remove(&a)
		if b.Float64() != 0 {
			t.Fatalf("% x less itself is %v", data, b.Float64())
		}
		a.Float64()
		a.Float32()
	})
}

// The words are carried before they overflow, whatever is added.
func TestCarry(t *testing.T) {
	var a Acc
	for k := range a.w[:words-1] {
		a.w[k] = carryAt * (1<<32 - 1)
	}
	a.added = carryAt - 1
	want := a
	superacc.Carry(want.w[:], all)
	a.Add(0)
	if a.added != 1 || a.w != want.w {
		t.Error("the words were not carried after 2^30 additions")
	}
}

func TestAllocations(t *testing.T) {
	x, y := make([]float64, 3000), make([]float64, 3000)
	if n := testing.AllocsPerRun(10, func() {
		var a, b Acc
		a.AddProduct(1, 2)
		b.Merge(&a)
		AddSlice(&b, x)
		b.Sub(0)
		if b.Float64() != 2 || b.Float32() != 2 || Sum(x) != 0 || Dot(x, y) != 0 {
			t.Error("a wrong sum")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Any bytes, as numbers, are summed as math/big does.
func FuzzSum(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0?\x01\x00\x00\x00\x00\x00\x00\x80\xff\xff\xff\xff\xff\xff\xef\x7f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var x []float64
		for ; len(data) >= 8; data = data[8:] {
			if v := math.Float64frombits(binary.LittleEndian.Uint64(data)); v-v == 0 {
				x = append(x, v)
			}
		}
		want, _ := reference(x, nil).Float64()
		if got := Sum(x); !same(got, want) {
			t.Fatalf("Sum(%v) = %v, want %v", x, got, want)
		}
		want, _ = reference(x, x).Float64()
		if got := Dot(x, x); !same(got, want) {
			t.Fatalf("Dot(%v, itself) = %v, want %v", x, got, want)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	x := make([]float64, 100000)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	y := narrow(x)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"float64", func() { Sum(x) }},
		{"float32", func() { Sum(y) }},
		{"dot64", func() { Dot(x, x) }},
		{"dot32", func() { Dot(y, y) }},
		{"add", func() {
			var a Acc
			for _, v := range x {
				a.Add(v)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/number")
		})
	}
}
