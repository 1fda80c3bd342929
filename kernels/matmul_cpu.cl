/* matmul_cpu - C = alpha*A*B + beta*C, blocked for the registers and caches of a CPU: the CPU shape
 * of matmul.cl, with the same arguments and the same bits. Two files, because little but the
 * formulas is common: here one work-item runs a whole tile, without barriers, in the processor's
 * own vectors. These are OpenCL's, so this file is not for CUDA compilers.
 *
 * After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34,
 * 2008): BK rows of B are packed into panels of TN columns; a block of TM by TN elements of C stays
 * in registers while it runs down a panel; A is read in place, one element at a time for a whole
 * vector.
 *
 * A is m by k, B is k by n, C is m by n; element (i, j) of x is x[xoff + i*ldx + j]. C overlaps
 * neither A nor B.
 *
 *   acc    = chain over p = 0 ... k-1 of fma(a[i,p], b[p,j], acc), from +0
 *   c[i,j] = fma(alpha, acc, beta*c[i,j]), with beta*c[i,j] rounded on its own
 *
 * beta == 0 does not read C, and gives alpha*acc.
 *
 * With CONTINUE the chain starts from c[i,j], and with NEGATE it is that of fma(-a[i,p], b[p,j],
 * acc): C + A*B and C - A*B in one chain, with alpha = 1 and beta = 0, which leave acc as it is.
 *
 * Between blocks of k the sums are kept as they are. k == 0 gives alpha times +0 without CONTINUE:
 * call it with alpha = 1 and beta = 0 for zeros, and leave alpha == 0 to other kernels.
 *
 * There may be several such products. Matrix z of x begins z*stridex elements after the first; a
 * stride of 0 for A or B shares one among all.
 *
 * BM BN BK  the tile of C that a group computes at a time, and the rows of B that are packed
 *           at once
 * TM TN     the block of C in registers; they divide BM and BN
 * VW        elements of a vector: 1, 2, 4, 8 or 16; divides TN
 * KU        steps of k that are unrolled
 * flags     CONTINUE and NEGATE; the others are not used: vectors of any alignment are as good here
 *
 * Launch: groups of one work-item. Groups in x stride over the columns of tiles of C, groups in y
 * over the rows, so any number of groups covers any shape; ceil(n/BN) by ceil(m/BM) give each group
 * one tile. Groups in z compute a product each.
 */
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#if VW == 1
#define V T
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#else
#define V PASTE(T, VW)
#define LOAD(p) PASTE(vload, VW)(0, p)
#define STORE(v, p) PASTE(vstore, VW)(v, 0, p)
#endif
#define NV (TN / VW) /* vectors across a block */
#ifdef __has_builtin /* what compiles to SPIR does not know it, and Mesa then ends the program */
#if __has_builtin(__builtin_prefetch) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SPIR__)
#define PREFETCH(p) __builtin_prefetch(p)
#endif
#endif
#ifndef PREFETCH
#define PREFETCH(p)
#endif
#define AHEAD 8
#define CONTINUE 8
#define NEGATE 16
#if BM % TM || BN % TN || TN % VW
#error "matmul_cpu: TM must divide BM, TN must divide BN, and VW must divide TN"
#endif

__kernel WG_SIZE(1, 1, 1)
void matmul_cpu(const int m, const int n, const int k, const T alpha,
                __global const T *restrict a, const ulong aoff, const ulong lda,
                __global const T *restrict b, const ulong boff, const ulong ldb,
                const T beta, __global T *restrict c, const ulong coff, const ulong ldc, const int flags,
                const ulong stridea, const ulong strideb, const ulong stridec) {
  __local T panels[BN / TN][BK * TN] __attribute__((aligned(64)));
  V sums[BM / TM][BN / TN][TM][NV];
  const uint across = ((uint)n + BN - 1) / BN, down = ((uint)m + BM - 1) / BM;
  const ulong z = get_group_id(2);
  const int goes_on = flags & CONTINUE;

  for (uint ty = (uint)get_group_id(1); ty < down; ty += (uint)get_num_groups(1)) {
    for (uint tx = (uint)get_group_id(0); tx < across; tx += (uint)get_num_groups(0)) {
      const int row0 = (int)(ty * BM), col0 = (int)(tx * BN);
      const int rows = min(BM, m - row0), cols = min(BN, n - col0);
      int p0 = 0;
      do {
        const int depth = min(BK, k - p0);
        const int first = p0 == 0, last = p0 + depth == k;

        /* Pack B, or -B, whose products are those of -A. Columns beyond the last are zero; what is
         * computed from them is not stored. Each row lies in another page: it is asked for AHEAD
         * rows before, since the processor does not look ahead from page to page. */
        #pragma unroll 1
        for (int p = 0; p < depth; p++) {
          __global const T *bp = b + boff + z * strideb + (p0 + p) * ldb + col0;
          int j = 0;
#define PACK(sign) \
          _Pragma("unroll 1") \
          for (; j + VW <= cols; j += VW) { \
            PREFETCH(bp + AHEAD * ldb + j); \
            STORE(sign LOAD(bp + j), &panels[j / TN][p * TN + j % TN]); \
          } \
          _Pragma("unroll 1") \
          for (; j < cols || j % TN != 0; j++) panels[j / TN][p * TN + j % TN] = j < cols ? sign bp[j] : (T)0;
          if (flags & NEGATE) {
            PACK(-)
          } else {
            PACK(+)
          }
#undef PACK
        }

        #pragma unroll 1
        for (int y = 0; y * TM < rows; y++) {
          __global const T *ap[TM]; /* rows beyond the last repeat it; what is computed from them is not stored */
          #pragma unroll
          for (int i = 0; i < TM; i++) ap[i] = a + aoff + z * stridea + (row0 + min(y * TM + i, rows - 1)) * lda + p0;

          #pragma unroll 1
          for (int x = 0; x * TN < cols; x++) {
            const int high = rows - y * TM, wide = cols - x * TN, whole = high >= TM && wide >= TN;
            __global T *cp = c + coff + z * stridec + (row0 + y * TM) * ldc + col0 + x * TN;
            V acc[TM][NV];
            if (first && goes_on && whole) {
              #pragma unroll
              for (int i = 0; i < TM; i++) {
                #pragma unroll
                for (int v = 0; v < NV; v++) acc[i][v] = LOAD(cp + i * ldc + v * VW);
              }
            } else {
              if (first && goes_on) {
                #pragma unroll 1
                for (int i = 0; i < TM; i++) {
                  T *part = (T *)sums[y][x][i];
                  #pragma unroll 1
                  for (int j = 0; j < TN; j++) part[j] = i < high && j < wide ? cp[i * ldc + j] : (T)0;
                }
              }
              #pragma unroll
              for (int i = 0; i < TM; i++) {
                #pragma unroll
                for (int v = 0; v < NV; v++) acc[i][v] = first && !goes_on ? (V)0 : sums[y][x][i][v];
              }
            }
            __local const T *bp = panels[x];
            #pragma unroll KU
            for (size_t p = 0; p < (size_t)depth; p++, bp += TN) {
              V bv[NV];
              #pragma unroll
              for (int v = 0; v < NV; v++) bv[v] = LOAD(bp + v * VW);
              #pragma unroll
              for (int i = 0; i < TM; i++) {
                const V av = (V)(ap[i][p]);
                #pragma unroll
                for (int v = 0; v < NV; v++) acc[i][v] = CHAIN(av, bv[v], acc[i][v]);
              }
            }

            /* With beta == 0 the addend is -0, which leaves alpha*acc as it is. */
            if (last && whole) {
              #pragma unroll
              for (int i = 0; i < TM; i++) {
                #pragma unroll
                for (int v = 0; v < NV; v++) {
                  __global T *to = cp + i * ldc + v * VW;
                  V old = (V)NEG0;
                  if (beta != 0) old = beta * LOAD(to);
                  STORE(MAC((V)alpha, acc[i][v], old), to);
                }
              }
              continue;
            }
            #pragma unroll
            for (int i = 0; i < TM; i++) {
              #pragma unroll
              for (int v = 0; v < NV; v++) sums[y][x][i][v] = acc[i][v];
            }
            if (!last) continue;
            /* At the edges of C loops do it, from memory: unrolled, they would take the compiler
             * more time than all the rest. */
            #pragma unroll 1
            for (int i = 0; i < min(TM, high); i++) {
              const T *part = (const T *)sums[y][x][i];
              #pragma unroll 1
              for (int j = 0; j < min(TN, wide); j++) {
                T old = NEG0;
                if (beta != 0) old = beta * cp[i * ldc + j];
                cp[i * ldc + j] = MAC(alpha, part[j], old);
              }
            }
          }
        }
        p0 += BK;
      } while (p0 < k);
    }
  }
}
