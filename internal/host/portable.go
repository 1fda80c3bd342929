package host

import (
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/element"
)

// A fullTile is a [tileProduct] of one size alone: that of its kernel's tile.
type fullTile[T element.Element] func(kc int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc int, zero bool)

// withEdges is a micro-kernel that has no code for a part of a tile: it computes a whole one beside
// C, from operands padded with zeros. What is computed from the padding is not used.
func withEdges[T element.Element](
	name string, tileRows, tileCols int, full fullTile[T], kc, mc, nc int,
) *microKernel[T] {
	run := func(rows, cols, kc int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc int, zero bool) {
		if rows == tileRows && cols == tileCols {
			full(kc, a, aRow, aStep, b, bStep, c, ldc, zero)
			return
		}
		s, memory := Take[T](tileRows*tileCols + (tileRows+tileCols)*kc)
		defer s.Give()
		tile, memory := memory[:tileRows*tileCols], memory[tileRows*tileCols:]
		padA, padB := memory[:tileRows*kc], memory[tileRows*kc:]
		cs := unsafe.Slice(c, (rows-1)*ldc+cols)
		if !zero {
			copyRows(rows, cols, cs, ldc, tile, tileCols)
		}
		if rows < tileRows {
			as := unsafe.Slice(a, (rows-1)*aRow+(kc-1)*aStep+1)
			padRows(rows, kc, as, aRow, aStep, padA, tileRows)
			a, aRow, aStep = &padA[0], 1, tileRows
		}
		if cols < tileCols {
			clear(padB)
			copyRows(kc, cols, unsafe.Slice(b, (kc-1)*bStep+cols), bStep, padB, tileCols)
			b, bStep = &padB[0], tileCols
		}
		full(kc, a, aRow, aStep, b, bStep, &tile[0], tileCols, zero)
		copyRows(rows, cols, tile, tileCols, cs, ldc)
	}
	return &microKernel[T]{
		name: name, rows: tileRows, cols: tileCols, run: run, finish: finishGo[T], kc: kc, mc: mc, nc: nc,
	}
}

// padRows packs rows of A into a panel, and zeros below them.
func padRows[T element.Element](rows, kc int, a []T, aRow, aStep int, dst []T, step int) {
	clear(dst)
	for k := range kc {
		for i := range rows {
			dst[k*step+i] = a[i*aRow+k*aStep]
		}
	}
}

// copyRows is [CopyMatrix] in this goroutine.
func copyRows[T element.Element](rows, cols int, src []T, lds int, dst []T, ldd int) {
	if lds == cols && ldd == cols {
		copy(dst, src[:rows*cols])
		return
	}
	for i := range rows {
		copy(dst[i*ldd:][:cols], src[i*lds:])
	}
}

// finishGo is a [tileFinish].
func finishGo[T element.Element](rows, cols int, alpha T, acc *T, ldacc int, beta T, c *T, ldc int, readC bool) {
	accs, cs := unsafe.Slice(acc, (rows-1)*ldacc+cols), unsafe.Slice(c, (rows-1)*ldc+cols)
	for i := range rows {
		acc, c := accs[i*ldacc:][:cols], cs[i*ldc:][:cols]
		switch {
		case !readC:
			for j, x := range acc {
				c[j] = Mul(alpha, x)
			}
		case alpha == 1:
			for j, x := range acc {
				c[j] = x + Mul(beta, c[j])
			}
		default:
			for j, x := range acc {
				c[j] = FMA(alpha, x, Mul(beta, c[j]))
			}
		}
	}
}

// portable is the micro-kernel in Go.
func portable[T element.Element](full fullTile[T]) *microKernel[T] {
	return withEdges("go", 2, 4, full, 256, 1024, 512)
}

// The micro-kernels in Go, for processors without one in assembly and builds with the tag purego.
// The tile is 2 by 4 so that its eight chains and six operands fit the registers. They differ in
// the multiplication alone: calling it through a function costs more than the multiplication
// itself.

func portableF32(kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool) {
	c0, c1 := (*[4]float32)(unsafe.Pointer(c)), (*[4]float32)(unsafe.Add(unsafe.Pointer(c), 4*ldc))
	var r0, r1 [4]float32
	if !zero {
		r0, r1 = *c0, *c1
	}
	as, bs := unsafe.Slice(a, aRow+(kc-1)*aStep+1), unsafe.Slice(b, (kc-1)*bStep+4)
	for k := range kc {
		a0, a1, b := as[k*aStep], as[k*aStep+aRow], (*[4]float32)(bs[k*bStep:])
		for j, x := range b {
			if s := sum32(a0, x, r0[j]); isTie32(s) {
				r0[j] = roundToOdd32(a0, x, r0[j])
			} else {
				r0[j] = float32(s)
			}
			if s := sum32(a1, x, r1[j]); isTie32(s) {
				r1[j] = roundToOdd32(a1, x, r1[j])
			} else {
				r1[j] = float32(s)
			}
		}
	}
	*c0, *c1 = r0, r1
}

func portableF64(kc int, a *float64, aRow, aStep int, b *float64, bStep int, c *float64, ldc int, zero bool) {
	c0, c1 := (*[4]float64)(unsafe.Pointer(c)), (*[4]float64)(unsafe.Add(unsafe.Pointer(c), 8*ldc))
	var r0, r1 [4]float64
	if !zero {
		r0, r1 = *c0, *c1
	}
	c00, c01, c02, c03 := r0[0], r0[1], r0[2], r0[3]
	c10, c11, c12, c13 := r1[0], r1[1], r1[2], r1[3]
	as, bs := unsafe.Slice(a, aRow+(kc-1)*aStep+1), unsafe.Slice(b, (kc-1)*bStep+4)
	for k := range kc {
		a0, a1, b := as[k*aStep], as[k*aStep+aRow], (*[4]float64)(bs[k*bStep:])
		c00, c01 = math.FMA(a0, b[0], c00), math.FMA(a0, b[1], c01)
		c02, c03 = math.FMA(a0, b[2], c02), math.FMA(a0, b[3], c03)
		c10, c11 = math.FMA(a1, b[0], c10), math.FMA(a1, b[1], c11)
		c12, c13 = math.FMA(a1, b[2], c12), math.FMA(a1, b[3], c13)
	}
	*c0, *c1 = [4]float64{c00, c01, c02, c03}, [4]float64{c10, c11, c12, c13}
}

func portableInteger[T element.Element](kc int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc int, zero bool) {
	c0, c1 := (*[4]T)(unsafe.Pointer(c)), (*[4]T)(unsafe.Add(unsafe.Pointer(c), ldc*int(unsafe.Sizeof(*c))))
	var r0, r1 [4]T
	if !zero {
		r0, r1 = *c0, *c1
	}
	c00, c01, c02, c03 := r0[0], r0[1], r0[2], r0[3]
	c10, c11, c12, c13 := r1[0], r1[1], r1[2], r1[3]
	as, bs := unsafe.Slice(a, aRow+(kc-1)*aStep+1), unsafe.Slice(b, (kc-1)*bStep+4)
	for k := range kc {
		a0, a1, b := as[k*aStep], as[k*aStep+aRow], (*[4]T)(bs[k*bStep:])
		c00, c01, c02, c03 = c00+a0*b[0], c01+a0*b[1], c02+a0*b[2], c03+a0*b[3]
		c10, c11, c12, c13 = c10+a1*b[0], c11+a1*b[1], c12+a1*b[2], c13+a1*b[3]
	}
	*c0, *c1 = [4]T{c00, c01, c02, c03}, [4]T{c10, c11, c12, c13}
}
