/* matmul_thin - C = alpha*A*B + beta*C for a C of few rows or few columns, on GPUs: matmul.cl's
 * function, with the same arguments and the same bits.
 *
 * Such a product reads one large operand, X, once, and can be as fast as memory gives it: B where C
 * is wide, A where C is tall. The other one, Y, is small. As the chain of an element stays in one
 * work-item, a C of 2 by 4096 has no work for all work-items of a GPU; but all can load. A group
 * computes LONG columns of a wide C, or rows of a tall one. It takes X and Y by tiles of BK steps
 * of k, which all its work-items load into registers, and store to local memory as soon as the tile
 * before is done with: the next is then on its way, while those that have a place in C multiply.
 * These read VECW steps of k from local memory while they multiply the VECW before: few others run
 * on their multiprocessor to fill the wait.
 *
 * Neighbours load along the rows of X: memory is faster with long pieces of few rows than with
 * short pieces of many. The rows of a tile of A have BK elements, those of B BN.
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
 * BM BN BK  the tile: C is tall where BM > BN, and BK then 512 bytes or more
 * TM TN     elements of C of a work-item that multiplies
 * ITEMS     work-items of a group, at least (BM/TM)*(BN/TN)
 * KU        steps of k that are unrolled: a multiple of 2*VECW that divides BK
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
#if TALL || !defined(BYTES) /* the bytes of A come first */
#define XY(x, y, c) CHAIN(x, y, c)
#else
#define XY(x, y, c) CHAIN(y, x, c)
#endif
#if TALL
#define LONG BM
#define THIN BN
#define ALONG TM                      /* elements of C of a work-item along the long side */
#define APART (BM / TM)               /* rows from one to the next: neighbours have the rows between */
#define ACROSS TN                     /* elements along the thin side */
#define XROWS BM                      /* rows and columns of a tile of X */
#define XCOLS BK
#define XPITCH YPITCH                 /* X is in local memory as it is in memory */
#else
#define LONG BN
#define THIN BM
#define ALONG TN
#define APART 1                       /* a step of k has them side by side */
#define ACROSS TM
#define XROWS BK
#define XCOLS BN
#define XPITCH BN
#endif
#define XACROSS (XCOLS / VECW)        /* vectors of a row of X's tile, which neighbours read */
#define XSTEP (ITEMS / XACROSS)       /* rows of X that the group loads at once */
#define YSTEP (ITEMS / THIN)          /* steps of k whose Y it loads at once */
#define XLOADS (XROWS / XSTEP)        /* vectors of X that a work-item loads a tile */
#define YLOADS (BK / YSTEP)           /* elements of Y */
#define YPITCH (BK + VECW)            /* Y is stored along k, padded against bank conflicts */
#if BM % TM || BN % TN || LONG * THIN / (TM * TN) > ITEMS || BK % KU || KU % (2 * VECW)
#error "matmul_thin: the work-items do not cover the tile in such blocks"
#elif XCOLS % VECW || ITEMS % XACROSS || XROWS % XSTEP || ITEMS % THIN || BK % YSTEP
#error "matmul_thin: the work-items of a group do not share the loads of a tile evenly"
#endif

/* load_x reads a work-item's part of a tile of X into registers: from p, its first vector, with
 * rows and cols of X from there on. */
INLINE void load_x(VEC *xv, __global const T *p, const ulong ldx, const int rows, const int cols, const int vectors,
                   const T fill) {
  #pragma unroll
  for (int i = 0; i < XLOADS; i++, p += XSTEP * ldx) {
#define WITHIN(e) (i * XSTEP < rows && (e) < cols)
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

/* read_steps reads from local memory what VECW steps of k multiply. */
INLINE void read_steps(T xr[ALONG][VECW], T yr[ACROSS][VECW], LOCALPTR const T *xp, LOCALPTR const T *yp) {
#define UNPACK(e, s) to[e] = v.s;
  #pragma unroll
  for (int i = 0; i < ALONG; i++) {
#if TALL
    T *to = xr[i];
    const VEC v = LOCAL_VECTOR(xp + i * APART * XPITCH);
    EACH(UNPACK);
#else
    #pragma unroll
    for (int e = 0; e < VECW; e++) xr[i][e] = xp[e * XPITCH + i];
#endif
  }
  #pragma unroll
  for (int j = 0; j < ACROSS; j++) {
    T *to = yr[j];
    const VEC v = LOCAL_VECTOR(yp + j * YPITCH);
    EACH(UNPACK);
  }
#undef UNPACK
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
  /* The row and column of the first vector of X that the work-item loads; of its first element of
   * Y the step of k, and the place along the thin side. */
  const int xrow = id / XACROSS, xcol = id % XACROSS * VECW;
  const int yk = TALL ? id / THIN : id % YSTEP, yt = TALL ? id % THIN : id / YSTEP;
  /* Of its first element of C in the tile. Where most of a thin side of 16 is used, 32 neighbours
   * take a patch of 8 by 4 blocks, as in matmul.cl, and read few vectors. */
#if THIN > 8 && LONG / ALONG % 8 == 0 && THIN / ACROSS % 4 == 0
  const int l = (id / 32 % (LONG / ALONG / 8) * 8 + id / 2 % 8) * (TALL ? 1 : ALONG);
  const int t = (id / 32 / (LONG / ALONG / 8) * 4 + id / 16 % 2 * 2 + id % 2) * ACROSS;
#else
  const int l = id % (LONG / ALONG) * (TALL ? 1 : ALONG), t = id / (LONG / ALONG) * ACROSS;
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
    __global const T *xp = (TALL ? ap : bp) + (xrow * ldx + xcol);
    const int yw = yt < width ? yt : 0; /* beyond C any Y will do: all work-items go the same way */
    __global const T *yp = TALL ? bp + (yk * ldb + yw) : ap + (yw * lda + yk);
    __global T *cp = c + coff + z * stridec + (TALL ? (row0 + l) * ldc + (col0 + t) : (row0 + t) * ldc + (col0 + l));
    /* The work-item has so many elements of C along the thin side, if any. */
    const int mine = t < THIN && l < length ? width - t : 0;

#define AT(i, j) (TALL ? i * APART * ldc + j : j * ldc + i) /* from its first element to another */
    T acc[ALONG][ACROSS];
    #pragma unroll
    for (int i = 0; i < ALONG; i++) {
      #pragma unroll
      for (int j = 0; j < ACROSS; j++) {
        acc[i][j] = 0;
        if ((flags & CONTINUE) && i * APART < length - l && j < mine) {
          acc[i][j] = alpha * cp[AT(i, j)]; /* alpha is 1; see matmul.cl */
        }
      }
    }
    LOCALPTR const T *xr0 = xs + (TALL ? l * XPITCH : l), *yr0 = ys + t * YPITCH;
    int rows = (TALL ? length : k) - xrow, cols = (TALL ? k : length) - xcol, yleft = k - yk; /* what is left */
    VEC xv[XLOADS];
    T yv[YLOADS];
    load_x(xv, xp, ldx, rows, cols, vectors, fill);
    load_y(yv, yp, ldy, yleft);
    for (int left = k; left > 0; left -= BK) {
      barrier(CLK_LOCAL_MEM_FENCE); /* the tile before is done with */
#define STORE_X(i) LOCAL_VECTOR(xs + (xrow + i * XSTEP) * XPITCH + xcol) = xv[i]
#define STORE_Y(i) ys[yt * YPITCH + yk + i * YSTEP] = sign * yv[i]
      xp += TALL ? BK : BK * ldx;
      yp += TALL ? BK * ldy : BK;
      rows -= TALL ? 0 : BK;
      cols -= TALL ? BK : 0;
      yleft -= BK;
      if (vectors && XROWS - XSTEP < rows && VECW <= cols && BK - YSTEP < yleft) {
        /* A vector is stored when it has come, and then the next is asked for: not all at once. */
        #pragma unroll
        for (int i = 0; i < XLOADS; i++) {
          STORE_X(i);
          xv[i] = READ_VECTOR(VEC, xp + i * XSTEP * ldx);
        }
        #pragma unroll
        for (int i = 0; i < YLOADS; i++) {
          STORE_Y(i);
          yv[i] = yp[TALL ? i * YSTEP * ldy : i * YSTEP];
        }
      } else {
        #pragma unroll
        for (int i = 0; i < XLOADS; i++) STORE_X(i);
        #pragma unroll
        for (int i = 0; i < YLOADS; i++) STORE_Y(i);
        if (left > BK) {
          load_x(xv, xp, ldx, rows, cols, vectors, fill);
          load_y(yv, yp, ldy, yleft);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (mine <= 0) continue;
      T xr[2][ALONG][VECW], yr[2][ACROSS][VECW];
      read_steps(xr[0], yr[0], xr0, yr0);
      for (int p0 = 0; p0 < BK && p0 < left; p0 += KU) {
        #pragma unroll
        for (int p = 0; p < KU; p += VECW) {
          const int next = p + VECW < KU ? p0 + p + VECW : p0 + KU < BK ? p0 + KU : 0, odd = p / VECW % 2;
          read_steps(xr[!odd], yr[!odd], xr0 + (TALL ? next : next * XPITCH), yr0 + next);
          #pragma unroll
          for (int e = 0; e < VECW; e++) {
            #pragma unroll
            for (int i = 0; i < ALONG; i++) {
              #pragma unroll
              for (int j = 0; j < ACROSS; j++) acc[i][j] = XY(xr[odd][i][e], yr[odd][j][e], acc[i][j]);
            }
          }
        }
      }
    }

    /* With beta == 0 the addend is -0, which leaves alpha*acc as it is. */
    #pragma unroll
    for (int i = 0; i < ALONG; i++) {
      #pragma unroll
      for (int j = 0; j < ACROSS; j++) {
        if (i * APART < length - l && j < mine) {
          T old = NEG0;
          if (beta != 0) old = beta * cp[AT(i, j)];
          cp[AT(i, j)] = MAC(alpha, acc[i][j], old);
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
