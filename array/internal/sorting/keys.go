package sorting

import "github.com/tandem-gpu/tandem/gpu"

// An Order makes keys of bits: unsigned integers in whose order the elements are. It is masks, so
// that a kernel has no branches. The zero value has the bits themselves.
type Order struct {
	sign, flip uint64 // inverted in all, and in negative elements
	nan        uint64 // what is above this without its sign is NaN, whose key is the largest of all
	zero       uint64 // becomes +0
	down       uint64 // inverted in keys, but for NaN's
}

// Signed is the order of int32.
func Signed() Order { return Order{sign: 1 << 31, nan: 1 << 31} }

// Float is the order of floats of 32 or 64 bits, of which mantissa are their fraction's: -0 is
// before +0, unless they are the same, and NaN is last.
func Float(bits, mantissa uint, same bool) Order {
	sign := uint64(1) << (bits - 1)
	o := Order{sign: sign, flip: sign - 1, nan: sign - 1<<mantissa}
	if same {
		o.zero = sign
	}
	return o
}

// Down is the order the other way round, but for NaN.
func (o Order) Down() Order {
	o.down = o.largest()
	return o
}

// largest is the largest key, that of NaN.
func (o Order) largest() uint64 { return o.sign<<1 - 1 }

// key is the key of bits.
func (o Order) key(x uint64) uint64 {
	if x == o.zero {
		x = 0
	}
	k := x ^ o.sign ^ o.down
	if x&o.sign != 0 {
		k ^= o.flip
	}
	if x&^o.sign > o.nan && o.nan != 0 {
		k = o.largest()
	}
	return k
}

// bits is the bits that have a key, or those of some NaN.
func (o Order) bits(k uint64) uint64 {
	x := k ^ o.sign ^ o.down
	if x&o.sign != 0 {
		x ^= o.flip
	}
	if k == o.largest() && o.flip != 0 {
		x = k >> 1
	}
	return x
}

// block is the elements of a row that a group takes at a time.
const block = 1024

// Pack makes a pair of each element of a: its number, which is its column and line times its row,
// below its key, of which there are the lower bits that have room above shift. With shift 0 it is
// the key alone.
//
//tandem:kernel uint8,uint64 uint32,uint32 uint32,uint64 uint64,uint64
func Pack[E gpu.Unsigned, P Pair](it gpu.Item, pairs []P, a gpu.Matrix[E], line int, o Order, shift uint) {
	for i := it.Global(1); i < a.Rows; i += it.GlobalSize(1) {
		for begin := it.Group(0) * block; begin < a.Cols; begin += it.Groups(0) * block {
			end := min(begin+block, a.Cols)
			for j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
				pairs[i*a.Cols+j] = P(o.key(uint64(a.At(i, j)))<<shift | uint64(i*line+j)&(1<<shift-1))
			}
		}
	}
}

// Repack makes pairs of others, of which a row has n, whose numbers are columns of a: the bits of
// that element's key from shift on, above the number or, with places, the pair's place, or the key.
//
//tandem:kernel uint32 uint64
func Repack[E gpu.Unsigned](it gpu.Item, pairs, others []uint64, a gpu.Matrix[E], n int, o Order, shift uint,
	places bool,
) {
	for i := it.Global(1); i < a.Rows; i += it.GlobalSize(1) {
		for begin := it.Group(0) * block; begin < n; begin += it.Groups(0) * block {
			end := min(begin+block, n)
			for j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
				number := others[i*n+j] & (1<<32 - 1)
				k := o.key(uint64(a.At(i, int(number))))
				if places {
					number = uint64(i*n + j)
				}
				pairs[i*n+j] = k>>shift<<shift | number&(1<<shift-1)
			}
		}
	}
}

// Unpack makes c of rows of n pairs, of which it has the first ones: their lower bits, which are
// keys.
//
//tandem:kernel uint32,uint32 uint32,uint64 uint64,uint64
func Unpack[E gpu.Unsigned, P Pair](it gpu.Item, c gpu.Matrix[E], pairs []P, n int, o Order) {
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		for begin := it.Group(0) * block; begin < c.Cols; begin += it.Groups(0) * block {
			end := min(begin+block, c.Cols)
			for j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
				c.Set(i, j, E(o.bits(uint64(pairs[i*n+j]))))
			}
		}
	}
}

// Firsts makes first whether elements of x, which are sorted, differ from those before.
//
//tandem:kernel uint32 uint64
func Firsts[E gpu.Unsigned](it gpu.Item, first []uint8, x []E) {
	for k := it.Global(0); k < len(x); k += it.GlobalSize(0) {
		first[k] = 1
		if k > 0 && x[k] == x[k-1] {
			first[k] = 0
		}
	}
}

// Replace puts in place of each pair the key whose number it has.
//
//tandem:kernel
func Replace(it gpu.Item, pairs, keys []uint64) {
	for k := it.Global(0); k < len(pairs); k += it.GlobalSize(0) {
		pairs[k] = keys[pairs[k]&(1<<32-1)]
	}
}
