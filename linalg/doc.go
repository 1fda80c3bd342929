// Package linalg multiplies, transposes, adds and scales dense matrices on a GPU or on the CPU,
// with the same bits everywhere.
//
// # Host matrices
//
// [MatMul], [Transpose], [Add] and [Scale] take matrices in host memory and give one back. They run
// on the default device, which the environment variable TANDEM_BACKEND names ("cuda", "opencl",
// "cpu", "opencl:1", "opencl:gfx90a"); without it, it is the first of a CUDA GPU, an OpenCL GPU and
// the CPU. Options say otherwise: MatMul(a, b, [On](s), [WithContext](ctx)) runs on session s until
// ctx ends, and [Batch] makes many products at once. Several devices ("cuda:0+cuda:1+cpu", "gpus")
// share the work. Matrices may be larger than a device with memory of its own: they go through it
// in parts.
//
// Weights are often stored as float16 or bfloat16: [MatMulMixed] takes them. [MatMulInt8] takes
// int8 and uint8, and adds in int32. [MatMulComplex] takes complex numbers.
//
// # Device arrays
//
// A [Session] is an open device with a queue. [Upload] and [NewArray] make arrays that stay on it;
// their methods enqueue work and return, and [Array.Download] brings a result back; fmt.Println
// prints its elements, shortened where they are many. The receiver is the destination, as in gonum.
// [Array.Mul] with [Batch] is many products of one shape in one launch. [Array.AddMul] and
// [Array.SubMul] continue the chains of C, so that a product may be done in parts. [Array.View] is
// a host copy that gonum reads. Arrays of int8 and uint8 are multiplied by [GemmInt8Arrays]; those
// of other elements, such as a struct, are for kernels of one's own.
//
// # Factorizations
//
// [FactorLU], [FactorCholesky] and [FactorQR] factor matrices in host memory: what they give solves
// equations, inverts, and knows determinants and condition numbers. [FactorEigSym] finds the
// eigenvalues and eigenvectors of symmetric ones, [FactorSVD] singular values and vectors. They
// work on the host, with large products on the session's devices where these are faster; large
// matrices stay in the memory of such a device, and the host does what is one step after the other.
// Package batched does LU, Cholesky and solutions of many small matrices at once, in device arrays.
//
// # Files and streams
//
// [ReadNPY] and [Array.WriteNPY] move arrays between the device and .npy files, [Array.ReadRaw] and
// [Array.WriteRaw] between the device and plain bytes, through a few megabytes of host memory.
// Package files computes from .npy files to a file, none of which needs to fit in memory.
//
// # The numerics contract
//
// Every element of a product is one chain acc = fma(a[i,k], b[k,j], acc) for k = 0, 1, ... K-1 that
// starts from +0, in the element type, each step rounded once to nearest even with subnormals kept;
// int32 wraps modulo 2^32. C = alpha*A*B + beta*C is fma(alpha, acc, beta*C) with beta*C rounded
// first; where beta is 0 it is alpha*acc rounded once and C is not read. Where K or alpha is 0 it
// is beta*C, and neither A nor B is read. The chain of AddMul and SubMul starts from C's element
// instead, and SubMul has -a[i,k] for a[i,k]. So a result does not depend on the device, its
// driver, the tile size, the number of threads, or how the work is split. Unlike in gonum, a zero
// in A does not hide a NaN or an infinity in B. The bits of a NaN are not part of the contract.
//
// # Errors
//
// Errors match [ErrShape], [ErrOverlap], [ErrSingular], [ErrNotPositiveDefinite],
// [ErrNotConverged], [ErrOverflow], [ErrNPY], or a sentinel of package backend, such as
// backend.ErrOutOfMemory. Asynchronous failures of the device are reported by the next call of the
// session that waits: Wait, CopyTo, Download. A call on host matrices waits for its own work, and
// returns the failures of that alone. One whose context ends returns context.Cause of it, which is
// meant where ctx's error is spoken of. A file of the caller's that panics does so in the goroutine
// of the call, with an error that has the value and the stack.
package linalg
