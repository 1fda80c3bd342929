/* transpose_naive - C = A', the definition: one work-item moves one element at a time.
 *
 *   c[coff + j*ldc + i] = a[aoff + i*lda + j]
 *
 * for A of rows by cols and C of cols by rows, which do not overlap.
 *
 * Launch: any grid in x and y covers any shape. Work-items in x stride over the columns of A,
 * work-items in y over its rows.
 */
__kernel void transpose_naive(const int rows, const int cols,
                              __global const T *restrict a, const ulong aoff, const ulong lda,
                              __global T *restrict c, const ulong coff, const ulong ldc) {
  for (ulong i = get_global_id(1); i < (ulong)rows; i += get_global_size(1)) {
    for (ulong j = get_global_id(0); j < (ulong)cols; j += get_global_size(0)) {
      c[coff + j * ldc + i] = a[aoff + i * lda + j];
    }
  }
}
