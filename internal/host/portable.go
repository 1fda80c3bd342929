package host

import (
	"math"
	"unsafe"
)

// The micro-kernels in Go, for processors without one in assembly and builds with the tag purego. The tile is 2 by 4 so that its eight chains
// and six operands fit the registers. They differ in the multiplication alone: calling it through a function costs more than the
// multiplication itself.

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
		c00, c01, c02, c03 = math.FMA(a0, b[0], c00), math.FMA(a0, b[1], c01), math.FMA(a0, b[2], c02), math.FMA(a0, b[3], c03)
		c10, c11, c12, c13 = math.FMA(a1, b[0], c10), math.FMA(a1, b[1], c11), math.FMA(a1, b[2], c12), math.FMA(a1, b[3], c13)
	}
	*c0, *c1 = [4]float64{c00, c01, c02, c03}, [4]float64{c10, c11, c12, c13}
}

func portableI32(kc int, a *int32, aRow, aStep int, b *int32, bStep int, c *int32, ldc int, zero bool) {
	c0, c1 := (*[4]int32)(unsafe.Pointer(c)), (*[4]int32)(unsafe.Add(unsafe.Pointer(c), 4*ldc))
	var r0, r1 [4]int32
	if !zero {
		r0, r1 = *c0, *c1
	}
	c00, c01, c02, c03 := r0[0], r0[1], r0[2], r0[3]
	c10, c11, c12, c13 := r1[0], r1[1], r1[2], r1[3]
	as, bs := unsafe.Slice(a, aRow+(kc-1)*aStep+1), unsafe.Slice(b, (kc-1)*bStep+4)
	for k := range kc {
		a0, a1, b := as[k*aStep], as[k*aStep+aRow], (*[4]int32)(bs[k*bStep:])
		c00, c01, c02, c03 = c00+a0*b[0], c01+a0*b[1], c02+a0*b[2], c03+a0*b[3]
		c10, c11, c12, c13 = c10+a1*b[0], c11+a1*b[1], c12+a1*b[2], c13+a1*b[3]
	}
	*c0, *c1 = [4]int32{c00, c01, c02, c03}, [4]int32{c10, c11, c12, c13}
}
