package random

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// A Source is where the numbers of an array come from: Philox with this key, and the upper half of
// its counter.
type Source struct{ Key, Stream uint64 }

// philox is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3;
// 2011): four random words of a counter and a key.
func philox(c0, c1, c2, c3, k0, k1 uint32) (w0, w1, w2, w3 uint32) {
	for range 10 {
		p0, p1 := uint64(c0)*0xD2511F53, uint64(c2)*0xCD9E8D57
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c0, c1, c2, c3
}

// block is the words of a block. No array has 2^48 blocks: an attempt at a number has the bits of
// the counter above those.
func (s Source) block(b int, attempt uint32) (w0, w1, w2, w3 uint32) {
	return philox(uint32(b), uint32(uint64(b)>>32)|attempt<<16, uint32(s.Stream), uint32(s.Stream>>32),
		uint32(s.Key), uint32(s.Key>>32))
}

// A Maker says what numbers are made.
type Maker interface {
	Uniform32 | Uniform64 | Normal32 | Normal64 | Integers
}

// A maker makes the numbers of a block: per of them, 4 or 2, and zeros.
type maker[T gpu.Number] interface {
	per() int
	numbers(s Source, b int, r Range) (x0, x1, x2, x3 T)
}

// Fill makes element k of c, counted by rows, number k % per of block k / per. A work-item makes a
// block; one that two rows share is made for each.
//
//tandem:kernel float32,Uniform32 float64,Uniform64 float32,Normal32 float64,Normal64 int32,Integers
func Fill[T gpu.Number, M maker[T]](it gpu.Item, m M, c gpu.Matrix[T], s Source, r Range) {
	for i := it.Global(1); i < c.Rows; i += it.GlobalSize(1) {
		first := i * c.Cols / m.per()
		last := (i*c.Cols + c.Cols - 1) / m.per()
		row := c.Data[i*c.Stride : i*c.Stride+c.Cols]
		for b := first + it.Global(0); b <= last; b += it.GlobalSize(0) {
			x0, x1, x2, x3 := m.numbers(s, b, r)
			j := b*m.per() - i*c.Cols
			if j >= 0 && j+m.per() <= c.Cols {
				row[j], row[j+1] = x0, x1
				if m.per() == 4 {
					row[j+2], row[j+3] = x2, x3
				}
				continue
			}
			put(row, j, x0)
			put(row, j+1, x1)
			if m.per() == 4 {
				put(row, j+2, x2)
				put(row, j+3, x3)
			}
		}
	}
}

func put[T gpu.Number](row []T, j int, x T) {
	if j >= 0 && j < len(row) {
		row[j] = x
	}
}

// Uniform32 makes numbers in [0, 1) of the upper 24 bits of each word.
type Uniform32 struct{}

func (Uniform32) per() int { return 4 }

func (Uniform32) numbers(s Source, b int, _ Range) (x0, x1, x2, x3 float32) {
	w0, w1, w2, w3 := s.block(b, 0)
	return upper24(w0), upper24(w1), upper24(w2), upper24(w3)
}

func upper24(w uint32) float32 { return float32(int32(w>>8)) * (1.0 / (1 << 24)) }

// Uniform64 makes numbers in [0, 1) of the upper 53 bits of two words, the second of which is above
// the first.
type Uniform64 struct{}

func (Uniform64) per() int { return 2 }

func (Uniform64) numbers(s Source, b int, _ Range) (x0, x1, x2, x3 float64) {
	w0, w1, w2, w3 := s.block(b, 0)
	return upper53(w0, w1), upper53(w2, w3), 0, 0
}

func upper53(lo, hi uint32) float64 {
	return float64(hi)*(1.0/(1<<32)) + float64(lo>>11)*(1.0/(1<<53)) // exact
}

// Normal32 is Box and Muller's: a word of the block for the radius, the next for the angle.
type Normal32 struct{}

func (Normal32) per() int { return 4 }

func (Normal32) numbers(s Source, b int, _ Range) (x0, x1, x2, x3 float32) {
	w0, w1, w2, w3 := s.block(b, 0)
	x0, x1 = pair((float32(int32(w0>>1))+0.5)*(1.0/(1<<31)), float32(int32(w1)>>7)*(1.0/(1<<24)))
	x2, x3 = pair((float32(int32(w2>>1))+0.5)*(1.0/(1<<31)), float32(int32(w3)>>7)*(1.0/(1<<24)))
	return x0, x1, x2, x3
}

// Normal64 is the same with two words for each.
type Normal64 struct{}

func (Normal64) per() int { return 2 }

func (Normal64) numbers(s Source, b int, _ Range) (x0, x1, x2, x3 float64) {
	w0, w1, w2, w3 := s.block(b, 0)
	x0, x1 = pair(upper53(w0, w1)+1.0/(1<<54), 2*upper53(w2, w3)-1)
	return x0, x1, 0, 0
}

// pair is two normal numbers of a u in (0, 1] and of an angle in [-1, 1) half turns.
func pair[T gpu.Float](u, angle T) (x, y T) {
	r := T(math.Sqrt(float64(-2 * gpu.Log(u))))
	return r * gpu.CosPi(angle), r * gpu.SinPi(angle)
}

// A Range is span integers from low on. A word times span has its integer in the upper half; where
// the lower is below uneven, 2^32 modulo span, it is one of those that some integers have too many.
type Range struct {
	low          int32
	span, uneven uint32
}

// NewRange is the integers from lo to hi-1, of which there is one at least.
func NewRange(lo, hi int32) Range {
	span := uint32(hi) - uint32(lo)
	return Range{lo, span, -span % span}
}

// Integers makes integers of a Range without bias (Lemire, Fast random integer generation in an
// interval, 2019). In place of a word that is refused is that of the next attempt.
type Integers struct{}

func (Integers) per() int { return 4 }

func (Integers) numbers(s Source, b int, r Range) (x0, x1, x2, x3 int32) {
	w0, w1, w2, w3 := s.block(b, 0)
	for attempt := uint32(1); r.refuses(w0) || r.refuses(w1) || r.refuses(w2) || r.refuses(w3); attempt++ {
		v0, v1, v2, v3 := s.block(b, attempt)
		w0, w1, w2, w3 = r.orNext(w0, v0), r.orNext(w1, v1), r.orNext(w2, v2), r.orNext(w3, v3)
	}
	return r.of(w0), r.of(w1), r.of(w2), r.of(w3)
}

func (r Range) refuses(w uint32) bool { return w*r.span < r.uneven }

func (r Range) orNext(w, next uint32) uint32 {
	if r.refuses(w) {
		return next
	}
	return w
}

func (r Range) of(w uint32) int32 { return r.low + int32(uint64(w)*uint64(r.span)>>32) }
