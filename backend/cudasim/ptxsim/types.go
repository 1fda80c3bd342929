package ptxsim

import (
	"math"
	"strconv"
	"strings"
)

// A class is what the bits of a type mean.
type class uint8

const (
	untyped  class = iota // .b32
	unsigned              // .u32
	signed                // .s32
	float                 // .f32
	pred                  // .pred
)

// A typ is a fundamental type of PTX. The zero typ is no type.
type typ struct {
	class class
	bits  uint8
}

var types = map[string]typ{
	"b8": {untyped, 8}, "b16": {untyped, 16}, "b32": {untyped, 32}, "b64": {untyped, 64},
	"u8": {unsigned, 8}, "u16": {unsigned, 16}, "u32": {unsigned, 32}, "u64": {unsigned, 64},
	"s8": {signed, 8}, "s16": {signed, 16}, "s32": {signed, 32}, "s64": {signed, 64},
	"f32": {float, 32}, "f64": {float, 64}, "pred": {pred, 1},
}

func (t typ) size() int { return int(t.bits) / 8 }

// isInt reports whether t is an integer or untyped, of 16, 32 or 64 bits: what integer instructions
// take.
func (t typ) isInt() bool {
	return (t.class == signed || t.class == unsigned || t.class == untyped) && t.bits >= 16
}

func (t typ) String() string {
	for name, u := range types {
		if t == u {
			return "." + name
		}
	}
	return "(no type)"
}

// A space is a state space: where an address points.
type space uint8

const (
	spaceGeneric space = iota
	spaceGlobal        // .global and .const, which share device memory
	spaceShared
	spaceLocal
	spaceParam
)

func (s space) String() string {
	return [...]string{"generic", "global", "shared", "local", "param"}[s]
}

// The windows of generic addresses that mean shared and local memory. Device memory lies above
// both.
const (
	windowSize   = 1 << 32
	sharedWindow = 1 << 40
	localWindow  = 1 << 41
	globalStart  = 0x7f00_0000_0000
)

// mask is the low n bits, n <= 64.
func mask(n uint8) uint64 { return 1<<(n&63) - 1 | -uint64(n>>6) }

// signExtend is the low n bits of v as a signed number, 1 <= n <= 64.
func signExtend(v uint64, n uint8) int64 { return int64(v<<(64-n)) >> (64 - n) }

// parseInt is the value of an integer literal of PTX: 12, 017, 0x1F, 0b101, each with an optional
// U.
func parseInt(s string) (uint64, bool) {
	s = strings.TrimRight(s, "uU")
	if len(s) > 1 && s[0] == '0' && isDecimal(s) {
		s = "0o" + s[1:]
	}
	if strings.Contains(s, "_") {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 0, 64)
	return v, err == nil
}

// A literal is a number in an instruction: an integer, or a float with the bits that it was written
// with.
type literal struct {
	isFloat bool
	single  bool   // 0f...: bits are a float32's
	bits    uint64 // an integer's value, or a float's bits
}

func parseLiteral(s string) (literal, bool) {
	if len(s) > 2 && s[0] == '0' {
		switch s[1] | 0x20 {
		case 'f':
			v, err := strconv.ParseUint(s[2:], 16, 32)
			return literal{true, true, v}, err == nil && len(s) == 10
		case 'd':
			v, err := strconv.ParseUint(s[2:], 16, 64)
			return literal{true, false, v}, err == nil && len(s) == 18
		}
	}
	if v, ok := parseInt(s); ok {
		return literal{bits: v}, true
	}
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return literal{}, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return literal{isFloat: true, bits: math.Float64bits(v)}, err == nil
}

// negate is the literal with a minus before it.
func (l literal) negate() literal {
	switch {
	case l.isFloat && l.single:
		l.bits ^= 1 << 31
	case l.isFloat:
		l.bits ^= 1 << 63
	default:
		l.bits = -l.bits
	}
	return l
}

// as is the literal's bits as a value of type t. An integer literal for a float instruction is not
// PTX.
func (l literal) as(t typ) (uint64, bool) {
	switch {
	case !l.isFloat:
		return l.bits & mask(t.bits), t.class != float
	case t.bits == 32 && l.single, t.bits == 64 && !l.single:
		return l.bits, t.class == float || t.class == untyped
	case t.bits == 32:
		return uint64(math.Float32bits(float32(math.Float64frombits(l.bits)))), t.class == float
	case t.bits == 64:
		return math.Float64bits(float64(math.Float32frombits(uint32(l.bits)))), t.class == float
	}
	return 0, false
}
