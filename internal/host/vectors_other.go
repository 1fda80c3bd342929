//go:build purego || !(amd64 || arm64)

package host

import "unsafe"

// hasVectors is false: there is no code with vector instructions, and Go runs.
var hasVectors = false

const noVectors = "host: no vector instructions"

func addRowNative(int, int, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer, bool) {
	panic(noVectors)
}

func addColumnNative(int, int, unsafe.Pointer, int, int, unsafe.Pointer, int, unsafe.Pointer, int, bool) {
	panic(noVectors)
}

func crossNative(int, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, int, bool) {
	panic(noVectors)
}

func outerNative(int, int, int, float64, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, int, unsafe.Pointer,
	unsafe.Pointer, bool,
) {
	panic(noVectors)
}

func substituteNative(int, unsafe.Pointer, int, int, unsafe.Pointer, int, bool, bool) {
	panic(noVectors)
}

func accumulateNative(bool, bool, int, unsafe.Pointer, int, int, unsafe.Pointer, int, unsafe.Pointer, bool) {
	panic(noVectors)
}

func symmetricNative(bool, int, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer, bool) {
	panic(noVectors)
}

func complexRowNative(int, int, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer, int, int, unsafe.Pointer, bool,
	bool,
) {
	panic(noVectors)
}

func complexDivideNative(int, unsafe.Pointer, unsafe.Pointer, bool, bool) { panic(noVectors) }
func dotNative(int, unsafe.Pointer, unsafe.Pointer, bool) float64         { panic(noVectors) }
func asumNative(int, unsafe.Pointer, bool) float64                        { panic(noVectors) }
func rotateNative(int, unsafe.Pointer, unsafe.Pointer, int)               { panic(noVectors) }
func choleskyNative(int, unsafe.Pointer, int, int, bool) int              { panic(noVectors) }

func multiplyNative(int, int, float64, unsafe.Pointer, int, int, unsafe.Pointer, int, bool, bool) {
	panic(noVectors)
}
func solveNative(int, int, float64, unsafe.Pointer, int, int, unsafe.Pointer, int, bool, bool) {
	panic(noVectors)
}

var nativeTransposes4, nativeTransposes8 transposes

func quadsDownNative(unsafe.Pointer, unsafe.Pointer, int, int, bool) { panic(noVectors) }
