package main

// Conway's Game of Life, 64 cells at a time: a word holds 64 cells of a row, and what adds up bits
// adds up neighbours. The counts of 64 cells are four words, one for each binary digit, made by the
// adders of a computer's textbook. No cell is a branch, and a cell takes one bit of memory.

import (
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// life makes next the generation after now. A row is wide words, the first cell the lowest bit of
// the first; above the first row is the last, left of the first column the last.
//
//tandem:kernel
func life(it gpu.Item, next, now []uint64, wide int) {
	x, y := it.Global(0), it.Global(1)
	if x >= wide || y*wide >= len(now) {
		return
	}
	// Three rows, each as it is and moved by a cell to both sides.
	var left, middle, right [3]uint64
	for r := range 3 {
		row := (y*wide + (r-1)*wide + len(now)) % len(now)
		word, west, east := now[row+x], now[row+wide-1], now[row]
		if x > 0 {
			west = now[row+x-1]
		}
		if x < wide-1 {
			east = now[row+x+1]
		}
		left[r] = word<<1 | west>>63
		middle[r] = word
		right[r] = word>>1 | east<<63
	}
	// Eight neighbours are 3 + 3 + 2: digits for 1 and 2 of each, then digits of the sums.
	a1, a2 := add3(left[0], middle[0], right[0])
	b1, b2 := add3(left[2], middle[2], right[2])
	c1, c2 := add2(left[1], right[1])
	ones, d2 := add3(a1, b1, c1)
	e2, e4 := add3(a2, b2, c2)
	twos, f4 := add2(e2, d2)
	// Two neighbours keep a cell alive, three also bring one to life.
	next[y*wide+x] = twos &^ (e4 | f4) & (ones | middle[1])
}

// add2 is the sum of two bits, for each of 64: its digits for 1 and 2.
func add2(a, b uint64) (one, two uint64) { return a ^ b, a & b }

// add3 is the sum of three bits.
func add3(a, b, c uint64) (one, two uint64) { return a ^ b ^ c, a&b | c&(a^b) }

// generation makes next the generation after now, in rows of wide words.
func generation(s *linalg.Session, next, now *linalg.Array[uint64], wide int) error {
	_, words := now.Dims()
	return launchLife(s, tiles(words/wide, wide, 8), next, now, wide)
}
