// Package conformance shows that a device keeps the numerics contract: it runs every built-in
// kernel over inputs that anyone can reproduce, and compares SHA-256 digests of the results with
// golden ones, which plain references made: package internal/host, and big integers for exact sums.
// The elementary functions, and what package array computes, are the caller's to give: see Options.
//
// # Cases
//
// A case's name is KERNEL/TYPE/VALUES/SHAPE/LAYOUT/ALPHA,BETA:
//
//	KERNEL  matmul: C = ALPHA*A*B + BETA*C, with A of M by K, B of K by N and C of M by N;
//	        addmul: C + ALPHA*A*B in one chain that starts from C, with ALPHA 1 or -1, which is
//	        the sign of A's elements, and BETA 1;
//	        matmul_naive, matmul_tiled: C = A*B;
//	        matmul_int8, matmul_uint8: A*B + BETA*C, where an element of A or B is four bytes,
//	        of which bits 0 to 7 are the first: int8, but uint8 in A of the second, and a
//	        product that of the four pairs of bytes, added;
//	        transpose, transpose_naive, transpose_tiled: C = A', with A of M by N;
//	        add: C = A + B; scale: C = ALPHA*A; and so on, as kernels.Elementwises has them;
//	        all of M by N;
//	        gpu.Exp, gpu.Pow and so on: C is that function of package gpu, element by element: of
//	        A's elements, or of A's and B's, by packages rmath/f32 and rmath
//	array.Sum and so on: functions of package array, see below
//	lu, cholesky, qr, eigh, svd, solve: see below
//	TYPE    float32, float64 or int32
//	VALUES  uniform, subnormal, underflow, wide or special: what the operands hold
//	SHAPE   MxNxK for products, MxN for the others
//	LAYOUT  packed, or gapG,offsetO: G elements after each row, O before the first; same results
//	ALPHA   and BETA: decimal numbers, which are rounded to the type
//
// The operands are a, b and c, where c is what C holds before; where BETA is 0 it is not read.
//
// Factorizations are as docs/contract.md has them, on the host but for their larger products. The
// result of lu, of A of M by N, is L and U packed, row by row, and then the pivots as numbers of
// the type. That of cholesky is L, with +0 above the diagonal, of the symmetric A of M by M whose
// lower triangle is operand a's, but for the diagonal: that is |a[i,i]| + 16*M. That of qr, of A of
// M by N, is R and the vectors of the reflectors below it, row by row, and then their factors tau.
// That of eigh, of the symmetric A of M by M whose lower triangle is operand a's, is the
// eigenvectors in columns, row by row, and then the eigenvalues. That of svd, of A of M by N, is U,
// of min(M, N) columns, row by row, then Vᵀ, and then the singular values. That of solve is X of
// A*X = B, for A of M by M and B of M by N.
//
// Of package array A is M by N, B too, and C is a row. Results are elements of the type, indices as
// numbers; of reductions first that over all, then one for each column, then one for each row:
//
//	array.Sum, array.Mean, array.Norm (of kind 2), array.Max, array.ArgMax
//	array.CumSum
//	array.Sort      each row sorted, and after all of them what ArgSort gives
//	array.Convert   to float16 and back, and after that to bfloat16 and back, of float32
//	array.Map       a*b + c, rounded once, where a < b, else a - b
//	array.Uniform, array.Normal, array.Integers (from -2^30 to 3*2^29 - 1)
//	                stream 5 of a seed, which is the first state of the generator of operand a
//
// # Inputs
//
// The elements of an operand come, row by row, from splitmix64 (Steele, Lea and Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014):
//
//	state = state + 0x9e3779b97f4a7c15
//	z = state
//	z = (z xor z>>30) * 0xbf58476d1ce4e5b9
//	z = (z xor z>>27) * 0x94d049bb133111eb
//	u = z xor z>>31
//
// in 64-bit arithmetic. The first state is the 64-bit FNV-1a hash of the bytes of
// "TYPE/VALUES/ROWSxCOLS/OPERAND", such as "float32/uniform/130x17/a", with the rows and columns of
// the operand itself. An int32 is the low 32 bits of u. A floating-point number has bit 63 of u as
// its sign, the low 23 (float32) or 52 (float64) bits of u as its fraction, and an exponent field
// that depends on the values; bias is 127 or 1023, e is bits 60 to 62 of u as a number from 0 to 7:
//
//	uniform    bias - 4 + e
//	subnormal  0 in operand a; as uniform in the others
//	underflow  bias - 78 + e (float32) or bias - 541 + e (float64): most products are near the
//	           smallest subnormal number
//	wide       bits 52 to 62 of u, modulo 255 (float32) or 2047 (float64): every finite number
//	special    as uniform, but where bits 53 to 55 of u are 0 the number is entry (bits 56 to 59,
//	           modulo 10) of +0, -0, +infinity, -infinity, NaN, the smallest subnormal,
//	           the largest finite, its negative, 1, -1
//
// reproduce.py computes digests of products, lu, cholesky and package array from this description,
// in Python and with exact fractions; it shares no code with Tandem.
//
// # Digests
//
// A digest is taken over the result's elements row by row, little-endian, without gaps, every NaN
// as 0x7fc00000 or 0x7ff8000000000000, and written in hexadecimal; golden.json holds those of all
// cases. The overall digest is the SHA-256 of the names and digests of the cases that were run,
// "NAME DIGEST\n" each, in the order of the names' bytes, which is also that of golden.json.
//
// Every run also checks what no digest shows, but for package array: that nothing outside the
// result was written, and that the operands stayed as they were.
package conformance
