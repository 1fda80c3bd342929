package main

// Options by the formula of Black and Scholes (1973): what the right is worth to buy a share, or to
// sell it, at the strike price when some years are over. Each option is a work-item's own. The
// elementary functions are those of rmath, so that a portfolio is worth the same to the last bit on
// every device.

import (
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

// An option is the price of a share, and when and for how much it may be bought or sold.
type option struct{ price, strike, years float32 }

// normal is the standard normal distribution, with an error below 7.5e-8: formula 26.2.17 of
// Abramowitz and Stegun, Handbook of Mathematical Functions, 1964.
func normal(x float32) float32 {
	const density = 0.3989422804 // at 0: 1 / sqrt(2*pi)
	a := float32(math.Abs(float64(x)))
	t := 1 / gpu.FMA(0.2316419, a, 1)
	p := gpu.FMA(t, 1.330274429, -1.821255978)
	p = gpu.FMA(t, p, 1.781477937)
	p = gpu.FMA(t, p, -0.356563782)
	p = gpu.FMA(t, p, 0.319381530)
	tail := density * f32.Exp(-a*a/2) * (t * p)
	if x < 0 {
		return tail
	}
	return 1 - tail
}

// blackScholes makes calls[i] and puts[i] what the right to buy and to sell by options[i] is worth.
//
//tandem:kernel
func blackScholes(it gpu.Item, calls, puts []float32, options []option, rate, volatility float32) {
	for i := it.Global(0); i < len(options); i += it.GlobalSize(0) {
		o := options[i]
		spread := volatility * float32(math.Sqrt(float64(o.years)))
		drift := gpu.FMA(volatility, volatility/2, rate)
		d1 := gpu.FMA(drift, o.years, f32.Log(o.price/o.strike)) / spread
		d2 := d1 - spread
		later := o.strike * f32.Exp(-rate*o.years) // the strike price, as it is worth today
		calls[i] = gpu.FMA(o.price, normal(d1), -(later * normal(d2)))
		puts[i] = gpu.FMA(later, normal(-d2), -(o.price * normal(-d1)))
	}
}

// worth is the calls, in its first row, and the puts of options.
func worth(s *linalg.Session, options *linalg.Array[option], rate, volatility float32) (*linalg.Array[float32], error) {
	_, n := options.Dims()
	w, err := linalg.NewArray[float32](s, 2, n)
	if err != nil {
		return nil, err
	}
	calls, puts := w.Slice(0, 1, 0, n), w.Slice(1, 2, 0, n)
	return w, launchBlackScholes(s, backend.Grid1(8, 64), calls, puts, options, rate, volatility)
}
