package ptxsim

import "math"

// atomicOps is the function that an atomic operation of type t applies to the old value; nil if
// there is none. The result may have more bits than t, which are not stored.
func atomicOps(op string, t typ) func(old, b, c uint64) uint64 {
	switch t.class {
	case float:
		switch {
		case op == "add" && t.bits == 32:
			return func(old, b, _ uint64) uint64 {
				return bits32(math.Float32frombits(uint32(old)) + math.Float32frombits(uint32(b)))
			}
		case op == "add" && t.bits == 64:
			return func(old, b, _ uint64) uint64 { return bits64(math.Float64frombits(old) + math.Float64frombits(b)) }
		}
		return nil
	case signed:
		switch op {
		case "min":
			return func(old, b, _ uint64) uint64 { return uint64(min(signExtend(old, t.bits), signExtend(b, t.bits))) }
		case "max":
			return func(old, b, _ uint64) uint64 { return uint64(max(signExtend(old, t.bits), signExtend(b, t.bits))) }
		}
	case unsigned:
		switch op {
		case "min":
			return func(old, b, _ uint64) uint64 { return min(old, b&mask(t.bits)) }
		case "max":
			return func(old, b, _ uint64) uint64 { return max(old, b&mask(t.bits)) }
		case "inc":
			return func(old, b, _ uint64) uint64 { return atomicInc(old, b&mask(t.bits)) }
		case "dec":
			return func(old, b, _ uint64) uint64 { return atomicDec(old, b&mask(t.bits)) }
		}
	}
	return atomicBits(op, t)
}

// atomicBits is atomicOps for what does not depend on the sign.
func atomicBits(op string, t typ) func(old, b, c uint64) uint64 {
	switch op {
	case "add":
		return func(old, b, _ uint64) uint64 { return old + b }
	case "exch":
		return func(_, b, _ uint64) uint64 { return b }
	case "cas":
		return func(old, b, c uint64) uint64 {
			if old == b&mask(t.bits) {
				return c
			}
			return old
		}
	case "and":
		return func(old, b, _ uint64) uint64 { return old & b }
	case "or":
		return func(old, b, _ uint64) uint64 { return old | b }
	case "xor":
		return func(old, b, _ uint64) uint64 { return old ^ b }
	}
	return nil
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
