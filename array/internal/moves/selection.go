package moves

import "github.com/tandem-gpu/tandem/gpu"

// The elements of a mask that are true, in chunks that one work-item of the cpu device takes each:
// it counts, then writes what it has behind what is before.

// CountTrue counts those of chunks of per elements.
//
//tandem:kernel
//tandem:group 1
func CountTrue(it gpu.Item, counts []int32, mask []uint8, per int) {
	o, n := it.Group(0), int32(0)
	for _, v := range mask[o*per : min(o*per+per, len(mask))] {
		n += int32(v)
	}
	counts[o] = n
}

// pieceSize is the elements whose places a work-item notes at a time, true or not, before it writes
// them: a branch for each element would be guessed wrong.
const pieceSize = 64

// Numbers writes the numbers of the elements that are true to a row or a column.
//
//tandem:kernel
//tandem:group 1
func Numbers(it gpu.Item, index gpu.Matrix[int32], mask []uint8, counts []int32, per int) {
	var places [pieceSize]int32
	at, last := before(counts, it.Group(0)), min(it.Group(0)*per+per, len(mask))
	for begin := it.Group(0) * per; begin < last; begin += pieceSize {
		n := note(&places, mask[begin:min(begin+pieceSize, last)])
		for k := range n {
			index.Data[(at+k)*step(index)] = int32(begin) + places[k]
		}
		at += n
	}
}

// Elements writes the elements of a whose element in mask is true to c, a row or a column.
//
//tandem:kernel uint32 uint64
//tandem:group 1
func Elements[E gpu.Unsigned](it gpu.Item, c gpu.Matrix[E], a []E, mask []uint8, counts []int32, per int) {
	var places [pieceSize]int32
	at, last := before(counts, it.Group(0)), min(it.Group(0)*per+per, len(mask))
	for begin := it.Group(0) * per; begin < last; begin += pieceSize {
		n := note(&places, mask[begin:min(begin+pieceSize, last)])
		for k := range n {
			c.Data[(at+k)*step(c)] = a[begin+int(places[k])]
		}
		at += n
	}
}

// before is the sum of the counts before chunk o.
func before(counts []int32, o int) (n int) {
	for _, v := range counts[:o] {
		n += int(v)
	}
	return n
}

// note fills in the places of the elements of mask that are true, and gives their number.
func note(places *[pieceSize]int32, mask []uint8) (n int) {
	for i, v := range mask {
		places[n&(pieceSize-1)] = int32(i)
		n += int(v)
	}
	return n
}
