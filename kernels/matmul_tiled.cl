/* matmul_tiled - C = A*B by square tiles in local memory, as in the CUDA C++ Programming Guide,
 * "Shared Memory".
 *
 * A is m by k, B is k by n, C is m by n; element (i, j) of x is x[xoff + i*ldx + j]. C overlaps
 * neither A nor B. Each element of C is one chain acc = fma(a[i,p], b[p,j], acc) over p = 0 ...
 * k-1, from +0. A tile that passes the end of k is filled with A = -0 and B = +0, whose product -0
 * changes no sum.
 *
 * TILE  rows and columns of a tile, and work-items of a group in x and y.
 *
 * Launch: groups of TILE by TILE work-items, one tile of C at a time. Groups in x stride over the
 * columns of tiles, groups in y over the rows, so any number of groups covers any shape;
 * ceil(n/TILE) by ceil(m/TILE) give each group one tile. All work-items of a group reach every
 * barrier.
 */
__kernel WG_SIZE(TILE, TILE, 1)
void matmul_tiled(const int m, const int n, const int k,
                  __global const T *restrict a, const ulong aoff, const ulong lda,
                  __global const T *restrict b, const ulong boff, const ulong ldb,
                  __global T *restrict c, const ulong coff, const ulong ldc) {
  LOCALMEM T as[TILE][TILE];
  LOCALMEM T bs[TILE][TILE];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1);
  const uint across = ((uint)n + TILE - 1) / TILE, down = ((uint)m + TILE - 1) / TILE;

  for (uint ty = (uint)get_group_id(1); ty < down; ty += (uint)get_num_groups(1)) {
    for (uint tx = (uint)get_group_id(0); tx < across; tx += (uint)get_num_groups(0)) {
      const int row = (int)(ty * TILE) + y, col = (int)(tx * TILE) + x;
      __global const T *ai = a + aoff + row * lda;
      __global const T *bj = b + boff + col;
      T acc = 0;
      for (int p = 0; p < k; p += TILE) {
        as[y][x] = row < m && p + x < k ? ai[p + x] : NEG0;
        bs[y][x] = col < n && p + y < k ? bj[(p + y) * ldb] : (T)0;
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int q = 0; q < TILE; q++) acc = MAC(as[y][q], bs[q][x], acc);
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (row < m && col < n) c[coff + row * ldc + col] = acc;
    }
  }
}
