//go:build purego || !(amd64 || arm64)

package cpu

// levels is empty: there is no machine code for this processor.
func levels() []string { return nil }

func onStack(uintptr, *nativeCall) { panic("unreachable") }
