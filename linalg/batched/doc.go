// Package batched factors many small matrices at once, and solves by them, each operation in one
// launch: LU, Cholesky and solutions of count matrices of n by n for n up to [MaxOrder].
//
// As in [linalg.Batch] the matrices of an operand lie below each other in its array, at any stride:
// count of n by n are an array of count*n by n, their right sides one of count*n by m.
// Functions enqueue their work and return. They overwrite the operand, and each matrix gets the
// bits that [linalg.FactorLU], [linalg.FactorCholesky] and Solve give it alone, on every device,
// whatever the others of its batch are.
//
// A matrix that is singular, or not positive definite, or whose factors are beyond the type, is no
// error of a call, which would have to wait, and spoils no other: an array, status, tells of each
// matrix where its factorization failed. [LUError] and [CholeskyError] wait for that array, and
// make an error of it. Without one, solutions that are not finite are beyond the type; after one
// those of that matrix mean nothing.
//
// While a function runs it takes memory of the device beside: some megabytes on processors, on GPUs
// up to as much as the matrices take.
package batched

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack
