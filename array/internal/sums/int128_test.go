package sums

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// Integers of parts are rounded once: what lies close to the middle of two numbers, too.
func TestValueWith(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for range 20000 {
		x := big.NewInt(int64(r.Uint64())>>(9+r.IntN(55)) | 1) // often a middle: 54 bits
		up := []int{23, 46, halves}[r.IntN(3)]                 // steps
		k := uint(r.IntN(up + 58))
		near := new(big.Int).Lsh(big.NewInt(int64(r.IntN(3)-1)), r.UintN(k+1))
		x.Lsh(x, k).Add(x, near)
		high := new(big.Int).Rsh(x, uint(up))
		high.Sub(high, big.NewInt((r.Int64()-r.Int64())>>r.IntN(63)))
		s, c := int128OfBig(high), int128OfBig(new(big.Int).Sub(x, new(big.Int).Lsh(high, uint(up))))
		want, _ := new(big.Float).SetInt(x).Float64()
		if got := (double{}).round(s.valueWith(up, c, 0)); got != want {
			t.Fatalf("%v, as %x * 2^%d + %x, is %v, want %v", x, s, up, c, got, want)
		}
	}
}

// int128OfBig is x, which fits.
func int128OfBig(x *big.Int) int128 {
	low := new(big.Int).And(x, new(big.Int).SetUint64(1<<64-1))
	return int128{uint64(new(big.Int).Rsh(x, 64).Int64()), low.Uint64()}
}
