package bench

import (
	"math"
	"slices"
)

// A Summary is the order statistics of a sample.
type Summary struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarize is the median and the extremes of samples; of an even number of samples the median is
// the mean of the middle two. Without samples all are NaN.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{math.NaN(), math.NaN(), math.NaN()}
	}
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return Summary{Median: s[(n-1)/2]/2 + s[n/2]/2, Min: s[0], Max: s[n-1]}
}

// quartiles is how far apart the quartiles of samples lie, as a fraction of the median.
func quartiles(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return (s[3*n/4] - s[n/4]) / s[n/2]
}
