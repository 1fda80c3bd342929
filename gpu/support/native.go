package support

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

// Natives is the machine code of a package's kernels, by their entry points.
type Natives map[string]NativeKernel

// A NativeKernel is the machine code of a kernel.
type NativeKernel struct {
	Key  string // of what it was made of
	Code []backend.Native
}

// Of is the code of a kernel if it was made of what key stands for. There is none where the cpu
// device runs each work-item as a goroutine.
func (n Natives) Of(kernel, key string) []backend.Native {
	if k := n[kernel]; k.Key == key && !gpu.Goroutines {
		return k.Code
	}
	return nil
}
