package array

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestMake(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		made := func(a *Array[float32], err error) *Array[float32] {
			t.Helper()
			try(t, err)
			return a
		}
		x := []float32{1, 2, 3, 4, 5, 6}
		row, column := made(FromSlice(s, x)), made(FromColumn(s, x))
		equal(t, "FromSlice", row, x)
		equal(t, "FromColumn", column, x)
		if r, c := row.Dims(); r != 1 || c != 6 {
			t.Errorf("a slice is %s", row)
		}
		if r, c := column.Dims(); r != 6 || c != 1 {
			t.Errorf("a column is %s", column)
		}
		rows := made(FromRows(s, [][]float32{x[:3], x[3:]}))
		equal(t, "FromRows", rows, x)
		equal(t, "Zeros", made(Zeros[float32](s, 2, 3)), make([]float32, 6))
		equal(t, "Ones", made(Ones[float32](s, 1, 2)), []float32{1, 1})
		mask, err := Full(s, 2, 1, true)
		try(t, err)
		equal(t, "Full", mask, []bool{true, true})
		equal(t, "nothing", made(FromSlice[float32](s, nil)), nil)
		equal(t, "no rows", made(FromRows[float32](s, nil)), nil)
		equal(t, "empty rows", made(FromRows(s, [][]float32{{}, {}})), nil)
		_, err = FromRows(s, [][]float32{x[:3], x[:2]})
		if !errors.Is(err, linalg.ErrShape) || !contains(err, "row 1 has 2 elements, and row 0 has 3") {
			t.Errorf("of different lengths: %v", err)
		}
		if _, err = Full(s, -1, 2, int8(3)); !errors.Is(err, linalg.ErrShape) {
			t.Errorf("of -1 rows: %v", err)
		}

		try(t, rows.Set(1, 1, 50))
		if v, err := rows.At(1, 1); err != nil || v != 50 {
			t.Errorf("At: %v, %v", v, err)
		}
		equal(t, "Set", rows, []float32{1, 2, 3, 4, 50, 6})
		part := rows.Slice(0, 2, 1, 2)
		try(t, part.Set(0, 0, 20))
		equal(t, "Set of a part", rows, []float32{1, 20, 3, 4, 50, 6})
		for name, f := range map[string]func(){
			"At": func() { part.At(0, 1) }, "Set": func() { part.Set(2, 0, 1) }, "At of -1": func() { part.At(-1, 0) },
		} {
			func() {
				defer func() {
					if err, ok := recover().(error); !ok || !errors.Is(err, linalg.ErrShape) {
						t.Errorf("%s outside: %v", name, err)
					}
				}()
				f()
			}()
		}
	})
}

func TestLinspace(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testLinspace[float32](t, s)
		testLinspace[float64](t, s)
	})
}

func testLinspace[T Float](t *testing.T, s *linalg.Session) {
	for _, size := range [][2]int{{1, 1}, {1, 2}, {3, 5}, {0, 4}, {100, 3}} {
		rows, cols := size[0], size[1]
		for _, strided := range []bool{false, true} {
			c := newTarget(t, s, rows, cols, strided, T(77))
			start, stop := T(0.1), T(7.3)
			try(t, Linspace(c.Array, start, stop))
			step := (stop - start) / T(max(1, rows*cols-1))
			c.check(t, "Linspace", elements(rows, cols, func(i, j int) T {
				k := i*cols + j
				if k > 0 && k == rows*cols-1 {
					return stop
				}
				return gpu.FMA(T(k), step, start)
			}))
		}
	}
	// a step that overflows
	c, most := newTarget[T](t, s, 1, 5, true, 77), T(math.MaxFloat32)
	if largest := math.MaxFloat64; unsafe.Sizeof(most) == 8 {
		most = T(largest)
	}
	try(t, Linspace(c.Array, -most, most))
	c.check(t, "Linspace of all numbers", []T{-most, -most / 2, 0, most / 2, most})
	if err := Linspace[T](nil, 0, 1); !errors.Is(err, backend.ErrArgument) {
		t.Errorf("of nil: %v", err)
	}
}

// Floor divisions by their definition, and in cases as Python and NumPy print them.
func TestFloor(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		type i32 = *Array[int32]
		m := &mapTester{t, s, newRandom(12)}
		map2(m, "FloorDiv", FloorDiv[int32, i32, i32], func(x, y int32) int32 {
			if y == 0 {
				return 0
			}
			return int32(int64(math.Floor(float64(x) / float64(y)))) // 53 bits are enough for the floor of 32
		})
		map2(m, "FloorMod", FloorMod[int32, i32, i32], func(x, y int32) int32 {
			if y == 0 {
				return 0
			}
			return int32(((int64(x) % int64(y)) + int64(y)) % int64(y))
		})
		map2(m, "FloorDiv", FloorDiv[float32, *Array[float32], *Array[float32]], floorDiv[float32])
		map2(m, "FloorMod", FloorMod[float64, *Array[float64], *Array[float64]], floorMod[float64])
		zero, inf, nan := math.Copysign(0, -1), math.Inf(1), math.NaN()
		for _, c := range [][4]float64{ // a, b, a // b and a % b
			{7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}, {6, -2, -3, zero}, {-6, 3, -2, 0},
			{1, 0.1, 9, math.Mod(1, 0.1)}, {0, -3, zero, zero}, {5, inf, 0, 5}, {-5, inf, -1, inf},
			{1, 0, inf, nan}, {zero, 0, nan, nan}, {inf, 2, nan, nan}, {nan, 1, nan, nan},
		} {
			a, b := upload(t, s, 1, 1, true, c[:1]), upload(t, s, 1, 1, true, c[1:2])
			z := newTarget(t, s, 1, 1, true, 77.0)
			try(t, FloorDiv(z.Array, a, b))
			z.check(t, "FloorDiv", c[2:3])
			try(t, FloorMod(z.Array, a, b))
			z.check(t, "FloorMod", c[3:4])
		}
		none := upload(t, s, 0, 3, false, []float64{})
		try(t, FloorDiv(none, none, Value(2.0)))
		err := FloorMod(none, upload(t, s, 2, 2, false, make([]float64, 4)), none)
		if !errors.Is(err, linalg.ErrShape) {
			t.Errorf("of another shape: %v", err)
		}
	})
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func TestTriangles(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testTriangles[float32](t, s, 77)
		testTriangles[float64](t, s, 77)
		testTriangles[int32](t, s, 77)
	})
}

func testTriangles[T Element](t *testing.T, s *linalg.Session, guard T) {
	rng := newRandom(13)
	for n, size := range [][2]int{{1, 1}, {5, 7}, {7, 3}, {0, 3}, {3, 0}, {70, 3}} {
		rows, cols := size[0], size[1]
		x := some[T](rng, rows*cols)
		a := upload(t, s, rows, cols, n%2 == 0, x)
		for _, k := range []int{0, -2, 3, 100, math.MinInt} {
			triangle := func(lower bool) []T {
				return elements(rows, cols, func(i, j int) T {
					if lower && j-i <= k || !lower && j-i >= k {
						return x[i*cols+j]
					}
					return 0
				})
			}
			c := newTarget(t, s, rows, cols, n%2 == 1, guard)
			try(t, Tril(c.Array, a, k))
			c.check(t, "Tril", triangle(true))
			try(t, Triu(c.Array, a, k))
			c.check(t, "Triu", triangle(false))
			try(t, Copy(c.Array, a))
			try(t, Triu(c.Array, c.Array, k))
			c.check(t, "Triu in place", triangle(false))
		}
		diagonal := elements(1, min(rows, cols), func(_, j int) T { return x[j*cols+j] })
		sum := newTarget(t, s, 1, 1, true, guard)
		try(t, Sum(sum.Array, upload(t, s, 1, len(diagonal), false, diagonal)))
		want, err := sum.At(0, 0)
		try(t, err)
		got, err := Trace(a)
		if err != nil || bitsOf(got) != bitsOf(want) {
			t.Errorf("Trace of %s: %v, %v, want %v", a, got, err, want)
		}
	}
}

func TestTakeCols(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testTakeCols[float64](t, s, 77)
		testTakeCols[int32](t, s, 77)
		a := upload(t, s, 4, 3, true, make([]float32, 12))
		got := newTarget[float32](t, s, 4, 2, true, 77)
		err := TakeCols(got.Array, a, upload(t, s, 1, 2, false, []int32{2, 3}))
		if !errors.Is(err, backend.ErrArgument) || !contains(err, "element 1 of index is 3, and a has 3 columns") {
			t.Errorf("a column that is none: %v", err)
		}
		got.check(t, "a refused call", got.was[:0])
		none := upload(t, s, 0, 2, false, []float32{})
		err = TakeCols(none, a.Slice(0, 0, 0, 3), upload(t, s, 1, 2, false, []int32{2, 3}))
		if !errors.Is(err, backend.ErrArgument) {
			t.Errorf("a column that is none, of no rows: %v", err)
		}
	})
}

func testTakeCols[T Element](t *testing.T, s *linalg.Session, guard T) {
	rng := newRandom(14)
	for n, size := range [][2]int{{1, 1}, {5, 7}, {0, 3}, {70, 3}, {3, 1500}} {
		rows, cols, strided := size[0], size[1], n%2 == 0
		x := some[T](rng, rows*cols)
		index := make([]int32, 2*cols-1)
		for i := range index {
			index[i] = rng.Int32N(int32(cols))
		}
		c := newTarget(t, s, rows, len(index), strided, guard)
		try(t, TakeCols(c.Array, upload(t, s, rows, cols, strided, x), upload(t, s, len(index), 1, strided, index)))
		c.check(t, "TakeCols", elements(rows, len(index), func(i, j int) T { return x[i*cols+int(index[j])] }))
		none := upload(t, s, 1, 0, false, []int32{})
		try(t, TakeCols(c.Slice(0, rows, 0, 0), upload(t, s, rows, cols, strided, x), none))
	}
}

func TestKron(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testKron[float32](t, s, 77)
		testKron[float64](t, s, 77)
		testKron[int32](t, s, 77)
	})
}

func testKron[T Element](t *testing.T, s *linalg.Session, guard T) {
	rng := newRandom(15)
	for n, size := range [][4]int{{1, 1, 1, 1}, {2, 3, 4, 5}, {5, 1, 1, 7}, {0, 2, 3, 3}, {3, 2, 40, 1}} {
		p, q := size[2], size[3]
		x, y := some[T](rng, size[0]*size[1]), some[T](rng, p*q)
		a, b := upload(t, s, size[0], size[1], n%2 == 0, x), upload(t, s, p, q, n%2 == 1, y)
		c := newTarget(t, s, size[0]*p, size[1]*q, n%2 == 0, guard)
		try(t, Kron(c.Array, a, b))
		rows, cols := c.Dims()
		c.check(t, "Kron", elements(rows, cols, func(i, j int) T { return x[i/p*size[1]+j/q] * y[i%p*q+j%q] }))
	}
}

func TestProd(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testProd[float32](t, s, 77)
		testProd[float64](t, s, 77)
		testProd[int32](t, s, 77)
	})
}

func testProd[T Element](t *testing.T, s *linalg.Session, guard T) {
	rng := newRandom(16)
	for n, size := range [][2]int{{1, 1}, {5, 5}, {7, 3}, {1, 9}, {9, 1}, {0, 3}, {3, 0}, {90, 3}, {3, 1000}} {
		rows, cols := size[0], size[1]
		for k, x := range [][]T{some[T](rng, rows*cols), wild[T](rng, rows*cols), tame[T](rng, rows*cols)} {
			want := product[T]
			if k == 2 {
				want = plainProduct[T]
			}
			a := upload(t, s, rows, cols, n%2 == 0, x)
			for _, to := range [][2]int{{1, 1}, {1, cols}, {rows, 1}} {
				c := newTarget(t, s, to[0], to[1], n%2 == 1, guard)
				try(t, Prod(c.Array, a))
				c.check(t, "Prod", over(x, rows, cols, to[0], to[1], want))
			}
		}
	}
	_, isInt := any(guard).(int32)
	for _, row := range [][]float64{ // the last is the product
		{0x1p100, 0x1p100, 0x1p-100, 0x1p-100, 1}, {0x1p-74, 0x3p-75, 0x3p-149},
		{0x1p-149, 0x1p-149, 0x1p127, 0x1p127, 0x1p44, 1},
	} {
		if isInt {
			break
		}
		x := make([]T, 0, len(row))
		for _, v := range row[:len(row)-1] {
			x = append(x, T(v))
		}
		c := newTarget(t, s, 1, 1, false, guard)
		try(t, Prod(c.Array, upload(t, s, 1, len(x), false, x)))
		c.check(t, "Prod", []T{T(row[len(row)-1])})
	}
}

// wild are numbers of all exponents, whose magnitudes multiply to about 1.
func wild[T Element](rng *rand.Rand, n int) []T {
	x := some[T](rng, n)
	_, isFloat32 := any(x).([]float32)
	_, isInt := any(x).([]int32)
	for i := range x {
		most := 2000
		if isFloat32 {
			most = 270
		}
		if !isInt {
			x[i] = T(math.Ldexp(rng.Float64()-0.5, rng.IntN(most)-most/2))
		}
	}
	return x
}

// tame are numbers whose products neither overflow nor underflow.
func tame[T Element](rng *rand.Rand, n int) []T {
	x := some[T](rng, n)
	if _, isInt := any(x).([]int32); !isInt {
		for i := range x {
			x[i] = T(1 + (rng.Float64()-0.5)/64)
		}
	}
	return x
}

// product is the product of x by halves.
func product[T Element](x []T) T {
	switch x := any(x).(type) {
	case []float32:
		if z, ok := specialProduct(x); ok {
			return T(z)
		}
		z, _ := halved(bigs(x, 24), mulBig).Float32()
		return T(z)
	case []float64:
		if z, ok := specialProduct(x); ok {
			return T(z)
		}
		z, _ := halved(bigs(x, 53), mulBig).Float64()
		return T(z)
	}
	return plainProduct(x)
}

// plainProduct is the product of x by halves, in T.
func plainProduct[T Element](x []T) T {
	if len(x) == 0 {
		return 1
	}
	return halved(append([]T{}, x...), func(x, y T) T { return x * y })
}

// specialProduct is the product where it is 0, infinite or NaN because a factor is.
func specialProduct[T Float](x []T) (z T, special bool) {
	z = 1
	for _, v := range x {
		if v == 0 || !isFinite(v) {
			z, special = z*v, true
		} else {
			z *= T(math.Copysign(1, float64(v)))
		}
	}
	return z, special || len(x) == 0
}

// bigs are x with unbounded exponents.
func bigs[T Float](x []T, digits uint) []*big.Float {
	y := make([]*big.Float, len(x))
	for i, v := range x {
		y[i] = new(big.Float).SetPrec(digits).SetFloat64(float64(v))
	}
	return y
}

func mulBig(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(x.Prec()).Mul(x, y) }

// halved multiplies x, which is not empty, by halves, and overwrites it.
func halved[T any](x []T, mul func(x, y T) T) T {
	for len(x) > 1 {
		h := (len(x) + 1) / 2
		for k := range len(x) - h {
			x[k] = mul(x[k], x[k+h])
		}
		x = x[:h]
	}
	return x[0]
}

func TestCov(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testCov[float32](t, s, 77)
		testCov[float64](t, s, 77)
	})
}

func testCov[T Float](t *testing.T, s *linalg.Session, guard T) {
	rng := newRandom(17)
	for n, size := range [][3]int{{1, 9, 0}, {5, 40, 1}, {3, 3, 0}, {4, 1, 1}, {2, 0, 0}, {0, 3, 1}, {70, 4, 0}} {
		rows, cols, ddof := size[0], size[1], size[2]
		x := summands[T](rng, n%3, rows*cols)
		a := upload(t, s, rows, cols, n%2 == 0, x)
		cov := func(x []T, ddof int) []T {
			d := make([]T, 0, len(x))
			for i := range rows {
				m := mean(x[i*cols : i*cols+cols])
				for _, v := range x[i*cols : i*cols+cols] {
					d = append(d, v-m)
				}
			}
			return elements(rows, rows, func(i, j int) T {
				return covarianceOf(d[i*cols:i*cols+cols], d[j*cols:j*cols+cols], cols-ddof)
			})
		}
		c := newTarget(t, s, rows, rows, n%2 == 1, guard)
		try(t, Cov(c.Array, a, ddof))
		c.check(t, "Cov", cov(x, ddof))
		variance := newTarget(t, s, rows, 1, true, guard)
		try(t, Var(variance.Array, a, ddof))
		v := cov(x, ddof)
		if rows > 1 { // a result of one element is over all
			variance.check(t, "the diagonal", elements(rows, 1, func(i, _ int) T { return v[i*rows+i] }))
		}
		try(t, Corr(c.Array, a))
		v = cov(rowsNearOne(rows, cols, x), 0)
		c.check(t, "Corr", elements(rows, rows, func(i, j int) T {
			r := v[i*rows+j] / T(math.Sqrt(float64(v[i*rows+i]))) / T(math.Sqrt(float64(v[j*rows+j])))
			return min(max(r, -1), 1)
		}))
	}
}

// rowsNearOne is rows times powers of two that bring their largest magnitudes near 1.
func rowsNearOne[T Float](rows, cols int, x []T) []T {
	return elements(rows, cols, func(i, j int) T {
		most := 0.0
		for _, v := range x[i*cols : i*cols+cols] {
			most = max(most, math.Abs(float64(v)))
		}
		_, exp := math.Frexp(most)
		return T(math.Ldexp(float64(x[i*cols+j]), 1-exp))
	})
}

// Correlations do not depend on the unit of a row, be it that squares overflow or vanish.
func TestCorrOfWildRows(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rows := []float64{1, 2, 4, 1, 2, 3}
		want := newTarget[float64](t, s, 2, 2, true, 77)
		try(t, Corr(want.Array, upload(t, s, 2, 3, true, rows)))
		m, err := want.Download()
		try(t, err)
		for _, exp := range []int{1020, 600, -600, -1060} {
			for i := range 3 {
				rows[i] = math.Ldexp([]float64{1, 2, 4}[i], exp)
			}
			c := newTarget[float64](t, s, 2, 2, true, 77)
			try(t, Corr(c.Array, upload(t, s, 2, 3, true, rows)))
			c.check(t, fmt.Sprintf("Corr of a row times 2^%d", exp), m.Data)
		}
	})
}

// Where a covariance is subnormal, the power of two that a row is multiplied by shows. It is that
// of the contract, also where the logarithm of the largest magnitude is rounded up.
func TestCorrOfSubnormals(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		const least = 0x1p-149
		for _, row := range [][]float32{{5 * least, 0, 1, -1}, {5 * 0x1p-49, 0, 0x1.fffffep99, -0x1.fffffep99}} {
			c := newTarget[float32](t, s, 2, 2, true, 77)
			try(t, Corr(c.Array, upload(t, s, 2, 4, true, append([]float32{1, -1, 0, 0}, row...))))
			m, err := c.Download()
			if try(t, err); m.Data[1] != least || m.Data[2] != least {
				t.Errorf("%v of %v, want %v", m.Data, row, least)
			}
		}
	})
}

// covarianceOf is the exact sum of the products of x and y over n, rounded once.
func covarianceOf[T Float](x, y []T, n int) T {
	if n <= 0 {
		return T(math.NaN())
	}
	sum := ratOf[T](0)
	for i := range x {
		sum.Add(sum, ratOf[T](0).Mul(ratOf(x[i]), ratOf(y[i])))
	}
	return quotient[T](sum, n, false)
}

func TestIsIn(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testIsIn[float32](t, s)
		testIsIn[float64](t, s)
		testIsIn[int32](t, s)
	})
}

func testIsIn[T Element](t *testing.T, s *linalg.Session) {
	rng := newRandom(18)
	sizes := [][4]int{{1, 1, 1, 1}, {5, 7, 3, 4}, {70, 3, 1, 9}, {3, 500, 40, 1}, {0, 3, 1, 1}, {2, 2, 0, 5}}
	for n, size := range sizes {
		x, y := some[T](rng, size[0]*size[1]), some[T](rng, size[2]*size[3])
		mask := newTarget(t, s, size[0], size[1], n%2 == 0, true)
		a, set := upload(t, s, size[0], size[1], n%2 == 1, x), upload(t, s, size[2], size[3], n%2 == 0, y)
		try(t, IsIn(mask.Array, a, set))
		mask.check(t, "IsIn", elements(size[0], size[1], func(i, j int) bool {
			v := x[i*size[1]+j]
			for _, e := range y {
				if e == v || e != e && v != v {
					return true
				}
			}
			return false
		}))
	}
}

// What the functions that are made of others refuse, without writing anything.
func TestComposedRefuse(t *testing.T) {
	s, other := openCPU(t), openCPU(t)
	a := newTarget(t, s, 4, 6, true, 77.0)
	b := upload(t, s, 4, 6, false, make([]float64, 24))
	far := upload(t, other, 4, 6, false, make([]float64, 24))
	index, mask := upload(t, s, 1, 6, false, make([]int32, 6)), upload(t, s, 4, 6, false, make([]bool, 24))
	square := a.Slice(0, 4, 0, 4)
	_, trace := Trace[int32](nil)
	for _, c := range []struct {
		err, want error
		text      string
	}{
		{Tril(a.Array, b.Slice(0, 3, 0, 6), 0), linalg.ErrShape, "Tril: a is 3x6"},
		{Triu(a.Slice(0, 3, 0, 6), a.Slice(1, 4, 0, 6), 0), linalg.ErrOverlap, "input 1"},
		{trace, backend.ErrArgument, "Trace: a is nil"},
		{TakeCols(a.Array, b.Slice(0, 3, 0, 6), index), linalg.ErrShape, "must have the rows of a"},
		{TakeCols(a.Array, b, index.Slice(0, 1, 0, 5)), linalg.ErrShape, "TakeCols: index is 1x5"},
		{TakeCols(a.Array, a.Array, index), linalg.ErrOverlap, "TakeCols: c and a"},
		{Kron(a.Array, b, b), linalg.ErrShape, "and must be 16x36"},
		{Kron(a.Array, b, a.Slice(0, 1, 0, 1)), linalg.ErrOverlap, "Kron: c and a"},
		{Prod(a.Slice(0, 2, 0, 2), b), linalg.ErrShape, "Prod of 4x6"},
		{Prod(a.Slice(0, 1, 0, 1), a.Array), linalg.ErrOverlap, "Prod of 4x6"},
		{Cov(a.Array, b, 0), linalg.ErrShape, "Cov: c is 4x6"},
		{Cov(square, b, -1), backend.ErrArgument, "Cov: ddof is -1"},
		{Corr(square, a.Array), linalg.ErrOverlap, "Corr: c and a"},
		{Corr(square, far), backend.ErrArgument, "Corr: c belongs to another session"},
		{IsIn(mask, b.Slice(0, 3, 0, 6), b), linalg.ErrShape, "IsIn: mask is 4x6"},
		{IsIn(mask, b, far), backend.ErrArgument, "IsIn: set belongs to another session"},
		{IsIn(mask, b, nil), backend.ErrArgument, "IsIn: set is nil"},
		{SearchSortedRight(index, b, b), linalg.ErrShape, "SearchSortedRight: sorted is 4x6"},
		{Convert[Float16, int8](nil, nil), backend.ErrArgument, "Convert: a is nil"},
		{Convert[uint8, float64](nil, a.Array), backend.ErrArgument, "array.Convert"},
		{Convert(mask, a.Slice(0, 3, 0, 6)), linalg.ErrShape, "array.Convert: input 1"},
	} {
		if !errors.Is(c.err, c.want) || !contains(c.err, c.text) {
			t.Errorf("%v, want %v with %q", c.err, c.want, c.text)
		}
	}
	a.check(t, "refused", a.was[:0])
}
