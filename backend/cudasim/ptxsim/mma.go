package ptxsim

import "math"

// An mmaShape is the size of the matrices of an mma of float64, A is m by k, B is k by 8, and the
// architecture that has it first.
type mmaShape struct{ m, k, arch int }

var mmaShapes = map[string]mmaShape{
	"m8n8k4": {8, 4, 80}, "m16n8k4": {16, 4, 90}, "m16n8k8": {16, 8, 90}, "m16n8k16": {16, 16, 90},
}

// mma decodes mma.sync of float64. Its registers are in x.lanes (d) and x.from (a, b and c).
func (d *decoder) mma() error {
	shape := d.oneOf("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")
	s := mmaShapes[shape]
	for _, mod := range []string{"sync", "aligned", "row", "col", "f64", "f64", "f64", "f64"} {
		if !d.take(mod) {
			return d.unknown()
		}
	}
	d.take("rn")
	if shape == "" {
		return d.unknown()
	}
	if err := d.needs(s.arch); err != nil {
		return err
	}
	if err := d.args(4); err != nil {
		return err
	}
	x := &extra{warp: warpOp{name: "mma", shape: s, members: d.constant(mask(32))}}
	for i, n := range []int{s.m / 4, s.m * s.k / 32, s.k / 4, s.m / 4} {
		a := d.stmt.args[i]
		if a.kind != operandList || len(a.list) != n {
			return d.errorf("operand %d of mma.%s needs %d registers in braces", i+1, shape, n)
		}
		for _, e := range a.list {
			if i == 0 {
				r, err := d.destination(e, f64)
				if err != nil {
					return err
				}
				x.lanes = append(x.lanes, r.index)
				continue
			}
			r, err := d.source(e, f64)
			if err != nil {
				return err
			}
			x.from = append(x.from, r)
		}
	}
	d.emit(inst{kind: kindWarp, x: x})
	return nil
}

// multiply runs mma for a whole warp. Each element of the result is a chain of fma from c, by
// ascending k: the bits of hardware.
func (s mmaShape) multiply(warp []thread, x *extra) {
	var a [16][16]float64
	var b [16][8]float64
	na, nb := s.m*s.k/32, s.k/4
	for lane := range warp {
		r := warp[lane].current().r
		for i, p := range x.from[:na] {
			a[lane/4+8*(i%(s.m/8))][lane%4+4*(i/(s.m/8))] = float64At(r, p)
		}
		for i, p := range x.from[na:][:nb] {
			b[lane%4+4*i][lane/4] = float64At(r, p)
		}
	}
	for lane := range warp {
		r := warp[lane].current().r
		var sums [4]float64 // c may be among the registers of d
		for i, p := range x.from[na+nb:] {
			row, col := lane/4+8*(i/2), lane%4*2+i%2
			sums[i] = float64At(r, p)
			for k := range s.k {
				sums[i] = math.FMA(a[row][k], b[k][col], sums[i])
			}
		}
		for i, p := range x.lanes {
			r[p] = bits64(sums[i])
		}
	}
}
