package solve

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/internal/host"
)

// bidiagonalReference is [bidiagonal.reduce] by the definition.
func bidiagonalReference(m, n int, a []float64, lda int, d, e, tauQ, tauP []float64) {
	var v, x, y, u [][]float64 // of the panel
	at := func(i, j, pairs int, half bool) float64 {
		acc := a[i*lda+j]
		for r := range pairs {
			acc = math.FMA(-v[r][i], y[r][j], acc)
			if r < pairs-1 || !half {
				acc = math.FMA(-x[r][i], u[r][j], acc)
			}
		}
		return acc
	}
	chain := func(lo int, p, q []float64) (sum float64) {
		for i := lo; i < len(p); i++ {
			sum = math.FMA(p[i], q[i], sum)
		}
		return sum
	}
	for c := range n {
		if c%qrPanel == 0 {
			for i := c; i < m && c > 0; i++ {
				for j := c; j < n; j++ {
					a[i*lda+j] = at(i, j, len(v), false)
				}
			}
			v, x, y, u = nil, nil, nil, nil
		}
		vc, xc, yc, uc := make([]float64, m), make([]float64, m), make([]float64, n), make([]float64, n)
		for i := c; i < m; i++ {
			vc[i] = at(i, c, len(v), false)
		}
		d[c], tauQ[c] = householder(vc[c:])
		for j := c + 1; j < n && tauQ[c] != 0; j++ {
			for i := c; i < m; i++ {
				yc[j] = math.FMA(a[i*lda+j], vc[i], yc[j])
			}
			for r := range v {
				yc[j] = math.FMA(-chain(c, v[r], vc), y[r][j], yc[j])
				yc[j] = math.FMA(-chain(c, x[r], vc), u[r][j], yc[j])
			}
			yc[j] *= tauQ[c]
		}
		v, x, y, u = append(v, vc), append(x, xc), append(y, yc), append(u, uc)
		if c == n-1 {
			break
		}
		for j := c + 1; j < n; j++ {
			uc[j] = at(c, j, len(v), true)
		}
		e[c], tauP[c] = householder(uc[c+1:])
		for i := c + 1; i < m && tauP[c] != 0; i++ {
			for j := c + 1; j < n; j++ {
				xc[i] = math.FMA(a[i*lda+j], uc[j], xc[i])
			}
			for r := range v {
				xc[i] = math.FMA(-chain(c+1, y[r], uc), v[r][i], xc[i])
				if r < len(v)-1 {
					xc[i] = math.FMA(-chain(c+1, u[r], uc), x[r][i], xc[i])
				}
			}
			xc[i] *= tauP[c]
		}
	}
}

func TestBidiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for i, s := range [][2]int{{1, 1}, {5, 1}, {3, 3}, {33, 33}, {40, 33}, {70, 66}} {
		for _, kind := range []string{"random", "ties", "graded"} {
			m, n := s[0], s[1]
			ld := n + i%3
			a := matrix[float64](rng, kind, m, n, ld)
			b := bidiagonal{
				m: m, n: n, lda: ld, a: slices.Clone(a), p: make([]float64, n*n), d: make([]float64, n),
				e: make([]float64, n), tauQ: make([]float64, n), tauP: make([]float64, n),
			}
			d, e, tauQ, tauP := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			bidiagonalReference(m, n, a, ld, d, e, tauQ, tauP)
			if err := b.reduce(); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s %dx%d", kind, m, n)
			same(t, what+" diagonal", b.d, d)
			same(t, what+" above it", b.e, e)
			same(t, what+" Q", b.tauQ, tauQ)
			same(t, what+" P", b.tauP, tauP)
		}
	}
}

// Values do not depend on the vectors that are asked for, nor vectors on how many; products give A.
func TestSVD(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, s := range [][2]int{{1, 1}, {1, 4}, {4, 1}, {20, 17}, {17, 20}, {40, 20}, {20, 40}, {70, 70}} {
		m, n := s[0], s[1]
		k := min(m, n)
		a := matrix[float64](rng, "random", m, n, n+1)
		thin := SingularVectors{U: make([]float64, m*k), Cols: k, LdU: k, VT: make([]float64, k*n), Rows: k, LdVT: n}
		whole := SingularVectors{U: make([]float64, m*m), Cols: m, LdU: m, VT: make([]float64, n*n), Rows: n, LdVT: n}
		var sv [3][]float64
		for i, v := range []SingularVectors{{}, thin, whole} {
			sv[i] = make([]float64, k)
			if ok, err := SVD(Solver[float64]{}, m, n, slices.Clone(a), n+1, sv[i], v); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		same(t, "values of thin", sv[1], sv[0])
		same(t, "values of all", sv[2], sv[0])
		us := make([]float64, m*k)
		for i := range m {
			same(t, "U", thin.U[i*k:][:k], whole.U[i*m:][:k])
			for j := range k {
				us[i*k+j] = thin.U[i*k+j] * sv[0][j]
			}
		}
		same(t, "VT", thin.VT, whole.VT[:k*n])
		host.SubMul(m, n, k, us, k, thin.VT, n, a, n+1)
		for i := range m {
			for j, v := range a[i*(n+1):][:n] {
				if !(math.Abs(v) < 1e-13*sv[0][0]) {
					t.Fatalf("%v: element (%d, %d) is off by %v", s, i, j, v)
				}
			}
		}
		for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
			a[(m-1)*(n+1)+n-1] = bad
			ok, err := SVD(Solver[float64]{}, m, n, slices.Clone(a), n+1, sv[0], thin)
			if ok || err != nil || sv[0][0] == sv[0][0] || thin.U[0] == thin.U[0] || thin.VT[0] == thin.VT[0] {
				t.Fatalf("%v with %v: %v, %v", s, bad, ok, err)
			}
		}
	}
}

// The iteration looks whether it is to end.
func TestSVDEnds(t *testing.T) {
	const n = 300
	stop, looks := errors.New("stop"), 0
	s := Solver[float64]{AtOnce: func(m, n, k int) (bool, error) {
		if m == 0 {
			looks++
		}
		if looks == 2 {
			return false, stop
		}
		return true, nil
	}}
	a := matrix[float64](rand.New(rand.NewPCG(35, 36)), "random", n, n, n)
	u, v := make([]float64, n*n), make([]float64, n*n)
	_, err := SVD(s, n, n, a, n, make([]float64, n), SingularVectors{U: u, Cols: n, LdU: n, VT: v, Rows: n, LdVT: n})
	if !errors.Is(err, stop) {
		t.Errorf("%v after %d looks", err, looks)
	}
}
