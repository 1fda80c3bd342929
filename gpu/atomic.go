package gpu

import (
	"sync/atomic"
	"unsafe"
)

// Atomic is the integers that have atomic operations.
type Atomic interface {
	~int | ~uint | ~int32 | ~uint32 | ~int64 | ~uint64
}

// update replaces *p by f of it, atomically, and returns the old value.
func update[T Atomic](p *T, f func(T) T) T {
	for {
		old := load(p)
		if cas(p, old, f(old)) {
			return old
		}
	}
}

func load[T Atomic](p *T) T {
	if unsafe.Sizeof(*p) == 4 {
		return T(atomic.LoadUint32((*uint32)(unsafe.Pointer(p))))
	}
	return T(atomic.LoadUint64((*uint64)(unsafe.Pointer(p))))
}

func cas[T Atomic](p *T, old, v T) bool {
	if unsafe.Sizeof(*p) == 4 {
		return atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(p)), uint32(old), uint32(v))
	}
	return atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(p)), uint64(old), uint64(v))
}

// AtomicAdd makes *p the sum of it and v, and returns what was there before. The atomic operations
// order nothing but themselves: other memory needs a barrier, and other groups see it after the
// launch.
func AtomicAdd[T Atomic](p *T, v T) T {
	if unsafe.Sizeof(*p) == 4 {
		return T(atomic.AddUint32((*uint32)(unsafe.Pointer(p)), uint32(v))) - v
	}
	return T(atomic.AddUint64((*uint64)(unsafe.Pointer(p)), uint64(v))) - v
}

// AtomicMin makes *p the smaller of it and v, and returns what was there before.
func AtomicMin[T Atomic](p *T, v T) T { return update(p, func(old T) T { return min(old, v) }) }

// AtomicMax makes *p the larger of it and v, and returns what was there before.
func AtomicMax[T Atomic](p *T, v T) T { return update(p, func(old T) T { return max(old, v) }) }

// AtomicAnd makes *p the bits that it and v have in common, and returns what was there before.
func AtomicAnd[T Atomic](p *T, v T) T { return update(p, func(old T) T { return old & v }) }

// AtomicOr makes *p the bits that it or v have, and returns what was there before.
func AtomicOr[T Atomic](p *T, v T) T { return update(p, func(old T) T { return old | v }) }

// AtomicXor makes *p the bits that only one of it and v has, and returns what was there before.
func AtomicXor[T Atomic](p *T, v T) T { return update(p, func(old T) T { return old ^ v }) }

// AtomicExchange makes *p v, and returns what was there before.
func AtomicExchange[T Atomic](p *T, v T) T { return update(p, func(T) T { return v }) }

// AtomicCompareExchange makes *p v if it is old, and returns what was there before.
func AtomicCompareExchange[T Atomic](p *T, old, v T) T {
	for {
		if now := load(p); now != old || cas(p, old, v) {
			return now
		}
	}
}
