package f32

import (
	"fmt"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Apply sets dst[i] to f(src[i]) for all i: Apply(Exp, y, x). Long slices are spread over the
// cores, so that f must be fit for several goroutines, as all functions of this package are; those
// of one argument, but for Round and the like, have vector code with the same bits (amd64 with
// AVX2). dst may be src, but must not overlap it otherwise. Apply panics where their lengths
// differ.
func Apply(f func(float32) float32, dst, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("f32: Apply from %d numbers to %d", len(src), len(dst)))
	}
	const part = 1 << 11 // some microseconds
	vector := vectorOf(f)
	parallel.Do((len(src)+part-1)/part, func(i int) {
		from, to := i*part, min(len(src), (i+1)*part)
		apply(f, vector, dst[from:to], src[from:to])
	})
}

// apply is Apply in one goroutine. What the vector function, if there is one, leaves is done four
// by four.
func apply(f func(float32) float32, vector func(dst, src *float32, n int) int, dst, src []float32) {
	for len(src) > 0 {
		n := len(src)
		if vector != nil {
			done := vector(&dst[0], &src[0], n)
			dst, src = dst[done:], src[done:]
			n = min(4, len(src))
		}
		for i, x := range src[:n] {
			dst[i] = f(x)
		}
		dst, src = dst[n:], src[n:]
	}
}
