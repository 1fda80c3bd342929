/* matmul_mfma - C = alpha*A*B + beta*C for float32, float64 and bytes by the matrix instructions of
 * AMD's CDNA: v_mfma_f32_16x16x4_f32 (gfx908 on), v_mfma_f64_16x16x4_f64 (gfx90a on), and of int8
 * v_mfma_i32_16x16x16_i8 (gfx908, gfx90a) or v_mfma_i32_16x16x32_i8 (gfx940 on). matmul.cl says
 * what A, B, C, alpha, beta, the flags and a launch are; results have the same bits.
 *
 * The instruction adds its four products of floats one after another: d = fma(a[i,p], b[p,j], d)
 * for ascending p from C, each rounded once, subnormals kept, as MMA-Sim (arXiv 2511.10909) found
 * on CDNA1 to CDNA3 for float32 and float64, though not for xf32. That is the chain of the
 * contract. Of bytes it adds the products in int32, which wraps, so that any order is exact. A
 * probe asks each device whether it is so before this kernel is chosen; no other has this builtin.
 *
 * With BYTES elements of A and B are words of four bytes along k, as element.h has them. The
 * instruction takes signed bytes. An unsigned x of A is (x - 128) + 128: with its upper bit turned
 * the byte is x - 128, and one more row of units, which has ones in the place of A, sums up the
 * columns of B.
 *
 * It is not matmul_unit.cl, as nearly all of that is cp.async, and the order of elements that suits
 * it: here tiles pass through registers into one of two local buffers while the other is
 * multiplied, with A transposed, as in matmul.cl. Of that it has neither the blocks nor how steps
 * of k overlap.
 *
 * A group computes BM by BN elements of C, each of its waves of 64 work-items TM by TN of them.
 *
 * Where fragments lie (AMD's matrix instruction calculator; "AMD matrix cores", AMD lab notes): of
 * a unit of 16 by 16 by 4, lane l of a wave holds
 *   A  element (l%16, l/16)
 *   B  element (l/16, l%16)
 *   C  element (l/16*4 + e, l%16) in c[e], but (l/16 + e*4, l%16) for float64
 * where of bytes an element of A and B is a word of four, or two of them, which stand four apart:
 * of 32 bytes along k any order will do that A and B share.
 *
 * In odd steps of k the sixteens of a tile change places by pairs, so that the 32 lanes that read
 * float32 at once meet each bank of local memory once.
 *
 * BM BN BK  the tile: BM and BN are multiples of 32, BK of 4, or of bytes 8
 * TM TN     the block of a wave, multiples of 16
 * KU        2, the tiles in local memory
 */
#define VECTORS_AB 3 /* A and B */
#define CONTINUE 8
#define NEGATE 16
#define INLINE static __attribute__((always_inline))

/* Clang 15 takes the builtin of float64 for gfx908, too, and clang 19 either one of int8 for all of
 * CDNA; then they end the process: another builtin tells gfx90a and later, and gfx940 and later.
 * AMD's OpenCL does not define the GPU's name. */
#if !__has_builtin(__builtin_amdgcn_mfma_f32_16x16x4f32) || \
    defined(T_FLOAT64) && !__has_builtin(__builtin_amdgcn_flat_atomic_fadd_f64)
#error "no matrix instruction (mfma) of this type"
#endif
#if defined(T_FLOAT64)
#define SUMS double4 /* the elements of C of a lane */
#define MULTIPLY __builtin_amdgcn_mfma_f64_16x16x4f64
#define CFIRST(lane) ((lane) / 16) /* its first row of C, and how far row r of it is below */
#define CROW(r) ((r) * 4)
#elif defined(T_FLOAT32)
#define SUMS float4
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x4f32
#elif __has_builtin(__builtin_amdgcn_cvt_f32_fp8)
#define SUMS int4
#define MULTIPLY __builtin_amdgcn_mfma_i32_16x16x32_i8
#define STEP 8         /* elements along k of a step */
#define FRAGMENT ulong /* what a lane has of A or B */
#define READ(at, width) (tile[at] | (ulong)tile[(at) + 4 * (width)] << 32)
#else
#define SUMS int4
#define MULTIPLY __builtin_amdgcn_mfma_i32_16x16x16i8
#endif
#ifndef CFIRST
#define CFIRST(lane) ((lane) / 16 * 4)
#define CROW(r) ((r) / 4 * 16 + (r) % 4)
#endif
#ifndef STEP
#define STEP 4
#define FRAGMENT T
#define READ(at, width) tile[at]
#endif
#if defined(BYTES) && BYTES == 2
#define OF_A(x) ((x) ^ 0x80808080u)
#define ONES 1 /* rows of units of ones, below A's */
#define SUM(i, j, e) ((T)acc[i][j][e] + 128 * (T)acc[UNITS_M][j][e]) /* which wraps */
#else
#define OF_A(x) (x)
#define ONES 0
#define SUM(i, j, e) acc[i][j][e]
#endif

#define WAVES_X (BN / TN)
#define ITEMS (BM / TM * WAVES_X * 64)
#define ATILE (BK * BM)
#define STAGE (ATILE + BK * BN)
#define UNITS_M (TM / 16)
#define UNITS_N (TN / 16)
#define AX (BK / VECW)      /* vectors across a tile of A */
#define BX (BN / VECW)
#define AROWS (ITEMS / AX)  /* rows of A that the group loads at once */
#define BROWS (ITEMS / BX)
#define ALOADS (BM / AROWS) /* vectors of A that a work-item loads a tile */
#define BLOADS (BK / BROWS)
#define STRIP 8             /* rows of tiles that groups go through column by column */
#define PLACE(k, x, width) ((k) * (width) + ((x) ^ ((k) % 2 * 16)))
#if BM % 32 || BN % 32 || BK % STEP || BM % TM || BN % TN || TM % 16 || TN % 16 || KU != 2
#error "matmul_mfma: BM and BN must be multiples of 32, TM and TN, these of 16, BK of STEP, and KU 2"
#elif ITEMS % AX || ITEMS % BX || BM % AROWS || BK % BROWS
#error "matmul_mfma: the work-items of a group do not share the loads of a tile evenly"
#endif

/* load reads a work-item's part of a tile into registers: count vectors, step rows apart, from the
 * first one on, with rows and cols left from there on. A fast tile is whole and its vectors are
 * aligned; fill is what stands beyond. */
INLINE void load(VEC *v, __global const T *from, const ulong ld, const int count, const int step, const int rows,
                 const int cols, const int fast, const T fill) {
  #pragma unroll
  for (int i = 0; i < count; i++, from += step * ld) {
    if (fast) {
      v[i] = READ_VECTOR(VEC, from);
    } else {
#define LOAD(e, s) (i * step < rows && e < cols ? from[e] : fill)
      v[i] = VECTOR(LOAD);
#undef LOAD
    }
  }
}

/* Two waves on a SIMD leave 256 registers for each. Unless told so, AMD's compiler takes 340 for
 * float64 and moves all sums between VGPRs and AGPRs. */
__kernel __attribute__((amdgpu_waves_per_eu(2))) WG_SIZE(ITEMS, 1, 1)
void matmul_mfma(const int m, const int n, const int k, const T alpha,
                 __global const T *restrict a, const ulong aoff, const ulong lda,
                 __global const T *restrict b, const ulong boff, const ulong ldb,
                 const T beta, __global T *restrict c, const ulong coff, const ulong ldc, const int flags,
                 const ulong stridea, const ulong strideb, const ulong stridec) {
  LOCALMEM ALIGN16 T buffers[2 * STAGE];

  const int id = (int)get_local_id(0), lane = id % 64, wave = id / 64, in = lane / 16;
  const int wrow = wave / WAVES_X * TM, wcol = wave % WAVES_X * TN;
  const int arow = id / AX, acol = id % AX * VECW; /* of the first vector that the work-item loads */
  const int brow = id / BX, bcol = id % BX * VECW;
  const int tiles = (int)(((uint)k + BK - 1) / BK);
  const uint across = ((uint)n + BN - 1) / BN, down = ((uint)m + BM - 1) / BM;
  const uint groups = (uint)get_num_groups(0) * (uint)get_num_groups(1);
  const ulong z = get_group_id(2);
  const T sign = flags & NEGATE ? (T)-1 : (T)1;
  const T zero = flags & NEGATE ? NEG0 : (T)0; /* of B where a tile passes the end of k */

  for (uint t0 = (uint)get_group_id(1) * (uint)get_num_groups(0) + (uint)get_group_id(0); t0 < across * down;
       t0 += groups) { /* fewer than 2^32: no memory holds a C of more */
    /* Groups that run at once share rows of A and columns of B in the cache. */
    const uint strip = t0 / (STRIP * across), in_strip = t0 % (STRIP * across);
    const uint high_strip = down - strip * STRIP < STRIP ? down - strip * STRIP : STRIP;
    const int row0 = (int)((strip * STRIP + in_strip % high_strip) * BM), col0 = (int)(in_strip / high_strip * BN);
    const int whole = m - row0 >= BM && n - col0 >= BN && (flags & VECTORS_AB) == VECTORS_AB;
    __global const T *ap = a + aoff + z * stridea + row0 * lda + (arow * lda + acol);
    __global const T *bp = b + boff + z * strideb + brow * ldb + (col0 + bcol);
    const int row = row0 + wrow + CFIRST(lane), col = col0 + wcol + lane % 16; /* of the lane's first element of C */
    __global T *cp = c + coff + z * stridec + row * ldc + col;

    SUMS acc[UNITS_M + ONES][UNITS_N];
    #pragma unroll
    for (int i = 0; i < UNITS_M + ONES; i++) {
      #pragma unroll
      for (int j = 0; j < UNITS_N; j++) acc[i][j] = 0;
    }
    if (flags & CONTINUE) {
      __global const T *from = cp;
      #pragma unroll
      for (int r = 0; r < UNITS_M * 4; r++, from += (CROW(r) - CROW(r - 1)) * ldc) {
        #pragma unroll
        for (int j = 0; j < UNITS_N; j++) {
          if (CROW(r) < m - row && j * 16 < n - col) acc[r / 4][j][r % 4] = from[j * 16];
        }
      }
    }

    VEC av[ALOADS], bv[BLOADS];
    #pragma unroll 1
    for (int t = 0; t <= tiles; t++) { /* multiply tile t-1 while tile t is on its way */
      if (t < tiles) {
        const int left = k - t * BK, fast = whole && left >= BK;
        load(av, ap, lda, ALOADS, AROWS, m - row0 - arow, left - acol, fast, NEG0);
        load(bv, bp, ldb, BLOADS, BROWS, left - brow, n - col0 - bcol, fast, zero);
        ap += BK;
        bp += BK * ldb;
      }
      if (t > 0) {
        LOCALPTR const T *tile = buffers + (t - 1) % 2 * STAGE;
        #pragma unroll
        for (int s = 0; s < BK; s += STEP) {
          FRAGMENT ar[UNITS_M + ONES], br[UNITS_N];
          if (ONES) ar[UNITS_M] = (FRAGMENT)0x0101010101010101ul;
          #pragma unroll
          for (int i = 0; i < UNITS_M; i++) ar[i] = READ(PLACE(s + in, wrow + i * 16 + lane % 16, BM), BM);
          #pragma unroll
          for (int j = 0; j < UNITS_N; j++) br[j] = READ(ATILE + PLACE(s + in, wcol + j * 16 + lane % 16, BN), BN);
          #pragma unroll
          for (int i = 0; i < UNITS_M + ONES; i++) {
            #pragma unroll
            for (int j = 0; j < UNITS_N; j++) acc[i][j] = MULTIPLY(ar[i], br[j], acc[i][j], 0, 0, 0);
          }
        }
      }
      if (t < tiles) {
        LOCALPTR T *tile = buffers + t % 2 * STAGE;
        #pragma unroll
        for (int i = 0; i < ALOADS; i++) {
#define STORE(e, s) tile[PLACE(acol + e, arow + i * AROWS, BM)] = sign * OF_A(av[i].s);
          EACH(STORE);
#undef STORE
        }
        #pragma unroll
        for (int i = 0; i < BLOADS; i++) {
          *(LOCALPTR VEC *)(tile + ATILE + PLACE(brow + i * BROWS, bcol, BN)) = bv[i];
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* With beta == 0 the addend is -0, which leaves alpha*acc as it is. cp steps from row to row:
     * so many pointers would take registers. */
    #pragma unroll
    for (int r = 0; r < UNITS_M * 4; r++, cp += (CROW(r) - CROW(r - 1)) * ldc) {
      #pragma unroll
      for (int j = 0; j < UNITS_N; j++) {
        if (CROW(r) < m - row && j * 16 < n - col) {
          cp[j * 16] = MAC(alpha, SUM(r / 4, j, r % 4), beta != 0 ? beta * cp[j * 16] : NEG0);
        }
      }
    }
  }
}
