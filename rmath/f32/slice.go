package f32

import (
	"fmt"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Apply sets dst[i] to f(src[i]) for all i: Apply(Exp, y, x). Long slices are spread over the
// cores, so that f must be fit for several goroutines, as all functions of this package are. dst
// may be src, but must not overlap it otherwise. Apply panics where their lengths differ. Package
// array's functions have the same bits, and vector code on the cpu device.
func Apply(f func(float32) float32, dst, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("f32: Apply from %d numbers to %d", len(src), len(dst)))
	}
	const part = 1 << 11 // some microseconds
	parallel.Do((len(src)+part-1)/part, func(i int) {
		to := min(len(src), (i+1)*part)
		for k := i * part; k < to; k++ {
			dst[k] = f(src[k])
		}
	})
}
