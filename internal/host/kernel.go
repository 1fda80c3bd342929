package host

//go:generate go run ./gen

// A microKernel computes a tile of C of rows by cols by kc steps of its chains. They start from what C holds, or from +0 where zero is
// set. Element (i, k) of A is a[i*aRow+k*aStep], row k of B is the cols elements from b[k*bStep], and C's rows are ldc elements apart. So it
// takes operands that are packed into panels, and operands where they are. kc is at least 1.
type microKernel[T Element] struct {
	name       string // instruction set, for tests
	rows, cols int
	run        func(kc int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc int, zero bool)

	// Block sizes. A block of B, kc by nc, stays in the last-level cache; one of A, mc by kc, in the second level;
	// one panel of B in the first. mc is a multiple of rows, nc of cols.
	kc, mc, nc int
}

// The kernels of this processor, best first; the portable ones are last.
var (
	kernelsF32 = append(nativeF32(), &microKernel[float32]{"go", 2, 4, portableF32, 256, 64, 1024})
	kernelsF64 = append(nativeF64(), &microKernel[float64]{"go", 2, 4, portableF64, 256, 64, 1024})
	kernelsI32 = append(nativeI32(), &microKernel[int32]{"go", 2, 4, portableI32, 256, 64, 1024})
)

// kernels is the list for T.
func kernels[T Element]() []*microKernel[T] {
	var list any
	switch any(T(0)).(type) {
	case float32:
		list = &kernelsF32
	case float64:
		list = &kernelsF64
	case int32:
		list = &kernelsI32
	}
	return *list.(*[]*microKernel[T])
}

// InstructionSet names what Gemm runs on here: "avx512", "avx2", "neon", or "go" where there is no assembly for the processor.
func InstructionSet() string { return kernelsF32[0].name }
