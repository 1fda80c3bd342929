package linalg

import "github.com/tandem-gpu/tandem/internal/host"

// FMA is a*b + c, rounded once to nearest even with subnormals kept, as the fma of a kernel is;
// int32 wraps. It is for Go implementations of kernels that must give the kernel's bits:
// float32(math.FMA(...)) rounds twice.
func FMA[T Element](a, b, c T) T { return host.FMA(a, b, c) }
