//go:build !purego

package host

import "unsafe"

// hasVectors is true: all processors have what vectors_neon_arm64.s needs.
var hasVectors = true

func nativeTransposes() []*transposeSet {
	return []*transposeSet{{"neon", 16, transpose4Native, transpose8Native, nil, nil}}
}

// rotation is how rotations run here, and of how many columns.
func rotation() (run func(n int, st, row unsafe.Pointer, step int), columns int) {
	return rotateNative, 16
}
