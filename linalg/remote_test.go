package linalg_test

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/internal/solve"
	"github.com/tandem-gpu/tandem/linalg"
)

// QR of a matrix in a device's memory has the bits of the host's, for any shape, and whatever the
// elements are.
func TestQROnDevice(t *testing.T) {
	defer linalg.FactorOnDevice()()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		for _, shape := range [][2]int{
			{1, 1}, {1, 5}, {5, 1}, {32, 32}, {33, 32}, {32, 33}, {20, 50}, {50, 20}, {65, 66}, {70, 40}, {40, 110},
		} {
			for _, kind := range awkward {
				testQROnDevice[float64](t, s, kind, shape[0], shape[1])
				testQROnDevice[float32](t, s, kind, shape[0], shape[1])
			}
		}
		testQROnDevice[float64](t, s, "random", solve.PieceRows+37, 34) // two chains for each sum
		if s.Info().Driver != "cudasim" {
			testQROnDevice[float32](t, s, "wild", 2*solve.PieceRows+1, 33)
			testQROnDevice[float64](t, s, "random", 300, 260)
		}
	})
}

// Neither queue goes ahead of what it needs of the other.
func TestQROnLateDevice(t *testing.T) {
	defer linalg.FactorOnDevice()()
	for _, writes := range []bool{false, true} {
		s := openLate(t, writes)
		testQROnDevice[float64](t, s, "random", 150, 140)
		testQROnDevice[float32](t, s, "random", 100, 210)
	}
}

func testQROnDevice[T linalg.Float](t *testing.T, s *linalg.Session, kind string, m, n int) {
	t.Helper()
	a := awkwardMatrix[T](kind, m, n)
	want, tau := a.Packed(), make([]T, min(m, n))
	noError(t, solve.Solver[T]{}.QR(m, n, want.Data, n, tau))
	f, err := linalg.FactorQR(a, linalg.On(s), linalg.WithContext(t.Context()))
	noError(t, err)
	name := fmt.Sprintf("QR of %s %s", kind, a)
	same(t, name, f.Packed(), want)
	same(t, name+": tau", linalg.NewMatrix(1, len(tau), f.Tau()), linalg.NewMatrix(1, len(tau), tau))
	testQOnDevice(t, name, f, want, tau)
	at, err := linalg.Transpose(a)
	noError(t, err)
	lq, err := linalg.FactorLQ(at, linalg.On(s), linalg.WithContext(t.Context()))
	noError(t, err)
	l, err := linalg.Transpose(f.R())
	noError(t, err)
	same(t, "LQ, as "+name, lq.L(), l)
}

// testQOnDevice tests f's Q, and products with it, which the reflectors make.
func testQOnDevice[T linalg.Float](t *testing.T, name string, f *linalg.QR[T], packed linalg.Matrix[T], tau []T) {
	t.Helper()
	m, k := packed.Rows, len(tau)
	want := linalg.NewMatrix[T](m, k, nil)
	for i := range m {
		copy(want.Row(i), packed.Row(i))
	}
	noError(t, solve.Solver[T]{}.FormQ(m, k, k, want.Data, k, tau))
	q, err := f.Q()
	noError(t, err)
	same(t, "Q of "+name, q, want)
	b := awkwardMatrix[T]("wild", m, 7)
	for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		want, turn := b.Packed(), trans == blas.Trans
		noError(t, solve.Solver[T]{}.ApplyQ(turn, m, 7, k, packed.Data, packed.Stride, tau, want.Data, 7))
		got, err := f.MulQ(trans, b)
		noError(t, err)
		same(t, fmt.Sprintf("op(Q) times a matrix, %c, for %s", trans, name), got, want)
	}
}
