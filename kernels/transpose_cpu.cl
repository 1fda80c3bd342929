/* transpose_cpu - C = A' through the registers of a CPU: the CPU shape of transpose_tiled.cl, with
 * the same arguments and the same bits. Two files, because little is common: here one work-item
 * moves a whole tile, without local memory and barriers, in vectors that are OpenCL's, so this file
 * is not for CUDA compilers.
 *
 *   c[coff + j*ldc + i] = a[aoff + i*lda + j]
 *
 * for A of rows by cols and C of cols by rows, which do not overlap.
 *
 * Memory is the limit, so it is moved in whole cache lines of 64 bytes: blocks of LINE by LINE
 * elements are read as LINE lines of A, change places in registers, and are written as LINE lines
 * of C. Where C is aligned for it, the lines are written past the caches: nobody will read them
 * soon, and they need not be fetched first. The elements change places in log2(LINE) rounds of
 * perfect shuffles, each of which interleaves the lines of the upper half of the block with those
 * of the lower half (Stone, "Parallel Processing with the Perfect Shuffle", IEEE Transactions on
 * Computers 20, 1971). Blocks that pass an edge are moved element by element.
 *
 * TILE  columns of the tile of A that a group moves at a time, a multiple of LINE. A page's length
 *       is good: the rows are read along, and C's, of which there are as many, stay in the
 *       processor's table of pages
 * ROWS  its rows, a multiple of LINE
 *
 * Launch: groups of one work-item. Groups in x stride over the columns of tiles of A, groups in y
 * over the rows, so any number of groups covers any shape; ceil(cols/TILE) by ceil(rows/ROWS) give
 * each group one tile.
 */
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define V PASTE(T, LINE)
#if defined(T_FLOAT64)
#define LINE 8
#define ROUNDS 3
#define LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER 4, 12, 5, 13, 6, 14, 7, 15
#define MASK ulong8
#else
#define LINE 16
#define ROUNDS 4
#define LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define MASK uint16
#endif
#if TILE % LINE || ROWS % LINE
#error "transpose_cpu: TILE and ROWS must be multiples of the elements in a cache line"
#endif

/* LOW and HIGH interleave the lower halves, and the upper halves, of two lines. What compilers of
 * the LLVM family offer beyond OpenCL C: a shuffle in one step, and a store that passes the caches
 * by. */
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define LOW(a, b) __builtin_shufflevector(a, b, LOWER)
#define HIGH(a, b) __builtin_shufflevector(a, b, UPPER)
#endif
#if __has_builtin(__builtin_nontemporal_store)
#define STREAM(v, p) __builtin_nontemporal_store(v, (__global V *)(p))
#endif
#endif
#ifndef LOW
#define LOW(a, b) shuffle2(a, b, (MASK)(LOWER))
#define HIGH(a, b) shuffle2(a, b, (MASK)(UPPER))
#endif
#ifndef STREAM
#define STREAM(v, p) STORE(v, p)
#endif
#define LOAD(p) PASTE(vload, LINE)(0, p)
#define STORE(v, p) PASTE(vstore, LINE)(v, 0, p)

__kernel WG_SIZE(1, 1, 1)
void transpose_cpu(const int rows, const int cols,
                   __global const T *restrict a, const ulong aoff, const ulong lda,
                   __global T *restrict c, const ulong coff, const ulong ldc) {
  const uint across = ((uint)cols + TILE - 1) / TILE, down = ((uint)rows + ROWS - 1) / ROWS;
  const int aligned = ((size_t)(c + coff) | (size_t)(ldc * sizeof(T))) % 64 == 0;

  for (uint ty = (uint)get_group_id(1); ty < down; ty += (uint)get_num_groups(1)) {
    for (uint tx = (uint)get_group_id(0); tx < across; tx += (uint)get_num_groups(0)) {
      const int iend = min(rows, (int)(ty * ROWS + ROWS)), jend = min(cols, (int)(tx * TILE + TILE));
      for (int i0 = (int)(ty * ROWS); i0 < iend; i0 += LINE) { /* along A's rows, which the processor fetches ahead */
        for (int j0 = (int)(tx * TILE); j0 < jend; j0 += LINE) {
          __global const T *from = a + aoff + i0 * lda + j0;
          __global T *to = c + coff + j0 * ldc + i0;
          if (i0 + LINE > iend || j0 + LINE > jend) {
            for (int j = 0; j < min(LINE, jend - j0); j++) {
              for (int i = 0; i < min(LINE, iend - i0); i++) to[j * ldc + i] = from[i * lda + j];
            }
            continue;
          }
          V line[LINE];
          #pragma unroll
          for (int i = 0; i < LINE; i++) line[i] = LOAD(from + i * lda);
          #pragma unroll
          for (int round = 0; round < ROUNDS; round++) {
            V mixed[LINE];
            #pragma unroll
            for (int i = 0; i < LINE / 2; i++) {
              mixed[2 * i] = LOW(line[i], line[i + LINE / 2]);
              mixed[2 * i + 1] = HIGH(line[i], line[i + LINE / 2]);
            }
            #pragma unroll
            for (int i = 0; i < LINE; i++) line[i] = mixed[i];
          }
          if (aligned) {
            #pragma unroll
            for (int j = 0; j < LINE; j++) STREAM(line[j], to + j * ldc);
          } else {
            #pragma unroll
            for (int j = 0; j < LINE; j++) STORE(line[j], to + j * ldc);
          }
        }
      }
    }
  }
}
