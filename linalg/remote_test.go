package linalg_test

import (
	"fmt"
	"testing"

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

func testQROnDevice[T linalg.Float](t *testing.T, s *linalg.Session, kind string, m, n int) {
	t.Helper()
	a := awkwardMatrix[T](kind, m, n)
	want, tau := a.Packed(), make([]T, min(m, n))
	noError(t, solve.Solver[T]{}.QR(m, n, want.Data, n, tau))
	f, err := linalg.FactorQRContext(t.Context(), s, a)
	noError(t, err)
	name := fmt.Sprintf("QR of %s %s", kind, a)
	same(t, name, f.Packed(), want)
	same(t, name+": tau", linalg.NewMatrix(1, len(tau), f.Tau()), linalg.NewMatrix(1, len(tau), tau))
	at, err := linalg.Transpose(a)
	noError(t, err)
	lq, err := linalg.FactorLQContext(t.Context(), s, at)
	noError(t, err)
	l, err := linalg.Transpose(f.R())
	noError(t, err)
	same(t, "LQ, as "+name, lq.L(), l)
}
