/* Strided access: a transpose by tiles. */
__kernel WG_SIZE(16, 16, 1)
void transpose(const int rows, const int cols, __global const int *a, const int lda, __global int *c, const int ldc) {
  LOCALMEM int tile[16][17];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1);
  const int i0 = (int)get_group_id(1) * 16, j0 = (int)get_group_id(0) * 16;
  if (i0 + y < rows && j0 + x < cols) tile[y][x] = a[(i0 + y) * lda + j0 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (j0 + y < cols && i0 + x < rows) c[(j0 + y) * ldc + i0 + x] = tile[x][y];
}
