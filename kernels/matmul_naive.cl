/* matmul_naive - C = A*B, the definition: one work-item computes one element at a time.
 *
 *   c[i,j] = chain over p = 0 ... k-1 of acc = fma(a[i,p], b[p,j], acc), from +0
 *
 * A is m by k, B is k by n, C is m by n; element (i, j) of x is x[xoff + i*ldx + j]. C overlaps
 * neither A nor B.
 *
 * Launch: any grid in x and y covers any shape. Work-items in x stride over the columns of C,
 * work-items in y over its rows.
 */
__kernel void matmul_naive(const int m, const int n, const int k,
                           __global const T *restrict a, const ulong aoff, const ulong lda,
                           __global const T *restrict b, const ulong boff, const ulong ldb,
                           __global T *restrict c, const ulong coff, const ulong ldc) {
  for (ulong i = get_global_id(1); i < (ulong)m; i += get_global_size(1)) {
    for (ulong j = get_global_id(0); j < (ulong)n; j += get_global_size(0)) {
      __global const T *ai = a + aoff + i * lda;
      __global const T *bj = b + boff + j;
      T acc = 0;
      for (int p = 0; p < k; p++) acc = MAC(ai[p], bj[p * ldb], acc);
      c[coff + i * ldc + j] = acc;
    }
  }
}
