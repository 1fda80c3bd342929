package gonumblas

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/lapack/testlapack"
	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

var every = flag.Bool("every", false, "gonum's own tests of SVD, too, which take some seconds")

// gonum's own tests, on what Use installs.
func TestTestlapack(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	s, _ := open(t, "cpu")
	for name, test := range map[string]func(*testing.T, factorizer){
		"getrf": func(t *testing.T, f factorizer) { testlapack.DgetrfTest(t, f) },
		"getrs": func(t *testing.T, f factorizer) { testlapack.DgetrsTest(t, f) },
		"getri": func(t *testing.T, f factorizer) { testlapack.DgetriTest(t, f) },
		"gecon": func(t *testing.T, f factorizer) { testlapack.DgeconTest(t, f) },
		"potrf": func(t *testing.T, f factorizer) { testlapack.DpotrfTest(t, f) },
		"potrs": func(t *testing.T, f factorizer) { testlapack.DpotrsTest(t, f) },
		"potri": func(t *testing.T, f factorizer) { testlapack.DpotriTest(t, f) },
		"pocon": func(t *testing.T, f factorizer) { testlapack.DpoconTest(t, f) },
		"trtri": func(t *testing.T, f factorizer) { testlapack.DtrtriTest(t, f) },
		"trtrs": func(t *testing.T, f factorizer) { testlapack.DtrtrsTest(t, f) },
		"trcon": func(t *testing.T, f factorizer) { testlapack.DtrconTest(t, f) },
		"geqrf": func(t *testing.T, f factorizer) { testlapack.DgeqrfTest(t, f) },
		"gelqf": func(t *testing.T, f factorizer) { testlapack.DgelqfTest(t, f) },
		"orgqr": func(t *testing.T, f factorizer) { testlapack.DorgqrTest(t, f) },
		"orglq": func(t *testing.T, f factorizer) { testlapack.DorglqTest(t, f) },
		"ormqr": func(t *testing.T, f factorizer) { testlapack.DormqrTest(t, f) },
		"ormlq": func(t *testing.T, f factorizer) { testlapack.DormlqTest(t, f) },
		"syev":  func(t *testing.T, f factorizer) { testlapack.DsyevTest(t, f) },
		"gesvd": func(t *testing.T, f factorizer) { testlapack.DgesvdTest(t, f, 1e-12) },
		"gels":  func(t *testing.T, f factorizer) { testlapack.DgelsTest(t, f) }, // gonum's, with our BLAS
	} {
		t.Run(name, func(t *testing.T) {
			if name == "gesvd" && !*every {
				t.Skip("3000 matrices: -every has them")
			}
			use(t, s)
			test(t, factorizer{e: &engine{s: s, info: s.Info()}})
		})
	}
}

// Factorizations give the same bits wherever their products run.
func TestFactorizationsOnDevice(t *testing.T) {
	const n = 90
	a := normalDense(n)
	var want [3]mat.Dense
	factor := func() (r [3]mat.Dense) {
		var lu mat.LU
		lu.Factorize(a)
		if err := lu.SolveTo(&r[0], false, a); err != nil {
			t.Error(err)
		}
		if err := r[1].Inverse(a); err != nil {
			t.Error(err)
		}
		var c mat.Cholesky
		if !c.Factorize(mat.NewSymDense(n, a.RawMatrix().Data)) {
			t.Error("not positive definite")
		}
		var u mat.TriDense
		c.UTo(&u)
		r[2].CloneFrom(&u)
		return r
	}
	for _, spec := range []string{"cpu", "opencl"} {
		s, d := open(t, spec)
		for i, crossover := range []int{math.MaxInt, 0} {
			Use(s, Crossover(crossover))
			d.launches.Store(0)
			got := factor()
			if (d.launches.Load() > 0) != (i == 1) {
				t.Errorf("%s: %d launches with a crossover of %d", spec, d.launches.Load(), crossover)
			}
			for i := range got {
				if spec == "cpu" && crossover > 0 {
					want[i].CloneFrom(&got[i])
				}
				same(t, fmt.Sprint(spec, " result ", i), linalg.FromDense(&got[i]), linalg.FromDense(&want[i]))
			}
			// the device fails somewhere: the same on the host
			if i == 1 {
				d.calls.Store(0)
				d.failAt.Store(7)
				got = factor()
				d.failAt.Store(0)
				same(t, spec+" failing", linalg.FromDense(&got[0]), linalg.FromDense(&want[0]))
				if Err() == nil {
					t.Errorf("%s: no failure is told", spec)
				}
			}
			Restore()
		}
	}
}

// Package mat reports what it does without the drop-in: conditions, determinants, what is singular.
func TestReports(t *testing.T) {
	hilbert := mat.NewDense(8, 8, nil)
	for i := range 8 {
		for j := range 8 {
			hilbert.Set(i, j, 1/float64(i+j+1))
		}
	}
	singular := mat.NewDense(3, 3, []float64{1, 2, 3, 2, 4, 6, 1, 0, 1})
	nan := mat.NewDense(2, 2, []float64{1, math.NaN(), 2, 3})
	type report struct {
		cond, det, cholesky float64
		solve, inverse      string
	}
	reports := func() (r []report) {
		for _, a := range []*mat.Dense{normalDense(40), hilbert, singular, nan} {
			n, _ := a.Dims()
			var lu mat.LU
			var x, inverse mat.Dense
			var c mat.Cholesky
			lu.Factorize(a)
			one := report{
				cond: lu.Cond(), det: lu.Det(), cholesky: -1, solve: fmt.Sprintf("%T", lu.SolveTo(&x, true, a)),
				inverse: fmt.Sprintf("%T", inverse.Inverse(a)),
			}
			if c.Factorize(mat.NewSymDense(n, a.RawMatrix().Data)) {
				one.cholesky = c.Cond()
			}
			r = append(r, one)
		}
		return r
	}
	want := reports()
	s, _ := open(t, "cpu")
	use(t, s)
	alike := func(x, y, within float64) bool {
		return x == y || x != x && y != y ||
			x > 0 == (y > 0) && math.Abs(x) < within*math.Abs(y) && math.Abs(y) < within*math.Abs(x)
	}
	for i, got := range reports() {
		w := want[i]
		if !alike(got.cond, w.cond, 3) || !alike(got.det, w.det, 1+1e-6) || !alike(got.cholesky, w.cholesky, 3) ||
			got.solve != w.solve || got.inverse != w.inverse {
			t.Errorf("matrix %d: %+v, gonum has %+v", i, got, w)
		}
	}
}

// Where the inverse overflows package mat says so, with the drop-in as without.
func TestInverseOverflows(t *testing.T) {
	b := mat.NewDense(2, 1, []float64{1, 2})
	tall := mat.NewDense(3, 2, []float64{1e-320, 0, 0, 1e-320, 0, 0})
	s, _ := open(t, "cpu")
	for _, with := range []bool{false, true} {
		if with {
			use(t, s)
		}
		for _, data := range [][]float64{
			{1e-320, 0, 0, 1e-320}, {3e-309, 1e-309, 1e-309, 2e-309}, {0x1p-1022, 0, 0, 1e-310},
		} {
			a := mat.NewDense(2, 2, data)
			var x, inverse mat.Dense
			var c mat.Cholesky
			var symmetric mat.SymDense
			c.Factorize(mat.NewSymDense(2, data))
			for what, err := range map[string]error{
				"Solve": x.Solve(a, b), "Inverse": inverse.Inverse(a),
				"Cholesky.SolveTo": c.SolveTo(new(mat.Dense), b), "Cholesky.InverseTo": c.InverseTo(&symmetric),
			} {
				if _, ok := err.(mat.Condition); !ok {
					t.Errorf("%s of %g, with the drop-in: %t: %v", what, data, with, err)
				}
			}
		}
		var x mat.Dense
		if err := x.Solve(tall, mat.NewDense(3, 1, []float64{1, 2, 3})); err == nil {
			t.Errorf("QR of %v, with the drop-in: %t: no error", tall, with)
		}
	}
}

// Matrices of large numbers are solved where gonum solves them.
func TestLargeNumbers(t *testing.T) {
	s, _ := open(t, "cpu")
	for _, size := range []float64{math.Ldexp(1, 1015), math.Ldexp(1, 600), 1e-300} {
		a := mat.DenseCopyOf(normalDense(40))
		a.Scale(size, a)
		one := mat.NewDiagDense(3, []float64{1e308, 1e308, 1e308})
		for what, m := range map[string]mat.Matrix{"normal": a, "1e308·I": mat.DenseCopyOf(one)} {
			for _, with := range []bool{false, true} {
				if with {
					Use(s)
				}
				var x, inverse mat.Dense
				if err := cmp.Or(x.Solve(m, m), inverse.Inverse(m)); err != nil {
					t.Errorf("%s times %g, with the drop-in: %t: %v", what, size, with, err)
				}
				Restore()
			}
		}
	}
}

// mat.SVD has a factorization of a matrix of far numbers.
func TestSVDOfFarNumbersByMat(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	for _, a := range []*mat.Dense{
		mat.NewDense(3, 3, []float64{1, -1, 0, 0, 1e9, 1, 0, 0, 1}),
		mat.NewDense(3, 4, []float64{1e9, 1, 0, 0, 1e9, 0, 1, 0, 1e9, 0, 0, 1}),
		mat.NewDense(3, 3, []float64{0, 1e9, 1, 1, 0, 1e9, 1, 0, 0}),
	} {
		var f mat.SVD
		if !f.Factorize(a, mat.SVDThin) || f.Values(nil)[0] != f.Values(nil)[0] {
			t.Errorf("%v has no singular values", a.RawMatrix().Data)
		}
	}
}

// Signs of vectors are gonum's, as docs/migrate.md has it.
func TestSigns(t *testing.T) {
	s, _ := open(t, "cpu")
	for _, shape := range [][2]int{
		{2, 2}, {5, 3}, {3, 5}, {21, 21}, {30, 20}, {20, 30}, {40, 20}, {20, 40}, {100, 32}, {32, 40},
	} {
		m, n := shape[0], shape[1]
		compareSigns(t, s, fmt.Sprint("SVD ", shape), func(i int) mat.Matrix {
			var f mat.SVD
			var u mat.Dense
			f.Factorize(uniformDense(rand.New(rand.NewPCG(97, uint64(i))), m, n), mat.SVDThin)
			f.UTo(&u)
			return &u
		})
	}
	for _, n := range []int{2, 5, 21, 32} {
		compareSigns(t, s, fmt.Sprint("EigenSym ", n), func(i int) mat.Matrix {
			var f mat.EigenSym
			var v mat.Dense
			a := uniformDense(rand.New(rand.NewPCG(98, uint64(i))), n, n)
			f.Factorize(mat.NewSymDense(n, a.RawMatrix().Data), true)
			f.VectorsTo(&v)
			return &v
		})
	}
}

// compareSigns compares the columns that vectors gives with the drop-in and without it.
func compareSigns(t *testing.T, s *linalg.Session, what string, vectors func(i int) mat.Matrix) {
	t.Helper()
	same, all := 0, 0
	for i := 0; all < 1000; i++ {
		want := vectors(i)
		Use(s)
		got := vectors(i)
		Restore()
		rows, cols := want.Dims()
		for j := range cols {
			dot := 0.0
			for r := range rows {
				dot += want.At(r, j) * got.At(r, j)
			}
			if all++; dot > 0 {
				same++
			}
		}
	}
	if float64(same) < 0.99*float64(all) {
		t.Errorf("%s: %d of %d vectors have gonum's sign", what, same, all)
	}
}

// A failure of the iteration is false, as LAPACK has it; other errors panic.
func TestConverged(t *testing.T) {
	err := fmt.Errorf("by test: %w", solve.ErrNotConverged)
	if converged(false, err) || converged(false, nil) || !converged(true, nil) {
		t.Error("what LAPACK tells is wrong")
	}
}

// Sums of rows and columns are gonum's.
func TestNorms(t *testing.T) {
	s, _ := open(t, "cpu")
	f, rng := factorizer{e: &engine{s: s, info: s.Info()}}, rand.New(rand.NewPCG(33, 34))
	for _, shape := range [][2]int{{1, 1}, {3, 9}, {4, 4}, {9, 3}, {22, 22}, {30, 41}} {
		for _, special := range []float64{0, math.NaN(), math.Inf(-1)} {
			m, n := shape[0], shape[1]
			lda := n + 2
			a, work := make([]float64, m*lda), make([]float64, n)
			for i := range a {
				a[i] = rng.NormFloat64()
			}
			a[rng.IntN(n)], a[(m-1)*lda] = special, special
			if special != special && m == 9 {
				a[(m-2)*lda] = math.Inf(1) // which comes before NaN
			}
			if special == 0 {
				a[0] = math.MaxFloat64
			}
			for _, norm := range []lapack.MatrixNorm{
				lapack.MaxAbs, lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius,
			} {
				got, want := f.Dlange(norm, m, n, a, lda, work), f.Implementation.Dlange(norm, m, n, a, lda, work)
				if !sameNumber(got, want) {
					t.Errorf("Dlange %c of %dx%d: %v, want %v", norm, m, n, got, want)
				}
				for _, ul := range []blas.Uplo{blas.Lower, blas.Upper} {
					k := min(m, n)
					got, want := f.Dlansy(norm, ul, k, a, lda, work), f.Implementation.Dlansy(norm, ul, k, a, lda, work)
					if !sameNumber(got, want) {
						t.Errorf("Dlansy %c %c of %d: %v, want %v", norm, ul, k, got, want)
					}
				}
			}
		}
	}
}

func sameNumber(x, y float64) bool { return x == y || x != x && y != y }

// mat.SVD has gonum's values, whichever vectors are asked for, and vectors that give the matrix.
func TestSVDByMat(t *testing.T) {
	s, _ := open(t, "cpu")
	for _, shape := range [][2]int{{1, 1}, {6, 4}, {4, 6}, {40, 20}, {20, 40}, {33, 33}} {
		m, n := shape[0], shape[1]
		k := min(m, n)
		a := mat.DenseCopyOf(normalDense(40).Slice(0, m, 0, n))
		var want mat.SVD
		want.Factorize(a, mat.SVDNone)
		Use(s)
		for _, kind := range []mat.SVDKind{mat.SVDNone, mat.SVDThinU, mat.SVDFullV, mat.SVDThin, mat.SVDFull} {
			var got mat.SVD
			if !got.Factorize(a, kind) {
				t.Fatalf("%v: no factorization", shape)
			}
			for i, v := range got.Values(nil) {
				if w := want.Values(nil)[i]; math.Abs(v-w) > 1e-13*want.Values(nil)[0] {
					t.Errorf("%v, %v: value %d is %v, gonum has %v", shape, kind, i, v, w)
				}
			}
			if kind != mat.SVDThin && kind != mat.SVDFull {
				continue
			}
			var u, v, us, x mat.Dense
			got.UTo(&u)
			got.VTo(&v)
			us.Mul(u.Slice(0, m, 0, k), mat.NewDiagDense(k, got.Values(nil)))
			x.Mul(&us, v.Slice(0, n, 0, k).T())
			if !mat.EqualApprox(&x, a, 1e-12*want.Values(nil)[0]) {
				t.Errorf("%v, %v: the factors do not give the matrix", shape, kind)
			}
		}
		Restore()
	}
}

// Bad arguments panic with gonum's own values, and what has no elements returns as gonum does.
func TestLapackArguments(t *testing.T) {
	s, _ := open(t, "cpu")
	f := factorizer{e: &engine{s: s, info: s.Info()}}
	x, w, p := make([]float64, 16), make([]float64, 16), make([]int, 4)
	for name, call := range map[string]func(l lapack.Float64) any{
		"getrf of -1":        func(l lapack.Float64) any { return l.Dgetrf(-1, 2, x, 2, p) },
		"getrf, short":       func(l lapack.Float64) any { return l.Dgetrf(4, 4, x[:15], 4, p) },
		"getrf, pivots":      func(l lapack.Float64) any { return l.Dgetrf(2, 2, x, 4, p) },
		"getrf of none":      func(l lapack.Float64) any { return l.Dgetrf(0, 2, nil, 2, nil) },
		"getrs, stride":      func(l lapack.Float64) any { l.Dgetrs('N', 2, 3, x, 4, p[:2], w, 2); return nil },
		"getrs, trans":       func(l lapack.Float64) any { l.Dgetrs('X', 2, 2, x, 4, p[:2], w, 2); return nil },
		"getri, work":        func(l lapack.Float64) any { return l.Dgetri(4, x, 4, p, w, 3) },
		"getri, query":       func(l lapack.Float64) any { return l.Dgetri(4, x, 4, p, w, -1) },
		"gecon, norm":        func(l lapack.Float64) any { return l.Dgecon('F', 4, x, 4, 1, w, p) },
		"gecon, below 0":     func(l lapack.Float64) any { return l.Dgecon('O', 4, x, 4, -1, w, p) },
		"gecon, none":        func(l lapack.Float64) any { return l.Dgecon('O', 0, nil, 1, 1, nil, nil) },
		"gecon, NaN":         func(l lapack.Float64) any { return l.Dgecon('O', 4, x, 4, math.NaN(), w, p) == 0 },
		"potrf, uplo":        func(l lapack.Float64) any { return l.Dpotrf('X', 2, x, 2) },
		"potrf, zeros":       func(l lapack.Float64) any { return l.Dpotrf('U', 4, x, 4) },
		"potrs, short":       func(l lapack.Float64) any { l.Dpotrs('U', 4, 4, x, 4, w[:15], 4); return nil },
		"potri, singular":    func(l lapack.Float64) any { return l.Dpotri('L', 4, x, 4) },
		"pocon, work":        func(l lapack.Float64) any { return l.Dpocon('L', 4, x, 4, 1, w[:11], p) },
		"trtri, singular":    func(l lapack.Float64) any { return l.Dtrtri('L', 'N', 4, x, 4) },
		"trtri, diag":        func(l lapack.Float64) any { return l.Dtrtri('L', 'X', 4, x, 4) },
		"trtrs, singular":    func(l lapack.Float64) any { return l.Dtrtrs('L', 'N', 'N', 4, 1, x, 4, w, 1) },
		"trtrs, right sides": func(l lapack.Float64) any { return l.Dtrtrs('L', 'N', 'U', 4, -1, x, 4, w, 1) },
		"geqrf, tau":         func(l lapack.Float64) any { l.Dgeqrf(4, 4, x, 4, w[:3], w, 16); return nil },
		"geqrf of none":      func(l lapack.Float64) any { l.Dgeqrf(0, 4, nil, 4, nil, w, 16); return nil },
		"gelqf, work":        func(l lapack.Float64) any { l.Dgelqf(4, 4, x, 4, w, w, 3); return nil },
		"orgqr, wide":        func(l lapack.Float64) any { l.Dorgqr(2, 4, 2, x, 4, w[:2], w, 16); return nil },
		"orglq, k":           func(l lapack.Float64) any { l.Dorglq(2, 4, 3, x, 4, w[:3], w, 16); return nil },
		"ormqr, side": func(l lapack.Float64) any {
			l.Dormqr('X', 'N', 4, 4, 4, x, 4, w[:4], x, 4, w, 16)
			return nil
		},
		"ormqr, trans": func(l lapack.Float64) any {
			l.Dormqr('L', 'C', 4, 4, 4, x, 4, w[:4], x, 4, w, 16)
			return nil
		},
		"ormlq, k": func(l lapack.Float64) any {
			l.Dormlq('R', 'T', 4, 2, 4, x, 4, w[:4], x, 4, w, 16)
			return nil
		},
		"trcon, zeros": func(l lapack.Float64) any { return l.Dtrcon('O', 'L', 'N', 4, x, 4, w, p) },
	} {
		outcome := func(l lapack.Float64) (r any) {
			defer func() {
				if v := recover(); v != nil {
					r = v
				}
			}()
			return call(l)
		}
		if got, want := outcome(f), outcome(gonum.Implementation{}); got != want {
			t.Errorf("%s: %v, gonum has %v", name, got, want)
		}
		clear(x)
	}
}

// Nothing outside what LAPACK names is written.
func TestLapackGuards(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	rng := rand.New(rand.NewPCG(31, 32))
	for _, n := range []int{1, 7, 33, 70} {
		for _, ul := range uplos {
			a := uniform[float64](rng, n, n, 3)
			for i := range n {
				a.Set(i, i, float64(n))
				for j := range n {
					if !inTriangle(ul, i, j) {
						a.Set(i, j, guard)
					}
				}
			}
			tri, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: a.Stride, Data: a.Data, Uplo: ul})
			if !ok {
				t.Fatal("not positive definite")
			}
			b := uniform[float64](rng, n, 5, 2)
			lapack64.Potrs(tri, blas64.General{Rows: n, Cols: 5, Stride: b.Stride, Data: b.Data})
			if _, ok := lapack64.Potri(tri); !ok || !lapack64.Trtri(tri) {
				t.Fatal("singular")
			}
			tri.Diag = blas.Unit
			lapack64.Trtri(tri)
			for i := range n {
				for j := range n {
					if !inTriangle(ul, i, j) && a.At(i, j) != guard {
						t.Fatalf("%c %d: element (%d, %d) was written", ul, n, i, j)
					}
				}
			}
			for i, v := range a.Data {
				if i%a.Stride >= n && v != guard {
					t.Fatalf("%c %d: the gap after row %d was written", ul, n, i/a.Stride)
				}
			}
		}
	}
}

// Eigenvalues alone leave the other triangle as it is, also where there are none.
func TestSyevGuards(t *testing.T) {
	s, _ := open(t, "cpu")
	f := factorizer{e: &engine{s: s, info: s.Info()}}
	for _, n := range []int{2, 3, 40} {
		for _, ul := range uplos {
			a := uniform[float64](rand.New(rand.NewPCG(35, 36)), n, n, 1)
			for i := range n {
				for j := range n {
					if !inTriangle(ul, i, j) {
						a.Set(i, j, guard)
					}
				}
			}
			a.Set(0, 0, math.NaN())
			if f.Dsyev(lapack.EVNone, ul, n, a.Data, a.Stride, make([]float64, n), make([]float64, 3*n), 3*n) {
				t.Errorf("%c %d: NaN has eigenvalues", ul, n)
			}
			for i := range n {
				for j := range n {
					if !inTriangle(ul, i, j) && a.At(i, j) != guard {
						t.Fatalf("%c %d: element (%d, %d) was written", ul, n, i, j)
					}
				}
			}
		}
	}
}

// QR and LQ of NaN or infinities are singular to who solves by them.
func TestNaNIsSingular(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for at := range 3 {
			a := normalDense(7).Slice(0, 7, 0, 3).(*mat.Dense)
			a.Set(at, at, bad)
			var x mat.Dense
			var c mat.Condition
			if err := x.Solve(a, normalDense(7)); !errors.As(err, &c) {
				t.Errorf("tall, %v in column %d: %v", bad, at, err)
			}
			x.Reset()
			if err := x.Solve(a.T(), normalDense(3)); !errors.As(err, &c) {
				t.Errorf("wide, %v in row %d: %v", bad, at, err)
			}
		}
	}
}
