package sorting

import "github.com/tandem-gpu/tandem/gpu"

// A radix sort takes a digit at a time, from the lowest: the elements of each part of a row are
// counted by their digits, the counts, by digit and then by part, become the sums of those before,
// and every element goes where its digit and its part have come to. So it is stable. A part of a
// processor is a chunk, which one work-item takes; one of a GPU is a tile, which a group takes in
// local memory. Elements have n in a row, the counts of a row parts for each digit.

// A Pair is the number of an element below its key, or a key alone.
type Pair interface{ uint32 | uint64 }

const (
	chunkBits   = 8 // of a digit
	chunkDigits = 1 << chunkBits
)

// CountChunks counts the digits of chunks of per elements.
//
//tandem:kernel uint32 uint64
//tandem:group 1
func CountChunks[P Pair](it gpu.Item, counts []int32, x []P, n, per int, shift uint) {
	var c [chunkDigits]int32
	parts := (n + per - 1) / per
	row, part := it.Group(0)/parts, it.Group(0)%parts
	countDigits(&c, x[row*n+part*per:row*n+min(part*per+per, n)], shift)
	for d := range chunkDigits {
		counts[(row*chunkDigits+d)*parts+part] = c[d]
	}
}

// MoveChunks moves the elements to y. Where a row is one chunk it makes the counts, too.
//
//tandem:kernel uint32 uint64
//tandem:group 1
func MoveChunks[P Pair](it gpu.Item, y []P, counts []int32, x []P, n, per int, shift uint) {
	var at [chunkDigits]int32
	parts := (n + per - 1) / per
	row, part := it.Group(0)/parts, it.Group(0)%parts
	chunk := x[row*n+part*per : row*n+min(part*per+per, n)]
	if parts == 1 {
		countDigits(&at, chunk, shift)
	}
	before := int32(0)
	for d := range chunkDigits {
		if i := (row*chunkDigits+d)*parts + part; parts > 1 {
			at[d] = counts[i]
		} else {
			at[d], before = before, before+at[d]
			counts[i] = at[d]
		}
	}
	first := int(uint64(chunk[0]) >> (shift & 63) & (chunkDigits - 1))
	i, end := (row*chunkDigits+first)*parts+part, int32(n)
	if i+1 < (row+1)*chunkDigits*parts {
		end = counts[i+1]
	}
	if end-at[first] == int32(len(chunk)) { // all have that digit, as of small integers
		to := row*n + int(at[first])
		for k, v := range chunk {
			y[to+k] = v
		}
		return
	}
	moveDigits(y[row*n:row*n+n], &at, chunk, shift)
}

// countDigits adds the digits of x to c. Of neighbours, which may be the same, each would wait for
// the one before: where there are many, four have counts of their own. Shifts of a uint64 by less
// than 64 need no check.
func countDigits[P Pair](c *[chunkDigits]int32, x []P, shift uint) {
	shift &= 63
	if len(x) >= 2*chunkDigits {
		var c1, c2, c3 [chunkDigits]int32
		for ; len(x) >= 4; x = x[4:] {
			c[uint64(x[0])>>shift&(chunkDigits-1)]++
			c1[uint64(x[1])>>shift&(chunkDigits-1)]++
			c2[uint64(x[2])>>shift&(chunkDigits-1)]++
			c3[uint64(x[3])>>shift&(chunkDigits-1)]++
		}
		for d := range chunkDigits {
			c[d] += c1[d] + c2[d] + c3[d]
		}
	}
	for _, v := range x {
		c[uint64(v)>>shift&(chunkDigits-1)]++
	}
}

// moveDigits moves each element of x to where at has its digit in y.
func moveDigits[P Pair](y []P, at *[chunkDigits]int32, x []P, shift uint) {
	shift &= 63
	for _, v := range x {
		d := uint64(v) >> shift & (chunkDigits - 1)
		i := at[d]
		y[i], at[d] = v, i+1
	}
}

const sumItems = 256

// Sum makes every count of a row the sum of those before it. A group takes a row of n.
//
//tandem:kernel
//tandem:group 256
func Sum(it gpu.Item, counts []int32, n int) {
	t := gpu.Local[[sumItems]int32](it)
	l, row := it.Local(0), it.Group(0)*n
	before := int32(0)
	for i := 0; i < n; i += sumItems {
		t[l] = 0
		if i+l < n {
			t[l] = counts[row+i+l]
		}
		v := t[l]
		sumTo(it, t[:], sumItems)
		if i+l < n {
			counts[row+i+l] = before + t[l] - v
		}
		before += t[sumItems-1]
		it.Barrier()
	}
}

// sumTo makes every element of t, of which each of n work-items has one, the sum of those up to it.
func sumTo(it gpu.Item, t []int32, n int) {
	l := it.Local(0)
	for d := 1; d < n; d *= 2 {
		it.Barrier()
		b := int32(0)
		if l >= d {
			b = t[l-d]
		}
		it.Barrier()
		t[l] += b
	}
	it.Barrier()
}

const (
	tileItems  = 128
	tileEach   = 16 // elements of a work-item
	tile       = tileItems * tileEach
	tileBits   = 4
	tileDigits = 1 << tileBits
)

// CountTiles counts the digits of tiles.
//
//tandem:kernel uint32 uint64
//tandem:group 128
func CountTiles[P Pair](it gpu.Item, counts []int32, x []P, n int, shift uint) {
	c := gpu.Local[[tileDigits]int32](it)
	parts := (n + tile - 1) / tile
	l, row, part := it.Local(0), it.Group(0)/parts, it.Group(0)%parts
	if l < tileDigits {
		c[l] = 0
	}
	it.Barrier()
	for i := part*tile + l; i < min(part*tile+tile, n); i += tileItems {
		gpu.AtomicAdd(&c[x[row*n+i]>>shift&(tileDigits-1)], 1)
	}
	it.Barrier()
	if l < tileDigits {
		counts[(row*tileDigits+l)*parts+part] = c[l]
	}
}

// MoveTiles moves the elements to y.
//
//tandem:kernel uint32 uint64
//tandem:group 128
func MoveTiles[P Pair](it gpu.Item, y []P, counts []int32, x []P, n int, shift uint) {
	t := gpu.Local[[tile]P](it)
	c := gpu.Local[[tileDigits * tileItems]int32](it) // by digit, and then by work-item
	sums := gpu.Local[[tileItems]int32](it)
	first := gpu.Local[[tileDigits]int32](it) // where each digit begins in the tile
	parts := (n + tile - 1) / tile
	l, row, part := it.Local(0), it.Group(0)/parts, it.Group(0)%parts
	begin := row*n + part*tile
	have := min(tile, n-part*tile)
	for i := l; i < have; i += tileItems {
		t[i] = x[begin+i]
	}
	for d := range tileDigits {
		c[d*tileItems+l] = 0
	}
	it.Barrier()
	for i := l * tileEach; i < min(l*tileEach+tileEach, have); i++ {
		c[int(t[i]>>shift&(tileDigits-1))*tileItems+l]++
	}
	it.Barrier()
	s := int32(0)
	for i := l * tileDigits; i < l*tileDigits+tileDigits; i++ {
		c[i], s = s, s+c[i]
	}
	sums[l] = s
	sumTo(it, sums[:], tileItems)
	for i := l * tileDigits; i < l*tileDigits+tileDigits; i++ {
		c[i] += sums[l] - s
	}
	it.Barrier()
	if l < tileDigits {
		first[l] = c[l*tileItems]
	}
	it.Barrier()
	for i := l * tileEach; i < min(l*tileEach+tileEach, have); i++ {
		d := int(t[i] >> shift & (tileDigits - 1))
		y[row*n+int(counts[(row*tileDigits+d)*parts+part]+c[d*tileItems+l]-first[d])] = t[i]
		c[d*tileItems+l]++
	}
}

// Rank sorts rows of n elements by their bits from shift on, each at the place of how many are
// before it: n steps for each of them, which is least for short rows.
//
//tandem:kernel
func Rank(it gpu.Item, y, x []uint64, n int, shift uint) {
	for i := it.Global(1); i < len(x)/n; i += it.GlobalSize(1) {
		row := x[i*n : i*n+n]
		for j := it.Global(0); j < n; j += it.GlobalSize(0) {
			v, at := row[j]>>shift, 0
			for k, w := range row {
				if w>>shift < v || w>>shift == v && k < j {
					at++
				}
			}
			y[i*n+at] = row[j]
		}
	}
}
