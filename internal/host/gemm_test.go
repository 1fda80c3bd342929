package host

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// A matrix is a test operand in a slice with guard elements before, after and between its rows.
type matrix[T element.Element] struct {
	rows, cols, ld int
	all            []T // guards included
	data           []T // from element (0, 0) to the end of the last row, no further
}

const guardSize = 37

// guard is what the elements around a matrix hold.
func guard[T element.Element](i int) T { return T(1000003 + i%7) }

func newMatrix[T element.Element](rows, cols, gap int, fill func(i, j int) T) matrix[T] {
	ld := cols + gap
	m := matrix[T]{rows: rows, cols: cols, ld: ld, all: make([]T, rows*ld+2*guardSize)}
	for i := range m.all {
		m.all[i] = guard[T](i)
	}
	end := guardSize
	if rows > 0 {
		end += (rows-1)*ld + cols
	}
	m.data = m.all[guardSize:end:end]
	for i := range rows {
		for j := range cols {
			m.data[i*ld+j] = fill(i, j)
		}
	}
	return m
}

func (m matrix[T]) clone() matrix[T] {
	return newMatrix(m.rows, m.cols, m.ld-m.cols, func(i, j int) T { return m.data[i*m.ld+j] })
}

// diff compares the bits of two matrices, guards included.
func (m matrix[T]) diff(want matrix[T]) error {
	for i := range want.all {
		if bitsOf(m.all[i]) == bitsOf(want.all[i]) {
			continue
		}
		at := i - guardSize
		if at < 0 || at >= len(want.data) || at%want.ld >= want.cols {
			return fmt.Errorf("the guard at offset %d is %v", at, m.all[i])
		}
		return fmt.Errorf("element (%d, %d) is %v (%x), want %v (%x)",
			at/want.ld, at%want.ld, m.all[i], bitsOf(m.all[i]), want.all[i], bitsOf(want.all[i]))
	}
	return nil
}

// An input is a kind of operand.
type input[T element.Element] struct {
	name string
	next func(*rand.Rand) T
}

func pick[T any](values ...T) func(*rand.Rand) T {
	return func(rng *rand.Rand) T { return values[rng.IntN(len(values))] }
}

// inputs are operands whose chains are ordinary, cancel, underflow, are subnormal all along, or
// meet infinities and NaN.
func inputs[T element.Element]() []input[T] {
	var list any
	switch any(T(0)).(type) {
	case float32:
		list = []input[float32]{
			{"random", func(rng *rand.Rand) float32 { return rng.Float32() - 0.5 }},
			{"subnormal", func(rng *rand.Rand) float32 {
				return math.Float32frombits(rng.Uint32()&0x807fffff | uint32(rng.IntN(2))*0x3f000000)
			}},
			{"underflow", func(rng *rand.Rand) float32 { return (rng.Float32() - 0.5) * 0x1p-74 }},
			{"special", pick(0, float32(math.Copysign(0, -1)), 1, -1, 1.5, -0x1.000002p0,
				0x1p-149, -0x1p-100, 0x1p127, -0x1p100,
				0, 0, 0, 1, -1, 2, -2, float32(math.Inf(1)), float32(math.NaN()))},
			{"zeros", pick(0, float32(math.Copysign(0, -1)), 0x1p-100, -0x1p-100)},
		}
	case float64:
		list = []input[float64]{
			{"random", func(rng *rand.Rand) float64 { return rng.Float64() - 0.5 }},
			{"subnormal", func(rng *rand.Rand) float64 {
				return math.Float64frombits(rng.Uint64()&0x800fffffffffffff | uint64(rng.IntN(2))*0x3fe0000000000000)
			}},
			{"underflow", func(rng *rand.Rand) float64 { return (rng.Float64() - 0.5) * 0x1p-536 }},
			{"special", pick(0, math.Copysign(0, -1), 1, -1, 1.5, -0x1.0000000000001p0,
				0x1p-1074, -0x1p-600, 0x1p1023, -0x1p600,
				0, 0, 0, 1, -1, 2, -2, math.Inf(1), math.NaN())},
			{"zeros", pick(0, math.Copysign(0, -1), 0x1p-600, -0x1p-600)},
		}
	case int32:
		list = []input[int32]{
			{"random", func(rng *rand.Rand) int32 { return int32(rng.Uint32()) }},
			{"special", pick[int32](0, 1, -1, math.MinInt32, math.MaxInt32, 65536, 3)},
		}
	}
	return list.([]input[T])
}

func (in input[T]) matrix(rng *rand.Rand, rows, cols, gap int) matrix[T] {
	return newMatrix(rows, cols, gap, func(int, int) T { return in.next(rng) })
}

// forEachKernel runs f for every micro-kernel of this processor, as the one that Gemm takes.
func forEachKernel(t *testing.T, f32, f64, i32 func(t *testing.T)) {
	force(t, "float32", &kernelsF32, f32)
	force(t, "float64", &kernelsF64, f64)
	force(t, "int32", &kernelsI32, i32)
}

func force[T element.Element](t *testing.T, typ string, list *[]*microKernel[T], f func(t *testing.T)) {
	all := *list
	defer func() { *list = all }()
	for _, k := range all {
		*list = []*microKernel[T]{k}
		t.Run(typ+"/"+k.name, f)
	}
}

// checkGemm compares Gemm, and GemmTrans of transposed operands, with GemmReference. Elements of C
// that beta == 0 does not read start as NaN.
func checkGemm[T element.Element](t *testing.T, in input[T], m, n, k, gap int, alpha, beta T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(m*1000+n), uint64(k)))
	a, b := in.matrix(rng, m, k, gap), in.matrix(rng, k, n, gap*2)
	c := in.matrix(rng, m, n, gap*3)
	if beta == 0 {
		c = newMatrix(m, n, gap*3, func(int, int) T { return poison[T]() })
	}
	want := c.clone()
	GemmReference(m, n, k, alpha, a.data, a.ld, b.data, b.ld, beta, want.data, want.ld)
	old := c.clone()
	Gemm(m, n, k, alpha, a.data, a.ld, b.data, b.ld, beta, c.data, c.ld)
	if err := c.diff(want); err != nil {
		t.Fatalf("%s, %dx%dx%d, gap %d, alpha %v, beta %v: %v", in.name, m, n, k, gap, alpha, beta, err)
	}
	for i := 1; i < 4; i++ {
		transA, transB, x, y, z := i&1 > 0, i&2 > 0, a, b, old.clone()
		if transA {
			x = newMatrix(k, m, gap, func(p, i int) T { return a.data[i*a.ld+p] })
		}
		if transB {
			y = newMatrix(n, k, gap*2, func(j, p int) T { return b.data[p*b.ld+j] })
		}
		GemmTrans(transA, transB, m, n, k, alpha, x.data, x.ld, y.data, y.ld, beta, z.data, z.ld)
		if err := z.diff(want); err != nil {
			t.Fatalf("%s, %dx%dx%d, transposed %v %v, gap %d, alpha %v, beta %v: %v",
				in.name, m, n, k, transA, transB, gap, alpha, beta, err)
		}
	}
}

// poison is NaN, or an unlikely integer.
func poison[T element.Element]() T {
	var p any = int32(0x5a5a5a5a)
	switch any(T(0)).(type) {
	case float32:
		p = float32(math.NaN())
	case float64:
		p = math.NaN()
	}
	return p.(T)
}

// The reference itself, against chains written out by hand.
func TestGemmReference(t *testing.T) {
	negZero := math.Copysign(0, -1)
	a := []float64{1, 2, 9, 3, 4, 9} // 2x2 with a gap
	b := []float64{5, 6, 7, 8}
	c := []float64{1, 2, 77, 3, 4, 77}
	GemmReference(2, 2, 2, 1, a, 3, b, 2, 0, c, 3)
	if want := []float64{19, 22, 77, 43, 50, 77}; fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("A*B = %v, want %v", c, want)
	}
	GemmReference(2, 2, 2, 2, a, 3, b, 2, -1, c, 3)
	if want := []float64{19, 22, 77, 43, 50, 77}; fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("2*A*B - C = %v, want %v", c, want)
	}
	one := func(alpha, a, b, beta, c float64) float64 {
		x := []float64{c}
		GemmReference(1, 1, 1, alpha, []float64{a}, 1, []float64{b}, 1, beta, x, 1)
		return x[0]
	}
	for _, test := range []struct{ alpha, a, b, beta, c, want float64 }{
		{1, negZero, 1, 0, math.NaN(), 0},                       // a chain starts from +0
		{1, -0x1p-600, 0x1p-600, 0, math.Inf(1), negZero},       // an underflow to -0 stays
		{-1, 0, 1, 0, 5, negZero},                               // alpha*acc, with no addend
		{0, math.NaN(), 1, 0, math.NaN(), 0},                    // reads nothing
		{negZero, math.NaN(), 1, negZero, math.NaN(), 0},        // the same
		{0, math.NaN(), 1, -1, 0, negZero},                      // beta*C alone
		{1, 0, math.Inf(1), 0, 0, math.NaN()},                   // no product is left out
		{1 + 0x1p-30, 1 + 0x1p-30, 1, 1, -1, 0x1p-29 + 0x1p-60}, // alpha*acc is fused with the sum
		{1, -1, 1, 1 + 0x1p-52, 1 + 0x1p-52, 0x1p-51},           // beta*C is not
	} {
		if got := one(test.alpha, test.a, test.b, test.beta, test.c); bitsOf(got) != bitsOf(test.want) {
			t.Errorf("FMA(%v, chain(%v*%v), %v*%v) = %v, want %v",
				test.alpha, test.a, test.b, test.beta, test.c, got, test.want)
		}
	}
	x := []int32{7}
	GemmReference(1, 1, 2, 3, []int32{math.MaxInt32, 2}, 2, []int32{2, math.MinInt32}, 1, -1, x, 1)
	if x[0] != 3*-2-7 {
		t.Errorf("int32 = %d, want %d", x[0], 3*-2-7)
	}
}

// Every edge of a tile, on one core and on several.
func TestGemmEdges(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	forEachKernel(t, gemmEdges[float32], gemmEdges[float64], gemmEdges[int32])
}

func gemmEdges[T element.Element](t *testing.T) {
	kern := kernels[T]()[0]
	turn := 0
	for m := 1; m <= 2*kern.rows+1; m++ {
		for n := 1; n <= 2*kern.cols+1; n++ {
			// Not every pair with every kind of input and length of chain: each in its turn.
			turn++
			if isShort() && turn%7 > 0 {
				continue
			}
			in := inputs[T]()[turn%len(inputs[T]())]
			checkGemm(t, in, m, n, 1+turn%5, turn%3, 1, 0)
		}
	}
	for _, m := range []int{1, kern.rows - 1, kern.rows, kern.rows + 1, 2*kern.rows + 1} {
		for _, n := range []int{1, kern.cols, kern.cols + 1} {
			for _, in := range inputs[T]() {
				for _, k := range []int{0, 1, 2, kern.kc - 1, kern.kc, kern.kc + 1, 2*kern.kc + 3} {
					if m*n*k < 10_000 || k == kern.kc+1 || !isShort() && m > kern.rows {
						checkGemm(t, in, m, n, k, 1, 1, 0)
					}
				}
				checkGemm(t, in, m, n, kern.kc+1, 2, -1, 3)
			}
		}
	}
}

// isShort tells whether to take samples only: the race detector makes the reference ten times
// slower, and does not see assembly.
func isShort() bool { return testing.Short() || racetest.Enabled }

func TestGemmScalars(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	forEachKernel(t, gemmScalars[float32], gemmScalars[float64], gemmScalars[int32])
}

func gemmScalars[T element.Element](t *testing.T) {
	kern := kernels[T]()[0]
	scalars := []T{0, 1, -1, 3}
	if third := T(1) / 3; third != 0 {
		scalars = append(scalars, third, negZero[T](), poison[T]())
	}
	for _, alpha := range scalars {
		for _, beta := range scalars {
			for _, in := range inputs[T]() {
				checkGemm(t, in, 7, 19, 5, 1, alpha, beta)
				checkGemm(t, in, 3, 2, 0, 1, alpha, beta)
			}
			checkGemm(t, inputs[T]()[0], kern.rows+1, kern.cols+1, kern.kc+1, 1, alpha, beta)
		}
	}
}

// Shapes that are split over goroutines, and over the blocks of every loop, in small blocks.
func TestGemmBlocks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	forEachKernel(t, gemmBlocks[float32], gemmBlocks[float64], gemmBlocks[int32])
}

func gemmBlocks[T element.Element](t *testing.T) {
	kern := kernels[T]()[0]
	in := inputs[T]()[0]
	for _, s := range [][3]int{{130, 70, 257}, {5, 1030, 410}, {1030, 5, 410}, {1, 1, 5000}} {
		if !isShort() {
			checkGemm(t, in, s[0], s[1], s[2], 3, 1, 0)
		}
	}
	checkGemm(t, in, 150, 130, 110, 1, 2, 1)
	for k := 32; k < 36; k++ { // packed, with every remainder of k
		checkGemm(t, in, 300, 2*kern.cols+1, k, 1, 1, 0)
	}

	// The same kernel with blocks so small that all loops turn often.
	list := kernels[T]()
	small := *kern
	small.kc, small.mc, small.nc = 16, 3*small.rows, 2*small.cols
	list[0] = &small
	defer func() { list[0] = kern }()
	for _, in := range inputs[T]() {
		checkGemm(t, in, 5*small.rows+1, 7*small.cols+3, 55, 2, 1, 0)
		checkGemm(t, in, 5*small.rows+1, 7*small.cols+3, 55, 2, 1, -3)
	}
	checkGemm(t, in, 131, 129, 125, 2, 1, 0) // beyond serialWork
}

// Products with a temporary that takes several bands of rows and of columns.
func TestGemmBands(t *testing.T) {
	defer func(n int) { maxTemp = n }(maxTemp)
	maxTemp = 1000
	forEachKernel(t, gemmBands[float32], gemmBands[float64], gemmBands[int32])
}

func gemmBands[T element.Element](t *testing.T) {
	k := kernels[T]()[0].kc + 1
	for _, s := range [][2]int{{50, 41}, {3, 999}, {2, 1000}, {3, 1001}} {
		checkGemm(t, inputs[T]()[0], s[0], s[1], k, 1, 2, 3)
	}
}

// Shapes of few rows or columns, whose operands are read where they are.
func TestGemmThin(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	forEachKernel(t, gemmThin[float32], gemmThin[float64], gemmThin[int32])
}

func gemmThin[T element.Element](t *testing.T) {
	for i, in := range inputs[T]() {
		for thin := 1; thin <= 9; thin += 2 {
			checkGemm(t, in, thin, 130, 35+i, 1, 1, 0)
			checkGemm(t, in, 130, thin, 35+i, 1, 1, 0)
			checkGemm(t, in, thin, 130, 130, 0, -1, 2)
			checkGemm(t, in, 70, thin, 40, 0, -1, 2)
			checkGemm(t, in, 70, thin, 33, 2, -1, 0)
		}
	}
	for n := 1; n <= 4; n++ { // chains of several blocks
		checkGemm(t, inputs[T]()[0], 67, n, kernels[T]()[0].kc+9, 1, 1, 0)
		checkGemm(t, inputs[T]()[0], 67, n, kernels[T]()[0].kc+9, 1, 2, 3)
	}
	if !isShort() && kernels[T]()[0].name != "go" { // on several cores
		checkGemm(t, inputs[T]()[0], 3, 7001, 103, 1, 1, 0)
		checkGemm(t, inputs[T]()[0], 3, 7001, 103, 1, 2, 3)
		checkGemm(t, inputs[T]()[0], 7001, 3, 103, 1, 1, 0)
	}
}

// Few elements with long chains, in parts down and across C.
func TestGemmSlim(t *testing.T) {
	forEachKernel(t, gemmSlim[float32], gemmSlim[float64], gemmSlim[int32])
}

func gemmSlim[T element.Element](t *testing.T) {
	in := inputs[T]()[0]
	for _, cores := range []int{1, 2, 7} {
		if isShort() && cores < 7 {
			continue
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		for i, s := range [][3]int{{1, 2, slimSteps}, {9, 25, 300}, {50, 50, 600}, {30, 130, 400}, {130, 30, 400}} {
			checkGemm(t, in, s[0], s[1], s[2], i, 1, 0)
			checkGemm(t, in, s[0], s[1], s[2], 1, -2, 3)
			checkAddMul(t, in, s[0], s[1], s[2], i, 0, slimBlock)
		}
	}
	for _, in := range inputs[T]() {
		checkGemm(t, in, 3, 5, slimSteps+slimBlock, 1, 1, 0)
	}
	defer func(n int) { slimTiles = n }(slimTiles)
	slimTiles = directPanelsB + 1 // columns of A are far apart
	cols := kernels[T]()[0].cols
	checkGemm(t, in, slimTiles*cols, directPanelsB*cols+1, slimSteps+1, 1, 1, 0)
	checkGemm(t, in, slimTiles*cols, directPanelsB*cols+1, slimSteps+1, 1, -2, 3)
}

func TestGemmChecksItsArguments(t *testing.T) {
	x := make([]float32, 11)
	y := make([]float32, 12)
	for name, f := range map[string]func(){
		"short A": func() { Gemm(3, 3, 4, 1, x, 4, y, 3, 0, y, 3) },
		"short B": func() { Gemm(3, 3, 4, 1, y, 4, x, 3, 0, y, 3) },
		"short C": func() { Gemm(3, 4, 2, 1, y, 2, y, 4, 0, x, 4) },
		"lda < k": func() { Gemm(3, 3, 4, 1, y, 3, y, 3, 0, y, 3) },
		"few, A'": func() { GemmTrans(true, false, 2, 2, 2, 1, x[:3], 2, y, 2, 0, y, 2) },
		"few, B'": func() { GemmTrans(false, true, 2, 2, 2, 1, y, 2, x[:3], 2, 0, y, 2) },
		"few, C":  func() { GemmTrans(true, true, 2, 2, 2, 1, y, 2, y, 2, 0, x[:3], 2) },
		"m < 0":   func() { Gemm(-1, 3, 4, 1, y, 4, y, 3, 0, y, 3) },
		"huge":    func() { Gemm(math.MaxInt/2, 3, 4, 1, y, math.MaxInt/2, y, 3, 0, y, math.MaxInt/2) },
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
	Gemm[float32](0, 3, 4, 1, nil, 4, nil, 3, 0, nil, 3)
	Gemm[float32](3, 0, 4, 1, nil, 4, nil, 0, 0, nil, 0)
	Gemm(2, 2, 0, 1, nil, 0, nil, 2, 0, y, 2)
	Gemm(2, 2, 3, 0, nil, 3, nil, 2, 2, y, 2)
}

func TestGemmAllocatesNothing(t *testing.T) {
	if racetest.Enabled {
		t.Skip("the race detector makes sync.Pool drop what it is given")
	}
	a, b, c := make([]float32, 64*64), make([]float32, 64*64), make([]float32, 64*64)
	if n := testing.AllocsPerRun(100, func() { Gemm(64, 64, 64, 1, a, 64, b, 64, 0, c, 64) }); n > 0 {
		t.Errorf("Gemm of 64 allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { Gemm(64, 1, 64, 2, a, 64, b, 64, 1, c, 64) }); n > 0 {
		t.Errorf("Gemm of 64x1x64 allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { SubMul(64, 64, 64, a, 64, b, 64, c, 64) }); n > 0 {
		t.Errorf("SubMul of 64 allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { Gemm(64, 64, 64, 2, a, 64, b, 64, 1, c, 64) }); n > 0 {
		t.Errorf("Gemm of 64 with alpha and beta allocates %v times", n)
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, n := range []int{4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048} {
		benchmarkShape(b, fmt.Sprint(n), n, n, n)
	}
	// Edges everywhere; few rows; few columns.
	for _, s := range [][3]int{{1023, 517, 2049}, {1, 2048, 2048}, {8, 2048, 2048}, {2048, 1, 2048}, {2048, 8, 2048}} {
		benchmarkShape(b, fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), s[0], s[1], s[2])
	}
}

func benchmarkShape(b *testing.B, name string, m, n, k int) {
	b.Run("float32/"+name, benchmarkGemm[float32](m, n, k))
	b.Run("float64/"+name, benchmarkGemm[float64](m, n, k))
	b.Run("int32/"+name, benchmarkGemm[int32](m, n, k))
}

func benchmarkGemm[T element.Element](m, n, k int) func(*testing.B) {
	return func(b *testing.B) {
		rng := rand.New(rand.NewPCG(1, 1))
		in := inputs[T]()[0]
		x, y, z := in.matrix(rng, m, k, 0), in.matrix(rng, k, n, 0), in.matrix(rng, m, n, 0)
		for b.Loop() {
			Gemm(m, n, k, 1, x.data, k, y.data, n, 0, z.data, n)
		}
		b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	}
}

// BenchmarkTile is the micro-kernel alone: multiply-adds of one step over and over, which is as
// fast as it can be; packed panels that stay in the first-level cache; and a row of tiles from a
// block of B in the second level.
func BenchmarkTile(b *testing.B) {
	b.Run("float32", benchmarkTile[float32])
	b.Run("float64", benchmarkTile[float64])
	b.Run("int32", benchmarkTile[int32])
}

func benchmarkTile[T element.Element](b *testing.B) {
	kern := kernels[T]()[0]
	rows, cols, near := kern.rows, kern.cols, 64
	s, memory := Take[T](kern.kc*(rows+kern.nc) + rows*kern.nc)
	defer s.Give()
	clear(memory)
	x, y, z := memory, memory[kern.kc*rows:], memory[kern.kc*(rows+kern.nc):]
	run := func(name string, kc, aStep, bStep, tiles int) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for j := range tiles {
					kern.run(rows, cols, kc, &x[0], 1, aStep, &y[j*kc*bStep], bStep, &z[j*cols], kern.nc, false)
				}
			}
			b.ReportMetric(2*float64(rows*cols*kc*tiles)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
	run("registers", kern.kc, 0, 0, 1)
	run("near", near, rows, cols, 1)
	run("row", kern.kc, rows, cols, kern.nc/cols)
}

// checkAddMul compares AddMul and SubMul, done in two parts at each of the cuts, with their
// reference. A cut at 0 has no first part.
func checkAddMul[T element.Element](t *testing.T, in input[T], m, n, k, gap int, cuts ...int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(m*1000+n), uint64(k)))
	a, b := in.matrix(rng, m, k, gap), in.matrix(rng, k, n, gap*2)
	start := in.matrix(rng, m, n, gap*3)
	for _, negate := range []bool{false, true} {
		want := start.clone()
		AddMulReference(negate, m, n, k, a.data, a.ld, b.data, b.ld, want.data, want.ld)
		update := AddMul[T]
		if negate {
			update = SubMul[T]
		}
		for _, cut := range cuts {
			c := start.clone()
			update(m, n, cut, a.data, a.ld, b.data, b.ld, c.data, c.ld)
			update(m, n, k-cut, a.data[cut:], a.ld, b.data[min(cut*b.ld, len(b.data)):], b.ld, c.data, c.ld)
			if err := c.diff(want); err != nil {
				t.Fatalf("%s, %dx%dx%d cut at %d, gap %d, negated %v: %v", in.name, m, n, k, cut, gap, negate, err)
			}
		}
	}
}

// The reference of AddMul and SubMul, against chains written out by hand, and against Gemm's.
func TestAddMulReference(t *testing.T) {
	negZero := math.Copysign(0, -1)
	for _, test := range []struct {
		c, a, b  float64
		add, sub float64
	}{
		{5, 2, 3, 11, -1},
		{negZero, 0, 1, 0, negZero}, // the sign of zero is that of the chain from C ...
		{negZero, negZero, 1, negZero, 0},
		{6, 2, 3, 12, 0}, // ... and not that of -((-C) + A*B), which is -0
		{-1, 1 + 0x1p-30, 1 + 0x1p-30, 0x1p-29 + 0x1p-60, -(2 + 0x1p-29)}, // rounded once
		{math.Inf(1), math.Inf(1), 1, math.Inf(1), math.NaN()},
	} {
		for _, negate := range []bool{false, true} {
			x, want := []float64{test.c}, test.add
			if negate {
				want = test.sub
			}
			AddMulReference(negate, 1, 1, 1, []float64{test.a}, 1, []float64{test.b}, 1, x, 1)
			if bitsOf(x[0]) != bitsOf(want) {
				t.Errorf("%v, %v*%v, negated %v: %v, want %v", test.c, test.a, test.b, negate, x[0], want)
			}
		}
	}
	x := []int32{math.MinInt32}
	AddMulReference(true, 1, 1, 1, []int32{math.MinInt32}, 1, []int32{3}, 1, x, 1)
	if x[0] != 0 {
		t.Errorf("int32: %d", x[0])
	}
	rng, in := rand.New(rand.NewPCG(1, 2)), inputs[float32]()[0]
	a, b := in.matrix(rng, 3, 9, 0), in.matrix(rng, 9, 4, 0)
	zero := newMatrix(3, 4, 0, func(int, int) float32 { return 0 })
	want := zero.clone()
	GemmReference(3, 4, 9, 1, a.data, 9, b.data, 4, 0, want.data, 4)
	AddMulReference(false, 3, 4, 9, a.data, 9, b.data, 4, zero.data, 4)
	if err := zero.diff(want); err != nil {
		t.Errorf("from +0: %v", err)
	}
}

// A product cut anywhere has the bits of the whole: at every step of short chains, and around the
// ends of blocks.
func TestAddMul(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	forEachKernel(t, testAddMul[float32], testAddMul[float64], testAddMul[int32])
}

func testAddMul[T element.Element](t *testing.T) {
	kern := kernels[T]()[0]
	rows, cols, kc := kern.rows, kern.cols, kern.kc
	for i, in := range inputs[T]() {
		for _, s := range [][2]int{{1, 1}, {rows, cols}, {rows + 1, cols + 1}, {3*rows + 1, 2*cols + 1}} {
			checkAddMul(t, in, s[0], s[1], 5, i%3, 0, 1, 2, 3, 4, 5)
		}
		for thin := 1; thin <= 9; thin += 4 {
			checkAddMul(t, in, thin, 130, 135, 1, 0, 67)
			checkAddMul(t, in, 130, thin, 35, 1, 0, 34)
		}
	}
	in := inputs[T]()[0]
	for n := 1; n <= 4; n++ { // chains of several blocks of a narrow product
		checkAddMul(t, in, 67, n, kc+9, n%2, 0, kc)
	}
	checkAddMul(t, in, rows, cols, kc+3, 0, 0, kc-1, kc, kc+1)
	if !isShort() && kern.name != "go" { // thin ones on several cores
		checkAddMul(t, in, 3, 7001, 103, 1, 0)
		checkAddMul(t, in, 7001, 3, 103, 1, 0)
	}

	// The same kernel with blocks so small that all loops turn often, A packed and not.
	list := kernels[T]()
	small := *kern
	small.kc, small.mc, small.nc = 16, 3*small.rows, 2*small.cols
	list[0] = &small
	defer func() { list[0] = kern }()
	for _, in := range inputs[T]() {
		checkAddMul(t, in, 5*rows+1, 7*cols+3, 55, 2, 0, 15, 16, 17, 54)
	}
	checkAddMul(t, in, 131, 2*cols+29, 125, 2, 0, 64) // beyond serialWork, or near it
}
