/* transpose_tiled - C = A' by tiles in local memory, so that both A and C are accessed along their
 * rows. A column of padding keeps the accesses to a tile's columns in different banks: Ruetsch and
 * Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009).
 *
 *   c[coff + j*ldc + i] = a[aoff + i*lda + j]
 *
 * for A of rows by cols and C of cols by rows, which do not overlap.
 *
 * TILE  rows and columns of a tile, and work-items of a group in x
 * STEP  work-items of a group in y; each moves TILE/STEP elements of a tile
 *
 * Launch: groups of TILE by STEP work-items, one tile at a time. Groups in x stride over the
 * columns of tiles of A, groups in y over the rows, so any number of groups covers any shape;
 * ceil(cols/TILE) by ceil(rows/TILE) give each group one tile. All work-items of a group reach
 * every barrier.
 *
 * A work-item has all its loads of a tile on their way before it stores the first one to local
 * memory. So the eight groups of 32 by 8 work-items on a multiprocessor wait for 32 KiB of float32;
 * an H100, half of whose 3.35 TB/s are reads, needs 9 KiB if a load takes 0.7 microseconds.
 */
#if TILE % STEP
#error "transpose_tiled: STEP must divide TILE"
#endif

__kernel WG_SIZE(TILE, STEP, 1)
void transpose_tiled(const int rows, const int cols,
                     __global const T *restrict a, const ulong aoff, const ulong lda,
                     __global T *restrict c, const ulong coff, const ulong ldc) {
  LOCALMEM T tile[TILE][TILE + 1];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1);
  const uint across = ((uint)cols + TILE - 1) / TILE, down = ((uint)rows + TILE - 1) / TILE;

  for (uint ty = (uint)get_group_id(1); ty < down; ty += (uint)get_num_groups(1)) {
    for (uint tx = (uint)get_group_id(0); tx < across; tx += (uint)get_num_groups(0)) {
      const int i0 = (int)(ty * TILE), j0 = (int)(tx * TILE);
      T part[TILE / STEP];
      #pragma unroll
      for (int r = 0; r < TILE; r += STEP) {
        const int i = i0 + r + y, j = j0 + x;
        part[r / STEP] = i < rows && j < cols ? a[aoff + i * lda + j] : 0;
      }
      #pragma unroll
      for (int r = 0; r < TILE; r += STEP) tile[r + y][x] = part[r / STEP];
      barrier(CLK_LOCAL_MEM_FENCE);
      #pragma unroll
      for (int r = 0; r < TILE; r += STEP) part[r / STEP] = tile[x][r + y];
      #pragma unroll
      for (int r = 0; r < TILE; r += STEP) {
        const int i = i0 + x, j = j0 + r + y;
        if (i < rows && j < cols) c[coff + j * ldc + i] = part[r / STEP];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}
