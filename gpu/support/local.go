package support

import "github.com/tandem-gpu/tandem/gpu"

// LocalAdd is gpu.AtomicAdd on local memory, and the functions below are the other atomic
// operations there: one goroutine runs a group, so that nobody else sees its local memory.
func LocalAdd[T gpu.Atomic](p *T, v T) T { return LocalExchange(p, *p+v) }

// LocalMin is gpu.AtomicMin.
func LocalMin[T gpu.Atomic](p *T, v T) T { return LocalExchange(p, min(*p, v)) }

// LocalMax is gpu.AtomicMax.
func LocalMax[T gpu.Atomic](p *T, v T) T { return LocalExchange(p, max(*p, v)) }

// LocalAnd is gpu.AtomicAnd.
func LocalAnd[T gpu.Atomic](p *T, v T) T { return LocalExchange(p, *p&v) }

// LocalOr is gpu.AtomicOr.
func LocalOr[T gpu.Atomic](p *T, v T) T { return LocalExchange(p, *p|v) }

// LocalXor is gpu.AtomicXor.
func LocalXor[T gpu.Atomic](p *T, v T) T { return LocalExchange(p, *p^v) }

// LocalExchange is gpu.AtomicExchange.
func LocalExchange[T gpu.Atomic](p *T, v T) T {
	old := *p
	*p = v
	return old
}

// LocalCompareExchange is gpu.AtomicCompareExchange.
func LocalCompareExchange[T gpu.Atomic](p *T, old, v T) T {
	now := *p
	if now == old {
		*p = v
	}
	return now
}
