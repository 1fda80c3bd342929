package linalg_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/files"
)

// eachCompiler is eachBackend for tests that compile text. What CUDA needs for that may be missing.
func eachCompiler(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if info := s.Info(); info.Driver == "cuda" || info.Driver == "cudasim" {
			_, err := s.CompileSource(&backend.Source{Name: "nothing", Text: "__kernel void nothing(const int n) {}"})
			backendtest.Require(t, "nvrtc", err)
		}
		f(t, s)
	})
}

// eachBackend runs f with a session on every backend that the machine has.
func eachBackend(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	for _, spec := range []string{"cpu", "opencl", "cuda", "cudasim"} {
		t.Run(spec, func(t *testing.T) {
			if spec == "cudasim" && racetest.Enabled {
				t.Skip("minutes of simulation under the race detector; the tests of the driver run under it")
			}
			s, err := linalg.Open(spec)
			if err != nil {
				backendtest.Require(t, spec, err)
				return
			}
			if got := s.Info().Driver; got != spec {
				t.Fatalf("asked for %s, got %s", spec, got)
			}
			f(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("copies", func(t *testing.T) {
		d, err := backend.Open("cpu")
		if err != nil {
			t.Fatal(err)
		}
		s, err := linalg.NewSession(backendtest.Hook(d, discrete))
		if err != nil {
			t.Fatal(err)
		}
		f(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// discrete is a device with memory of its own, as most GPUs have: host memory is copied to it and
// back.
var discrete = &backendtest.Hooks{
	Info: func(i *backend.Info) { i.UnifiedMemory = false },
	Call: func(name string, call func() error) error {
		if name == "Device.Register" {
			return &backend.Error{Driver: "discrete", Op: name, Err: backend.ErrUnsupported}
		}
		return call()
	},
}

const guard = -77 // fills what must not change

// random makes a matrix with a gap after each row and guards around it. Its values include zeros of
// both signs, subnormals, and values whose products underflow.
func random[T linalg.Element](rng *rand.Rand, rows, cols, gap int) linalg.Matrix[T] {
	stride := cols + gap
	data := make([]T, rows*stride)
	for i := range data {
		data[i] = guard
	}
	m := linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: stride, Data: data}
	for i := range rows {
		for j := range cols {
			m.Set(i, j, value[T](rng))
		}
	}
	return m
}

func value[T linalg.Element](rng *rand.Rand) T {
	var v T
	switch p := any(&v).(type) {
	case *float32:
		*p = float32(rng.NormFloat64())
		switch rng.IntN(16) {
		case 0:
			*p = float32(math.Copysign(0, float64(*p)))
		case 1:
			*p *= 0x1p-130
		case 2:
			*p *= 0x1p-75
		}
	case *float64:
		*p = rng.NormFloat64()
		switch rng.IntN(16) {
		case 0:
			*p = math.Copysign(0, *p)
		case 1:
			*p *= 0x1p-1030
		case 2:
			*p *= 0x1p-540
		}
	case *int32:
		*p = int32(rng.Uint32())
	}
	return v
}

// same compares two matrices bit by bit; a NaN is any NaN.
func same[T linalg.Element](t *testing.T, what string, got, want linalg.Matrix[T]) {
	t.Helper()
	if got.Rows != want.Rows || got.Cols != want.Cols {
		t.Fatalf("%s: shape %s, want %s", what, got, want)
	}
	bad := 0
	for i := range got.Rows {
		for j := range got.Cols {
			g, w := got.At(i, j), want.At(i, j)
			if bits(g) != bits(w) && (g == g || w == w) {
				if bad == 0 {
					t.Errorf("%s: element (%d, %d) of %s is %v (%x), want %v (%x)",
						what, i, j, got, g, bits(g), w, bits(w))
				}
				bad++
			}
		}
	}
	if bad > 1 {
		t.Errorf("%s: %d elements differ", what, bad)
	}
}

func bits[T linalg.Element](v T) uint64 {
	switch v := any(v).(type) {
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	case int32:
		return uint64(uint32(v))
	}
	panic("unreachable")
}

// guarded checks that the gaps of m still hold the guard value.
func guarded[T linalg.Element](t *testing.T, what string, m linalg.Matrix[T]) {
	t.Helper()
	for i, v := range m.Data {
		if i%m.Stride >= m.Cols && v != guard {
			t.Fatalf("%s: the gap after row %d was overwritten with %v", what, i/m.Stride, v)
		}
	}
}

// reference is alpha*op(a)*op(b) + beta*c by the definition.
func reference[T linalg.Element](
	alpha T, tA blas.Transpose, a linalg.Matrix[T], tB blas.Transpose, b linalg.Matrix[T], beta T, c linalg.Matrix[T],
) linalg.Matrix[T] {
	op := func(t blas.Transpose, m linalg.Matrix[T]) linalg.Matrix[T] {
		if t == blas.NoTrans {
			return m
		}
		r := linalg.NewMatrix[T](m.Cols, m.Rows, nil)
		for i := range m.Rows {
			for j := range m.Cols {
				r.Set(j, i, m.At(i, j))
			}
		}
		return r
	}
	a, b = op(tA, a), op(tB, b)
	r := c.Packed()
	host.GemmReference(r.Rows, r.Cols, a.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, r.Data, r.Stride)
	return r
}

var shapes = [][3]int{
	{1, 1, 1},
	{5, 7, 23},
	{64, 64, 64},
	{130, 70, 17},
	{127, 129, 257},
	{3, 300, 0},
	{0, 4, 5},
	{4, 0, 5},
	{1, 300, 70},
	{300, 1, 70},
	{2000, 3, 2},
	{33, 65, 1},
}

func TestGemm(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testGemm[float32](t, s) })
		t.Run("float64", func(t *testing.T) { testGemm[float64](t, s) })
		t.Run("int32", func(t *testing.T) { testGemm[int32](t, s) })
	})
}

func testGemm[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(1, 2))
	trans := []blas.Transpose{blas.NoTrans, blas.Trans}
	scalars := []T{0, 1, 3, T(0) - 2}
	for i, shape := range shapes {
		m, n, k := shape[0], shape[1], shape[2]
		for j := range 4 {
			tA, tB := trans[j%2], trans[j/2]
			alpha, beta := scalars[(i+j+1)%4], scalars[(i*3+j*2)%4]
			a, b := random[T](rng, m, k, i%3), random[T](rng, k, n, j%3)
			if tA == blas.Trans {
				a = random[T](rng, k, m, i%3)
			}
			if tB == blas.Trans {
				b = random[T](rng, n, k, j%3)
			}
			c := random[T](rng, m, n, 2)
			what := fmt.Sprintf("%v %c%c alpha %v beta %v", shape, tA, tB, alpha, beta)
			want := reference(alpha, tA, a, tB, b, beta, c)

			onHost := linalg.Matrix[T]{Rows: m, Cols: n, Stride: c.Stride, Data: append([]T(nil), c.Data...)}
			if err := linalg.Gemm(alpha, tA, a, tB, b, beta, onHost, linalg.On(s)); err != nil {
				t.Fatal(what, err)
			}
			same(t, what+" host", onHost, want)
			guarded(t, what+" host", onHost)

			x, y, z := upload(t, s, a), upload(t, s, b), upload(t, s, c)
			if err := z.Gemm(alpha, tA, x, tB, y, beta); err != nil {
				t.Fatal(what, err)
			}
			same(t, what+" device", download(t, z), want)
			for _, array := range []*linalg.Array[T]{x, y, z} {
				if err := array.Free(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func upload[T any](t testing.TB, s *linalg.Session, m linalg.Matrix[T]) *linalg.Array[T] {
	t.Helper()
	a, err := linalg.Upload(s, m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func download[T any](t *testing.T, a *linalg.Array[T]) linalg.Matrix[T] {
	t.Helper()
	m, err := a.Download()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// beta == 0 must not read C, alpha == 0 and K == 0 neither A nor B, and otherwise a zero hides
// nothing.
func TestGemmSpecialValues(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		gemm := func(alpha float32, a, b float32, beta, c float32, k int) float32 {
			t.Helper()
			fill := func(r, c int, v float32) linalg.Matrix[float32] {
				m := linalg.NewMatrix[float32](r, c, nil)
				for i := range m.Data {
					m.Data[i] = v
				}
				return m
			}
			out := fill(3, 5, c)
			if err := linalg.Gemm(alpha, blas.NoTrans, fill(3, k, a), blas.NoTrans, fill(k, 5, b), beta, out,
				linalg.On(s)); err != nil {
				t.Fatal(err)
			}
			for _, v := range out.Data {
				if bits(v) != bits(out.Data[0]) && v == v {
					t.Fatalf("results differ: %v", out.Data)
				}
			}
			return out.Data[0]
		}
		negZero := float32(math.Copysign(0, -1))
		cases := []struct {
			what                 string
			alpha, a, b, beta, c float32
			k                    int
			want                 float32
		}{
			{"beta 0 does not read C", 1, 2, 3, 0, nan, 1, 6},
			{"alpha 0 does not read A", 0, nan, inf, 2, 3, 4, 6},
			{"alpha 0, beta 0", 0, nan, inf, 0, nan, 4, 0},
			{"K 0, beta 0", nan, 1, 1, 0, nan, 0, 0},
			{"K 0 keeps the sign of beta*C", 1, 1, 1, -1, 0, 0, negZero},
			{"K 0, beta 1", 1, 1, 1, 1, negZero, 0, negZero},
			{"beta*inf", 0, 1, 1, 2, inf, 1, inf},
			{"a zero hides no NaN", 1, 0, nan, 0, 0, 1, nan},
			{"a zero hides no infinity", 1, 0, inf, 0, 0, 1, nan},
			{"underflow to -0 is lost in +0", 1, -0x1p-140, 0x1p-140, 0, 0, 1, negZero},
			{"the chain starts from +0", 1, negZero, 1, 0, 0, 3, 0},
			{"subnormals stay", 1, 0x1p-140, 1, 0, 0, 3, 3 * 0x1p-140},
			{"alpha rounds once", 0x1p-10, 0x1.8p-140, 1, 0, 0, 1, 0x1p-149},
			{"alpha rounds to even", 0x1p-10, 0x1p-140, 1, 0, 0, 1, 0},
			{"overflow", 1, 0x1p127, 4, 0, 0, 1, inf},
		}
		for _, c := range cases {
			got := gemm(c.alpha, c.a, c.b, c.beta, c.c, c.k)
			if bits(got) != bits(c.want) && (got == got || c.want == c.want) {
				t.Errorf("%s: %v (%x), want %v (%x)", c.what, got, bits(got), c.want, bits(c.want))
			}
		}
	})
}

func TestTransposeAddScale(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		t.Run("float32", func(t *testing.T) { testElementwise[float32](t, s) })
		t.Run("float64", func(t *testing.T) { testElementwise[float64](t, s) })
		t.Run("int32", func(t *testing.T) { testElementwise[int32](t, s) })
	})
}

func testElementwise[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(3, 4))
	ctx := context.Background()
	for _, shape := range [][2]int{{1, 1}, {1, 1000}, {1000, 1}, {33, 31}, {100, 257}, {64, 64}, {0, 5}, {5, 0}} {
		r, c := shape[0], shape[1]
		a, b := random[T](rng, r, c, 3), random[T](rng, r, c, 0)
		trans, sum, scaled := linalg.NewMatrix[T](c, r, nil), linalg.NewMatrix[T](r, c, nil),
			linalg.NewMatrix[T](r, c, nil)
		for i := range r {
			for j := range c {
				trans.Set(j, i, a.At(i, j))
				sum.Set(i, j, a.At(i, j)+b.At(i, j))
				scaled.Set(i, j, 3*a.At(i, j))
			}
		}
		what := fmt.Sprint(shape)
		got, err := linalg.Transpose(a, linalg.On(s), linalg.WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		same(t, what+" transpose", got, trans)
		if got, err = linalg.Add(a, b, linalg.On(s), linalg.WithContext(ctx)); err != nil {
			t.Fatal(err)
		}
		same(t, what+" add", got, sum)
		if got, err = linalg.Scale(3, a, linalg.On(s), linalg.WithContext(ctx)); err != nil {
			t.Fatal(err)
		}
		same(t, what+" scale", got, scaled)

		// The same on the device, within a larger array whose rest must not change.
		whole := random[T](rng, r+4, 3*c+9, 0)
		before := whole.Packed()
		w := upload(t, s, whole)
		x, y := w.Slice(1, r+1, 2, c+2), w.Slice(1, r+1, c+4, 2*c+4)
		if err := errors.Join(x.CopyFrom(a), y.CopyFrom(b)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(y.Add(x, y), x.Scale(3, x)); err != nil {
			t.Fatal(err)
		}
		z, err := linalg.NewArray[T](s, c, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := z.Transpose(y); err != nil {
			t.Fatal(err)
		}
		same(t, what+" add in place", download(t, y), sum)
		same(t, what+" scale in place", download(t, x), scaled)
		back := download(t, z)
		for i := range r {
			for j := range c {
				before.Set(1+i, 2+j, scaled.At(i, j))
				before.Set(1+i, c+4+j, sum.At(i, j))
				if v := back.At(j, i); bits(v) != bits(sum.At(i, j)) && v == v {
					t.Fatalf("%s: transpose of a slice: (%d, %d) is %v", what, j, i, v)
				}
			}
		}
		same(t, what+" around the slices", download(t, w), before)
		if err := errors.Join(w.Free(), z.Free()); err != nil {
			t.Fatal(err)
		}
	}
}

// More rows than a CUDA grid has groups in y.
func TestTall(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const rows = 1_100_000
	a, b := random[int32](rng, rows, 1, 0), random[int32](rng, 1, 1, 0)
	want := linalg.NewMatrix[int32](rows, 1, nil)
	for i := range rows {
		want.Data[i] = a.Data[i] * b.Data[0]
	}
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		if small(s) {
			t.Skip("large; go test ./linalg -run TestTall -large runs it")
		}
		got, err := linalg.MatMul(a, b, linalg.On(s))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "product", got, want)
		for _, m := range []linalg.Matrix[int32]{a, {Rows: 1, Cols: rows, Stride: rows, Data: a.Data}} {
			tr, err := linalg.Transpose(m, linalg.On(s))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "transpose", tr, linalg.Matrix[int32]{Rows: m.Cols, Cols: m.Rows, Stride: m.Rows, Data: a.Data})
		}
	})
}

func TestErrors(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		ctx := context.Background()
		m := func(r, c int) linalg.Matrix[float32] { return linalg.NewMatrix[float32](r, c, nil) }
		other, err := linalg.Open(s.Info().Driver)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		x, y := upload(t, s, m(6, 4)), upload(t, s, m(4, 6))
		square, foreign := upload(t, s, m(8, 8)), upload(t, other, m(4, 4))
		none := new(linalg.Array[float32])
		matmul := func(a, b linalg.Matrix[float32]) error {
			_, err := linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx))
			return err
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		_, canceledErr := linalg.MatMul(m(2, 2), m(2, 2), linalg.On(s), linalg.WithContext(canceled))
		_, sumErr := linalg.Add(m(2, 3), m(3, 2), linalg.On(s), linalg.WithContext(ctx))
		large, wide := 1<<30, 1<<24
		if strconv.IntSize == 32 { // as many elements as an int counts, and no address space holds
			large, wide = 1<<15, 1<<15
		}
		_, newErr := linalg.NewArray[float64](s, large, large)
		_, dimErr := linalg.NewArray[float64](s, math.MaxInt32, 1)
		_, hugeErr := linalg.MatMul(m(wide, 1), m(1, wide), linalg.On(s), linalg.WithContext(ctx))
		_, negErr := linalg.NewArray[float64](s, -1, 1)
		cases := []struct {
			what string
			err  error
			want error
			text string
		}{
			{"inner dimensions", matmul(m(2, 3), m(4, 5)), linalg.ErrShape, "2x3 and 4x5"},
			{"stride below columns", matmul(linalg.Matrix[float32]{
				Rows: 2, Cols: 3, Stride: 2, Data: make([]float32, 9),
			}, m(3, 2)), linalg.ErrShape, "stride 2"},
			{"short data", matmul(m(2, 3), linalg.Matrix[float32]{
				Rows: 3, Cols: 4, Stride: 5, Data: make([]float32, 13),
			}), linalg.ErrShape, "needs 14 values; it has 13"},
			{
				"negative rows", matmul(linalg.Matrix[float32]{Rows: -2, Cols: 3, Stride: 3}, m(3, 2)), linalg.ErrShape,
				"negative",
			},
			{"overflowing stride", matmul(linalg.Matrix[float32]{Rows: 1 << 20, Cols: 3, Stride: math.MaxInt / 2},
				m(3, 2)), linalg.ErrShape, "too large"},
			{"device shapes", square.Mul(x, y), linalg.ErrShape, "6x4 and 4x6 into 8x8"},
			{"destination is a source", square.Mul(square, square), linalg.ErrOverlap, ""},
			{"destination overlaps the first factor", square.Slice(0, 4, 0, 4).Mul(square.Slice(3, 7, 3, 7),
				square.Slice(4, 8, 0, 4)), linalg.ErrOverlap, ""},
			{"destination overlaps the second factor", square.Slice(0, 4, 0, 4).Mul(square.Slice(4, 8, 0, 4),
				square.Slice(3, 7, 3, 7)), linalg.ErrOverlap, ""},
			{"transpose in place", square.Transpose(square), linalg.ErrOverlap, ""},
			{
				"shifted add", square.Slice(0, 4, 0, 8).Add(square.Slice(1, 5, 0, 8), square.Slice(0, 4, 0, 8)),
				linalg.ErrOverlap, "",
			},
			{"transpose shape", x.Transpose(x), linalg.ErrShape, ""},
			{"scale shape", x.Scale(1, y), linalg.ErrShape, ""},
			{"sum shape", sumErr, linalg.ErrShape, "2x3 float32 and 3x2"},
			{"wrong transposition", square.Gemm(1, 'X', square, blas.NoTrans, square, 0), linalg.ErrShape, "'X'"},
			{"nil array", square.Mul(nil, square), backend.ErrArgument, "nil"},
			{"array without a session", square.Mul(new(linalg.Array[float32]), square), backend.ErrArgument, "nil"},
			{"result without a session", none.Mul(square, square), backend.ErrArgument, "nil"},
			{"copy without a session", none.Scale(2, square), backend.ErrArgument, "nil"},
			{"error of none", none.Slice(0, 1, 0, 1).Err(), backend.ErrArgument, "nothing has made"},
			{"reshaping none", second(none.Reshape(1, 1)), backend.ErrArgument, "nothing has made"},
			{
				"another session", foreign.Mul(square.Slice(0, 4, 0, 4), square.Slice(0, 4, 0, 4)), backend.ErrArgument,
				"different sessions",
			},
			{"copy shape", x.CopyFrom(m(4, 6)), linalg.ErrShape, "4x6"},
			{"canceled", canceledErr, context.Canceled, ""},
			{"too much memory", newErr, backend.ErrOutOfMemory, ""},
			{"too large a result", hugeErr, backend.ErrOutOfMemory, fmt.Sprintf("%dx%d float32", wide, wide)},
			{"too large a dimension", dimErr, linalg.ErrShape, ""},
			{"negative dimension", negErr, linalg.ErrShape, ""},
		}
		for _, c := range cases {
			if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.text) {
				t.Errorf("%s: %v, want %v with %q", c.what, c.err, c.want, c.text)
			}
		}
		if err := x.Free(); err != nil {
			t.Error(err)
		}
		if err := x.Free(); err != nil {
			t.Errorf("second Free: %v", err)
		}
		if err := x.CopyTo(m(6, 4)); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("copy of a freed array: %v", err)
		}
		if err := square.Slice(0, 4, 0, 4).Mul(y.Slice(0, 4, 0, 4), y.Slice(0, 4, 0, 4)); err != nil {
			t.Errorf("after all errors: %v", err)
		}
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// Without a session, as after an Open whose error was not looked at, there is an error that says
// so; nil is the default session for functions that say that. Nor is there a nil operation, such as
// one that array.Elementary does not know.
func TestNil(t *testing.T) {
	var none *linalg.Session
	m := linalg.NewMatrix[float32](2, 2, nil)
	_, newErr := linalg.NewArray[float32](none, 2, 2)
	_, uploadErr := linalg.Upload(none, m)
	_, registerErr := linalg.Register(none, m)
	file := npyFile("<f4", false, "(2, 2)", binary.LittleEndian, m.Data)
	_, readErr := linalg.ReadNPY[float32](none, bytes.NewReader(file))
	_, compileErr := none.CompileSource(nil)
	_, mulErr := linalg.MatMul(m, m, linalg.On(new(linalg.Session)))
	scratchErr := inside.WithScratch(none, 2, 2, func(*linalg.Array[float32]) error { return nil })
	for _, err := range []error{
		newErr, uploadErr, registerErr, readErr, compileErr, mulErr, scratchErr,
		none.Wait(), none.Close(), none.Launch(nil, backend.Grid1(1, 1)),
		new(linalg.Session).Wait(), new(linalg.Session).Close(),
	} {
		refused(t, "no session", err, backend.ErrArgument, "there is no session; Open makes one")
	}
	_, opErr := linalg.Elementwise(nil, 1, []linalg.Matrix[float32]{m}, linalg.WithContext(t.Context()))
	refused(t, "no operation", opErr, backend.ErrArgument, "the operation is nil")
	fileErr := files.Elementwise[float32](t.Context(), nil, nil, 1, nil, files.Options{}, nil)
	refused(t, "no operation on files", fileErr, backend.ErrArgument, "the operation is nil")
}

// A matrix without columns has no data, whatever its stride is: as a part of another.
func TestNoColumns(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := linalg.NewMatrix[float64](5, 7, nil).Slice(0, 5, 3, 3)
	half := linalg.NewMatrix[linalg.Float16](5, 7, nil).Slice(0, 5, 3, 3)
	diagonal := linalg.NewMatrix[float64](5, 5, nil)
	for i := range 5 {
		diagonal.Set(i, i, 2)
	}
	ctx := context.Background()
	lu, err := linalg.FactorLU(diagonal, linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() (linalg.Matrix[float64], error){
		"Row":    func() (linalg.Matrix[float64], error) { return linalg.NewMatrix(5, 0, m.Row(4)), nil },
		"Packed": func() (linalg.Matrix[float64], error) { return m.Packed(), nil },
		"Add": func() (linalg.Matrix[float64], error) {
			return linalg.Add(m, m, linalg.On(s), linalg.WithContext(ctx))
		},
		"Scale": func() (linalg.Matrix[float64], error) {
			return linalg.Scale(2, m, linalg.On(s), linalg.WithContext(ctx))
		},
		"MatMul": func() (linalg.Matrix[float64], error) {
			return linalg.MatMul(diagonal, m, linalg.On(s), linalg.WithContext(ctx))
		},
		"Solve": func() (linalg.Matrix[float64], error) { return lu.Solve(m) },
		"Mixed": func() (linalg.Matrix[float64], error) {
			_, err := linalg.MatMulMixed[linalg.BFloat16](linalg.NewMatrix[float32](3, 5, nil), half, linalg.On(s),
				linalg.WithContext(ctx))
			return m, err
		},
	} {
		if c, err := f(); err != nil || c.Rows != 5 || c.Cols != 0 {
			t.Errorf("%s: %s, %v", name, c, err)
		}
	}
}

func TestClosedSession(t *testing.T) {
	eachBackend(t, func(t *testing.T, shared *linalg.Session) {
		s, err := linalg.Open(shared.Info().Driver)
		if err != nil {
			t.Fatal(err)
		}
		a := upload(t, s, linalg.NewMatrix[float32](4, 4, nil))
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		_, uploadErr := linalg.Upload(s, linalg.NewMatrix[float32](2, 2, nil))
		_, mulErr := linalg.MatMul(linalg.NewMatrix[float32](2, 2, nil), linalg.NewMatrix[float32](2, 2, nil),
			linalg.On(s))
		_, compileErr := s.CompileSource(&backend.Source{Name: "k", Text: "__kernel void k() {}"})
		_, downloadErr := a.Download()
		for what, err := range map[string]error{
			"Upload": uploadErr, "MatMul": mulErr, "CompileSource": compileErr,
			"Wait": s.Wait(), "Download": downloadErr, "Scale": a.Scale(2, a),
		} {
			if !errors.Is(err, backend.ErrClosed) {
				t.Errorf("%s: %v, want ErrClosed", what, err)
			}
		}
		if err := a.Free(); err != nil && !errors.Is(err, backend.ErrClosed) {
			t.Error(err)
		}
	})
}

// overlapping operands of the host functions, which share memory, are each in their place.
func TestSharedOperands(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	whole := random[float32](rng, 40, 40, 0)
	a, b := whole.Slice(0, 30, 0, 20), whole.Slice(5, 25, 10, 40)
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		got, err := linalg.MatMul(a, b, linalg.On(s))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "product", got, reference(1, blas.NoTrans, a, blas.NoTrans, b, 0,
			linalg.NewMatrix[float32](30, 30, nil)))

		// Interleaved blocks of one array, as LAPACK passes them.
		lu := random[float32](rng, 30, 30, 0)
		left, right, corner := lu.Slice(10, 30, 0, 10), lu.Slice(0, 10, 10, 30), lu.Slice(10, 30, 10, 30)
		want := reference(-1, blas.NoTrans, left, blas.NoTrans, right, 1, corner)
		if err := linalg.Gemm(-1, blas.NoTrans, left, blas.NoTrans, right, 1, corner, linalg.On(s)); err != nil {
			t.Fatal(err)
		}
		same(t, "interleaved", corner, want)

		if err := linalg.Gemm(1, blas.NoTrans, corner, blas.NoTrans, corner, 0, corner,
			linalg.On(s)); !errors.Is(err, linalg.ErrOverlap) {
			t.Errorf("destination is a source on the host: %v, want ErrOverlap", err)
		}
	})
}

func TestProgressAndCancel(t *testing.T) {
	defer linalg.SmallPieces()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rng := rand.New(rand.NewPCG(9, 10))
		a, b := random[int32](rng, 500, 100, 0), random[int32](rng, 100, 300, 0)
		var seen []float64
		ctx := linalg.WithProgress(context.Background(), func(f float64) { seen = append(seen, f) })
		got, err := linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "in pieces", got, reference(1, blas.NoTrans, a, blas.NoTrans, b, 0,
			linalg.NewMatrix[int32](500, 300, nil)))
		if len(seen) != 2 || seen[0] != 256./500 || seen[1] != 1 {
			t.Errorf("progress %v, want two pieces", seen)
		}

		// Cancelled between pieces: the first report cancels.
		ctx, cancel := context.WithCancel(context.Background())
		ctx = linalg.WithProgress(ctx, func(float64) { cancel() })
		z, err := linalg.NewArray[int32](s, 500, 300)
		if err != nil {
			t.Fatal(err)
		}
		if err := z.Gemm(1, blas.NoTrans, upload(t, s, a), blas.NoTrans, upload(t, s, b), 0,
			linalg.WithContext(ctx)); !errors.Is(err, context.Canceled) {
			t.Errorf("on arrays: %v, want Canceled", err)
		}
		ctx, cancel = context.WithCancel(context.Background())
		ctx = linalg.WithProgress(ctx, func(float64) { cancel() })
		if c, err := linalg.MatMul(a, b, linalg.On(s),
			linalg.WithContext(ctx)); !errors.Is(err, context.Canceled) || c.Data != nil {
			t.Errorf("%v and %s, want Canceled and nothing", err, c)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) { useConcurrently(t, s) })
}

// useConcurrently multiplies on all sessions at the same time, from many goroutines.
func useConcurrently(t *testing.T, sessions ...*linalg.Session) {
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 11))
			for range 4 {
				m, n, k := 1+rng.IntN(70), 1+rng.IntN(70), rng.IntN(70)
				a, b := random[float32](rng, m, k, g%3), random[float32](rng, k, n, 0)
				got, err := linalg.MatMul(a, b, linalg.On(sessions[g%len(sessions)]))
				if err != nil {
					t.Error(err)
					return
				}
				same(t, fmt.Sprint(m, n, k), got, reference(1, blas.NoTrans, a, blas.NoTrans, b, 0,
					linalg.NewMatrix[float32](m, n, nil)))
			}
		})
	}
	wg.Wait()
}

// The OpenCL drivers of two vendors in one process, at the same time: each compiles, computes and
// is closed beside the other.
func TestTwoVendors(t *testing.T) {
	infos, err := backend.Lookup("opencl").Devices()
	if err == nil && infos[0].Platform == infos[len(infos)-1].Platform {
		err = fmt.Errorf("all OpenCL devices are of %q", infos[0].Platform)
	}
	backendtest.Require(t, "two-opencl", err)
	t.Setenv(backend.EnvCache, "off") // both compile
	for range 5 {
		var sessions []*linalg.Session
		for i := range infos {
			s, err := linalg.Open(fmt.Sprintf("opencl:%d", i))
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, s)
		}
		useConcurrently(t, sessions...)
		for _, s := range sessions {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A value of a variable that means nothing is an error, which says what may be given.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{linalg.EnvCheck, "1", ""},
		{linalg.EnvCheck, "0", ""},
		{linalg.EnvCheck, "true", "must be 1, 0 or nothing"},
		{backend.EnvMatrix, "off", ""},
		{backend.EnvMatrix, "OFF", "must be off or nothing"},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			s, err := linalg.Open("cpu")
			switch {
			case err == nil && c.want == "":
				s.Close()
			case c.want == "" || !errors.Is(err, backend.ErrArgument) || !strings.Contains(err.Error(), c.want):
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestDefault(t *testing.T) {
	t.Setenv(backend.EnvBackend, "cpu")
	a := linalg.NewMatrix(2, 2, []float64{1, 2, 3, 4})
	c, err := linalg.MatMul(a, a)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "product", c, linalg.NewMatrix(2, 2, []float64{7, 10, 15, 22}))
	s, err := linalg.Default()
	if err != nil {
		t.Fatal(err)
	}
	if s.Info().Driver != "cpu" {
		t.Errorf("default session on %s", s.Info().Driver)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := linalg.Transpose(a); err != nil {
		t.Errorf("after the default session was closed: %v", err)
	}
}

func TestGonumConversions(t *testing.T) {
	d := mat.NewDense(3, 4, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	m := linalg.FromDense(d.Slice(1, 3, 1, 3).(*mat.Dense))
	if m.At(1, 0) != 9 || m.Stride != 4 {
		t.Errorf("FromDense of a slice: %v with stride %d", m.At(1, 0), m.Stride)
	}
	m.Set(0, 0, -5)
	if d.At(1, 1) != -5 {
		t.Error("FromDense does not share memory")
	}
	back := linalg.ToDense(m)
	back.Set(1, 1, -6)
	if d.At(2, 2) != -6 {
		t.Error("ToDense does not share memory")
	}
	if r, c := linalg.ToDense(linalg.NewMatrix[float64](0, 3, nil)).Dims(); r != 0 || c != 0 {
		t.Errorf("empty matrix: %dx%d", r, c)
	}
	g := linalg.ToGeneral(linalg.NewMatrix(1, 2, []float32{1, 2}))
	g.Data[1] = 7
	if linalg.FromGeneral(g).At(0, 1) != 7 {
		t.Error("General does not share memory")
	}
}
