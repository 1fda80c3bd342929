package sorting

import "github.com/tandem-gpu/tandem/gpu"

// A radix sort takes a digit of 8 bits at a time, from the lowest: the elements of each part of a
// row are counted by their digits, the counts of each digit become the sums of those of the parts
// before, and every element goes where its digit and its part have come to. So it is stable. A part
// of a processor is a chunk, which one work-item takes; one of a GPU is some tiles, which a group
// sorts in local memory one after the other, so that neighbours go to neighbours. Elements have n
// in a row, of which per make a part. A row has a line of counts for each part, and one of their
// sums.

// A Pair is the number of an element below its key, or a key alone.
type Pair interface{ uint32 | uint64 }

const (
	digitBits = 8
	digits    = 1 << digitBits
)

// digitOf is the digit of v at shift.
func digitOf[P Pair](v P, shift uint) int { return int(uint64(v) >> (shift & 63) & (digits - 1)) }

// CountChunks counts the digits of chunks.
//
//tandem:kernel uint32 uint64
//tandem:group 1
func CountChunks[P Pair](it gpu.Item, counts []int32, x []P, n, per int, shift uint) {
	var c [digits]int32
	parts := (n + per - 1) / per
	row, part := it.Group(0)/parts, it.Group(0)%parts
	countDigits(&c, x[row*n+part*per:row*n+min(part*per+per, n)], shift)
	line := (row*(parts+1) + part) * digits
	for d := range digits {
		counts[line+d] = c[d]
	}
}

// MoveChunks moves the elements to y. Where a row is one chunk it makes the counts, too.
//
//tandem:kernel uint32 uint64
//tandem:group 1
func MoveChunks[P Pair](it gpu.Item, y []P, counts []int32, x []P, n, per int, shift uint) {
	var at [digits]int32
	parts := (n + per - 1) / per
	row, part := it.Group(0)/parts, it.Group(0)%parts
	chunk := x[row*n+part*per : row*n+min(part*per+per, n)]
	line, all := (row*(parts+1)+part)*digits, (row*(parts+1)+parts)*digits
	first, before := uint64(chunk[0])>>(shift&63)&(digits-1), int32(0)
	var size int32 // the chunk's elements that have its first digit
	if parts == 1 {
		countDigits(&at, chunk, shift)
		size = at[first]
		for d := range digits {
			counts[all+d] = at[d]
			at[d], before = before, before+at[d]
		}
	} else {
		size = counts[line+digits+int(first)] - counts[line+int(first)]
		for d := range digits {
			at[d] = before + counts[line+d]
			before += counts[all+d]
		}
	}
	if size == int32(len(chunk)) { // all have it, as of small integers
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
func countDigits[P Pair](c *[digits]int32, x []P, shift uint) {
	shift &= 63
	if len(x) >= 2*digits {
		var c1, c2, c3 [digits]int32
		for ; len(x) >= 4; x = x[4:] {
			c[uint64(x[0])>>shift&(digits-1)]++
			c1[uint64(x[1])>>shift&(digits-1)]++
			c2[uint64(x[2])>>shift&(digits-1)]++
			c3[uint64(x[3])>>shift&(digits-1)]++
		}
		for d := range digits {
			c[d] += c1[d] + c2[d] + c3[d]
		}
	}
	for _, v := range x {
		c[uint64(v)>>shift&(digits-1)]++
	}
}

// moveDigits moves each element of x to where at has its digit in y.
func moveDigits[P Pair](y []P, at *[digits]int32, x []P, shift uint) {
	shift &= 63
	for _, v := range x {
		d := uint64(v) >> shift & (digits - 1)
		i := at[d]
		y[i], at[d] = v, i+1
	}
}

const (
	sumItems    = digits
	maxSegments = 32 // so that neighbours read 32 bytes
)

// Sum makes each count of a part the sum of those of the parts before it, and the last line of a
// row the sums of all. A row has as many groups as segments; of some digits, which lie side by
// side, each work-item of a group takes one segment of the parts.
//
//tandem:kernel
//tandem:group 256
func Sum(it gpu.Item, counts []int32, parts, segments int) {
	t := gpu.Local[[sumItems]int32](it)
	l, across := it.Local(0), sumItems/segments
	row, segment := it.Group(0)/segments, l/across
	first := row*(parts+1)*digits + it.Group(0)%segments*across + l%across
	from, to := segment*parts/segments, (segment+1)*parts/segments
	s := int32(0)
	for p := from; p < to; p++ {
		s += counts[first+p*digits]
	}
	t[l] = s
	sumTo(it, t[:], across, sumItems)
	before := t[l] - s
	for p := from; p < to; p++ {
		i := first + p*digits
		counts[i], before = before, before+counts[i]
	}
	if segment == segments-1 {
		counts[first+parts*digits] = before
	}
}

// sumTo makes every element of t, of which each of n work-items has one, the sum of those up to it
// that lie step apart.
func sumTo(it gpu.Item, t []int32, step, n int) {
	l := it.Local(0)
	for d := step; d < n; d *= 2 {
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
	tileItems = 128
	tileShift = 4
	tileEach  = 1 << tileShift // elements of a work-item
	tile      = tileItems * tileEach
	halfBits  = digitBits / 2 // a tile is sorted by halves of a digit
	halves    = 1 << halfBits

	// In local memory numbers are not used between those of one work-item and the next, which would
	// wait for the same bank.
	pitch     = tileEach + 1
	halfPitch = halves + 2 // of counts of 16 bits
	halfLine  = tileItems / halves * halfPitch
)

// apart is where element i of a tile lies in local memory. A shift is less code than a division.
func apart(i int) int { return i + i>>tileShift }

// CountTiles counts the digits of parts.
//
//tandem:kernel uint32 uint64
//tandem:group 128
func CountTiles[P Pair](it gpu.Item, counts []int32, x []P, n, per int, shift uint) {
	c := gpu.Local[[digits]int32](it)
	parts := (n + per - 1) / per
	l, row, part := it.Local(0), it.Group(0)/parts, it.Group(0)%parts
	for d := l; d < digits; d += tileItems {
		c[d] = 0
	}
	it.Barrier()
	for i := part*per + l; i < min(part*per+per, n); i += tileItems {
		gpu.AtomicAdd(&c[digitOf(x[row*n+i], shift)], 1)
	}
	it.Barrier()
	line := (row*(parts+1) + part) * digits
	for d := l; d < digits; d += tileItems {
		counts[line+d] = c[d]
	}
}

// MoveTiles moves the elements to y. A row that is one tile is sorted by so many bits at once, and
// needs no counts.
//
//tandem:kernel uint32 uint64
//tandem:group 128
func MoveTiles[P Pair](it gpu.Item, y []P, counts []int32, x []P, n, per int, shift, bits uint) {
	t := gpu.Local[[tileItems * pitch]P](it)
	c := gpu.Local[[halves * halfLine]uint16](it)
	sums := gpu.Local[[tileItems]int32](it)
	at := gpu.Local[[digits]int32](it) // where a digit goes, less where it begins in the tile
	parts := (n + per - 1) / per
	l, row, part := it.Local(0), it.Group(0)/parts, it.Group(0)%parts
	one := n <= tile
	if one {
		at[2*l], at[2*l+1] = 0, 0
	} else {
		line, all := (row*(parts+1)+part)*digits, (row*(parts+1)+parts)*digits
		a, b := counts[all+2*l], counts[all+2*l+1]
		sums[l] = a + b
		sumTo(it, sums[:], 1, tileItems)
		at[2*l], at[2*l+1] = sums[l]-b-a+counts[line+2*l], sums[l]-b+counts[line+2*l+1]
	}
	end := min(part*per+per, n)
	for begin := part * per; begin < end; begin += tile {
		have := min(tile, end-begin)
		for i := l; i < tile; i += tileItems {
			t[apart(i)] = ^P(0) // which stays behind the others
			if i < have {
				t[apart(i)] = x[row*n+begin+i]
			}
		}
		for s := shift; s < shift+bits; s += halfBits {
			it.Barrier()
			sortTile(it, t[:], c[:], sums[:], s)
		}
		it.Barrier()
		for i := l; i < have && !one; i += tileItems {
			if d := digitOf(t[apart(i)], shift); i == 0 || d != digitOf(t[apart(i-1)], shift) {
				at[d] -= int32(i)
			}
		}
		it.Barrier()
		for i := l; i < have; i += tileItems {
			v := t[apart(i)]
			y[row*n+i+int(at[digitOf(v, shift)])] = v
		}
		it.Barrier()
		for i := l; i < have && !one; i += tileItems {
			if d := digitOf(t[apart(i)], shift); i == have-1 || d != digitOf(t[apart(i+1)], shift) {
				at[d] += int32(i + 1)
			}
		}
		it.Barrier()
	}
}

// sortTile sorts t by the half of a digit at shift. c has the counts of each work-item, those of
// one half after the other.
func sortTile[P Pair](it gpu.Item, t []P, c []uint16, sums []int32, shift uint) {
	var v [tileEach]P
	l := it.Local(0)
	column := l/halves*halfPitch + l%halves
	for h := range halves {
		c[h*halfLine+column] = 0
	}
	for k := range tileEach {
		v[k] = t[l*pitch+k]
		c[halfOf(v[k], shift)*halfLine+column]++
	}
	it.Barrier()
	s := int32(0)
	for k := range halves {
		s += int32(c[l*halfPitch+k])
	}
	sums[l] = s
	sumTo(it, sums, 1, tileItems)
	s = sums[l] - s
	for k := range halves {
		n := int32(c[l*halfPitch+k])
		c[l*halfPitch+k] = uint16(s)
		s += n
	}
	it.Barrier()
	for k := range tileEach {
		i := halfOf(v[k], shift)*halfLine + column
		t[apart(int(c[i]))] = v[k]
		c[i]++
	}
}

// halfOf is the half of a digit of v at shift.
func halfOf[P Pair](v P, shift uint) int { return int(uint64(v) >> (shift & 63) & (halves - 1)) }

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
