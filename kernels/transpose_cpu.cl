/* transpose_cpu - C = A' through the registers of a CPU: the CPU shape of transpose_tiled.cl, with the same arguments and the same bits. Two files,
 * because little is common: here one work-item moves a whole tile, without local memory and barriers, in vectors that are OpenCL's, so this file
 * is not for CUDA compilers.
 *
 *   c[coff + j*ldc + i] = a[aoff + i*lda + j]   for A of rows by cols and C of cols by rows, which do not overlap
 *
 * Memory is the limit, so it is moved in whole cache lines of 64 bytes: blocks of LINE by LINE elements read LINE lines of A, four columns at a
 * time, and write LINE lines of C. Where C is aligned for it, the lines are written past the caches: nobody will read them soon, and they need not
 * be fetched first. Four by four elements change places in two rounds of perfect shuffles (Stone, "Parallel Processing with the Perfect
 * Shuffle", IEEE Transactions on Computers 20, 1971). Blocks that pass an edge are moved element by element.
 *
 * TILE  rows and columns of the tile that a group moves at a time, a multiple of LINE
 *
 * Launch: groups of one work-item. Groups in x stride over the columns of tiles of A, groups in y over the rows, so any number of groups covers
 * any shape; ceil(cols/TILE) by ceil(rows/TILE) give each group one tile.
 */
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define V PASTE(T, 4)
#if defined(T_FLOAT64)
#define LINE 8
#else
#define LINE 16
#endif
#if TILE % LINE
#error "transpose_cpu: TILE must be a multiple of the elements in a cache line"
#endif

/* What compilers of the LLVM family offer beyond OpenCL C: a shuffle of two vectors in one step, and a store that passes the caches by. Simulators,
 * which compile to SPIR, do not know the store. */
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif
#if __has_builtin(__builtin_nontemporal_store) && !defined(__SPIR__)
#define STREAM(v, p) __builtin_nontemporal_store(v, (__global V *)(p))
#endif
#endif
#ifndef LOW /* interleave the lower halves, and the upper halves, of two vectors */
#define LOW(a, b) (V)((a).x, (b).x, (a).y, (b).y)
#define HIGH(a, b) (V)((a).z, (b).z, (a).w, (b).w)
#endif
#ifndef STREAM
#define STREAM(v, p) vstore4(v, 0, p)
#endif

__kernel WG_SIZE(1, 1, 1)
void transpose_cpu(const int rows, const int cols,
                   __global const T *restrict a, const ulong aoff, const ulong lda,
                   __global T *restrict c, const ulong coff, const ulong ldc) {
  const uint across = ((uint)cols + TILE - 1) / TILE, down = ((uint)rows + TILE - 1) / TILE;
  const int aligned = ((size_t)(c + coff) | (size_t)(ldc * sizeof(T))) % 64 == 0;

  for (uint ty = (uint)get_group_id(1); ty < down; ty += (uint)get_num_groups(1)) {
    for (uint tx = (uint)get_group_id(0); tx < across; tx += (uint)get_num_groups(0)) {
      const int iend = min(rows, (int)(ty * TILE + TILE)), jend = min(cols, (int)(tx * TILE + TILE));
      for (int j0 = (int)(tx * TILE); j0 < jend; j0 += LINE) {
        for (int i0 = (int)(ty * TILE); i0 < iend; i0 += LINE) {
          __global const T *from = a + aoff + i0 * lda + j0;
          __global T *to = c + coff + j0 * ldc + i0;
          if (i0 + LINE > iend || j0 + LINE > jend) {
            for (int j = 0; j < min(LINE, jend - j0); j++) {
              for (int i = 0; i < min(LINE, iend - i0); i++) to[j * ldc + i] = from[i * lda + j];
            }
            continue;
          }
          for (int j = 0; j < LINE; j += 4, from += 4, to += 4 * ldc) {
            V line[4][LINE / 4]; /* of C */
            #pragma unroll
            for (int i = 0; i < LINE; i += 4) {
              const V r0 = vload4(0, from + i * lda), r1 = vload4(0, from + (i + 1) * lda);
              const V r2 = vload4(0, from + (i + 2) * lda), r3 = vload4(0, from + (i + 3) * lda);
              const V s0 = LOW(r0, r2), s1 = HIGH(r0, r2), s2 = LOW(r1, r3), s3 = HIGH(r1, r3);
              line[0][i / 4] = LOW(s0, s2);
              line[1][i / 4] = HIGH(s0, s2);
              line[2][i / 4] = LOW(s1, s3);
              line[3][i / 4] = HIGH(s1, s3);
            }
            #pragma unroll
            for (int r = 0; r < 4; r++) {
              #pragma unroll
              for (int i = 0; i < LINE; i += 4) {
                if (aligned) STREAM(line[r][i / 4], to + r * ldc + i);
                else vstore4(line[r][i / 4], 0, to + r * ldc + i);
              }
            }
          }
        }
      }
    }
  }
}
