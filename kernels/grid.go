package kernels

import "github.com/tandem-gpu/tandem/backend"

// maxGroups is the most groups in y and z: CUDA takes no more. In x no device limits a grid below
// the tiles of MaxDim.
const maxGroups = 65535

// productTile is the tile of [MatMulTiled], and the group of [NaiveGrid].
const productTile = 16

// grid covers rows by cols elements with groups that each take h by w of them, as far as the limit
// in y allows; the kernels loop over the rest. Nothing to cover gives an empty grid.
func grid(rows, cols, h, w int, local [3]int) backend.Grid {
	return backend.Grid{Groups: [3]int{(cols + w - 1) / w, min((rows+h-1)/h, maxGroups), 1}, Local: local}
}

// whole is a grid of one group that covers everything, or of none where there is nothing.
func whole(rows, cols int64, local [3]int) backend.Grid {
	return backend.Grid{Groups: [3]int{int(min(cols, 1)), int(min(rows, 1)), 1}, Local: local}
}

// MatMulGrid is the grid of [MatMul] for a C of m by n.
func MatMulGrid(p MatMulParams, m, n int) backend.Grid {
	if p.Whole {
		return whole(int64(m), int64(n), p.group())
	}
	return grid(m, n, p.BM, p.BN, p.group())
}

// NaiveGrid is a work-item for each element of rows by cols: the grid of [MatMulNaive] for the
// shape of C, and of [TransposeNaive] for the shape of A.
func NaiveGrid(rows, cols int) backend.Grid {
	return grid(rows, cols, productTile, productTile, [3]int{productTile, productTile, 1})
}

// TiledGrid is the grid of [MatMulTiled] for a C of m by n.
func TiledGrid(m, n int) backend.Grid { return NaiveGrid(m, n) }

// TransposeGrid is the grid of [Transpose] for an A of rows by cols.
func TransposeGrid(p TransposeParams, rows, cols int) backend.Grid {
	if p.Whole {
		return whole(int64(rows), int64(cols), p.group())
	}
	return grid(rows, cols, p.rows(), p.Tile, p.group())
}
