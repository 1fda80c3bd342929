//go:build !race && !tandem_nolibs

package dl

import "testing"

func TestCallAllocatesNothing(t *testing.T) {
	abs, err := libc(t).Symbol("abs")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { Call(abs, 7, 1, 2, 3, 4, 5, 6, 7, 8) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkCall(b *testing.B) {
	abs, err := libc(b).Symbol("abs")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Call(abs, 7)
	}
}
