/* matmul_unit - C = alpha*A*B + beta*C for float64 by the matrix instruction of NVIDIA's GPUs,
 * mma.sync of sm_80 (m8n8k4) and of sm_90 (m16n8k4). matmul.cl says what A, B, C, alpha,
 * beta, the flags and a launch are; results have the same bits.
 *
 * The instruction adds the products of float64 in order: d = fma(a[i,p], b[p,j], d) for ascending
 * p, each rounded once, subnormals kept (PTX ISA, mma: "precision ... identical to that of .f64
 * fused multiply-add"; MMA-Sim, arXiv 2511.10909, validated it). That is the chain of
 * the contract. A probe asks each device whether it is so before this kernel is chosen.
 *
 * A group computes BM by BN elements of C, each of its warps of 32 work-items TM by TN of them.
 * Tiles of A (BM by BK) and B (BK by BN) are copied to local memory by cp.async, KU of them one
 * behind the other, while another is multiplied; after NVIDIA, "CUTLASS" (multistage pipelines).
 * Elements of a tile change places by fours within their row, so that the reads of a warp meet each
 * bank once.
 *
 * Where fragments lie (PTX ISA): of a unit of UM by 8 by 4, lane l of a warp holds
 *   A  element (l/4 + 8*i, l%4) in a[i]
 *   B  element (l%4, l/4)
 *   C  element (l/4 + 8*(i/2), l%4*2 + i%2) in c[i]
 *
 * Fragments of a step are read during the step before. Tiles at an edge, and of operands that are
 * not aligned to 16 bytes, are copied by the element. What is beyond A's rows and B's columns no
 * result sees; beyond k A is -0 and B +0, as in matmul.cl.
 *
 * BM BN BK  the tile
 * TM TN     the block of a warp
 * KU        tiles in local memory
 * UM        rows of the instruction: 8, or 16 for sm_90
 */
#define VECTORS_AB 3 /* A and B */
#define VECTORS_C 4
#define CONTINUE 8
#define NEGATE 16
#define INLINE static __attribute__((always_inline))

#define WARPS_X (BN / TN)
#define ITEMS (BM / TM * WARPS_X * 32)
#define ATILE (BM * BK)
#define STAGE (ATILE + BK * BN)
#define STEPS (BK / 4)
#define MA (UM / 8)                       /* rows of 8 of a unit */
#define CN (UM / 4)                       /* elements of C of a lane */
#define UNITS_M (TM / UM)
#define UNITS_N (TN / 8)
#define AX (BK / 2)                       /* vectors across a tile of A */
#define BX (BN / 2)
#define ALOADS (ATILE / 2 / ITEMS)
#define BLOADS (BK * BN / 2 / ITEMS)
#define AROWS (ITEMS / AX)                /* rows of A that the group copies at once */
#define BROWS (ITEMS / BX)
#define STRIP 8                           /* rows of tiles that groups go through column by column */
#define APLACE(row, col) ((row) * BK + ((col) ^ ((row) % (BK / 4) * 4)))
#define BPLACE(row, col) ((row) * BN + ((col) ^ ((row) % 4 * 4)))
#if UM != 8 && UM != 16 || TM % UM || TN % 8 || BN % 16 || BK < 8 || BK & (BK - 1)
#error "matmul_unit: TM must be a multiple of UM, TN of 8, BN of 16, and BK a power of two from 8 on"
#elif ITEMS % AX || ITEMS % BX || BM % AROWS || BK % BROWS
#error "matmul_unit: the work-items of a group do not share the copies of a tile evenly"
#elif AROWS % (BK / 4) || BROWS % 4
#error "matmul_unit: the rows that a work-item copies must have one order of elements"
#endif

#ifdef __CUDACC_RTC__
#define ASM asm
#define LOCAL_ADDRESS(p) ((uint)__cvta_generic_to_shared(p))
#else
#define ASM __asm__
#define LOCAL_ADDRESS(p) ((uint)(ulong)(p))
#endif
#define COPY(bytes, how, to, from) \
  ASM volatile("cp.async." how ".shared.global [%0], [%1], " bytes ";" \
               :: "r"(LOCAL_ADDRESS(to)), "l"(from) : "memory")
#define COMMIT() ASM volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) ASM volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")

/* multiply is one instruction. */
INLINE void multiply(double *c, const double *a, const double b) {
#if UM == 8
  ASM("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
      : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b));
#else
  ASM("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(b));
#endif
}

/* copy_pair copies two neighbours to local memory, of which count are there; those beyond get
 * fill. */
INLINE void copy_pair(LOCALPTR double *to, __global const double *from, const int count, const double fill) {
  if (count > 0) COPY("8", "ca", to, from); else to[0] = fill;
  if (count > 1) COPY("8", "ca", to + 1, from + 1); else to[1] = fill;
}

/* copy_tile copies a work-item's part of a tile, whose rows have width elements: count vectors,
 * step rows apart, from the first one on, with rows and cols left from there on. A fast tile is
 * whole and its vectors are aligned; fill is what stands beyond. */
INLINE void copy_tile(LOCALPTR double *to, __global const double *from, const ulong ld, const int width,
                      const int count, const int step, const int rows, const int cols, const int fast,
                      const double fill) {
  #pragma unroll
  for (int i = 0; i < count; i++, from += step * ld) {
    if (fast) {
      COPY("16", "cg", to + i * step * width, from);
    } else {
      copy_pair(to + i * step * width, from, i * step < rows ? cols : 0, fill);
    }
  }
}

/* read_step reads the fragments of a step of k from a tile. With NEGATE, minus is the sign of B. */
INLINE void read_step(double ar[UNITS_M][MA], double br[UNITS_N], LOCALPTR const double *tile, const int arow,
                      const int bcol, const int k, const ulong minus) {
  #pragma unroll
  for (int i = 0; i < UNITS_M; i++) {
    #pragma unroll
    for (int e = 0; e < MA; e++) ar[i][e] = tile[APLACE(arow + i * UM + e * 8, k)];
  }
  #pragma unroll
  for (int j = 0; j < UNITS_N; j++) {
    br[j] = as_double(as_ulong(tile[ATILE + BPLACE(k, bcol + j * 8)]) ^ minus);
  }
}

__kernel WG_SIZE(ITEMS, 1, 1)
void matmul_unit(const int m, const int n, const int k, const T alpha,
                 __global const T *restrict a, const ulong aoff, const ulong lda,
                 __global const T *restrict b, const ulong boff, const ulong ldb,
                 const T beta, __global T *restrict c, const ulong coff, const ulong ldc, const int flags,
                 const ulong stridea, const ulong strideb, const ulong stridec) {
  LOCALMEM ALIGN16 double buffers[KU * STAGE];

  const int id = (int)get_local_id(0), lane = id % 32, warp = id / 32;
  const int arow = warp / WARPS_X * TM + lane / 4, bcol = warp % WARPS_X * TN + lane / 4, in = lane % 4;
  const int acopy = id / AX, acol = id % AX * 2; /* of the first vector that the work-item copies */
  const int bcopy = id / BX, bcopycol = id % BX * 2;
  const int tiles = (int)(((uint)k + BK - 1) / BK);
  const uint across = ((uint)n + BN - 1) / BN, down = ((uint)m + BM - 1) / BM;
  const uint groups = (uint)get_num_groups(0) * (uint)get_num_groups(1);
  const ulong z = get_group_id(2);
  const ulong minus = flags & NEGATE ? (ulong)1 << 63 : 0;
  const double zero = flags & NEGATE ? NEG0 : 0.0; /* of B beyond k: +0 once it is negated */

  for (uint t0 = (uint)get_group_id(1) * (uint)get_num_groups(0) + (uint)get_group_id(0); t0 < across * down;
       t0 += groups) { /* fewer than 2^32: no memory holds a C of more */
    /* Groups that run at once share rows of A and columns of B in the cache. */
    const uint strip = t0 / (STRIP * across), in_strip = t0 % (STRIP * across);
    const uint high_strip = down - strip * STRIP < STRIP ? down - strip * STRIP : STRIP;
    const int row0 = (int)((strip * STRIP + in_strip % high_strip) * BM), col0 = (int)(in_strip / high_strip * BN);
    const int whole = m - row0 >= BM && n - col0 >= BN && (flags & VECTORS_AB) == VECTORS_AB;
    __global const double *ap = a + aoff + z * stridea + row0 * lda + (acopy * lda + acol);
    __global const double *bp = b + boff + z * strideb + bcopy * ldb + (col0 + bcopycol);
    LOCALPTR double *as = buffers + APLACE(acopy, acol), *bs = buffers + ATILE + BPLACE(bcopy, bcopycol);
    const int row = row0 + arow, col = col0 + bcol - lane / 4 + in * 2; /* of the work-item's first element of C */
    __global double *cp = c + coff + z * stridec + row * ldc + col;

    double acc[UNITS_M][UNITS_N][CN];
    #pragma unroll
    for (int i = 0; i < UNITS_M; i++) {
      #pragma unroll
      for (int j = 0; j < UNITS_N; j++) {
        #pragma unroll
        for (int e = 0; e < CN; e++) {
          acc[i][j][e] = 0;
          if ((flags & CONTINUE) && i * UM + e / 2 * 8 < m - row && j * 8 + e % 2 < n - col) {
            acc[i][j][e] = cp[(i * UM + e / 2 * 8) * ldc + j * 8 + e % 2];
          }
        }
      }
    }

#define COPY_TILES(t, stage) do { \
      const int left = k - (t) * BK, fast = whole && left >= BK; \
      copy_tile(as + (stage) * STAGE, ap, lda, BK, ALOADS, AROWS, m - row0 - acopy, left - acol, fast, NEG0); \
      copy_tile(bs + (stage) * STAGE, bp, ldb, BN, BLOADS, BROWS, left - bcopy, n - col0 - bcopycol, fast, zero); \
      ap += BK; \
      bp += BK * ldb; \
    } while (0)
    barrier(CLK_LOCAL_MEM_FENCE); /* the buffers may still be read for the tile of C before */
    #pragma unroll
    for (int s = 0; s < KU - 1; s++) {
      if (s < tiles) COPY_TILES(s, s);
      COMMIT();
    }
    double ar[2][UNITS_M][MA], br[2][UNITS_N];
    WAIT(KU - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    int now = 0, next = KU - 1; /* where the tile lies that is multiplied, and that which is copied */
    if (tiles > 0) read_step(ar[0], br[0], buffers, arow, bcol, in, minus);
    #pragma unroll 1
    for (int t = 0; t < tiles; t++) {
      #pragma unroll
      for (int s = 0; s < STEPS; s++) {
        if (s == STEPS - 1) { /* all has been read of this tile; the next one is there */
          next = now;
          now = now == KU - 1 ? 0 : now + 1;
          WAIT(KU - 2);
          barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (s < STEPS - 1 || t + 1 < tiles) {
          read_step(ar[(s + 1) % 2], br[(s + 1) % 2], buffers + now * STAGE, arow, bcol, (s + 1) % STEPS * 4 + in,
                    minus);
        }
        if (s == 0) {
          if (t + KU - 1 < tiles) COPY_TILES(t + KU - 1, next);
          COMMIT();
        }
        #pragma unroll
        for (int i = 0; i < UNITS_M; i++) {
          #pragma unroll
          for (int j = 0; j < UNITS_N; j++) multiply(acc[i][j], ar[s % 2][i], br[s % 2][j]);
        }
      }
    }

    /* With beta == 0 the addend is -0, which leaves alpha*acc as it is. */
    #pragma unroll
    for (int i = 0; i < UNITS_M; i++) {
      #pragma unroll
      for (int h = 0; h < MA; h++) {
        __global double *to = cp + (i * UM + h * 8) * ldc;
        if (i * UM + h * 8 >= m - row) continue;
        #pragma unroll
        for (int j = 0; j < UNITS_N; j++) {
          const double *sum = acc[i][j] + 2 * h;
          if ((flags & VECTORS_C) && j * 8 + 1 < n - col) {
            double2 v = make_double2(NEG0, NEG0);
            if (beta != 0) v = beta * *(__global double2 *)(to + j * 8);
            *(__global double2 *)(to + j * 8) = make_double2(fma(alpha, sum[0], v.x), fma(alpha, sum[1], v.y));
            continue;
          }
          #pragma unroll
          for (int e = 0; e < 2; e++) {
            if (j * 8 + e < n - col) to[j * 8 + e] = fma(alpha, sum[e], beta != 0 ? beta * to[j * 8 + e] : NEG0);
          }
        }
      }
    }
  }
}
