package linalg_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// AddMul and SubMul, one product and batches of them, of matrices on the host and of slices of
// arrays, have the bits of plain chains that start from C.
func TestAddMul(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testAddMul[float32](t, s) })
		t.Run("float64", func(t *testing.T) { testAddMul[float64](t, s) })
		t.Run("int32", func(t *testing.T) { testAddMul[int32](t, s) })
	})
}

func testAddMul[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(41, 42))
	cases := []batchCase{
		{1, 1, 1, 1, 'N', 'N', false, false},
		{1, 9, 34, 11, 'N', 'N', false, false},
		{1, 70, 3, 65, 'N', 'N', false, false},
		{3, 5, 7, 23, 'N', 'N', false, false},
		{3, 5, 7, 23, 'N', 'N', true, false},
		{3, 5, 7, 23, 'N', 'N', false, true}, // one tall product
		{3, 4, 5, 0, 'N', 'N', false, false},
		{0, 4, 5, 6, 'N', 'N', true, false},
	}
	if s.Info().Driver != "cudasim" {
		cases = append(cases, batchCase{1, 130, 150, 260, 'N', 'N', false, false},
			batchCase{1, 2, 2100, 70, 'N', 'N', false, false}, batchCase{1, 2100, 2, 70, 'N', 'N', false, false})
	}
	for i, x := range cases {
		a := stackOf[T](rng, x.count, x.sharedA, 'N', x.m, x.k, i%3)
		b := stackOf[T](rng, x.count, x.sharedB, 'N', x.k, x.n, (i+1)%4)
		c := random[T](rng, x.count*x.m, x.n, 2+i%3)
		if x.count > 0 && x.k > 1 {
			special(a.Row(0), c.Row(0)[:min(x.n, 3)])
		}
		for _, negate := range []bool{false, true} {
			what := fmt.Sprintf("%s, negated %v", x, negate)
			want := c.Packed()
			for z := range x.count {
				a, b, c := part(a, z, x.count, x.sharedA), part(b, z, x.count, x.sharedB), part(want, z, x.count, false)
				host.AddMulReference(negate, x.m, x.n, x.k, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
			}
			onHost := c
			onHost.Data = slices.Clone(c.Data)
			update := linalg.AddMul[T]
			if negate {
				update = linalg.SubMul[T]
			}
			if err := update(a, b, onHost, linalg.On(s), linalg.Batch(x.count)); err != nil {
				t.Fatal(what, err)
			}
			same(t, what+" host", onHost, want)
			guarded(t, what+" host", onHost)
			_, da := framed(t, s, rng, a)
			_, db := framed(t, s, rng, b)
			all, dc := framed(t, s, rng, c)
			expect := download(t, all)
			for r := range want.Rows {
				copy(expect.Row(r + 1)[3:], want.Row(r))
			}
			updateArray := dc.AddMul
			if negate {
				updateArray = dc.SubMul
			}
			if err := updateArray(da, db, linalg.Batch(x.count)); err != nil {
				t.Fatal(what, err)
			}
			same(t, what+" device", download(t, all), expect)
		}
	}
}

// special puts -0, an infinity and NaN among the elements of A and C, where the type has them.
func special[T linalg.Element](a, c []T) {
	one := T(1)
	if one/2 == 0 {
		return
	}
	zero := T(math.Copysign(0, -1))
	a[0], a[len(a)-1] = zero, T(math.Inf(1))
	c[0] = zero
	c[len(c)-1] = T(math.NaN())
}

// framed uploads m within a larger array of other values.
func framed[T linalg.Element](t *testing.T, s *linalg.Session, rng *rand.Rand, m linalg.Matrix[T]) (
	all, inside *linalg.Array[T],
) {
	f := random[T](rng, m.Rows+2, m.Cols+5, 0)
	for r := range m.Rows {
		copy(f.Row(r + 1)[3:], m.Row(r))
	}
	all = upload(t, s, f)
	return all, all.Slice(1, m.Rows+1, 3, m.Cols+3)
}

// A product that is cut anywhere in k, and continued, has the bits of Mul of the whole.
func TestAddMulContinues(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testContinues[float32](t, s) })
		t.Run("float64", func(t *testing.T) { testContinues[float64](t, s) })
		t.Run("int32", func(t *testing.T) { testContinues[int32](t, s) })
	})
}

func testContinues[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(43, 44))
	for _, x := range []struct {
		m, n, k int
		cuts    []int
	}{
		{3, 4, 7, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{65, 33, 70, []int{8, 31, 32, 33, 64}},
		{130, 129, 300, []int{127, 128, 129, 255, 256, 257}},
	} {
		if x.m > 100 && s.Info().Driver == "cudasim" {
			continue
		}
		a, b := upload(t, s, random[T](rng, x.m, x.k, 1)), upload(t, s, random[T](rng, x.k, x.n, 0))
		whole, err := linalg.NewArray[T](s, x.m, x.n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { whole.Free() })
		if err := whole.Mul(a, b); err != nil {
			t.Fatal(err)
		}
		want := download(t, whole)
		for _, cut := range x.cuts {
			c := upload(t, s, linalg.NewMatrix[T](x.m, x.n, nil))
			for _, part := range [][2]int{{0, cut}, {cut, x.k}} {
				if err := c.AddMul(a.Slice(0, x.m, part[0], part[1]), b.Slice(part[0], part[1], 0, x.n)); err != nil {
					t.Fatal(err)
				}
			}
			same(t, fmt.Sprintf("%dx%dx%d cut at %d", x.m, x.n, x.k, cut), download(t, c), want)
		}
	}
}

// AddMul and SubMul refuse what Gemm does.
func TestAddMulErrors(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := upload(t, s, linalg.NewMatrix[float32](4, 4, nil))
	y := upload(t, s, linalg.NewMatrix[float32](4, 3, nil))
	m := linalg.NewMatrix[float32](4, 4, nil)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		name      string
		got, want error
	}{
		{"C is A", x.AddMul(x, x), linalg.ErrOverlap},
		{"C overlaps A", x.Slice(0, 3, 0, 4).AddMul(x.Slice(1, 4, 0, 4), x), linalg.ErrOverlap},
		{"C is B", x.SubMul(y, x.Slice(0, 3, 0, 4)), linalg.ErrOverlap},
		{"shapes", y.SubMul(y, y), linalg.ErrShape},
		{"nil", x.AddMul(nil, x), backend.ErrArgument},
		{"count", x.AddMul(y, y, linalg.Batch(-1)), linalg.ErrShape},
		{
			"C overlaps B on the host", linalg.SubMul(m.Slice(0, 2, 0, 2), m.Slice(2, 4, 2, 4), m.Slice(1, 3, 1, 3)),
			linalg.ErrOverlap,
		},
		{"cancelled", linalg.AddMul(m, m, linalg.NewMatrix[float32](4, 4, nil), linalg.On(s),
			linalg.WithContext(cancelled)), context.Canceled},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, test.got, test.want)
		}
	}
	for op, err := range map[string]error{
		"Array.AddMul": x.AddMul(nil, x), "Array.SubMul": x.SubMul(x, x), "Array.Mul": x.Mul(x, nil),
	} {
		if !strings.Contains(err.Error(), op) {
			t.Errorf("%s: %v", op, err)
		}
	}
}
