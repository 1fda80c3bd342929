package kernels

import "github.com/tandem-gpu/tandem/backend"

// Products with few rows or columns in C read one large operand once, so that memory is their limit, and the tiles of square products would be mostly
// empty. They have parameters of their own, on every device alike. The chain of an element stays in one work-item: only the long dimension is
// spread over groups.

const (
	maxThin  = 8       // rows or columns of a thin C
	thinWork = 1 << 16 // elements of the large operand from which a kernel of its own pays
)

// thinGPU is the parameters for GPUs: small or narrow tiles whose work-items have more loads under way than those of the smallest square tiles. Among such,
// these are what ptxas and AMD's compiler take without spills; times on a GPU were not measured.
var thinGPU = [len(types)]struct{ tall, wide MatMulParams }{
	Float32: {MatMulParams{BM: 32, BN: 32, BK: 16, TM: 4, TN: 4, KU: 4}, MatMulParams{BM: 32, BN: 32, BK: 16, TM: 4, TN: 4, KU: 4}},
	Float64: {MatMulParams{BM: 64, BN: 16, BK: 8, TM: 4, TN: 4, KU: 4}, MatMulParams{BM: 16, BN: 64, BK: 8, TM: 4, TN: 4, KU: 4}},
	Int32:   {MatMulParams{BM: 32, BN: 32, BK: 16, TM: 4, TN: 4, KU: 4}, MatMulParams{BM: 32, BN: 32, BK: 16, TM: 4, TN: 4, KU: 4}},
}

// chooseThin chooses parameters for count products with a C of m by n where that has few rows or columns; ok is false for other products, and
// where the parameters do not fit the device.
func chooseThin(info *backend.Info, t Type, count, m, n, k int) (p MatMulParams, ok bool) {
	if min(m, n) < 1 || min(m, n) > maxThin || max(m, n) < thinWork/max(k, 1) || info.Driver == cpuDriver {
		return p, false
	}
	groups := (2*max(info.ComputeUnits, 1) + count - 1) / count // of a product, to keep the device busy
	switch tall := n <= m; {
	case info.GPU && tall:
		p = thinGPU[t].tall
	case info.GPU:
		p = thinGPU[t].wide
	case tall:
		p = tallCPU(vector(info, t), groups, m, n)
	default:
		p = wideCPU(t, vector(info, t), groups, m, n)
	}
	return p, p.Fits(info, t)
}

// tallCPU is for n columns: short vectors of C's rows, some rows at once.
func tallCPU(vw, groups, m, n int) MatMulParams {
	p := MatMulParams{CPU: true, BM: 64, BN: 4, BK: 2048, TM: 8, KU: 4}
	if n > 4 {
		p.BN = 8
	}
	p.TN, p.VW = p.BN, min(vw, p.BN)
	for p.BM > p.TM && tileCount(m, p.BM) < groups {
		p.BM /= 2
	}
	return p
}

// wideCPU is for m rows: as much of a row of B as registers have sums for, and of that several in a tile, for long reads.
func wideCPU(t Type, vw, groups, m, n int) MatMulParams {
	p := MatMulParams{CPU: true, BK: 16, TM: 1, KU: 1, VW: vw}
	sums := 8 // vectors
	if vw*t.Size() == 64 {
		sums = 24 // AVX-512 has twice the registers
	}
	for p.TM < m {
		p.TM *= 2
	}
	p.BM, p.TN = p.TM, max(sums/max(p.TM, 2), 1)*vw
	p.BN = p.TN
	for 2*p.BN*t.Size() <= 8<<10 && tileCount(n, 2*p.BN) >= groups {
		p.BN *= 2
	}
	return p
}

// tiles is the number of tiles of a C of m by n. Tiles of a GPU that would be more than half empty count for nothing.
func (p MatMulParams) tiles(m, n int) int {
	if !p.CPU && (p.BM >= 2*m || p.BN >= 2*n) {
		return 0
	}
	return tileCount(m, p.BM) * tileCount(n, p.BN)
}
