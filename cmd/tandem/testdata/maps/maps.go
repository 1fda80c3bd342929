// Package maps has functions for the test of "tandem map".
package maps

import "github.com/tandem-gpu/tandem/gpu"

// logit is a log of odds.
//
//tandem:map float32 float64
func logit[T gpu.Float](p T) T { return gpu.Log(p) - gpu.Log1p(-p) }

// bend is a times x up to n, and half as steep from there on.
//
//tandem:map
func bend(x float64, n int32) float64 {
	if x > float64(n) {
		return float64(n) + (x-float64(n))/2
	}
	return x
}

//tandem:map
func above(x, y float32) bool { return x > y }

func plain(x float32) float32 { return x }
