package ptxsim

import "math"

// An atomicFunc is what an atomic operation makes of the old value. The result may have more bits
// than its type, which are not stored.
type atomicFunc func(old, b, c uint64) uint64

// atomics are the atomic operations by type and name.
var atomics = map[typ]map[string]atomicFunc{
	b32: atomicBits[uint32](), u32: atomicInts[uint32, uint32](), {signed, 32}: atomicInts[int32, uint32](),
	b64: atomicBits[uint64](), {unsigned, 64}: atomicInts[uint64, uint64](), {signed, 64}: atomicInts[int64, uint64](),
	f32: {"add": func(old, b, _ uint64) uint64 {
		return bits32(math.Float32frombits(uint32(old)) + math.Float32frombits(uint32(b)))
	}},
	f64: {"add": func(old, b, _ uint64) uint64 { return bits64(math.Float64frombits(old) + math.Float64frombits(b)) }},
}

// atomicBits is the operations that do not depend on the sign.
func atomicBits[U unsignedInt]() map[string]atomicFunc {
	return map[string]atomicFunc{
		"add":  func(old, b, _ uint64) uint64 { return old + b },
		"exch": func(_, b, _ uint64) uint64 { return b },
		"and":  func(old, b, _ uint64) uint64 { return old & b },
		"or":   func(old, b, _ uint64) uint64 { return old | b },
		"xor":  func(old, b, _ uint64) uint64 { return old ^ b },
		"cas": func(old, b, c uint64) uint64 {
			if U(old) == U(b) {
				return c
			}
			return old
		},
	}
}

// atomicInts is the operations for integers T; U is T without a sign.
func atomicInts[T integer, U unsignedInt]() map[string]atomicFunc {
	fs := atomicBits[U]()
	fs["min"] = func(old, b, _ uint64) uint64 { return uint64(min(T(old), T(b))) }
	fs["max"] = func(old, b, _ uint64) uint64 { return uint64(max(T(old), T(b))) }
	if !isSigned[T]() {
		fs["inc"] = func(old, b, _ uint64) uint64 { return atomicInc(old, uint64(U(b))) }
		fs["dec"] = func(old, b, _ uint64) uint64 { return atomicDec(old, uint64(U(b))) }
	}
	return fs
}

func atomicInc(old, limit uint64) uint64 {
	if old >= limit {
		return 0
	}
	return old + 1
}

func atomicDec(old, limit uint64) uint64 {
	if old == 0 || old > limit {
		return limit
	}
	return old - 1
}

// atomicAddFlush is the add.f32 of global memory, which flushes subnormal operands and results, on
// hardware too.
func atomicAddFlush(old, b, _ uint64) uint64 {
	x, y := math.Float32frombits(uint32(old)), math.Float32frombits(uint32(b))
	return bits32(flush(flush(x) + flush(y)))
}
