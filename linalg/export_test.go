package linalg

// SmallPieces makes cancellable products run in the smallest pieces, until restore is called.
func SmallPieces() (restore func()) {
	cpu, gpu := pieceWork, pieceWorkGPU
	pieceWork, pieceWorkGPU = 1, 1
	return func() { pieceWork, pieceWorkGPU = cpu, gpu }
}
