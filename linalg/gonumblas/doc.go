// Package gonumblas makes gonum compute on a GPU, and with Tandem's own assembly where there is
// none: one call, and mat.Dense.Mul, LU, Cholesky, QR, SVD, Solve, blas64.Gemm and blas32.Gemm use
// it.
//
//	s, err := linalg.Open("") // the device that TANDEM_BACKEND names, or the best
//	...
//	defer s.Close()
//	gonumblas.Use(s)
//	defer gonumblas.Restore()
//
// # What runs where
//
// Matrix products (gemm) are computed as package linalg says, one chain of fused multiply-adds for
// each element: on the device where that pays, and elsewhere on the host, with the same bits. From
// which size it pays is looked up in the tuning data: what "tandem tune" measured on this machine,
// or what comes with Tandem for the kind of device. Where neither knows, it is measured once for
// each element type, when the first product comes whose dimensions have a harmonic mean of 256 or
// more; that takes about a second, and the time to compile the kernels, and the outcome is written
// to the user's tuning file for the next process. [Crossover] fixes it instead. Products always run
// on the host for types that the device does not support, and on devices that are the host's
// processor: the cpu device, which runs the very same code, and OpenCL CPU devices such as PoCL,
// which the host's own product beats at every size that was measured.
//
// The other functions of level 3 are made of products:
//
//   - symm is one product with the whole symmetric matrix, which is put together first; syrk is a
//     product of which one triangle is kept, and syr2k the sum of two: the first with beta, the
//     second with 1 in its place. Their bits are those of gemm.
//   - trmm and trsm are chains over the triangle. Row i of trmm is the chain of a[i,k]*b[k] by
//     ascending k from +0, and then times alpha. Row i of trsm starts from alpha*b[i], rounded,
//     subtracts a[i,k]*x[k] for the rows k that are known before it, ascending in a lower triangle
//     and descending in an upper one, and is divided by a[i,i]. A matrix at the right side is the
//     transpose of one at the left.
//
// In package lapack64 these are Tandem's own: Getrf, Getrs, Getri and Gecon (LU), Potrf, Potrs,
// Potri and Pocon (Cholesky), Geqrf, Gelqf, Orgqr, Orglq, Ormqr and Ormlq (QR and LQ), Syev
// (symmetric eigenvalues), Gesvd (SVD), Trtri, Trtrs and Trcon (triangles). So are, through them,
// LU, Cholesky, QR, LQ, EigenSym, SVD, Dense.Solve, Dense.Inverse, Det and TriDense.InverseTri of
// package mat. They follow the numerics contract, and their large parts are products; Getrf and
// Potrf of large matrices run in the device's memory. An inverse is the solution of A*X = I.
// Condition numbers are estimated after Hager and Higham, with right sides that are multiplied by
// the norm, so that they do not overflow where the inverse does.
//
// None of this depends on the device, the number of cores or the crossover, and so the results have
// the same bits on every machine.
//
// Level 3 of the complex types is made of real products of m by 2n by 2k, on the device where that
// pays.
//
// Levels 1 and 2 run on the host, on all cores where vectors are long: gemv, symv, ger, syr, syr2,
// trmv, trsv, dot, asum, nrm2, iamax, axpy and scal, by the numerics contract. So MulVec has the
// bits of Mul.
//
// The rest stays gonum's: rot, rotg, rotm, rotmg, which may differ between processor
// architectures in the last bits, as they do without this package; copy and swap, which only move;
// band and packed matrices, levels 1 and 2 of the complex types, and of lapack64: Gels, Ggsvd3,
// Geev, band matrices, PivotedCholesky. The parts of those that use them may differ, too.
//
// # What differs from gonum
//
//   - A zero in A does not hide a NaN or an infinity in B: 0*NaN is NaN here. gonum leaves
//     such products out. That is a matter of speed, too: where nearly all of A is zero, gonum
//     may be faster.
//   - Every product is fused with its sum, and sums run in another order, so that results differ
//     from gonum's in the last bits.
//   - beta is multiplied in once, at the end: C = fma(alpha, acc, beta*C). As in gonum, beta == 0
//     does not read C. alpha == 0 reads neither A nor B; gonum's gemm does, so that a NaN there
//     comes through.
//   - trsm and LU divide by the diagonal; in some cases gonum multiplies by its reciprocal.
//   - herk and her2k make the diagonal of C real even where nothing is added to it and beta is 1;
//     gonum leaves C as it is.
//   - A NaN is a pivot of LU before all numbers.
//   - EigenSym and SVD of NaN or infinities fail. Of nearly equal values vectors are others. Signs
//     of vectors are gonum's, but for those of more than 32 values, and one in some hundred.
//   - Restore gives lapack64 gonum's own implementation: it does not tell what it had before.
//   - iamax takes a NaN for the largest; gonum passes it by.
//   - With few elements the call counts: up to 16 rows it may take twice gonum's time, or a tenth
//     of a microsecond. So may gemv of up to 16 rows, or of as many beyond a multiple of 16,
//     however long these are: the steps of a chain wait for each other. Singular values without
//     vectors take up to 1.5 times gonum's time for 8 to 100 rows. Of one row or column symm, and
//     trsm of complex numbers, take up to seven times gonum's time, and of one or two steps syrk
//     and syr2k up to five times.
//   - Temporary memory: transposed operands are copied, syrk and syr2k of up to 64 rows copy one
//     operand, or of more than 512 steps compute the whole product, and symm copies A. The memory
//     is used again.
//
// Invalid arguments panic with gonum's own values: such calls are handed to gonum's implementation.
// Only the elements that BLAS names are read and written: one triangle of a symmetric or triangular
// matrix, no diagonal where it is a unit's, nothing between rows.
//
// # When the device fails
//
// BLAS returns no errors. A product, or a factorization, whose device fails is computed on the host
// instead, with the same bits; [OnError] and [Err] tell. The device works on a copy of what is read
// and overwritten. A closed session fails at every product: call Restore before Session.Close.
//
// # Concurrency
//
// Everything may be called by many goroutines at once, apart from what [Use] says.
package gonumblas
