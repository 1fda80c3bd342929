package main

import (
	"fmt"
	"io"
	"math"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// montecarlo is what an option gains in n futures.
func montecarlo(w io.Writer, s *linalg.Session, n int) result {
	gains := np.Normal[float32](s, &array.Stream{Seed: 6}, 1, n)
	check(launchGain(s, gains, gains))
	deviation := np.Div(np.Std(gains, 0), math.Sqrt(float64(n)))
	fmt.Fprintf(w, "option: %.4f +- %.4f\n", np.Mean(gains), deviation)
	return gains
}

// gain is what an option to buy at 105 in a year gains then, where the price of 100 grows with the
// interest rate and moves by z standard deviations.
//
//tandem:map
func gain(z float32) float32 {
	const rate, volatility = 0.05, 0.2
	return max(100*gpu.Exp(rate-volatility*volatility/2+volatility*z)-105, 0)
}
