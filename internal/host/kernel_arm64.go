//go:build !purego

package host

//go:noescape
func gemmF32NEON(kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool)

//go:noescape
func gemmF64NEON(kc int, a *float64, aRow, aStep int, b *float64, bStep int, c *float64, ldc int, zero bool)

//go:noescape
func gemmI32NEON(kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

// Every arm64 processor that Go runs on has these instructions.

func nativeF32() []*microKernel[float32] {
	return []*microKernel[float32]{withEdges("neon", 6, 16, gemmF32NEON, 256, 1536, 480)}
}

func nativeF64() []*microKernel[float64] {
	return []*microKernel[float64]{withEdges("neon", 6, 8, gemmF64NEON, 256, 1536, 240)}
}

func nativeI32() []*microKernel[int32] {
	return []*microKernel[int32]{withEdges("neon", 6, 16, gemmI32NEON, 256, 1536, 480)}
}
