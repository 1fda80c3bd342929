package sums

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/gpu/support"
	"github.com/tandem-gpu/tandem/linalg"
)

// Sums of float32 without float64 are the exact ones, too.
func TestWithoutDouble(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		x := linalg.NewMatrix[float32](1+r.IntN(40), 1+r.IntN(400), nil)
		for i := range x.Data {
			x.Data[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(1+4*n)-2*n))
		}
		if n%8 == 0 {
			x.Data[r.IntN(len(x.Data))] = float32(math.Inf(n%16 - 8))
		}
		a, err := linalg.Upload(s, x)
		if err != nil {
			t.Fatal(err)
		}
		wide := a.Slice(0, x.Rows, 0, max(1, x.Cols-3)) // not packed
		rows, cols := wide.Dims()
		for _, d := range [][2]int{{1, 1}, {rows, 1}, {1, cols}} {
			c, err := linalg.NewArray[float32](s, d[0], d[1])
			if err != nil {
				t.Fatal(err)
			}
			for _, abs := range []bool{false, true} {
				if err := enqueueBare(Sum[float32]{C: c, X: wide, Abs: abs, Over: 1}); err != nil {
					t.Fatal(err)
				}
				got, err := c.Download()
				if err != nil {
					t.Fatal(err)
				}
				want := make([]exact.Acc, len(got.Data))
				for i := range rows {
					for j := range cols {
						v := float64(x.At(i, j))
						if abs {
							v = math.Abs(v)
						}
						want[i%d[0]*d[1]+j%d[1]].Add(v)
					}
				}
				for k := range want {
					w := want[k].Float32()
					if math.Float32bits(got.Data[k]) != math.Float32bits(w) {
						t.Fatalf("%d: %dx%d into %v, abs %v: element %d is %x, want %x", n, rows, cols, d, abs, k,
							got.Data[k], w)
					}
				}
			}
		}
	}
}

// Sums of nothing, and the kernels' texts, which have no float64.
func TestBare(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, d := range [][4]int{{0, 3, 1, 3}, {3, 0, 3, 1}, {0, 3, 1, 1}, {3, 0, 1, 1}} {
		x, err := linalg.NewArray[float32](s, d[0], d[1])
		if err != nil {
			t.Fatal(err)
		}
		c, err := linalg.Upload(s, linalg.NewMatrix(d[2], d[3], []float32{7, 7, 7}[:d[2]*d[3]]))
		if err != nil {
			t.Fatal(err)
		}
		if err := enqueueBare(Sum[float32]{C: c, X: x, Over: 1}); err != nil {
			t.Fatal(err)
		}
		got, err := c.Download()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range got.Data {
			if math.Float32bits(v) != 0 {
				t.Errorf("the sum of %v is %v", d, v)
			}
		}
	}
	for _, name := range []string{"Each_float32_single_bare", "Round_float32_single", "Gather_kernel"} {
		text := kernelsPacked.Text(name)()
		if !strings.HasPrefix(text, support.Head) || strings.Contains(text[len(support.Head):], "double") {
			t.Errorf("%s has float64, or no text: %q", name, text)
		}
	}
}

// Parts of a sum merge without float64, too.
func TestBareParts(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const rows, cols = 5, 7000
	x := linalg.NewMatrix[float32](rows, cols, nil)
	r := rand.New(rand.NewPCG(3, 4))
	var want [rows]exact.Acc
	for i := range x.Data {
		x.Data[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(200)-100))
		want[i/cols].Add(float64(x.Data[i]))
	}
	a, err := linalg.Upload(s, x)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPartial[float32](s, Kind{}, rows)
	if err != nil {
		t.Fatal(err)
	}
	for j := 0; j < cols; j += 3000 {
		part := Part[float32]{X: a.Slice(0, rows, j, min(j+3000, cols)), Rows: rows, Cols: 1}
		l := lineShape(s.Info(), part.X, rows, 1)
		if err := addSums(p.state, part, single{}, bare{}, l, enqueueEach); err != nil {
			t.Fatal(err)
		}
	}
	state, err := p.State()
	if err != nil {
		t.Fatal(err)
	}
	c, err := linalg.NewArray[float32](s, rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := ResultOf[float32, float32](c, cols, Kind{}, state); err != nil {
		t.Fatal(err)
	}
	got, err := c.Download()
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if w := want[i].Float32(); math.Float32bits(got.Data[i]) != math.Float32bits(w) {
			t.Errorf("row %d is %x, want %x", i, got.Data[i], w)
		}
	}
}
