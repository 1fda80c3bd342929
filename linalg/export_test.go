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

// NothingSmall makes no operands small enough to go through staging memory, until restore is
// called.
func NothingSmall() (restore func()) {
	old := smallBytes
	smallBytes = 0
	return func() { smallBytes = old }
}

// SmallTiles makes tiles of results, panels and staging memory small, and no matrices small enough
// to stay whole, until restore is called.
func SmallTiles(granularity, depth, staging int) (restore func()) {
	q, d, s, b := tileGranularity, panelDepth, stagingBytes, smallBytes
	tileGranularity, panelDepth, stagingBytes, smallBytes = granularity, depth, staging, 0
	return func() { tileGranularity, panelDepth, stagingBytes, smallBytes = q, d, s, b }
}
