//go:build !purego

package host

import "golang.org/x/sys/cpu"

//go:noescape
func gemmF32NEON(kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool)

//go:noescape
func gemmF64NEON(kc int, a *float64, aRow, aStep int, b *float64, bStep int, c *float64, ldc int, zero bool)

//go:noescape
func gemmI32NEON(kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func gemmI8SDOT(kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

//go:noescape
func gemmU8USDOT(kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool)

// Every arm64 processor that Go runs on has these instructions, but those of nativeBytes.

func nativeF32() []*microKernel[float32] {
	return []*microKernel[float32]{withEdges("neon", 6, 16, gemmF32NEON, 256, 1536, 480)}
}

func nativeF64() []*microKernel[float64] {
	return []*microKernel[float64]{withEdges("neon", 6, 8, gemmF64NEON, 256, 1536, 240)}
}

func nativeI32() []*microKernel[int32] {
	return []*microKernel[int32]{withEdges("neon", 6, 16, gemmI32NEON, 256, 1536, 480)}
}

// nativeBytes is the kernel for products of bytes, four in a word.
func nativeBytes(unsigned bool) []*bytesKernel {
	full, has := gemmI8SDOT, cpu.ARM64.HasASIMDDP
	if unsigned {
		full, has = gemmU8USDOT, cpu.ARM64.HasI8MM
	}
	if !has {
		return nil
	}
	kern := withEdges("dot", 6, 16, full, 256, 1536, 480)
	return []*bytesKernel{{microKernel: kern, width: 4, down: quadsDownNative}}
}
