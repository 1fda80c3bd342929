package linalg

// SmallPieces makes cancellable products run in the smallest pieces, until restore is called.
func SmallPieces() (restore func()) {
	cpu, gpu := pieceWork, pieceWorkGPU
	pieceWork, pieceWorkGPU = 1, 1
	return func() { pieceWork, pieceWorkGPU = cpu, gpu }
}

// SmallChunks makes copies move at most n bytes at a time, until restore is called.
func SmallChunks(n int64) (restore func()) {
	old := chunkBytes
	chunkBytes = n
	return func() { chunkBytes = old }
}

// NothingSmall makes no operands small enough to go through the memory of a lane, until restore is
// called.
func NothingSmall() (restore func()) {
	old := smallBytes
	smallBytes = 0
	return func() { smallBytes = old }
}
