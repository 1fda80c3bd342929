package ptxsim

import (
	"math"
	"slices"
)

// An mmaShape is the size of the matrices of an mma, A is m by k, B is k by 8, and the architecture
// that has it first. Of bytes k is counted in words of four, which lie as numbers of float64 do.
// Bits 0 and 1 of signs say that the bytes of A and B are signed.
type mmaShape struct {
	m, k, arch int
	bytes      bool
	signs      int64
}

var mmaShapes = map[string]mmaShape{
	"m8n8k4": {m: 8, k: 4, arch: 80}, "m16n8k4": {m: 16, k: 4, arch: 90}, "m16n8k8": {m: 16, k: 8, arch: 90},
	"m16n8k16": {m: 16, k: 16, arch: 90}, "m16n8k32": {m: 16, k: 8, arch: 80, bytes: true},
}

// mma decodes mma.sync of float64, and of bytes into int32. Its registers are in x.lanes (d) and
// x.from (a, b and c).
func (d *decoder) mma() {
	shape := d.oneOf("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32")
	s, t, mods := mmaShapes[shape], f64, []string{"sync", "aligned", "row", "col", "f64", "f64", "f64", "f64"}
	if s.bytes {
		t, mods = b32, append(mods[:4], "s32", "s32")
		for i := range 2 {
			at := slices.IndexFunc(d.mods, func(m string) bool { return m == "s8" || m == "u8" })
			d.require(at >= 0)
			s.signs |= int64(flag(d.mods[at] == "s8")) << i
			d.mods = slices.Delete(d.mods, at, at+1)
		}
	} else {
		d.take("rn")
	}
	for _, mod := range mods {
		d.require(d.take(mod))
	}
	d.require(shape != "")
	d.needs(s.arch)
	d.args(4)
	x := &extra{warp: warpOp{name: "mma", shape: s, members: d.constant(mask(32))}}
	for i, n := range []int{s.m / 4, s.m * s.k / 32, s.k / 4, s.m / 4} {
		a := d.stmt.args[i]
		if a.kind != operandList || len(a.list) != n {
			d.refuse("operand %d of mma.%s needs %d registers in braces", i+1, shape, n)
		}
		for _, e := range a.list {
			if i == 0 {
				x.lanes = append(x.lanes, d.destination(e, t).index)
			} else {
				x.from = append(x.from, d.source(e, t))
			}
		}
	}
	d.emit(inst{kind: kindWarp, x: x})
}

// multiply runs mma for a whole warp. Each element of the result is a chain of fma from c, by
// ascending k: the bits of hardware. Of bytes any order has the same.
func (s mmaShape) multiply(warp []thread, x *extra) {
	var a [16][16]uint64
	var b [16][8]uint64
	na, nb := s.m*s.k/32, s.k/4
	for lane := range warp {
		r := warp[lane].current().r
		for i, p := range x.from[:na] {
			a[lane/4+8*(i%(s.m/8))][lane%4+4*(i/(s.m/8))] = r[p]
		}
		for i, p := range x.from[na:][:nb] {
			b[lane%4+4*i][lane/4] = r[p]
		}
	}
	for lane := range warp {
		r := warp[lane].current().r
		var sums [4]uint64 // c may be among the registers of d
		for i, p := range x.from[na+nb:] {
			row, col := lane/4+8*(i/2), lane%4*2+i%2
			sums[i] = r[p]
			for k := range s.k {
				sums[i] = s.add(a[row][k], b[k][col], sums[i])
			}
		}
		for i, p := range x.lanes {
			r[p] = sums[i]
		}
	}
}

// add is c and the product of a and b, or the products of their four bytes.
func (s mmaShape) add(a, b, c uint64) uint64 {
	if s.bytes {
		return dot4(a, b, c, s.signs)
	}
	return bits64(math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)))
}
