package gonumblas

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/blas/testblas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/linalg"
)

// gonum's own tests, on what Use has installed.
func TestTestblas(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	tests := map[string]func(*testing.T, blas.Float64){
		"gemm":  func(t *testing.T, b blas.Float64) { testblas.TestDgemm(t, b) },
		"symm":  func(t *testing.T, b blas.Float64) { testblas.DsymmTest(t, b) },
		"syrk":  func(t *testing.T, b blas.Float64) { testblas.DsyrkTest(t, b) },
		"syr2k": func(t *testing.T, b blas.Float64) { testblas.Dsyr2kTest(t, b) },
		"trmm":  func(t *testing.T, b blas.Float64) { testblas.DtrmmTest(t, b) },
		"trsm":  func(t *testing.T, b blas.Float64) { testblas.DtrsmTest(t, b) },
		"gemv":  func(t *testing.T, b blas.Float64) { testblas.DgemvTest(t, b) },
		"dot":   func(t *testing.T, b blas.Float64) { testblas.DdotTest(t, b) },
	}
	eachBackend(t, func(t *testing.T, s *linalg.Session, d *watched) {
		for what, options := range map[string][]Option{
			"device": {Crossover(0)}, "default": nil,
			"host": {Crossover(math.MaxInt)},
		} {
			t.Run(what, func(t *testing.T) {
				use(t, s, options...)
				for name, test := range tests {
					d.launches.Store(0)
					t.Run(name, func(t *testing.T) { test(t, blas64.Implementation()) })
					products := name == "gemm" || name == "symm" || name == "syrk" || name == "syr2k"
					if n := d.launches.Load(); (n > 0) != (products && what == "device") {
						t.Errorf("%s: %d launches", name, n)
					}
				}
			})
		}
	})
}

func TestGemm(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session, d *watched) {
		t.Run("float32", func(t *testing.T) { testGemm[float32](t, s, d) })
		t.Run("float64", func(t *testing.T) { testGemm[float64](t, s, d) })
	})
}

const middle = 33 // a crossover between the shapes below

var shapes = [][3]int{
	{1, 1, 1},
	{1, 40, 7},
	{40, 1, 7},
	{3, 2, 0},
	{2, 2, 2},
	{2, 1, 2},
	{3, 3, 3},
	{2, 3, 3},
	{5, 4, 3},
	{31, 32, 33},
	{32, 32, 32},
	{33, 33, 33},
	{34, 33, 32},
	{9, 200, 150},
	{64, 65, 66},
	{130, 70, 17},
}

func testGemm[T float](t *testing.T, s *linalg.Session, d *watched) {
	rng := rand.New(rand.NewPCG(1, 2))
	trans := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
	scalars := []T{0, 1, -1, 2.5}
	for _, crossover := range []int{0, middle, math.MaxInt} {
		use(t, s, Crossover(crossover))
		impl := level3Of[T](blas64.Implementation().(bothTypes))
		for i, shape := range shapes {
			m, n, k := shape[0], shape[1], shape[2]
			mean := 3 / (1/float64(m) + 1/float64(n) + 1/float64(k))
			for j := range 9 {
				tA, tB := trans[j%3], trans[j/3]
				alpha, beta := scalars[(i+j+1)%4], scalars[(i*3+j*2+j/4)%4]
				a, b, c := random[T](rng, m, k, i%3), random[T](rng, k, n, j%3), random[T](rng, m, n, 2)
				if tA != blas.NoTrans {
					a = random[T](rng, k, m, i%3)
				}
				if tB != blas.NoTrans {
					b = random[T](rng, n, k, j%3)
				}
				what := fmt.Sprintf("crossover %d, %v %c%c alpha %v beta %v", crossover, shape, tA, tB, alpha, beta)
				want := clone(c)
				x, y := opOf(tA, a), opOf(tB, b)
				host.GemmReference(m, n, k, alpha, x.Data, x.Stride, y.Data, y.Stride, beta, want.Data, want.Stride)
				if beta == 0 {
					c.Set(m-1, 0, T(math.NaN()))
				}
				d.launches.Store(0)
				impl.gemm(tA, tB, m, n, k, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
				same(t, what, c, want)
				if got, want := d.launches.Load() > 0, alpha != 0 && k > 0 && mean >= float64(crossover); got != want {
					t.Fatalf("%s: on the device: %t, want %t", what, got, want)
				}
			}
		}
	}
}

// A zero does not hide a NaN, alpha == 0 and beta == 0 read nothing.
func TestNaN(t *testing.T) {
	nan := math.NaN()
	eachBackend(t, func(t *testing.T, s *linalg.Session, _ *watched) {
		for _, crossover := range []int{0, math.MaxInt} {
			use(t, s, Crossover(crossover))
			b := blas64.Implementation()
			c := []float64{nan}
			if b.Dgemm('N', 'N', 1, 1, 1, 1, []float64{0}, 1, []float64{nan}, 1, 0, c, 1); c[0] == c[0] {
				t.Errorf("0*NaN is %v", c[0])
			}
			if b.Dgemm('N', 'N', 1, 1, 1, 1, []float64{2}, 1, []float64{3}, 1, 0, c, 1); c[0] != 6 {
				t.Errorf("beta 0 gives %v", c[0])
			}
			if b.Dgemm('N', 'N', 1, 1, 1, 0, []float64{nan}, 1, []float64{nan}, 1, 2, c, 1); c[0] != 12 {
				t.Errorf("alpha 0 gives %v", c[0])
			}
			x := []float64{nan, nan}
			if b.Dtrsm('L', 'L', 'N', 'N', 2, 1, 0, []float64{nan, nan, nan, nan}, 2, x, 1); x[0] != 0 || x[1] != 0 {
				t.Errorf("trsm with alpha 0 gives %v", x)
			}
		}
	})
}

// Interleaved blocks of one array, as LAPACK passes them, and neighbours that others change at the
// same time.
func TestInterleaved(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session, _ *watched) {
		for _, crossover := range []int{0, math.MaxInt} {
			use(t, s, Crossover(crossover))
			impl := blas64.Implementation()
			whole := random[float64](rand.New(rand.NewPCG(3, 4)), 90, 90, 0)
			want := clone(whole)
			block := func(m linalg.Matrix[float64], i, j int) []float64 { return m.Data[i*90+j:] }
			host.GemmReference(60, 60, 30, -1, block(want, 30, 0), 90, block(want, 0, 30), 90, 1, block(want, 30, 30),
				90)
			var wg sync.WaitGroup
			for j := 30; j < 90; j += 15 {
				wg.Go(func() {
					impl.Dgemm('N', 'N', 60, 15, 30, -1, block(whole, 30, 0), 90, block(whole, 0, j), 90, 1,
						block(whole, 30, j), 90)
				})
			}
			wg.Wait()
			same(t, "update of the corner", whole, want)
		}
	})
}

// recovered is what f panics with.
func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// Every argument is spoiled in every way, for every function: our panic must be gonum's, also where
// there is none.
func TestPanics(t *testing.T) {
	s, _ := open(t, "cpu")
	for _, crossover := range []int{0, math.MaxInt} {
		use(t, s, Crossover(crossover))
		testPanics[float32](t)
		testPanics[float64](t)
	}
}

type badCall struct {
	s                               blas.Side
	ul                              blas.Uplo
	tA, tB                          blas.Transpose
	d                               blas.Diag
	m, n, k                         int
	lenA, lda, lenB, ldb, lenC, ldc int
	alpha, beta                     float64
}

func testPanics[T float](t *testing.T) {
	ours, theirs := level3Of[T](blas64.Implementation().(bothTypes)), level3Of[T](gonum.Implementation{})
	good := badCall{s: 'L', ul: 'U', tA: 'N', tB: 'N', d: 'N', m: 4, n: 4, k: 4, alpha: 1, beta: 1}
	good.lenA, good.lda, good.lenB, good.ldb, good.lenC, good.ldc = 4*6-2, 6, 4*7-3, 7, 4*5-1, 5
	spoil := map[string]func(c *badCall){
		"nothing": func(*badCall) {}, "side": func(c *badCall) { c.s = 'X' }, "uplo": func(c *badCall) { c.ul = 'A' },
		"tA": func(c *badCall) { c.tA = 0 }, "tB": func(c *badCall) { c.tB = 'n' },
		"diag": func(c *badCall) { c.d = 'X' },
		"m":    func(c *badCall) { c.m = -1 }, "n": func(c *badCall) { c.n = -1 }, "k": func(c *badCall) { c.k = -1 },
		"m 0": func(c *badCall) { c.m = 0 }, "n 0": func(c *badCall) { c.n = 0 }, "k 0": func(c *badCall) { c.k = 0 },
		"m 0, short": func(c *badCall) { c.m, c.lenA, c.lenB, c.lenC = 0, 0, 0, 0 },
		"k 0, no A":  func(c *badCall) { c.k, c.lenA = 0, 0 },
		"k 0, no B":  func(c *badCall) { c.k, c.lenB = 0, 0 }, "transposed, k 0, no A": func(c *badCall) {
			c.tA, c.k,
				c.lenA = 'T', 0, 0
		},
		"lda": func(c *badCall) { c.lda = 3 }, "lda 0": func(c *badCall) { c.lda = 0 },
		"ldb": func(c *badCall) { c.ldb = 3 }, "ldc": func(c *badCall) { c.ldc = 3 },
		"a": func(c *badCall) { c.lenA-- }, "b": func(c *badCall) { c.lenB-- }, "c": func(c *badCall) { c.lenC-- },
		"no a": func(c *badCall) { c.lenA = 0 }, "no b": func(c *badCall) { c.lenB = 0 },
		"no c": func(c *badCall) { c.lenC = 0 },
		"wide": func(c *badCall) { c.k = 7 }, "tall": func(c *badCall) { c.m = 9 },
		"right":            func(c *badCall) { c.s, c.m = 'R', 2 },
		"transposed, wide": func(c *badCall) { c.tA, c.tB, c.k = 'T', 'T', 7 },
		"conjugated":       func(c *badCall) { c.tA, c.tB = 'C', 'C' },
		"alpha 0, short":   func(c *badCall) { c.alpha, c.lenA = 0, 0 }, "two": func(c *badCall) {
			c.s, c.ul, c.lda = 'X',
				'X', 0
		},
	}
	functions := map[string]func(l level3[T], c badCall, x, y, z []T){
		"gemm": func(l level3[T], c badCall, x, y, z []T) {
			l.gemm(c.tA, c.tB, c.m, c.n, c.k, T(c.alpha), x, c.lda, y, c.ldb, T(c.beta), z, c.ldc)
		},
		"symm": func(l level3[T], c badCall, x, y, z []T) {
			l.symm(c.s, c.ul, c.m, c.n, T(c.alpha), x, c.lda, y, c.ldb, T(c.beta), z, c.ldc)
		},
		"syrk": func(l level3[T], c badCall, x, y, z []T) {
			l.syrk(c.ul, c.tA, c.n, c.k, T(c.alpha), x, c.lda, T(c.beta), z, c.ldc)
		},
		"syr2k": func(l level3[T], c badCall, x, y, z []T) {
			l.syr2k(c.ul, c.tA, c.n, c.k, T(c.alpha), x, c.lda, y, c.ldb, T(c.beta), z, c.ldc)
		},
		"trmm": func(l level3[T], c badCall, x, y, z []T) {
			l.trmm(c.s, c.ul, c.tA, c.d, c.m, c.n, T(c.alpha), x, c.lda, y, c.ldb)
		},
		"trsm": func(l level3[T], c badCall, x, y, z []T) {
			l.trsm(c.s, c.ul, c.tA, c.d, c.m, c.n, T(c.alpha), x, c.lda, y, c.ldb)
		},
	}
	panics := 0
	for name, f := range functions {
		for what, spoil := range spoil {
			c := good
			spoil(&c)
			run := func(l level3[T]) any {
				ones := func(n int) []T {
					x := make([]T, n)
					for i := range x {
						x[i] = 1
					}
					return x
				}
				return recovered(func() { f(l, c, ones(c.lenA), ones(c.lenB), ones(c.lenC)) })
			}
			got, want := run(ours), run(theirs)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s%s with bad %s: panic %v, gonum's is %v", ours.nameOfPrefix, name, what, got, want)
			}
			if want != nil {
				panics++
			}
		}
	}
	if panics < 60 {
		t.Errorf("only %d of the calls panicked", panics)
	}
}

// Whichever command of the device fails, the result is right and the failure is told.
func TestDeviceFails(t *testing.T) {
	unified, unifiedDevice := open(t, "cpu")
	apart, apartDevice := gpu(t)
	for _, on := range []struct {
		name     string
		s        *linalg.Session
		d        *watched
		n        int
		commands int
	}{
		{"the host's memory", unified, unifiedDevice, 20, 2},          // the launch, the wait
		{"memory of its own, few at once", apart, apartDevice, 20, 4}, // and a write and a read
		{"memory of its own", apart, apartDevice, 300, 5},             // two or three writes
	} {
		t.Run(on.name, func(t *testing.T) { testDeviceFails(t, on.s, on.d, on.n, on.commands) })
	}
}

func testDeviceFails(t *testing.T, s *linalg.Session, d *watched, m, commands int) {
	rng := rand.New(rand.NewPCG(5, 6))
	k, n := m+10, m+5
	for i := range 4 {
		beta, gap := float32(i%2)*2, i/2*3 // without a gap the device reads to C itself where it can
		a, b, c := random[float32](rng, m, k, 1), random[float32](rng, k, n, 0), random[float32](rng, m, n, gap)
		want := clone(c)
		host.GemmReference(m, n, k, 1.5, a.Data, a.Stride, b.Data, b.Stride, beta, want.Data, want.Stride)
		failures := 0
		for at := int64(1); ; at++ {
			var told []error
			Use(s, Crossover(0), OnError(func(err error) { told = append(told, err) }))
			got := clone(c)
			d.calls.Store(0)
			d.failAt.Store(at)
			blas32.Implementation().Sgemm('N', 'N', m, n, k, 1.5, a.Data, a.Stride, b.Data, b.Stride, beta, got.Data,
				got.Stride)
			d.failAt.Store(0)
			err := Err()
			Restore()
			same(t, fmt.Sprintf("beta %v, failure of call %d", beta, at), got, want)
			if d.calls.Load() < at {
				if err != nil || len(told) != 0 {
					t.Errorf("no call failed, but: %v, %v", err, told)
				}
				break
			}
			failures++
			if !errors.Is(err, errFake) || len(told) != 1 || told[0] != err || Err() != err {
				t.Errorf("call %d failed: Err is %v, the callback has %v", at, err, told)
			}
		}
		if failures < commands {
			t.Errorf("beta %v: only %d calls to fail", beta, failures)
		}
	}
}

func TestClosedSession(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	Use(s, Crossover(0), OnError(func(error) { told++ }))
	defer Restore()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c := []float64{1}
	for range 2 {
		blas64.Implementation().Dgemm('N', 'N', 1, 1, 1, 1, []float64{2}, 1, []float64{3}, 1, 1, c, 1)
	}
	if c[0] != 13 || told != 2 || !errors.Is(Err(), backend.ErrClosed) {
		t.Errorf("%v, callback called %d times, %v", c, told, Err())
	}
	Use(s)
	if err := Err(); err != nil {
		t.Errorf("after another Use: %v", err)
	}
}

func TestUseAndRestore(t *testing.T) {
	s, d := open(t, "cpu")
	other, _ := open(t, "cpu")
	type mine struct{ gonum.Implementation }
	blas64.Use(mine{})
	defer blas64.Use(gonum.Implementation{})
	Restore() // nothing is installed
	if blas64.Implementation() != blas.Float64(mine{}) {
		t.Fatal("Restore without Use changed something")
	}
	Use(other)
	Use(s, Crossover(0))
	blas64.Gemm('N', 'N', 1, blas64.General{Rows: 1, Cols: 1, Stride: 1, Data: []float64{2}},
		blas64.General{Rows: 1, Cols: 1, Stride: 1, Data: []float64{3}}, 0,
		blas64.General{Rows: 1, Cols: 1, Stride: 1, Data: []float64{0}})
	if d.launches.Load() != 1 {
		t.Errorf("%d launches, want one", d.launches.Load())
	}
	Restore()
	Restore()
	if blas64.Implementation() != blas.Float64(mine{}) ||
		blas32.Implementation() != blas.Float32(gonum.Implementation{}) {
		t.Errorf("after Restore: %T and %T", blas64.Implementation(), blas32.Implementation())
	}
	if cblas128.Implementation() != blas.Complex128(gonum.Implementation{}) ||
		cblas64.Implementation() != blas.Complex64(gonum.Implementation{}) {
		t.Errorf("after Restore: %T and %T", cblas128.Implementation(), cblas64.Implementation())
	}
	if v := recovered(func() { Use(nil) }); v == nil {
		t.Error("Use(nil) does not panic")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			Use(s)
			if err := Err(); err != nil {
				t.Error(err)
			}
			Restore()
		})
	}
	wg.Wait()
}

// gpu makes a session on the cpu device that is taken for a GPU, for which the crossover is
// measured.
func gpu(t *testing.T, change ...func(*backend.Info)) (*linalg.Session, *watched) {
	inner, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	d := new(watched)
	s, err := d.session(inner, func(info *backend.Info) {
		info.Driver, info.GPU, info.UnifiedMemory = "fake", true, false
		for _, f := range change {
			f(info)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, d
}

// tuningFile is the name of a file of tuning data that the test alone uses. It is not there yet.
func tuningFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tune.json")
	t.Cleanup(tuning.Reload)
	t.Setenv(tuning.Env, file)
	tuning.Reload()
	return file
}

// firstProduct multiplies matrices of the first size that is measured, and compares the bits.
func firstProduct() func(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = firstSize
	a, b := random[float32](rng, n, n, 0), random[float32](rng, n, n, 0)
	want := linalg.NewMatrix[float32](n, n, nil)
	hostGemm(1, blas.NoTrans, a, blas.NoTrans, b, 0, want)
	return func(t *testing.T) {
		t.Helper()
		c := linalg.NewMatrix[float32](n, n, nil)
		blas32.Gemm('N', 'N', 1, linalg.ToGeneral(a), linalg.ToGeneral(b), 0, linalg.ToGeneral(c))
		same(t, "product", c, want)
		below := linalg.ToGeneral(linalg.NewMatrix[float32](200, n, nil))
		blas32.Gemm('N', 'N', 1, linalg.ToGeneral(a.Slice(0, 200, 0, n)), linalg.ToGeneral(b), 0, below)
	}
}

func TestMeasuredCrossover(t *testing.T) {
	if racetest.Enabled {
		t.Skip("slow")
	}
	product := firstProduct()
	tuningFile(t)
	s, d := gpu(t)
	use(t, s)
	product(t)
	measured := d.launches.Load()
	if measured < 4 {
		t.Errorf("%d launches to measure", measured)
	}
	product(t)
	if more := d.launches.Load() - measured; more > 1 { // the smaller one stays on the host
		t.Errorf("%d launches after the measurement", more)
	}

	file := tuningFile(t)
	s, d = gpu(t)
	var told []error
	Use(s, OnError(func(err error) { told = append(told, err) }))
	d.failAt.Store(1)
	product(t)
	product(t)
	if !errors.Is(Err(), errFake) || len(told) != 1 || d.launches.Load() != 0 {
		t.Errorf("a failure while measuring: %v, %v, %d launches", Err(), told, d.launches.Load())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a failed measurement was kept")
	}
	Use(s)

	s, d = gpu(t, func(info *backend.Info) { info.Float32 = false })
	use(t, s, Crossover(0))
	product(t)
	if d.launches.Load() != 0 {
		t.Error("float32 on a device without it")
	}
}

// The crossover of the tuning data is taken, and nothing is measured.
func TestTunedCrossover(t *testing.T) {
	product := firstProduct()
	for _, c := range []struct {
		size     int
		never    bool
		launches int64
	}{{firstSize, false, 1}, {firstSize + 1, false, 0}, {200, false, 2}, {0, true, 0}} {
		tuningFile(t)
		s, d := gpu(t)
		info := s.Info()
		if err := tuning.Keep(&tuning.Record{
			Device:    tuning.DeviceIDOf(&info),
			Crossover: []tuning.Crossing{{Type: "float32", Host: tuning.HostName(), N: c.size, Never: c.never}},
		}); err != nil {
			t.Fatal(err)
		}
		use(t, s)
		product(t)
		if got := d.launches.Load(); got != c.launches {
			t.Errorf("size %d, never %t: %d launches, want %d", c.size, c.never, got, c.launches)
		}
	}
}

// What was measured is kept for the next process.
func TestMeasuredOnce(t *testing.T) {
	if racetest.Enabled || host.InstructionSet() == "go" {
		t.Skip("slow")
	}
	product := firstProduct()
	tuningFile(t)
	s, d := gpu(t)
	d.delay = 300 * time.Millisecond // hopeless
	use(t, s)
	product(t)
	measured := d.launches.Load()
	data, _, err := tuning.User()
	if err != nil {
		t.Fatal(err)
	}
	info := s.Info()
	kept := data.Find(&info)
	if kept == nil || len(kept.Crossover) != 1 || !kept.Crossover[0].Never || len(kept.Crossover[0].Points) != 1 {
		t.Fatalf("kept %+v after %d launches", kept, measured)
	}
	use(t, s)
	product(t)
	if more := d.launches.Load() - measured; more != 0 {
		t.Errorf("%d launches after another Use", more)
	}
}

// A shape whose elements cannot be counted is a panic: gonum would take it for a small one.
func TestFits(t *testing.T) {
	const half = 1 << (bits.UintSize / 2)
	for _, c := range []struct {
		rows, cols, ld, n int
		want              bool
	}{
		{0, 3, 3, 0, true},
		{1, 3, 3, 3, true},
		{1, 3, 3, 2, false},
		{3, 2, 4, 10, true},
		{3, 2, 4, 9, false},
		{3, 4, 3, 100, false},
		{1, 0, 0, 10, false},
	} {
		if got := fits(c.rows, c.cols, c.ld, c.n); got != c.want {
			t.Errorf("%dx%d with a leading dimension of %d in %d elements: %t", c.rows, c.cols, c.ld, c.n, got)
		}
	}
	for _, c := range [][2]int{{half + 1, half}, {math.MaxInt, math.MaxInt}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%dx1 with a leading dimension of %d: no panic", c[0], c[1])
				}
			}()
			fits(c[0], 1, c[1], 10)
		}()
	}
}
