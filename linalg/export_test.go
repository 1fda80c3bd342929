package linalg

import (
	"bytes"

	"github.com/tandem-gpu/tandem/internal/outofcore"
)

// PoisonResults fills new results with values that no test expects.
func PoisonResults() {
	dirty = func(n int) []byte { return bytes.Repeat([]byte{0xA5}, n) }
}

// SmallPieces makes cancellable products run in the smallest pieces, until restore is called.
func SmallPieces() (restore func()) {
	cpu, opencl, gpu := pieceWork, pieceWorkOpenCL, pieceWorkGPU
	pieceWork, pieceWorkOpenCL, pieceWorkGPU = 1, 1, 1
	return func() { pieceWork, pieceWorkOpenCL, pieceWorkGPU = cpu, opencl, gpu }
}

// SmallChunks makes copies move at most n bytes at a time, until restore is called.
func SmallChunks(n int64) (restore func()) {
	old := chunkBytes
	chunkBytes = n
	return func() { chunkBytes = old }
}

// NothingSmall makes no operands small enough to go through staging memory, until restore is
// called.
func NothingSmall() (restore func()) {
	bytes, shared := smallBytes, smallShared
	smallBytes, smallShared = 0, 0
	return func() { smallBytes, smallShared = bytes, shared }
}

// SmallTiles makes tiles of results, panels and staging memory small, and no matrices small enough
// to stay whole, until restore is called.
func SmallTiles(granularity, depth, staging int) (restore func()) {
	shrunk, nothing := outofcore.Shrink(granularity, depth, staging), NothingSmall()
	return func() { shrunk(); nothing() }
}

// FactorOnDevice makes the devices compute all products of factorizations, until restore is called.
func FactorOnDevice() (restore func()) {
	old, reduce := solverCrossover, reduceFrom
	solverCrossover, reduceFrom = func(int) int { return 0 }, 0
	return func() { solverCrossover, reduceFrom = old, reduce }
}

// FactorPanels makes the panels of LU and Cholesky on devices so wide, until restore is called.
func FactorPanels(width int) (restore func()) {
	lu, cholesky := luWidth, choleskyWidth
	luWidth, choleskyWidth = width, width
	return func() { luWidth, choleskyWidth = lu, cholesky }
}

// FactorError is factorError.
func FactorError(err error, a Matrix[float64]) error { return factorError(err, "values", a) }
