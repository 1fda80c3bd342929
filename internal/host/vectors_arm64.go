//go:build !purego

package host

// hasVectors is true: all processors have what vectors_neon_arm64.s needs.
var hasVectors = true

var (
	nativeTransposes4 = transposes{tiles: []squareTile{{16, lines4Native}, {4, transpose4Native}}}
	nativeTransposes8 = transposes{tiles: []squareTile{{8, lines8Native}, {2, transpose8Native}}}
)
