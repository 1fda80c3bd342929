package exact

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/internal/superacc"
)

// marshalled is how many bytes an Acc has in its binary form, and version the first of them.
const (
	marshalled = 1 + 3*8 + words*4
	version    = 1
)

// AppendBinary appends the binary form of a to b, 569 bytes, which is the same for the same sum,
// on every machine, in whatever order it was added up. All its numbers are little-endian:
//
//	1 byte     1, the version of the format
//	3 * 8      how many NaN, +Inf and -Inf are in the sum, signed
//	136 * 4    the rest of the sum times 2^2176, an integer in two's complement
//
// It is an error where the rest is beyond 2^2112, as no 2^63 products of float64 are.
func (a *Acc) AppendBinary(b []byte) ([]byte, error) {
	c := *a
	superacc.Carry(c.w[:], all)
	if top := c.w[words-2:]; !fits(top) {
		return b, errors.New("exact: the sum is too large for its binary form")
	}
	b = append(b, version)
	for _, n := range []int64{c.special.nan, c.special.inf, c.special.negInf} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, v := range c.w {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b, nil
}

// MarshalBinary is the binary form of a, as AppendBinary has it.
func (a *Acc) MarshalBinary() ([]byte, error) { return a.AppendBinary(make([]byte, 0, marshalled)) }

// UnmarshalBinary makes a the sum whose binary form is data. After an error a is as it was.
func (a *Acc) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || data[0] != version {
		return errors.New("exact: the data do not begin as a sum of version 1 does")
	}
	if len(data) != marshalled {
		return fmt.Errorf("exact: a sum has %d bytes of binary form, not %d", marshalled, len(data))
	}
	var c Acc
	data = data[1:]
	for _, n := range []*int64{&c.special.nan, &c.special.inf, &c.special.negInf} {
		*n = int64(binary.LittleEndian.Uint64(data))
		data = data[8:]
	}
	for k := range c.w {
		c.w[k] = int64(binary.LittleEndian.Uint32(data[4*k:]))
	}
	c.w[words-1] = int64(int32(c.w[words-1])) // the sign
	if !fits(c.w[words-2:]) {
		return errors.New("exact: the sum in the data is larger than one can be")
	}
	c.added = 1
	*a = c
	return nil
}

// fits tells whether the upper two words of a sum that was carried are its sign alone.
func fits(top []int64) bool {
	return top[1] == 0 && top[0] == 0 || top[1] == -1 && top[0] == 1<<32-1
}
