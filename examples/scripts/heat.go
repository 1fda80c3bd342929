package main

import (
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/linalg"
)

// heat lets heat flow for 200 steps into a cold plate of n by n points from its upper edge, between
// two arrays that it uses again and again.
func heat(w io.Writer, s *linalg.Session, n int) result {
	t := np.Zeros[float32](s, n, n)
	check(array.Fill(np.Rows(t, 0, 1), 100))
	next := np.Copy(t)
	for range 200 {
		up, down, middle := t.Slice(0, n-2, 1, n-1), t.Slice(2, n, 1, n-1), t.Slice(1, n-1, 1, n-1)
		left, right, to := t.Slice(1, n-1, 0, n-2), t.Slice(1, n-1, 2, n), next.Slice(1, n-1, 1, n-1)
		check(array.Add(to, up, down), launchFlow(s, to, to, left, right, middle))
		t, next = next, t
	}
	fmt.Fprintf(w, "mean: %.4f\n", np.Mean(t))
	return t
}

// flow is a point's temperature a step later; vertical is the sum of the points above and below.
//
//tandem:map
func flow(vertical, left, right, middle float32) float32 {
	return middle + 0.2*(vertical+left+right-4*middle)
}
