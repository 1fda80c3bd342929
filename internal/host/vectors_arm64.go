//go:build !purego

package host

// hasVectors is true: all processors have what vectors_neon_arm64.s needs.
var hasVectors = true

func nativeTransposes() []*transposeSet {
	return []*transposeSet{{
		name:  "neon",
		four:  []squareTile{{16, lines4Native}, {4, transpose4Native}},
		eight: []squareTile{{8, lines8Native}, {2, transpose8Native}},
	}}
}
