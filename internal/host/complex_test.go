package host

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// Complex products whose factors are made where they are packed have the bits of those whose
// factors are made in memory.
func TestComplexProduct(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	force(t, "float32", &kernelsF32, complexGemms[float32])
	force(t, "float64", &kernelsF64, complexGemms[float64])
}

func complexGemms[T Float](t *testing.T) {
	list := kernels[T]()
	kern := list[0]
	defer func() { list[0] = kern }()
	small := *kern // all loops turn often
	small.kc, small.mc, small.nc = 16, 3*small.rows, 2*small.cols
	list[0] = &small
	rows, cols := kern.rows, kern.cols
	for _, in := range inputs[T]() {
		checkComplexGemm(t, in, 4*rows+1, 2*cols+1, 27)
		checkComplexGemm(t, in, 2, 3*cols+1, 21)
	}
	in := inputs[T]()[0]
	checkComplexGemm(t, in, 97, 61, 63) // beyond SerialWork
	checkComplexGemm(t, in, 1, cols, 40)
	checkComplexGemm(t, in, 90, 2, 40)
	checkComplexGemm(t, in, 130, 5, slimSteps)
	list[0] = kern
	checkComplexGemm(t, in, rows+1, cols+1, kern.kc/2+1)
}

// checkComplexGemm compares [ComplexProduct.Compute] of all op(A) and op(B) with that by
// [GemmReference].
func checkComplexGemm[T Float](t *testing.T, in input[T], m, n, k int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(m*1000+n), uint64(k)))
	reference := func(m, n, k int, s T, x []T, ldx int, y []T, ldy int, b T, z []T, ldz int) error {
		GemmReference(m, n, k, s, x, ldx, y, ldy, b, z, ldz)
		return nil
	}
	for i := range 9 {
		transA, conjA, transB, conjB := i%3 > 0, i%3 > 1, i/3 > 0, i/3 > 1
		a, b, c := in.matrix(rng, m, 2*k, 2), in.matrix(rng, k, 2*n, 4), in.matrix(rng, m, 2*n, 2)
		if transA {
			a = in.matrix(rng, k, 2*m, 2)
		}
		if transB {
			b = in.matrix(rng, n, 2*k, 4)
		}
		alpha, beta := [2]T{1}, [2]T{}
		if i%2 > 0 {
			alpha, beta = [2]T{-1.5, T(i % 4 / 2)}, [2]T{3}
		}
		want := c.clone()
		for _, p := range []struct {
			product RealProduct[T]
			c       matrix[T]
		}{{reference, want}, {nil, c}} {
			q := ComplexProduct[T]{
				M: m, N: n, K: k, Alpha: alpha, Beta: beta,
				A: ComplexMatrix[T]{a.data, a.ld / 2, transA, conjA},
				B: ComplexMatrix[T]{b.data, b.ld / 2, transB, conjB},
				C: p.c.data, StrideC: p.c.ld / 2,
			}
			if err := q.Compute(p.product); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.diff(want); err != nil {
			t.Fatalf("%s, %dx%dx%d, op(A) %v %v, op(B) %v %v, alpha %v, beta %v: %v",
				in.name, m, n, k, transA, conjA, transB, conjB, alpha, beta, err)
		}
	}
}

// Without products alpha counts for nothing: C times 1 stays as it is, -0 and infinities too.
func TestComplexWithoutProducts(t *testing.T) {
	for _, part := range []Part{Whole, LowerTriangle, UpperTriangle} {
		c := []float64{math.Copysign(0, -1), math.Inf(1), 1, 2, 3, 4, math.Inf(-1), 5}
		want := fmt.Sprint(c) // -0 too
		p := ComplexProduct[float64]{M: 2, N: 2, Alpha: [2]float64{1, 2}, Beta: [2]float64{1}, C: c, StrideC: 2}
		p.Part = part
		if err := p.Compute(nil); err != nil || fmt.Sprint(c) != want {
			t.Errorf("part %v: %v, want %s; %v", part, c, want, err)
		}
	}
}
