/* matmul_thin - C = alpha*A*B + beta*C for a C of few rows or few columns, on GPUs: matmul.cl's
 * function, with the same arguments and the same bits.
 *
 * Such a product reads one large operand, X, once, and can be as fast as memory gives it: B where C
 * is wide, A where C is tall. The other one, Y, is small. As the chain of an element stays in one
 * work-item, a C of 2 by 4096 has no work for all work-items of a GPU; but all can load. A group
 * computes LONG columns of a wide C, or rows of a tall one. It takes X and Y by tiles of BK steps
 * of k, which all its work-items load into registers, and store to local memory as soon as the tile
 * before is done with: the next is then on its way, while those that have a place in C multiply.
 *
 * A is m by k, B is k by n, C is m by n; element (i, j) of x is x[xoff + i*ldx + j]. C overlaps
 * neither A nor B.
 *
 *   acc    = chain over p = 0 ... k-1 of fma(a[i,p], b[p,j], acc), from +0
 *   c[i,j] = fma(alpha, acc, beta*c[i,j]), with beta*c[i,j] rounded on its own
 *
 * beta == 0 does not read C, and gives alpha*acc. CONTINUE, NEGATE, k == 0, several products, and
 * what fills a tile where it passes the end of k are as in matmul.cl.
 *
 * BM BN BK  the tile: C is tall where BM > BN
 * TM TN     elements of C of a work-item that multiplies: 1 along the long side
 * ITEMS     work-items of a group, at least (BM/TM)*(BN/TN)
 * KU        steps of k that are unrolled: many, as the loads from local memory of a work-item that
 *           is alone on its processor must overlap; a multiple of VECW that divides BK
 * flags     CONTINUE, NEGATE, and may X be read as aligned vectors of 16 bytes? VECTORS_A tells it
 *           where C is tall, VECTORS_B where it is wide
 *
 * Launch: groups of ITEMS work-items in x. Groups in x stride over the columns of tiles of C,
 * groups in y over the rows, so any number of groups covers any shape; ceil(n/BN) by ceil(m/BM)
 * give each group one tile. Groups in z compute a product each. All work-items of a group reach
 * every barrier.
 */
#define VECTORS_A 1
#define VECTORS_B 2
#define CONTINUE 8
#define NEGATE 16
#define INLINE static __attribute__((always_inline)) /* arrays of their callers stay in registers */
#define LOCAL_VECTOR(p) (*(LOCALPTR VEC *)(p))

#define TALL (BM > BN)
#if TALL
#define LONG BM
#define THIN BN
#define BLOCK TN                      /* elements of C of a work-item */
#define XPITCH YPITCH                 /* X is in local memory as it is in memory */
#else
#define LONG BN
#define THIN BM
#define BLOCK TM
#define XPITCH LONG
#endif
#define XSTEP (ITEMS * VECW / LONG)   /* steps of k whose X the group loads at once */
#define YSTEP (ITEMS / THIN)          /* and whose Y */
#define XLOADS (BK / XSTEP)           /* vectors of X that a work-item loads a tile */
#define YLOADS (BK / YSTEP)           /* elements of Y */
#define YPITCH (BK + VECW)            /* Y is stored along k, padded against bank conflicts */
#if TM * TN != BLOCK || THIN % BLOCK || LONG * THIN / BLOCK > ITEMS || BK % KU || KU % VECW
#error "matmul_thin: the work-items do not cover the tile in such blocks"
#elif LONG % VECW || ITEMS % LONG || ITEMS % THIN || BK % XSTEP || BK % YSTEP
#error "matmul_thin: the work-items of a group do not share the loads of a tile evenly"
#endif

/* load_x reads a work-item's part of a tile of X into registers: from p, its first vector, with
 * left steps of k from there on and, in a wide C, across columns. */
INLINE void load_x(VEC *xv, __global const T *p, const ulong ldx, const int left, const int across, const int vectors,
                   const T fill) {
  #pragma unroll
  for (int i = 0; i < XLOADS; i++, p += TALL ? XSTEP : XSTEP * ldx) {
#define WITHIN(e) (TALL ? i * XSTEP + (e) < left : i * XSTEP < left && (e) < across)
    if (vectors && WITHIN(VECW - 1)) {
      xv[i] = READ_VECTOR(VEC, p);
    } else {
#define LOAD(e, s) (WITHIN(e) ? p[e] : fill)
      xv[i] = VECTOR(LOAD);
#undef LOAD
    }
#undef WITHIN
  }
}

/* load_y does the same for Y, element by element. */
INLINE void load_y(T *yv, __global const T *p, const ulong ldy, const int left) {
  #pragma unroll
  for (int i = 0; i < YLOADS; i++, p += TALL ? YSTEP * ldy : YSTEP) {
    yv[i] = TALL ? (T)0 : NEG0;
    if (i * YSTEP < left) yv[i] = *p;
  }
}

__kernel WG_SIZE(ITEMS, 1, 1)
void matmul_thin(const int m, const int n, const int k, const T alpha,
                 __global const T *restrict a, const ulong aoff, const ulong lda,
                 __global const T *restrict b, const ulong boff, const ulong ldb,
                 const T beta, __global T *restrict c, const ulong coff, const ulong ldc, const int flags,
                 const ulong stridea, const ulong strideb, const ulong stridec) {
  LOCALMEM ALIGN16 T xs[(TALL ? LONG : BK) * XPITCH];
  LOCALMEM ALIGN16 T ys[THIN * YPITCH];

  const int id = (int)get_local_id(0);
  /* Of the first vector of X that the work-item loads, and the first element of Y: the step of k,
   * and the place along the long or thin side. */
  const int xk = TALL ? id % (ITEMS / LONG) * VECW : id / (LONG / VECW);
  const int xl = TALL ? id / (ITEMS / LONG) : id % (LONG / VECW) * VECW;
  const int yk = TALL ? id / THIN : id % YSTEP, yt = TALL ? id % THIN : id / YSTEP;
  /* Of its first element of C in the tile. In a tall C of which most columns are used 32 neighbours
   * take a patch of 8 by 4 blocks, as in matmul.cl: they read 16 vectors, not 34, if BLOCK is 2. */
#if TALL && THIN > 8 && LONG % 8 == 0 && THIN / BLOCK % 4 == 0
  const int l = id / 32 % (LONG / 8) * 8 + id / 2 % 8;
  const int t = (id / 32 / (LONG / 8) * 4 + id / 16 % 2 * 2 + id % 2) * BLOCK;
#else
  const int l = id % LONG, t = id / LONG * BLOCK;
#endif
  const uint across = ((uint)n + BN - 1) / BN, down = ((uint)m + BM - 1) / BM;
  const ulong z = get_group_id(2);
  const ulong ldx = TALL ? lda : ldb, ldy = TALL ? ldb : lda;
  const T sign = flags & NEGATE ? (T)-1 : (T)1;
  const T fill = (flags & NEGATE ? !TALL : TALL) ? NEG0 : (T)0; /* of X, so that its product with Y's is -0 */
  const int vectors = flags & (TALL ? VECTORS_A : VECTORS_B);

  uint tx = (uint)get_group_id(0), ty = tx < across ? (uint)get_group_id(1) : down;
  while (ty < down) {
    const int row0 = (int)(ty * BM), col0 = (int)(tx * BN);
    const int length = TALL ? m - row0 : n - col0, width = TALL ? n - col0 : m - row0; /* of what is left of C */
    __global const T *ap = a + aoff + z * stridea + row0 * lda, *bp = b + boff + z * strideb + col0;
    __global const T *xp = TALL ? ap + (xl * lda + xk) : bp + (xk * ldb + xl);
    __global const T *yp = TALL ? bp + (yk * ldb + yt) : ap + (yt * lda + yk);
    __global T *cp = c + coff + z * stridec + (TALL ? (row0 + l) * ldc + (col0 + t) : (row0 + t) * ldc + (col0 + l));
    const int mine = t < THIN && l < length ? width - t : 0; /* the work-item has so many elements of C */

    T acc[BLOCK];
    #pragma unroll
    for (int i = 0; i < BLOCK; i++) {
      acc[i] = 0;
      if ((flags & CONTINUE) && i < mine) acc[i] = alpha * cp[TALL ? i : i * ldc]; /* alpha is 1; see matmul.cl */
    }
    LOCALPTR const T *xr0 = xs + (TALL ? l * XPITCH : l), *yr0 = ys + t * YPITCH;
    int xleft = (TALL && xl >= length ? 0 : k) - xk, yleft = (yt < width ? k : 0) - yk;
    VEC xv[XLOADS];
    T yv[YLOADS];
    load_x(xv, xp, ldx, xleft, length - xl, vectors, fill);
    load_y(yv, yp, ldy, yleft);
    for (int left = k; left > 0; left -= BK) {
      barrier(CLK_LOCAL_MEM_FENCE); /* the tile before is done with */
      #pragma unroll
      for (int i = 0; i < XLOADS; i++) {
        LOCAL_VECTOR(xs + (TALL ? xl * XPITCH + xk + i * XSTEP : (xk + i * XSTEP) * XPITCH + xl)) = xv[i];
      }
      #pragma unroll
      for (int i = 0; i < YLOADS; i++) ys[yt * YPITCH + yk + i * YSTEP] = sign * yv[i];
      if (left > BK) {
        xp += TALL ? BK : BK * ldx;
        yp += TALL ? BK * ldy : BK;
        xleft -= BK;
        yleft -= BK;
        load_x(xv, xp, ldx, xleft, length - xl, vectors, fill);
        load_y(yv, yp, ldy, yleft);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (mine <= 0) continue;
      for (int p0 = 0; p0 < BK && p0 < left; p0 += KU) {
        #pragma unroll
        for (int p = p0; p < p0 + KU; p += VECW) {
          T xr[VECW], yr[BLOCK][VECW];
#define UNPACK(e, s) xr[e] = v.s;
#if TALL
          const VEC v = LOCAL_VECTOR(xr0 + p);
          EACH(UNPACK);
#else
          #pragma unroll
          for (int e = 0; e < VECW; e++) xr[e] = xr0[(p + e) * XPITCH];
#endif
#undef UNPACK
          #pragma unroll
          for (int i = 0; i < BLOCK; i++) {
            const VEC v = LOCAL_VECTOR(yr0 + i * YPITCH + p);
#define UNPACK(e, s) yr[i][e] = v.s;
            EACH(UNPACK);
#undef UNPACK
          }
          #pragma unroll
          for (int e = 0; e < VECW; e++) {
            #pragma unroll
            for (int i = 0; i < BLOCK; i++) acc[i] = MAC(xr[e], yr[i][e], acc[i]);
          }
        }
      }
    }

    /* With beta == 0 the addend is -0, which leaves alpha*acc as it is. */
    #pragma unroll
    for (int i = 0; i < BLOCK; i++, cp += TALL ? 1 : ldc) {
      if (i < mine) {
        T old = NEG0;
        if (beta != 0) old = beta * *cp;
        *cp = MAC(alpha, acc[i], old);
      }
    }

    tx += (uint)get_num_groups(0); /* the group's next tile */
    if (tx >= across) {
      tx = (uint)get_group_id(0);
      ty += (uint)get_num_groups(1);
    }
  }
}
