//go:build !purego

package cpu

import "golang.org/x/sys/cpu"

// levels is the names of the levels of machine code that the processor runs, the best first.
func levels() (list []string) {
	x := &cpu.X86
	if !x.HasAVX2 || !x.HasFMA || !x.HasBMI1 || !x.HasBMI2 || !x.HasPOPCNT {
		return nil
	}
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
		list = []string{"avx512"}
	}
	return append(list, "avx2")
}
