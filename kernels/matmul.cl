/* matmul - C = alpha*A*B + beta*C, blocked for registers and local memory: the GPU shape.
 * matmul_cpu.cl is the same function for CPUs, matmul_thin.cl for few rows or columns.
 *
 * After Volkov and Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra" (SC 2008), with the
 * double buffering of Tan et al., "Fast Implementation of DGEMM on Fermi GPU" (SC 2011). A group
 * computes BM by BN elements of C at a time, a work-item TM by TN of them in registers. Tiles of A
 * (BM by BK, stored transposed) and B (BK by BN) pass through two local buffers: while one is
 * multiplied, the next is on its way through registers into the other, so that one barrier a tile
 * is enough.
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
 * Where a tile passes the end of k it is filled with A = -0 and B = +0, whose product -0 changes no
 * sum; +0 would turn a sum of -0 into +0. With NEGATE B = -0, as -A is +0 then. k == 0 gives alpha
 * times +0 without CONTINUE: call it with alpha = 1 and beta = 0 for zeros, and leave alpha == 0 to
 * other kernels.
 *
 * There may be several such products. Matrix z of x begins z*stridex elements after the first; a
 * stride of 0 for A or B shares one among all.
 *
 * BM BN BK  the tile
 * TM TN     elements of C of a work-item, multiples of VECW (4; 2 for float64); BK and BN are
 *           multiples of VECW too
 * KU        steps of k that are unrolled
 * flags     CONTINUE, NEGATE, and may A and B (both of VECTORS_AB) and C (VECTORS_C) be accessed as
 *           aligned vectors of 16 bytes? Only where the operand's address, its leading dimension
 *           and, with more than one product, the step to the next matrix are multiples of 16 bytes.
 *
 * Launch: groups of (BM/TM)*(BN/TN) work-items in x. Groups in x stride over the columns of tiles
 * of C, groups in y over the rows, so any number of groups covers any shape; ceil(n/BN) by
 * ceil(m/BM) give each group one tile. Groups in z compute a product each: a loop over the products
 * cost up to 25 registers and made ptxas spill. All work-items of a group reach every barrier.
 *
 * A step of k multiplies what was read from local memory during the step before. The last step of
 * a tile stores the next tile, passes the barrier and reads there before it multiplies. float64
 * reads in the same step, as two sets of its factors do not fit in registers.
 *
 * Registers: 8 by 16 elements of 4 bytes for each of 128 work-items take half of the 255 that
 * NVIDIA has, and two such groups fit a multiprocessor: one multiplies while the other waits. So
 * little else is kept: both local buffers are one array, and what only edges need is computed
 * there. A test counts registers.
 */
#define VECTORS_AB 3 /* A and B */
#define VECTORS_C 4
#define CONTINUE 8
#define NEGATE 16
#define INLINE static __attribute__((always_inline)) /* arrays of their callers stay in registers */

#define LOCAL_VECTOR(p) (*(LOCALPTR VEC *)(p))
#define GLOBAL_VECTOR(p) (*(__global VEC *)(p))

#define WX (BN / TN)        /* work-items across a tile of C */
#define WY (BM / TM)        /* work-items down a tile of C */
#define ITEMS (WX * WY)
#define PITCH (BM + VECW)     /* of the transposed tile of A, padded against bank conflicts */
#define AX (BK / VECW)        /* vectors across a tile of A */
#define BX (BN / VECW)        /* vectors across a tile of B */
#define AROWS (ITEMS / AX)  /* rows of A that the group loads at once */
#define BROWS (ITEMS / BX)  /* rows of B that the group loads at once */
#define ALOADS (BM / AROWS) /* vectors of A that a work-item loads a tile */
#define BLOADS (BK / BROWS) /* vectors of B that a work-item loads a tile */
#define BUFFER (BK * PITCH + BK * BN) /* elements of a local buffer: the tile of A, then that of B */
#define AHEAD (VECW == 4)     /* is a step of k read during the step before? float64 has no registers for it */
#if TM % VECW || TN % VECW || BK % VECW || BM % TM || BN % TN
#error "matmul: TM, TN and BK must be multiples of the vector width, BM of TM, and BN of TN"
#elif ITEMS % AX || ITEMS % BX || BM % AROWS || BK % BROWS
#error "matmul: the work-items of a group do not share the loads of a tile evenly"
#endif

/* The block of a work-item is spread in pieces of VECW by VECW over the tile, so that neighbours
 * read neighbouring vectors of local memory. From its first element, in row y*VECW and column
 * x*VECW of the tile, element (i, j) is ROW(i) rows and COL(j) columns away. */
#define ROW(i) ((i) / VECW * (WY * VECW) + (i) % VECW)
#define COL(j) ((j) / VECW * (WX * VECW) + (j) % VECW)

/* load_a reads a work-item's part of a tile of A into registers: from ap, its first vector, with
 * rows and cols of A left from there on. A fast tile is whole and its vectors are aligned. */
INLINE void load_a(VEC *av, __global const T *ap, const ulong lda, const int rows, const int cols, const int fast) {
  if (fast) {
    #pragma unroll
    for (int i = 0; i < ALOADS; i++) av[i] = READ_VECTOR(VEC, ap + i * AROWS * lda);
    return;
  }
  #pragma unroll
  for (int i = 0; i < ALOADS; i++) {
#define LOAD(e, s) (i * AROWS < rows && e < cols ? ap[i * AROWS * lda + e] : NEG0)
    av[i] = VECTOR(LOAD);
#undef LOAD
  }
}

/* load_b does the same for B; zero fills what is not there. */
INLINE void load_b(VEC *bv, __global const T *bp, const ulong ldb, const int rows, const int cols, const int fast,
                   const T zero) {
  if (fast) {
    #pragma unroll
    for (int i = 0; i < BLOADS; i++) bv[i] = READ_VECTOR(VEC, bp + i * BROWS * ldb);
    return;
  }
  #pragma unroll
  for (int i = 0; i < BLOADS; i++) {
#define LOAD(e, s) (i * BROWS < rows && e < cols ? bp[i * BROWS * ldb + e] : zero)
    bv[i] = VECTOR(LOAD);
#undef LOAD
  }
}

/* store_tile writes what was loaded of A and B to a local buffer. sign is 1, or -1 for -A. */
INLINE void store_tile(LOCALPTR T *as, LOCALPTR T *bs, VEC *av, const VEC *bv, const T sign) {
  #pragma unroll
  for (int i = 0; i < ALOADS; i++) {
#define STORE(e, s) as[e * PITCH + i * AROWS] = sign * av[i].s;
    EACH(STORE);
#undef STORE
  }
  #pragma unroll
  for (int i = 0; i < BLOADS; i++) LOCAL_VECTOR(bs + i * BROWS * BN) = bv[i];
}

/* read_step reads from a local buffer what a step of k multiplies: TM elements of A, TN of B. */
INLINE void read_step(T *ar, T *br, LOCALPTR const T *al, LOCALPTR const T *bl) {
  #pragma unroll
  for (int i = 0; i < TM; i += VECW) {
    const VEC v = LOCAL_VECTOR(al + i * WY);
#define UNPACK(e, s) ar[i + e] = v.s;
    EACH(UNPACK);
#undef UNPACK
  }
  #pragma unroll
  for (int j = 0; j < TN; j += VECW) {
    const VEC v = LOCAL_VECTOR(bl + j * WX);
#define UNPACK(e, s) br[j + e] = v.s;
    EACH(UNPACK);
#undef UNPACK
  }
}

/* multiply_step adds the products of a step to the sums: two columns at a time, down and up in
 * turn, so that one product and the next share a factor and read fewer registers. */
INLINE void multiply_step(T acc[TM][TN], const T *ar, const T *br) {
  #pragma unroll
  for (int j = 0; j < TN; j += 2) {
    #pragma unroll
    for (int walk = 0; walk < TM; walk++) {
      const int i = j / 2 % 2 ? TM - 1 - walk : walk;
      acc[i][j] = CHAIN(ar[i], br[j], acc[i][j]);
      acc[i][j + 1] = CHAIN(ar[i], br[j + 1], acc[i][j + 1]);
    }
  }
}

__kernel WG_SIZE(ITEMS, 1, 1)
void matmul(const int m, const int n, const int k, const T alpha,
            __global const T *restrict a, const ulong aoff, const ulong lda,
            __global const T *restrict b, const ulong boff, const ulong ldb,
            const T beta, __global T *restrict c, const ulong coff, const ulong ldc, const int flags,
            const ulong stridea, const ulong strideb, const ulong stridec) {
  LOCALMEM ALIGN16 T buffers[2 * BUFFER];

  const uint id = (uint)get_local_id(0);
  /* 32 neighbours compute a patch of 8 by 4 blocks, and read 8 vectors of B and 4 of A a step.
   * Work-items 0 and 1 read the same vector of B, 0 and 2 the same of A, and so on: NVIDIA's local
   * memory joins reads of 16 bytes by such pairs, as kernels of others say that were tuned on it.
   * It was not measured here. */
#if WX % 8 == 0 && WY % 4 == 0
  const int x = (int)(id / 32 % (WX / 8) * 8 + id / 2 % 8);
  const int y = (int)(id / 32 / (WX / 8) * 4 + id / 16 % 2 * 2 + id % 2);
#else
  const int x = (int)(id % WX), y = (int)(id / WX);
#endif
  const int arow = (int)(id / AX), acol = (int)(id % AX) * VECW; /* of the first vector that the work-item loads */
  const int brow = (int)(id / BX), bcol = (int)(id % BX) * VECW;
  const int tiles = (int)(((uint)k + BK - 1) / BK);
  const uint across = ((uint)n + BN - 1) / BN, down = ((uint)m + BM - 1) / BM;
  const ulong z = get_group_id(2);
  const T sign = flags & NEGATE ? (T)-1 : (T)1;
  const T zero = flags & NEGATE ? NEG0 : (T)0; /* of B where a tile passes the end of k */

  uint tx = (uint)get_group_id(0), ty = tx < across ? (uint)get_group_id(1) : down;
  while (ty < down) {
    const int row0 = (int)(ty * BM), col0 = (int)(tx * BN);
    const int high = m - row0, wide = n - col0, whole = high >= BM && wide >= BN;
    __global const T *ap = a + aoff + z * stridea + row0 * lda + (arow * lda + acol);
    __global const T *bp = b + boff + z * strideb + brow * ldb + (col0 + bcol);

    T acc[TM][TN];
    #pragma unroll
    for (int i = 0; i < TM; i++) {
      #pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    }
    if (flags & CONTINUE) { /* an element at a time: with vectors ptxas spills registers */
      /* alpha is 1. The product makes NVIDIA's assembler wait for C here: left to the first
       * multiply-add, which is in the loop, it waits there for each tile's loads as well. */
      const int row = row0 + y * VECW, col = col0 + x * VECW;
      __global const T *cp = c + coff + z * stridec + row * ldc + col;
      #pragma unroll
      for (int i = 0; i < TM; i++, cp += (ROW(i) - ROW(i - 1)) * ldc) {
        #pragma unroll
        for (int j = 0; j < TN; j++) {
          if (ROW(i) < m - row && col + COL(j) < n) acc[i][j] = alpha * cp[COL(j)];
        }
      }
    }

    LOCALPTR T *as = buffers + acol * PITCH + arow, *bs = buffers + BK * PITCH + id * VECW; /* stored to */
    LOCALPTR T *al = buffers + y * VECW, *bl = buffers + BK * PITCH + x * VECW;               /* read from */
    T ar[1 + AHEAD][TM], br[1 + AHEAD][TN];
    VEC av[ALOADS], bv[BLOADS];
    int buffer = 0; /* where the tile begins that is multiplied */
    if (tiles > 0) {
      const int fast = whole && (flags & VECTORS_AB) == VECTORS_AB && k >= BK;
      load_a(av, ap, lda, high - arow, k - acol, fast);
      load_b(bv, bp, ldb, k - brow, wide - bcol, fast, zero);
      store_tile(as, bs, av, bv, sign);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (AHEAD && tiles > 0) read_step(ar[0], br[0], al, bl);
    for (int t = 1; t <= tiles; t++) { /* multiply tile t-1 while tile t is on its way */
      if (t < tiles) {
        const int left = k - t * BK, fast = whole && (flags & VECTORS_AB) == VECTORS_AB && left >= BK;
        ap += BK;
        bp += BK * ldb;
        load_a(av, ap, lda, high - arow, left - acol, fast);
        load_b(bv, bp, ldb, left - brow, wide - bcol, fast, zero);
      }
      #pragma unroll KU
      for (int p = 0; p < BK; p++) {
        if (!AHEAD) read_step(ar[0], br[0], al + buffer + p * PITCH, bl + buffer + p * BN);
        if (p == BK - 1) { /* the last step needs nothing of this buffer any more */
          if (t < tiles) {
            buffer = BUFFER - buffer;
            store_tile(as + buffer, bs + buffer, av, bv, sign);
          }
          barrier(CLK_LOCAL_MEM_FENCE);
        }
        const int next = (p + 1) % BK;
        if (AHEAD) read_step(ar[next % 2], br[next % 2], al + buffer + next * PITCH, bl + buffer + next * BN);
        multiply_step(acc, ar[AHEAD * p % 2], br[AHEAD * p % 2]);
      }
    }
    /* The last step has read, for nothing, where the group's next tile of C will store. */
    if (AHEAD) barrier(CLK_LOCAL_MEM_FENCE);

    /* With beta == 0 the addend is -0, which leaves alpha*acc as it is. cp steps from row to row:
     * so many pointers would take registers. */
    const int row = row0 + y * VECW, col = col0 + x * VECW;
    __global T *cp = c + coff + z * stridec + row * ldc + col;
    if (whole && (flags & VECTORS_C)) {
      #pragma unroll
      for (int i = 0; i < TM; i++, cp += (ROW(i) - ROW(i - 1)) * ldc) {
        #pragma unroll
        for (int j = 0; j < TN; j += VECW) {
#define ZERO(e, s) NEG0
          VEC v = VECTOR(ZERO);
#undef ZERO
          if (beta != 0) {
            v = GLOBAL_VECTOR(cp + COL(j));
#define SCALE(e, s) v.s = beta * v.s;
            EACH(SCALE);
#undef SCALE
          }
#define RESULT(e, s) MAC(alpha, acc[i][j + e], v.s)
          GLOBAL_VECTOR(cp + COL(j)) = VECTOR(RESULT);
#undef RESULT
        }
      }
    } else {
      #pragma unroll
      for (int i = 0; i < TM; i++, cp += (ROW(i) - ROW(i - 1)) * ldc) {
        #pragma unroll
        for (int j = 0; j < TN; j++) {
          if (ROW(i) < m - row && COL(j) < n - col) {
            T old = NEG0;
            if (beta != 0) old = beta * cp[COL(j)];
            cp[COL(j)] = MAC(alpha, acc[i][j], old);
          }
        }
      }
    }

    tx += (uint)get_num_groups(0); /* the group's next tile */
    if (tx >= across) {
      tx = (uint)get_group_id(0);
      ty += (uint)get_num_groups(1);
    }
  }
}
