package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// A format is a type of numbers T, whose bits are those of an I.
type format[T float32 | float64, I int32 | int64] interface {
	rounder[T]
	words() int // that a sum of products takes, the lowest of which counts 2^bottom
	bottom() int

	bits(x T) I
	from(bits I) T
	most() I                // the largest, whose bits are all but the sign
	upper(m I) uint32       // the upper bits of a magnitude, rounded up
	field(upper uint32) int // the exponent's, of these, or one more
	least(lo uint32) int    // the exponent's, of the upper bits less 1, or one less
	split(x T) (m uint64, exp int, finite bool)
}

// A rounder is what Round needs of a format.
type rounder[T float32 | float64] interface {
	precision() int    // bits of the significand
	bias() int         // of the exponent
	power(field int) T // the power of two with this exponent field
	round(v superacc.Value) T
}

type single struct{}

func (single) precision() int                      { return 24 }
func (single) bias() int                           { return 127 }
func (single) words() int                          { return 24 }
func (single) bottom() int                         { return -384 }
func (single) bits(x float32) int32                { return int32(math.Float32bits(x)) }
func (single) from(b int32) float32                { return math.Float32frombits(uint32(b)) }
func (single) power(field int) float32             { return math.Float32frombits(uint32(field) << 23) }
func (single) most() int32                         { return 1<<31 - 1 }
func (single) upper(m int32) uint32                { return uint32(m) }
func (single) field(upper uint32) int              { return int(upper >> 23) }
func (single) least(lo uint32) int                 { return int((lo + 1) >> 23) }
func (single) split(x float32) (uint64, int, bool) { return superacc.Split32(math.Float32bits(x)) }
func (single) round(v superacc.Value) float32      { return math.Float32frombits(v.Bits32()) }

type double struct{}

func (double) precision() int                      { return 53 }
func (double) bias() int                           { return 1023 }
func (double) words() int                          { return 136 }
func (double) bottom() int                         { return -2176 }
func (double) bits(x float64) int64                { return int64(math.Float64bits(x)) }
func (double) from(b int64) float64                { return math.Float64frombits(uint64(b)) }
func (double) power(field int) float64             { return math.Float64frombits(uint64(field) << 52) }
func (double) most() int64                         { return 1<<63 - 1 }
func (double) upper(m int64) uint32                { return uint32((uint64(m) + 1<<32 - 1) >> 32) }
func (double) field(upper uint32) int              { return int(upper >> 20) }
func (double) least(lo uint32) int                 { return int(lo >> 20) }
func (double) split(x float64) (uint64, int, bool) { return superacc.Split64(math.Float64bits(x)) }
func (double) round(v superacc.Value) float64      { return math.Float64frombits(v.Bits64()) }
