/* matmul_unit - C = alpha*A*B + beta*C by the matrix instructions of NVIDIA's GPUs, mma.sync: of
 * float64 by m8n8k4 of sm_80 and m16n8k4 of sm_90, of bytes and of int32 by m16n8k32 of sm_80.
 * matmul.cl says what A, B, C, alpha, beta, the flags and a launch are; results have the same bits.
 *
 * The instruction adds the products of float64 in order: d = fma(a[i,p], b[p,j], d) for ascending
 * p, each rounded once, subnormals kept (PTX ISA, mma: "precision ... identical to that of .f64
 * fused multiply-add"; MMA-Sim, arXiv 2511.10909, validated it). That is the chain of
 * the contract. Of bytes it adds the products in int32, which wraps, so that any order is exact. A
 * probe asks each device whether it is so before this kernel is chosen.
 *
 * With BYTES elements of A and B are words of four bytes along k, as element.h has them. Without,
 * an int32 is four bytes: a = a0 + 2^8*a1 + 2^16*a2 + 2^24*a3, each of uint8. Modulo 2^32
 *
 *   a*b = a0*b0 + 2^8*(a0*b1 + a1*b0) + 2^16*(a0*b2 + a1*b1 + a2*b0) + 2^24*(a0*b3 + ... + a3*b0)
 *
 * is ten products, of which a sum is kept for each power. Modelled, not measured: a multiprocessor
 * of sm_80 or sm_90 multiplies 2048 bytes a cycle, so 204 int32, and 64 by plain instructions. Of
 * sm_86, sm_89 and sm_120 it is half of that, which does not pay for int32.
 * A word has the bytes of elements l%4, l%4 + 4, l%4 + 8 and l%4 + 12 of sixteen
 * along k, of A as of B, so that the reads of a warp meet each bank once.
 *
 * A group computes BM by BN elements of C, each of its warps of 32 work-items TM by TN of them.
 * Tiles of A (BM by BK) and B (BK by BN) are copied to local memory by cp.async, KU of them one
 * behind the other, while another is multiplied; after NVIDIA, "CUTLASS" (multistage pipelines).
 * Elements of a tile change places by 16 or 32 bytes within their row, so that the reads of a warp
 * meet each bank once.
 *
 * Where fragments lie (PTX ISA): of a unit of UM by 8, lane l of a warp holds
 *   A  element (l/4 + 8*(i%2), l%4 + 4*(i/2)) in a[i]
 *   B  element (l%4 + 4*i, l/4) in b[i]
 *   C  element (l/4 + 8*(i/2), l%4*2 + i%2) in c[i]
 * where of bytes an element of A and B is a word of four.
 *
 * Fragments of a step are read during the step before, but those of int32 in the step itself: two
 * sets do not fit in registers. Tiles at an edge, and of operands that are not aligned to 16 bytes,
 * are copied by the element. What is beyond A's rows and B's columns no result sees; beyond k A is
 * -0 and B +0, as in matmul.cl.
 *
 * BM BN BK  the tile
 * TM TN     the block of a warp
 * KU        tiles in local memory
 * UM        rows of the instruction: 8, or 16 for sm_90 and for integers
 */
#define VECTORS_AB 3 /* A and B */
#define VECTORS_C 4
#define CONTINUE 8
#define NEGATE 16
#define INLINE static __attribute__((always_inline))

#if defined(T_FLOAT64)
#define STEP 4                            /* elements along k of a step */
#define PLANES 1                          /* words that take the bytes of as many elements */
#define SETS 2                            /* of fragments: of the step that is multiplied, and the next */
#define AN MA                             /* parts of a fragment of A */
#define NB 1                              /* and of B */
#define PAIR double2
#define MAKE_PAIR make_double2
#define SIZE "8"                          /* bytes of an element */
#define SIGN ulong                        /* what NEGATE turns around: B */
#define PLUS 0
#define MINUS ((ulong)1 << 63)
#define OF_B(x) as_double(as_ulong(x) ^ sign)
#define OF_C(x) (x)
#else
#if defined(BYTES)
#define STEP 8
#define PLANES 1
#define SETS 2
#else
#define STEP 32
#define PLANES 4
#define SETS 1
#endif
#define AN 4
#define NB 2
#define PAIR uint2
#define MAKE_PAIR make_uint2
#define SIZE "4"
#define SIGN T                            /* C and the result, as C - A*B is -(A*B - C) */
#define PLUS 1
#define MINUS ((T)-1)
#define OF_B(x) (x)
#define OF_C(x) ((x) * sign)
#endif
#define WARPS_X (BN / TN)
#define ITEMS (BM / TM * WARPS_X * 32)
#define ATILE (BM * BK)
#define STAGE (ATILE + BK * BN)
#define STEPS (BK / STEP)
#define MA (UM / 8)                       /* rows of 8 of a unit */
#define CN (UM / 4)                       /* elements of C of a lane */
#define UNITS_M (TM / UM)
#define UNITS_N (TN / 8)
#define AX (BK / VECW)                    /* vectors across a tile of A */
#define BX (BN / VECW)
#define ALOADS (ATILE / VECW / ITEMS)
#define BLOADS (BK * BN / VECW / ITEMS)
#define AROWS (ITEMS / AX)                /* rows of A that the group copies at once */
#define BROWS (ITEMS / BX)
#define STRIP 8                           /* rows of tiles that groups go through column by column */
#define BANKS (8 * VECW)                  /* elements that local memory has side by side */
#define TURN (BK < BANKS ? BANKS / BK : 1)
#define APLACE(row, col) ((row) * BK + ((col) ^ ((row) / TURN & BK / 4 - 1) * 4))
#define BPLACE(row, col) ((row) * BN + ((col) ^ ((row) & 3) * (2 * VECW)))
#if UM != 8 && UM != 16 || TM % UM || TN % 8 || BN % BANKS || BK & (BK - 1) || STEPS < SETS
#error "matmul_unit: TM must be a multiple of UM, TN of 8, BN of BANKS, and BK a power of two of enough steps"
#elif ITEMS % AX || ITEMS % BX || BM % AROWS || BK % BROWS
#error "matmul_unit: the work-items of a group do not share the copies of a tile evenly"
#elif AROWS % (TURN * BK / 4) || BROWS % 4
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
INLINE void multiply(T *c, const T *a, const T *b) {
#if !defined(T_FLOAT64)
#if !defined(BYTES)
#define MMA_TYPES "s32.u8.u8.s32"
#elif BYTES == 1
#define MMA_TYPES "s32.s8.s8.s32"
#else
#define MMA_TYPES "s32.u8.s8.s32"
#endif
  ASM("mma.sync.aligned.m16n8k32.row.col." MMA_TYPES " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif UM == 8
  ASM("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
      : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
#else
  ASM("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#endif
}

/* copy_some copies a vector's elements to local memory, of which count are there; those beyond get
 * fill. */
INLINE void copy_some(LOCALPTR T *to, __global const T *from, const int count, const T fill) {
  #pragma unroll
  for (int e = 0; e < VECW; e++) {
    if (e < count) COPY(SIZE, "ca", to + e, from + e); else to[e] = fill;
  }
}

/* copy_tile copies a work-item's part of a tile, whose rows have width elements: count vectors,
 * step rows apart, from the first one on, with rows and cols left from there on. A fast tile is
 * whole and its vectors are aligned; fill is what stands beyond. */
INLINE void copy_tile(LOCALPTR T *to, __global const T *from, const ulong ld, const int width,
                      const int count, const int step, const int rows, const int cols, const int fast,
                      const T fill) {
  #pragma unroll
  for (int i = 0; i < count; i++, from += step * ld) {
    if (fast) {
      COPY("16", "cg", to + i * step * width, from);
    } else {
      copy_some(to + i * step * width, from, i * step < rows ? cols : 0, fill);
    }
  }
}

#if PLANES == 1
#define TOTAL(sums, e) sums[0][e]
#define SPLIT(x)
#else
#define TOTAL(sums, e) (sums[0][e] + (sums[1][e] << 8) + (sums[2][e] << 16) + (sums[3][e] << 24))
#define SPLIT(x) split(x)
#define PERMUTE(to, x, y, which) ASM("prmt.b32 %0, %1, %2, " which ";" : "=r"(to) : "r"(x), "r"(y))

/* split makes of four elements words of their lowest bytes, of the next ones, and so on. */
INLINE void split(T x[4]) {
  T low, high, low2, high2; /* two bytes of the first two elements, and of the others */
  PERMUTE(low, x[0], x[1], "0x5140");
  PERMUTE(high, x[0], x[1], "0x7362");
  PERMUTE(low2, x[2], x[3], "0x5140");
  PERMUTE(high2, x[2], x[3], "0x7362");
  PERMUTE(x[0], low, low2, "0x5410");
  PERMUTE(x[1], low, low2, "0x7632");
  PERMUTE(x[2], high, high2, "0x5410");
  PERMUTE(x[3], high, high2, "0x7632");
}
#endif

/* read_a reads a fragment of A from a tile, from the lane's first element on. */
INLINE void read_a(T to[PLANES][AN], LOCALPTR const T *tile, const int row, const int k) {
  #pragma unroll
  for (int e = 0; e < AN; e++) {
    T x[PLANES];
    #pragma unroll
    for (int s = 0; s < PLANES; s++) x[s] = tile[APLACE(row + e % 2 * 8, k + (e / 2 * PLANES + s) * 4)];
    SPLIT(x);
    #pragma unroll
    for (int s = 0; s < PLANES; s++) to[s][e] = x[s];
  }
}

/* read_b is read_a for B. */
INLINE void read_b(T to[PLANES][NB], LOCALPTR const T *tile, const int k, const int col, const SIGN sign) {
  (void)sign; /* which integers do without here */
  tile += ATILE + BPLACE(k, col); /* rows that are four apart have one order */
  #pragma unroll
  for (int e = 0; e < NB; e++) {
    T x[PLANES];
    #pragma unroll
    for (int s = 0; s < PLANES; s++) x[s] = OF_B(tile[(e * PLANES + s) * 4 * BN]);
    SPLIT(x);
    #pragma unroll
    for (int s = 0; s < PLANES; s++) to[s][e] = x[s];
  }
}

#if SETS == 2
/* read_step reads the fragments of a step of k, and multiply_step multiplies them. */
INLINE void read_step(T a[UNITS_M][PLANES][AN], T b[UNITS_N][PLANES][NB], LOCALPTR const T *tile, const int row,
                      const int col, const int k, const SIGN sign) {
  #pragma unroll
  for (int i = 0; i < UNITS_M; i++) read_a(a[i], tile, row + i * UM, k);
  #pragma unroll
  for (int j = 0; j < UNITS_N; j++) read_b(b[j], tile, k, col + j * 8, sign);
}

INLINE void multiply_step(T acc[UNITS_M][UNITS_N][PLANES][CN], T a[UNITS_M][PLANES][AN], T b[UNITS_N][PLANES][NB]) {
  #pragma unroll
  for (int i = 0; i < UNITS_M; i++) {
    #pragma unroll
    for (int j = 0; j < UNITS_N; j++) multiply(acc[i][j][0], a[i][0], b[j][0]);
  }
}
#else
/* step reads the fragments of a step of k and multiplies bytes s of A and r of B, whose products
 * are of one power where s + r is the same. */
INLINE void step(T acc[UNITS_M][UNITS_N][PLANES][CN], LOCALPTR const T *tile, const int row, const int col,
                 const int k, const SIGN sign) {
  T a[UNITS_M][PLANES][AN];
  #pragma unroll
  for (int i = 0; i < UNITS_M; i++) read_a(a[i], tile, row + i * UM, k);
  #pragma unroll
  for (int j = 0; j < UNITS_N; j++) {
    T b[PLANES][NB];
    read_b(b, tile, k, col + j * 8, sign);
    #pragma unroll
    for (int s = 0; s < PLANES; s++) {
      #pragma unroll
      for (int r = 0; r < PLANES - s; r++) {
        #pragma unroll
        for (int i = 0; i < UNITS_M; i++) multiply(acc[i][j][s + r], a[i][s], b[r]);
      }
    }
  }
}
#endif

__kernel WG_SIZE(ITEMS, 1, 1)
void matmul_unit(const int m, const int n, const int k, const T alpha,
                 __global const T *restrict a, const ulong aoff, const ulong lda,
                 __global const T *restrict b, const ulong boff, const ulong ldb,
                 const T beta, __global T *restrict c, const ulong coff, const ulong ldc, const int flags,
                 const ulong stridea, const ulong strideb, const ulong stridec) {
  LOCALMEM ALIGN16 T buffers[KU * STAGE];

  const int id = (int)get_local_id(0), lane = id % 32, warp = id / 32;
  const int arow = warp / WARPS_X * TM + lane / 4, bcol = warp % WARPS_X * TN + lane / 4, in = lane % 4;
  const int acopy = id / AX, acol = id % AX * VECW; /* of the first vector that the work-item copies */
  const int bcopy = id / BX, bcopycol = id % BX * VECW;
  const int tiles = (int)(((uint)k + BK - 1) / BK);
  const uint across = ((uint)n + BN - 1) / BN, down = ((uint)m + BM - 1) / BM;
  const uint groups = (uint)get_num_groups(0) * (uint)get_num_groups(1);
  const ulong z = get_group_id(2);
  const SIGN sign = flags & NEGATE ? MINUS : PLUS;
  const T zero = flags & NEGATE ? NEG0 : (T)0; /* of B beyond k: +0 once it is negated */

  for (uint t0 = (uint)get_group_id(1) * (uint)get_num_groups(0) + (uint)get_group_id(0); t0 < across * down;
       t0 += groups) { /* fewer than 2^32: no memory holds a C of more */
    /* Groups that run at once share rows of A and columns of B in the cache. */
    const uint strip = t0 / (STRIP * across), in_strip = t0 % (STRIP * across);
    const uint high_strip = down - strip * STRIP < STRIP ? down - strip * STRIP : STRIP;
    const int row0 = (int)((strip * STRIP + in_strip % high_strip) * BM), col0 = (int)(in_strip / high_strip * BN);
    const int whole = m - row0 >= BM && n - col0 >= BN && (flags & VECTORS_AB) == VECTORS_AB;
    __global const T *ap = a + aoff + z * stridea + row0 * lda + (acopy * lda + acol);
    __global const T *bp = b + boff + z * strideb + bcopy * ldb + (col0 + bcopycol);
    LOCALPTR T *as = buffers + APLACE(acopy, acol), *bs = buffers + ATILE + BPLACE(bcopy, bcopycol);
    const int row = row0 + arow, col = col0 + bcol - lane / 4 + in * 2; /* of the work-item's first element of C */
    __global T *cp = c + coff + z * stridec + row * ldc + col;

    T acc[UNITS_M][UNITS_N][PLANES][CN];
    #pragma unroll
    for (int i = 0; i < UNITS_M; i++) {
      #pragma unroll
      for (int j = 0; j < UNITS_N; j++) {
        #pragma unroll
        for (int e = 0; e < CN; e++) {
          #pragma unroll
          for (int s = 0; s < PLANES; s++) acc[i][j][s][e] = 0;
          if ((flags & CONTINUE) && i * UM + e / 2 * 8 < m - row && j * 8 + e % 2 < n - col) {
            acc[i][j][0][e] = OF_C(cp[(i * UM + e / 2 * 8) * ldc + j * 8 + e % 2]);
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
#define COPY_NEXT(t) do { \
      if ((t) + KU - 1 < tiles) COPY_TILES((t) + KU - 1, next); \
      COMMIT(); \
    } while (0)
    barrier(CLK_LOCAL_MEM_FENCE); /* the buffers may still be read for the tile of C before */
    #pragma unroll
    for (int s = 0; s < KU - 1; s++) {
      if (s < tiles) COPY_TILES(s, s);
      COMMIT();
    }
    WAIT(KU - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    int now = 0, next = KU - 1; /* where the tile lies that is multiplied, and that which is copied */
#if SETS == 2
    T ar[2][UNITS_M][PLANES][AN], br[2][UNITS_N][PLANES][NB];
    if (tiles > 0) read_step(ar[0], br[0], buffers, arow, bcol, in, sign);
#endif
    #pragma unroll 1
    for (int t = 0; t < tiles; t++) {
      #pragma unroll
      for (int s = 0; s < STEPS; s++) {
#if SETS == 1
        if (s == 0) COPY_NEXT(t);
        step(acc, buffers + now * STAGE, arow, bcol, s * STEP + in, sign);
#endif
        if (s == STEPS - 1) { /* all has been read of this tile; the next one is there */
          next = now;
          now = now == KU - 1 ? 0 : now + 1;
          WAIT(KU - 2);
          barrier(CLK_LOCAL_MEM_FENCE);
        }
#if SETS == 2
        if (s < STEPS - 1 || t + 1 < tiles) {
          read_step(ar[(s + 1) % 2], br[(s + 1) % 2], buffers + now * STAGE, arow, bcol, (s + 1) % STEPS * STEP + in,
                    sign);
        }
        if (s == 0) COPY_NEXT(t);
        multiply_step(acc, ar[s % 2], br[s % 2]);
#endif
      }
    }

    /* With beta == 0 the addend is -0, which leaves alpha*acc as it is. */
    #pragma unroll
    for (int i = 0; i < UNITS_M; i++) {
      #pragma unroll
      for (int h = 0; h < MA; h++) {
        __global T *to = cp + (i * UM + h * 8) * ldc;
        if (i * UM + h * 8 >= m - row) continue;
        #pragma unroll
        for (int j = 0; j < UNITS_N; j++) {
          const T sums[2] = {TOTAL(acc[i][j], 2 * h), TOTAL(acc[i][j], 2 * h + 1)};
          if ((flags & VECTORS_C) && j * 8 + 1 < n - col) {
            PAIR v = MAKE_PAIR(NEG0, NEG0);
            if (beta != 0) v = beta * *(__global PAIR *)(to + j * 8);
            *(__global PAIR *)(to + j * 8) = MAKE_PAIR(MAC(OF_C(alpha), sums[0], v.x), MAC(OF_C(alpha), sums[1], v.y));
            continue;
          }
          #pragma unroll
          for (int e = 0; e < 2; e++) {
            if (j * 8 + e < n - col) {
              to[j * 8 + e] = MAC(OF_C(alpha), sums[e], beta != 0 ? beta * to[j * 8 + e] : NEG0);
            }
          }
        }
      }
    }
  }
}
