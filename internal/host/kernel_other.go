//go:build purego || !(amd64 || arm64)

package host

func nativeF32() []*microKernel[float32] { return nil }
func nativeF64() []*microKernel[float64] { return nil }
func nativeI32() []*microKernel[int32]   { return nil }

func nativeBytes(bool) []*bytesKernel { return nil }
