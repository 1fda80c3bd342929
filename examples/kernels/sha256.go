package main

// SHA-256 (FIPS 180-4) of many messages at once, a work-item each: integers of 32 bits that wrap
// and rotate, a table of constants, and arrays that a work-item has for itself. The messages lie
// one after the other, so that any lengths fit into one slice.

import (
	"encoding/binary"
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// roundConstants is the first 32 bits of the fractions of the cube roots of the first 64 primes.
var roundConstants = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// hash makes digest[8*i:] the eight words of message i, which is data[ends[i-1]:ends[i]].
//
//tandem:kernel
func hash(it gpu.Item, digest []uint32, data []uint8, ends []uint32) {
	i := it.Global(0)
	if i >= len(ends) {
		return
	}
	start := uint32(0)
	if i > 0 {
		start = ends[i-1]
	}
	n := ends[i] - start
	h := [8]uint32{
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	}
	// A byte 0x80 and the length in bits follow the message, and fill its last block of 64 bytes.
	for at := uint32(0); at < n+9; at += 64 {
		var w [16]uint32
		for j := range 64 {
			c := uint32(0)
			switch p := at + uint32(j); {
			case p < n:
				c = uint32(data[start+p])
			case p == n:
				c = 0x80
			}
			w[j/4] = w[j/4]<<8 | c
		}
		if at+64 >= n+9 {
			w[14], w[15] = n>>29, n<<3
		}
		compress(&h, &w)
	}
	for j, word := range h {
		digest[8*i+j] = word
	}
}

// compress takes a block into the state.
func compress(h *[8]uint32, w *[16]uint32) {
	a, b, c, d, e, f, g, s := h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
	for i, k := range roundConstants {
		if i >= 16 { // the last 16 words are enough to make the next
			x, y := w[(i-15)%16], w[(i-2)%16]
			x = bits.RotateLeft32(x, -7) ^ bits.RotateLeft32(x, -18) ^ x>>3
			y = bits.RotateLeft32(y, -17) ^ bits.RotateLeft32(y, -19) ^ y>>10
			w[i%16] += x + w[(i-7)%16] + y
		}
		t := bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)
		t += s + (e&f ^ ^e&g) + k + w[i%16]
		u := bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)
		u += a&b ^ a&c ^ b&c
		a, b, c, d, e, f, g, s = t+u, a, b, c, d+t, e, f, g
	}
	for i, v := range [8]uint32{a, b, c, d, e, f, g, s} {
		h[i] += v
	}
}

// digests is the SHA-256 of every message.
func digests(s *linalg.Session, messages [][]byte) ([][32]byte, error) {
	var data []uint8
	ends := make([]uint32, len(messages))
	for i, m := range messages {
		data = append(data, m...)
		ends[i] = uint32(len(data))
	}
	texts, err := vector(s, data)
	if err != nil {
		return nil, err
	}
	defer texts.Free()
	digest, err := linalg.NewArray[uint32](s, len(messages), 8)
	if err != nil {
		return nil, err
	}
	defer digest.Free()
	if err := launchHash(s, groups(len(ends), 64), digest, texts, ends); err != nil {
		return nil, err
	}
	words, err := digest.Download()
	if err != nil {
		return nil, err
	}
	sums := make([][32]byte, len(messages))
	for i, w := range words.Data {
		binary.BigEndian.PutUint32(sums[i/8][i%8*4:], w)
	}
	return sums, nil
}
