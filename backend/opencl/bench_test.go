package opencl

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// A small launch: what the driver and OpenCL cost beyond the kernel.
func BenchmarkLaunch(b *testing.B) {
	need(b)
	d := openAgain(b)
	q, buf := newQueue(b, d), alloc(b, d, 4096)
	k := must[*backend.Kernel](b)(d.Compile(incSource))
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Launch(k, backend.Grid1(1, 1), backend.Buf(buf), backend.Int32(1), backend.Int32(1)); err != nil {
			b.Fatal(err)
		}
	}
	check(b, q.Wait())
}
