/* vectors.c - what package host does with vector instructions beside the micro-kernels of products:
 * chains along rows and columns, rank-one updates, small triangles, rotations, sums, transposes,
 * words of bytes.
 *
 * It is compiled for each type of elements and kind of processor, with these macros defined:
 *
 * T        the type, f32 or f64, and
 * SIZE     its bytes
 * LANES    elements of a register
 *
 * All chains are of fused multiply-adds, in the order that package host states. Each entry is given
 * a pointer to the arguments of the Go function of its name. What is left of whole registers is
 * done in halves of a register, and their halves: moves under a mask take long on many processors.
 */
#define INLINE static inline __attribute__((always_inline))
#define ENTRY __attribute__((visibility("default"))) void
#define UNROLL _Pragma("clang loop unroll(full)")

#define TYPE(n) \
  typedef T vec##n __attribute__((ext_vector_type(n))); \
  typedef vec##n mem##n __attribute__((aligned(sizeof(T)))); /* in memory */
TYPE(1) TYPE(2) TYPE(4) TYPE(8) TYPE(16)
#define PASTE(a, b) a##b
#define VECTOR(n) PASTE(vec, n)
#define IN_MEMORY(n) PASTE(mem, n)
typedef VECTOR(LANES) vec;
#define LOAD(n, p) (*(const IN_MEMORY(n) *)(p))
#define STORE(n, p, x) (*(IN_MEMORY(n) *)(p) = (x))
#define FMA __builtin_elementwise_fma

/* What keeps clang from loading all that an unrolled loop needs before it computes, for which there
 * are too few registers, and from a register for the address of each row. */
#ifdef __x86_64__
#define NOW(vector) __asm__ volatile("" : "+v"(vector) :: "memory")
#else
#define NOW(vector) __asm__ volatile("" : "+w"(vector) :: "memory")
#endif
#define OPAQUE(pointer) __asm__("" : "+r"(pointer))

/* HALVES(F) is F(n) for the parts of a register, from its half on. PAIRS(F) ends at two elements. */
#if LANES == 16
#define PAIRS(F) F(8) F(4) F(2)
#elif LANES == 8
#define PAIRS(F) F(4) F(2)
#elif LANES == 4
#define PAIRS(F) F(2)
#else
#define PAIRS(F)
#endif
#define HALVES(F) PAIRS(F) F(1)

#define REGISTER (LANES * SIZE)
#if SIZE == 8
#define PART 2 /* elements in 16 bytes */
#define TWO_PARTS 4
#else
#define PART 4
#define TWO_PARTS 8
#endif
enum { LINE = 64 / SIZE, MAXROWS = 32 };

/* ROW(p, r, ld) is row r of p, whose rows from 4 on are reached from high. */
#define ROW(p, r, ld) ((r < 4 ? p : high) + r % 4 * ld)

INLINE i64 least(i64 a, i64 b) { return a < b ? a : b; }
INLINE i64 most(i64 a, i64 b) { return a > b ? a : b; }

/* Rows of a matrix: y[j] = fma(a[p,j], x[p], y[j]) for p = 0 ... k-1. */

/* rows8 is eight rows, for n columns, a multiple of a line. */
INLINE void rows8(i64 n, const T *a, i64 lda, const T *x, T *y) {
  vec f[8];
  UNROLL for (int r = 0; r < 8; r++) f[r] = (vec)(x[r]);
  for (i64 j = 0; j < n; j += 2 * LANES) {
    vec s = LOAD(LANES, y + j), t = LOAD(LANES, y + j + LANES);
    const T *low = a + j, *high = low + 4 * lda;
    OPAQUE(high);
    UNROLL for (int r = 0; r < 8; r++) {
      const T *row = ROW(low, r, lda);
      s = FMA(LOAD(LANES, row), f[r], s);
      t = FMA(LOAD(LANES, row + LANES), f[r], t);
    }
    STORE(LANES, y + j, s);
    STORE(LANES, y + j + LANES, t);
  }
}

/* COLUMN is where register v of m begins: the last one at column last, so that it may have columns of
 * the one before, too, for which it computes the same. */
#define COLUMN(n, m, v) ((v) < (m) - 1 ? (v) * (n) : last)

/* BY_PANELS does DO(w, m, last), with m registers of w columns, for all of cols columns, and NEXT(done)
 * between. Between LANES and four times as many columns are done at once, fewer as two parts of a
 * register that overlap, PART(w). */
#define BY_PANELS(cols, DO, NEXT, PART) \
  for (; cols >= 5 * LANES; NEXT(4 * LANES)) DO(LANES, 4, 3 * LANES); \
  if (cols > 4 * LANES) { \
    DO(LANES, 3, 2 * LANES); \
    NEXT(3 * LANES); \
  } \
  if (cols > 3 * LANES) DO(LANES, 4, cols - LANES); \
  else if (cols > 2 * LANES) DO(LANES, 3, cols - LANES); \
  else if (cols > LANES) DO(LANES, 2, cols - LANES); \
  else if (cols == LANES) DO(LANES, 1, 0); \
  PAIRS(PART) \
  else if (cols == 1) DO(1, 1, 0);

/* panel is any rows and columns, with the chains in registers while the rows go by. */
#define PANEL(w, m, at) do { \
    i64 last = at; \
    VECTOR(w) s[m]; \
    UNROLL for (int i = 0; i < m; i++) s[i] = LOAD(w, y + COLUMN(w, m, i)); \
    const T *row = a; \
    for (i64 p = 0; p < k; p++, row += lda) \
      UNROLL for (int i = 0; i < m; i++) s[i] = FMA(LOAD(w, row + COLUMN(w, m, i)), (VECTOR(w))(x[p]), s[i]); \
    UNROLL for (int i = 0; i < m; i++) STORE(w, y + COLUMN(w, m, i), s[i]); \
  } while (0)
#define PANEL_PART(w) else if (n >= w) PANEL(w, 2, n - w);
#define PANEL_NEXT(done) n -= done, a += done, y += done

static __attribute__((noinline)) void panel(i64 k, i64 n, const T *a, i64 lda, const T *x, T *y) {
  BY_PANELS(n, PANEL, PANEL_NEXT, PANEL_PART)
}

typedef struct { i64 k, n; const T *a; i64 lda; const T *x; T *y; } addRow_args;

/* More than one row goes, one after the other, through no more than NEAR bytes, which a near cache
 * keeps. Up to PANEL_BYTES of a row panel is the fastest. */
enum { NEAR = 1 << 16, PANEL_BYTES = 128 };

ENTRY addRow(addRow_args *c) {
  i64 bytes = c->n * (i64)sizeof(T), full = bytes > PANEL_BYTES ? c->n & ~(i64)(LINE - 1) : 0, rows = c->k;
  if (c->k * bytes > NEAR) rows = most(NEAR / (bytes + 64) & ~7, 8);
  for (i64 from = 0; from < c->k; from += rows) {
    i64 k = least(rows, c->k - from), p = 0;
    const T *a = c->a + from * c->lda, *x = c->x + from;
    for (; full > 0 && p + 8 <= k; p += 8) rows8(full, a + p * c->lda, c->lda, x + p, c->y);
    if (p > 0 && c->n > full) panel(p, c->n - full, a + full, c->lda, x, c->y + full);
    if (k > p) panel(k - p, c->n, a + p * c->lda, c->lda, x + p, c->y);
  }
}

/* Columns of a matrix: y[i] = fma(a[i,p], x[p], y[i]) for p = 0 ... k-1. */

#define SHUFFLE __builtin_shufflevector

/* LOW and HIGH interleave the lower, and the upper, elements of 32 or 64 bits of two registers,
 * within each 16 bytes of them. JOIN makes a register of two of half its size. */
#if REGISTER == 16
#define LOW32(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define HIGH32(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define LOW64(a, b) SHUFFLE(a, b, 0, 2)
#define HIGH64(a, b) SHUFFLE(a, b, 1, 3)
#elif REGISTER == 32
#define LOW32(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH32(a, b) SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW64(a, b) SHUFFLE(a, b, 0, 4, 2, 6)
#define HIGH64(a, b) SHUFFLE(a, b, 1, 5, 3, 7)
#else
#define LOW32(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH32(a, b) SHUFFLE(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LOW64(a, b) SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH64(a, b) SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#endif
#define JOIN(n, a, b) PASTE(JOIN, n)(a, b)
#define JOIN2(a, b) SHUFFLE(a, b, 0, 1, 2, 3)
#define JOIN4(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define JOIN8(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* transposeParts transposes the squares of PART by PART elements in PART registers, one in each 16
 * bytes of them. */
INLINE void transposeParts(vec *r) {
#if SIZE == 8
  vec t = LOW64(r[0], r[1]);
  r[1] = HIGH64(r[0], r[1]), r[0] = t;
#else
  typedef f64 wide __attribute__((ext_vector_type(REGISTER / 8)));
  wide a = (wide)LOW32(r[0], r[1]), b = (wide)HIGH32(r[0], r[1]);
  wide c = (wide)LOW32(r[2], r[3]), d = (wide)HIGH32(r[2], r[3]);
  r[0] = (vec)LOW64(a, c), r[1] = (vec)HIGH64(a, c), r[2] = (vec)LOW64(b, d), r[3] = (vec)HIGH64(b, d);
#endif
}

/* transposeSquare transposes the square in LANES registers, of 16 or 32 bytes. */
INLINE void transposeSquare(vec *r) {
  UNROLL for (int i = 0; i < LANES; i += PART) transposeParts(r + i);
#if REGISTER == 32
  UNROLL for (int i = 0; i < PART; i++) {
    vec a = r[i], b = r[i + PART];
#if SIZE == 8
    r[i] = SHUFFLE(a, b, 0, 1, 4, 5), r[i + PART] = SHUFFLE(a, b, 2, 3, 6, 7);
#else
    r[i] = SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11), r[i + PART] = SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
#endif
  }
#endif
}

#define FOUR(r) LOAD(PART, src + (r) * lds)
#if REGISTER == 16
#define GATHER(r) FOUR(r)
#elif REGISTER == 32
#define GATHER(r) JOIN(PART, FOUR(r), FOUR((r) + PART))
#else
#define GATHER(r) JOIN(TWO_PARTS, JOIN(PART, FOUR(r), FOUR((r) + PART)), \
                       JOIN(PART, FOUR((r) + 2 * PART), FOUR((r) + 3 * PART)))
#endif

/* gather is PART columns of the rows from src on, transposed. */
INLINE void gather(vec *r, const char *src, i64 lds) {
  UNROLL for (int i = 0; i < PART; i++) r[i] = GATHER(i);
  transposeParts(r);
}

/* columns16 is sixteen rows, whose chains do not wait for each other, for k steps, a multiple of a
 * line. All of a line of a square's rows comes before the next rows: the nearest cache keeps no more
 * than eight lines of rows that are a power of two apart. Of float32, halves of rows are joined as
 * they are loaded, which takes no shuffle; of float64 AMD's processors lose by it, as each half is a
 * load more. */
INLINE void columns16(i64 k, const T *a, i64 lda, const T *x, T *y) {
  vec s[16 / LANES];
  UNROLL for (int g = 0; g < 16 / LANES; g++) s[g] = LOAD(LANES, y + g * LANES);
  for (i64 p = 0; p < k; p += LINE) {
    UNROLL for (int g = 0; g < 16 / LANES; g++) {
      const T *rows = a + g * LANES * lda + p;
      UNROLL for (int i = 0; i < LANES; i++) __builtin_prefetch(rows + i * lda + 3 * LINE, 0, 3);
      UNROLL for (int q = 0; q < LINE; q += LANES) {
        vec r[LANES];
#if SIZE == 4
        UNROLL for (int h = 0; h < LANES; h += PART) gather(r + h, (const char *)(rows + q + h), lda * SIZE);
#else
        UNROLL for (int i = 0; i < LANES; i++) r[i] = LOAD(LANES, rows + i * lda + q);
        transposeSquare(r);
#endif
        UNROLL for (int i = 0; i < LANES; i++) s[g] = FMA(r[i], (vec)(x[p + q + i]), s[g]);
        NOW(s[g]);
      }
    }
  }
  UNROLL for (int g = 0; g < 16 / LANES; g++) STORE(LANES, y + g * LANES, s[g]);
}

/* CHAINS(n) is n rows, an element at a time. */
#define CHAINS(n) { \
    T s[n]; \
    const T *low = a, *high = a + 4 * lda, *f = x; \
    OPAQUE(high); \
    UNROLL for (int r = 0; r < n; r++) s[r] = y[r * incY]; \
    for (i64 p = 0; p < k; p++, low += step, high += step, f += incX) \
      UNROLL for (int r = 0; r < n; r++) s[r] = FMA(*ROW(low, r, lda), *f, s[r]); \
    UNROLL for (int r = 0; r < n; r++) y[r * incY] = s[r]; \
    a += n * lda, y += n * incY; \
  }

static __attribute__((noinline)) void chains(
  i64 m, i64 k, const T *a, i64 lda, i64 step, const T *x, i64 incX, T *y, i64 incY) {
  for (; m >= 8; m -= 8) CHAINS(8)
  switch (m) {
  case 7: CHAINS(7) break;
  case 6: CHAINS(6) break;
  case 5: CHAINS(5) break;
  case 4: CHAINS(4) break;
  case 3: CHAINS(3) break;
  case 2: CHAINS(2) break;
  case 1: CHAINS(1) break;
  }
}

typedef struct { i64 m, k; const T *a; i64 lda, step; const T *x; i64 incX; T *y; i64 incY; } addColumn_args;

ENTRY addColumn(addColumn_args *c) {
  i64 m = c->m, k = c->k, i = 0, full = k & ~(i64)(LINE - 1);
  if (full > 0 && c->step == 1 && c->incX == 1 && c->incY == 1)
    for (; i + 16 <= m; i += 16) columns16(full, c->a + i * c->lda, c->lda, c->x, c->y + i);
  if (i > 0 && k > full) chains(i, k - full, c->a + full, c->lda, 1, c->x + full, 1, c->y, 1);
  if (m > i) chains(m - i, k, c->a + i * c->lda, c->lda, c->step, c->x, c->incX, c->y + i * c->incY, c->incY);
}

/* cross is columns16 with the chains acc, and for the same rows rows8 with u and y, so that each
 * element is read once. The second eight rows follow the first by a line: both chains go on at a
 * time, and no more than eight lines are needed at once. Unless ahead is 0, lines that many elements
 * behind are fetched: no processor foresees which are next in so many rows that are short. */
typedef struct { i64 k; const T *a; i64 lda; const T *x; T *acc; const T *u; T *y; i64 ahead; } cross_args;

INLINE void crossRows(const cross_args *c, vec *s, int first, i64 j, int newLine) {
  vec t = LOAD(LANES, c->y + j);
  if (newLine && c->ahead)
    UNROLL for (int i = 0; i < 8; i++) __builtin_prefetch(c->a + c->ahead + (first + i) * c->lda + j, 0, 2);
  UNROLL for (int g = first; g < first + 8; g += LANES) {
    vec r[LANES];
    const T *rows = c->a + g * c->lda + j, *high = rows + 4 * c->lda;
    OPAQUE(high);
    UNROLL for (int i = 0; i < LANES; i++) {
      r[i] = LOAD(LANES, ROW(rows, i, c->lda));
      t = FMA(r[i], (vec)(c->u[g + i]), t);
    }
    transposeSquare(r);
    UNROLL for (int i = 0; i < LANES; i++) s[g / LANES] = FMA(r[i], (vec)(c->x[j + i]), s[g / LANES]);
    NOW(s[g / LANES]);
  }
  STORE(LANES, c->y + j, t);
}

ENTRY cross(cross_args *args) {
  cross_args copy = *args, *c = &copy; /* which nothing that is stored changes */
  vec s[16 / LANES];
  UNROLL for (int g = 0; g < 16 / LANES; g++) s[g] = LOAD(LANES, c->acc + g * LANES);
  UNROLL for (int q = 0; q < LINE; q += LANES) crossRows(c, s, 0, q, q == 0);
  for (i64 j = LINE; j < c->k; j += LINE)
    UNROLL for (int q = 0; q < LINE; q += LANES) {
      crossRows(c, s, 0, j + q, q == 0);
      crossRows(c, s, 8, j + q - LINE, q == 0);
    }
  UNROLL for (int q = 0; q < LINE; q += LANES) crossRows(c, s, 8, c->k - LINE + q, q == 0);
  UNROLL for (int g = 0; g < 16 / LANES; g++) STORE(LANES, c->acc + g * LANES, s[g]);
}

/* outer is a = fma(alpha*x, y, a) for m rows of a, with alpha*x rounded: the first has n elements,
 * and each next one dn more; it begins da elements behind the beginning of the one before, and dy
 * elements later in y. With u the same follows for u and v. */
typedef struct {
  i64 m, n, dn;
  f64 alpha;
  const T *x, *y;
  i64 dy;
  T *a;
  i64 da;
  const T *u, *v;
} outer_args;

#define OUTER(n, m) { \
    VECTOR(n) s[m]; \
    UNROLL for (int i = 0; i < m; i++) s[i] = FMA(LOAD(n, y + i * n), (VECTOR(n))(f), LOAD(n, a + i * n)); \
    if (two) UNROLL for (int i = 0; i < m; i++) s[i] = FMA(LOAD(n, v + i * n), (VECTOR(n))(g), s[i]); \
    UNROLL for (int i = 0; i < m; i++) STORE(n, a + i * n, s[i]); \
    a += m * n, y += m * n, v += m * n; \
  }
#define OUTER_REST(n) if (rest & n) OUTER(n, 1)

INLINE void outerRows(const outer_args *c, int two) {
  T alpha = (T)c->alpha;
  i64 n = c->n;
  for (i64 i = 0; i < c->m; i++, n += c->dn) {
    T f = alpha * c->x[i], g = two ? alpha * c->u[i] : 0, *a = c->a + i * c->da;
    const T *y = c->y + i * c->dy, *v = two ? c->v + i * c->dy : y;
    i64 rest = n;
    for (; rest >= 4 * LANES; rest -= 4 * LANES) OUTER(LANES, 4)
    if (rest & 2 * LANES) OUTER(LANES, 2)
    if (rest & LANES) OUTER(LANES, 1)
    HALVES(OUTER_REST)
  }
}

ENTRY outer(outer_args *args) {
  outer_args c = *args;
  if (c.u) outerRows(&c, 1);
  else outerRows(&c, 0);
}

/* substitute solves E*X = b for a lower triangle: as soon as an unknown is known, the others take
 * what it gives them. */
typedef struct { i64 n; const T *e; i64 eRow, eCol; T *b; i64 bRow; u8 unit; } substitute_args;

ENTRY substitute(substitute_args *args) {
  substitute_args c = *args;
  for (i64 k = 0; k < c.n; k++, c.b += c.bRow, c.e += c.eRow + c.eCol) {
    if (!c.unit) *c.b /= *c.e;
    T x = -*c.b, *y = c.b + c.bRow;
    const T *e = c.e + c.eRow;
    for (i64 i = k + 1; i < c.n; i++, y += c.bRow, e += c.eRow) *y = FMA(*e, x, *y);
  }
}

/* accumulate goes on with the chains of a triangle and x, one column after the other. */
typedef struct { u8 upper, unit; i64 n; const T *e; i64 eRow, eCol; const T *x; i64 incX; T *acc; } accumulate_args;

ENTRY accumulate(accumulate_args *args) {
  accumulate_args c = *args;
  for (i64 k = 0; k < c.n; k++, c.e += c.eCol, c.x += c.incX) {
    T x = *c.x;
    i64 i = c.upper ? 0 : k + 1, hi = c.upper ? k : c.n;
    for (; i < hi; i++) c.acc[i] = FMA(c.e[i * c.eRow], x, c.acc[i]);
    c.acc[k] = c.unit ? x + c.acc[k] : FMA(c.e[k * c.eRow], x, c.acc[k]);
  }
}

/* symmetric goes on with the chains of a symmetric matrix, of which a has a triangle, and x: each
 * element beside the diagonal is a step of the chain of its row and of that of its column. */
typedef struct { u8 lower; i64 n; const T *a; i64 lda; const T *x; T *acc; } symmetric_args;

ENTRY symmetric(symmetric_args *args) {
  symmetric_args c = *args;
  for (i64 i = 0; i < c.n; i++, c.a += c.lda) {
    T x = c.x[i], s = c.acc[i];
    if (!c.lower) s = FMA(c.a[i], x, s);
    i64 k = c.lower ? 0 : i + 1, hi = c.lower ? i : c.n;
    for (; k < hi; k++) {
      s = FMA(c.a[k], c.x[k], s);
      c.acc[k] = FMA(c.a[k], x, c.acc[k]);
    }
    c.acc[i] = c.lower ? FMA(c.a[i], x, s) : s;
  }
}

/* Complex numbers: pairs of elements. */

#define SWAP1(x) x
#define SWAP2(x) SHUFFLE(x, x, 1, 0)
#define SWAP4(x) SHUFFLE(x, x, 1, 0, 3, 2)
#define SWAP8(x) SHUFFLE(x, x, 1, 0, 3, 2, 5, 4, 7, 6)
#define SWAP16(x) SHUFFLE(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define PAIR2(p) LOAD(2, p)
#define PAIR4(p) SHUFFLE(PAIR2(p), PAIR2(p), 0, 1, 0, 1)
#define PAIR8(p) SHUFFLE(PAIR2(p), PAIR2(p), 0, 1, 0, 1, 0, 1, 0, 1)
#define PAIR16(p) SHUFFLE(PAIR2(p), PAIR2(p), 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1)
#define SWAP(n, x) PASTE(SWAP, n)(x)
#define PAIR(n, p) PASTE(PAIR, n)(p) /* a register of copies of the number at p */

/* complexRow is y[j] = y[j] + op(a[p])*op(b[p,j]), which goes on with chains for each part: two
 * steps for each p, by the real and by the imaginary part of a[p]. signs, of 1 and -1, are those of
 * what multiplies b and then of what multiplies b with its parts exchanged, for a real and an
 * imaginary part each. With zero the chains begin at +0, and y is not read. Numbers of b are bCol
 * elements apart. */
typedef struct {
  i64 k, n;
  const T *a;
  i64 aStep;
  const T *signs, *b;
  i64 bRow, bCol;
  T *y;
  u8 zero;
} complexRow_args;

#define COMPLEX_ROW(n, m, NUMBERS) { \
    VECTOR(n) s[m], real = PAIR(n, c.signs), imag = PAIR(n, c.signs + 2); \
    UNROLL for (int i = 0; i < m; i++) { \
      s[i] = (VECTOR(n))(0); \
      if (!c.zero) s[i] = LOAD(n, y + i * n); \
    } \
    const T *a = c.a, *row = b; \
    for (i64 p = 0; p < c.k; p++, a += c.aStep, row += c.bRow) { \
      VECTOR(n) re = real * a[0], im = imag * a[1]; \
      UNROLL for (int i = 0; i < m; i++) { \
        VECTOR(n) z = NUMBERS(n, row, i); \
        s[i] = FMA(SWAP(n, z), im, FMA(z, re, s[i])); \
      } \
    } \
    UNROLL for (int i = 0; i < m; i++) STORE(n, y + i * n, s[i]); \
    y += m * n; \
  }
#define SIDE_BY_SIDE(n, row, i) LOAD(n, row + i * n)
#define FOUR_APART(n, row, i) JOIN4(JOIN2(LOAD(2, row), LOAD(2, row + c.bCol)), \
                                    JOIN2(LOAD(2, row + 2 * c.bCol), LOAD(2, row + 3 * c.bCol)))
#define COMPLEX_ROWS(n, m) { COMPLEX_ROW(n, m, SIDE_BY_SIDE) b += m * n; }
#define COMPLEX_REST(n) if (rest & n) COMPLEX_ROWS(n, 1)

ENTRY complexRow(complexRow_args *args) {
  complexRow_args c = *args;
  const T *b = c.b;
  T *y = c.y;
  if (c.bCol != 2) {
    for (; c.n >= 4; c.n -= 4, b += 4 * c.bCol) COMPLEX_ROW(8, 1, FOUR_APART)
    for (; c.n > 0; c.n--, b += c.bCol) COMPLEX_ROW(2, 1, SIDE_BY_SIDE)
    return;
  }
  i64 rest = 2 * c.n;
  for (; rest >= 4 * LANES; rest -= 4 * LANES) COMPLEX_ROWS(LANES, 4)
  if (rest & 2 * LANES) COMPLEX_ROWS(LANES, 2)
  if (rest & LANES) COMPLEX_ROWS(LANES, 1)
  PAIRS(COMPLEX_REST)
}

/* complexDivide is x[j] = (d[0:2]*x'[j] + d[2:4]*x[j])/d[4:6], part by part and by fma, for n
 * numbers, where x' are they with their parts exchanged, or with high x and x' exchanged. */
typedef struct { i64 n; T *x; const T *d; u8 high; } complexDivide_args;

#define COMPLEX_DIVIDE(n) { \
    VECTOR(n) z = LOAD(n, x), w = SWAP(n, z), ratio = PAIR(n, c.d), signs = PAIR(n, c.d + 2), sum = PAIR(n, c.d + 4); \
    if (c.high) w = z, z = SWAP(n, z); \
    STORE(n, x, FMA(w, ratio, signs * z) / sum); \
    x += n; \
  }
#define COMPLEX_DIVIDE_REST(n) if (rest & n) COMPLEX_DIVIDE(n)

ENTRY complexDivide(complexDivide_args *args) {
  complexDivide_args c = *args;
  T *x = c.x;
  i64 rest = 2 * c.n;
  for (; rest >= LANES; rest -= LANES) COMPLEX_DIVIDE(LANES)
  PAIRS(COMPLEX_DIVIDE_REST)
}

/* Sums of float64 in eight lanes, and the sum of these. What is left of the elements goes to the
 * first lanes alone: to add zero to the others would change one of -0. */
typedef f64 d8 __attribute__((ext_vector_type(8)));
typedef T t8 __attribute__((ext_vector_type(8)));
#define WIDE(p) __builtin_convertvector(LOAD(8, p), d8)

INLINE f64 addLanes(d8 s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

typedef struct { i64 n; const T *x, *y; u8 wide; f64 sum; } dot_args;

ENTRY dot(dot_args *c) {
  const T *x = c->x, *y = c->y;
  i64 n = c->n;
  d8 s = 0;
  for (; n >= 8; n -= 8, x += 8, y += 8) s = FMA(WIDE(x), WIDE(y), s);
  UNROLL for (int l = 0; l < 7; l++) {
    if (l >= n) break;
    s[l] = FMA((f64)x[l], (f64)y[l], s[l]);
  }
  c->sum = addLanes(s);
}

typedef struct { i64 n; const T *x; u8 wide; f64 sum; } asum_args;

ENTRY asum(asum_args *c) {
  const T *x = c->x;
  i64 n = c->n;
  d8 s = 0;
  for (; n >= 8; n -= 8, x += 8) s += __builtin_elementwise_abs(WIDE(x));
  UNROLL for (int l = 0; l < 7; l++) {
    if (l >= n) break;
    s[l] += __builtin_elementwise_abs((f64)x[l]);
  }
  c->sum = addLanes(s);
}

/* multiply and solve are those of triangle.go, by a panel of some registers of columns at a time.
 * Multiplied rows are taken from the last, so that those above are still B's. Where E is upper
 * triangular its rows and columns are given in reverse order, which a negative bRow tells: then the
 * element on the diagonal is the first of a chain instead of the last. */
typedef struct { i64 n, cols; f64 alpha; const T *e; i64 eRow, eCol; T *b; i64 bRow; u8 unit; } triangle_args;

/* PANELS defines FUNCTION(multiply, n, m) and FUNCTION(solve, n, m), which take m registers of n
 * columns of b. */
#define NAME(name, n, m) name##n##_##m
#define FUNCTION(name, n, m) NAME(name, n, m)
#define STEP(n, m, sign, f, p) { \
    VECTOR(n) g = sign(VECTOR(n))(f); \
    UNROLL for (int v = 0; v < m; v++) s[v] = FMA(g, LOAD(n, b + (p) * c->bRow + COLUMN(n, m, v)), s[v]); \
  }
#define STORES(n, m, x) UNROLL for (int v = 0; v < m; v++) STORE(n, row + COLUMN(n, m, v), x);
#define PANELS(W, m) \
  INLINE void FUNCTION(multiply, W, m)(const triangle_args *c, T *b, i64 last) { \
    T alpha = (T)c->alpha; \
    for (i64 i = c->n - 1; i >= 0; i--) { \
      const T *e = c->e + i * c->eRow; \
      T d = c->unit ? 1 : e[i * c->eCol], *row = b + i * c->bRow; \
      VECTOR(W) s[m]; \
      UNROLL for (int v = 0; v < m; v++) s[v] = 0; \
      if (c->bRow < 0) { \
        STEP(W, m, +, d, i) \
        for (i64 p = i - 1; p >= 0; p--) STEP(W, m, +, e[p * c->eCol], p) \
      } else { \
        for (i64 p = 0; p < i; p++) STEP(W, m, +, e[p * c->eCol], p) \
        STEP(W, m, +, d, i) \
      } \
      STORES(W, m, s[v] * alpha) \
    } \
  } \
  INLINE void FUNCTION(solve, W, m)(const triangle_args *c, T *b, i64 last) { \
    T alpha = (T)c->alpha; \
    for (i64 i = 0; i < c->n; i++) { \
      const T *e = c->e + i * c->eRow; \
      T *row = b + i * c->bRow; \
      VECTOR(W) s[m]; \
      UNROLL for (int v = 0; v < m; v++) s[v] = LOAD(W, row + COLUMN(W, m, v)) * alpha; \
      for (i64 p = 0; p < i; p++) STEP(W, m, -, e[p * c->eCol], p) \
      if (!c->unit) UNROLL for (int v = 0; v < m; v++) s[v] /= (VECTOR(W))(e[i * c->eCol]); \
      STORES(W, m, s[v]) \
    } \
  }
#define PANELS_OF_PART(n) PANELS(n, 2)
PANELS(1, 1) PAIRS(PANELS_OF_PART) PANELS(LANES, 1) PANELS(LANES, 2) PANELS(LANES, 3) PANELS(LANES, 4)

#define MULTIPLY(w, m, last) FUNCTION(multiply, w, m)(&c, b, last)
#define SOLVE(w, m, last) FUNCTION(solve, w, m)(&c, b, last)
#define MULTIPLY_PART(w) else if (cols >= w) MULTIPLY(w, 2, cols - w);
#define SOLVE_PART(w) else if (cols >= w) SOLVE(w, 2, cols - w);
#define TRIANGLE_NEXT(done) cols -= done, b += done

ENTRY multiply(triangle_args *args) {
  triangle_args c = *args;
  i64 cols = c.cols;
  T *b = c.b;
  BY_PANELS(cols, MULTIPLY, TRIANGLE_NEXT, MULTIPLY_PART)
}

ENTRY solve(triangle_args *args) {
  triangle_args c = *args;
  i64 cols = c.cols;
  T *b = c.b;
  BY_PANELS(cols, SOLVE, TRIANGLE_NEXT, SOLVE_PART)
}

/* cholesky is Cholesky of cholesky.go. The rows are copied to the stack first, where they lie in
 * whole registers; the lanes before the diagonal and behind the last column have numbers that
 * nobody reads. Each finished row is copied back. */
typedef struct { i64 n; T *a; i64 row, col; u8 wide; i64 failed; } cholesky_args;

#define CHOLESKY(m) { \
    vec s[m]; \
    UNROLL for (int v = 0; v < m; v++) s[v] = LOAD(LANES, row + j + v * LANES); \
    for (const T *above = l[0]; above < row; above += MAXROWS) \
      UNROLL for (int v = 0; v < m; v++) s[v] = FMA(-(vec)(above[i]), LOAD(LANES, above + j + v * LANES), s[v]); \
    if (j <= i) { \
      STORE(LANES, row + j, s[0]); \
      root = row[i]; \
      if (!(root > 0)) { \
        args->failed = i; \
        return; \
      } \
      root = __builtin_elementwise_sqrt(root); \
    } \
    UNROLL for (int v = 0; v < m; v++) STORE(LANES, row + j + v * LANES, s[v] / (vec)(root)); \
    j += m * LANES; \
  }

ENTRY cholesky(cholesky_args *args) {
  cholesky_args c = *args;
  T l[MAXROWS][MAXROWS] __attribute__((aligned(64)));
  i64 last = (c.n + LANES - 1) & -(i64)LANES;
  for (i64 i = 0; i < c.n; i++) {
    T *row = l[i], *to = row + i;
    const T *from = c.a + i * (c.row + c.col);
    STORE(LANES, row + (i & -(i64)LANES), (vec)(0));
    STORE(LANES, row + last - LANES, (vec)(0));
    for (i64 j = i; j < c.n; j++, from += c.col) *to++ = *from;
  }
  args->failed = -1;
  for (i64 i = 0; i < c.n; i++) {
    T *row = l[i], root = 0;
    i64 j = i & -(i64)LANES;
    while (j + 4 * LANES <= last) CHOLESKY(4)
    if (j + 3 * LANES <= last) CHOLESKY(3)
    else if (j + 2 * LANES <= last) CHOLESKY(2)
    else if (j < last) CHOLESKY(1)
    T *to = c.a + i * (c.row + c.col);
    row[i] = *to = root;
    for (j = i + 1, to += c.col; j < c.n; j++, to += c.col) *to = row[j];
  }
}

/* rotate is Rotate of rotate.go. The row that the next rotation changes again stays in registers,
 * with AVX2 in four of them: fewer would wait for each other. */
#define COLUMNS 16
typedef struct { i64 n; const T *st; T *row; i64 step; } rotate_args;

ENTRY rotate(rotate_args *args) {
  rotate_args c = *args;
  vec x[COLUMNS / LANES];
  UNROLL for (int v = 0; v < COLUMNS / LANES; v++) x[v] = LOAD(LANES, c.row + v * LANES);
  for (; c.n > 0; c.n--, c.st += 2, c.row += c.step) {
    vec s = (vec)(c.st[0]), t = (vec)(c.st[1]);
    UNROLL for (int v = 0; v < COLUMNS / LANES; v++) {
      vec y = LOAD(LANES, c.row + c.step + v * LANES);
      vec minus = FMA(-t, x[v], y), plus = FMA(t, y, x[v]);
      STORE(LANES, c.row + v * LANES, FMA(s, minus, x[v]));
      x[v] = FMA(-s, plus, y);
    }
  }
  UNROLL for (int v = 0; v < COLUMNS / LANES; v++) STORE(LANES, c.row + v * LANES, x[v]);
}

/* transpose is a transpose of tiles, of as many rows as a register has elements, which are
 * neighbours in src and below each other in dst; lds and ldd are in bytes. A part of 16 bytes of a
 * register takes the elements of one row: PART rows go to PART registers, the next PART rows to the
 * next part of the same registers, so that transposing the parts is all that is left. lines has
 * tiles of whole lines, which on x86 it writes past the caches. */
typedef struct { const char *src; i64 lds; char *dst; i64 ldd, tiles; } transpose_args;
typedef transpose_args lines_args;

ENTRY transpose(transpose_args *args) {
  transpose_args c = *args;
  for (; c.tiles > 0; c.tiles--, c.src += REGISTER)
    UNROLL for (int at = 0; at < REGISTER; at += 16) {
      vec r[PART];
      gather(r, c.src + at, c.lds);
      UNROLL for (int i = 0; i < PART; i++, c.dst += c.ldd) STORE(LANES, c.dst, r[i]);
    }
}

#ifdef __x86_64__
#define WRITE(p, x) __builtin_nontemporal_store(x, (vec *)(p))
#define WRITTEN __builtin_ia32_sfence()
#else
#define WRITE(p, x) STORE(LANES, p, x)
#define WRITTEN
#endif

ENTRY lines(lines_args *args) {
  lines_args c = *args;
  for (; c.tiles > 0; c.tiles--, c.src += 64)
    UNROLL for (int at = 0; at < 64; at += 16) {
      vec r[64 / REGISTER][PART];
      UNROLL for (int p = 0; p < 64 / REGISTER; p++) gather(r[p], c.src + p * LANES * c.lds + at, c.lds);
      UNROLL for (int i = 0; i < PART; i++, c.dst += c.ldd)
        UNROLL for (int p = 0; p < 64 / REGISTER; p++) WRITE(c.dst + p * REGISTER, r[p][i]);
    }
  WRITTEN;
}

/* Words for products of bytes, n of them, a multiple of 16: see bytes.go. Those along a row are of
 * neighbours, the others of rows that are stride bytes apart. A pair is two int16, made of bytes
 * that are unsigned or not; a quad is four bytes, of either kind. */
typedef struct { char *dst; const char *src; i64 stride, n; u8 isUnsigned; } pairsAlong_args;
typedef pairsAlong_args pairsDown_args, quadsDown_args;

typedef u8 bytes16 __attribute__((ext_vector_type(16)));
typedef u8 bytes32 __attribute__((ext_vector_type(32)));
typedef i8 signed32 __attribute__((ext_vector_type(32)));
typedef u8 bytes64 __attribute__((ext_vector_type(64)));
typedef i16 pairs16 __attribute__((ext_vector_type(32)));
#define BYTES(n, p) ({ bytes##n x; __builtin_memcpy(&x, p, n); x; })
#define KEEP(p, x) __builtin_memcpy(p, &x, sizeof x)
#define ZIP(n, x, y) __builtin_shufflevector(x, y, ZIP##n)
#define ZIP16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, \
              8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

INLINE void pairs(char *dst, bytes32 x, int isUnsigned) {
  pairs16 y = isUnsigned ? __builtin_convertvector(x, pairs16)
                         : __builtin_convertvector((signed32)x, pairs16);
  KEEP(dst, y);
}

ENTRY pairsAlong(pairsAlong_args *args) {
  pairsAlong_args c = *args;
  for (; c.n > 0; c.n -= 16, c.dst += 64, c.src += 32) pairs(c.dst, BYTES(32, c.src), c.isUnsigned);
}

ENTRY pairsDown(pairsDown_args *args) {
  pairsDown_args c = *args;
  for (; c.n > 0; c.n -= 16, c.dst += 64, c.src += 16)
    pairs(c.dst, ZIP(16, BYTES(16, c.src), BYTES(16, c.src + c.stride)), c.isUnsigned);
}

typedef u16 words16 __attribute__((ext_vector_type(16)));

ENTRY quadsDown(quadsDown_args *args) {
  quadsDown_args c = *args;
  for (; c.n > 0; c.n -= 16, c.dst += 64, c.src += 16) {
    bytes32 low = ZIP(16, BYTES(16, c.src), BYTES(16, c.src + c.stride));
    bytes32 high = ZIP(16, BYTES(16, c.src + 2 * c.stride), BYTES(16, c.src + 3 * c.stride));
    bytes64 x = (bytes64)ZIP(16, (words16)low, (words16)high);
    KEEP(c.dst, x);
  }
}

/* quads makes C the product of words of four bytes, or C + A*B without zero, by AMX. Words of A lie
 * along its rows, as AMX takes them; A's bytes are unsigned or not, and B's signed. A tile is of 16
 * rows of 16 words: 0 to 3 are a square of C, 4 and 5 of A, 6 and 7 of B. */
typedef struct {
  i64 rows, cols, k; const i32 *a; i64 lda; const i32 *b; i64 ldb; i32 *c; i64 ldc;
  u8 zero, isUnsigned;
} quads_args;

#ifdef __x86_64__
#define AMX __attribute__((target("amx-int8")))
typedef struct { u8 palette, start, reserved[14]; u16 bytes[16]; u8 rows[16]; } tiles_config;

/* configure says how many rows and words of each tile are in use, for h rows and w columns of C and
 * k steps. It makes all tiles 0. */
static AMX void configure(i64 h, i64 w, i64 k) {
  tiles_config f = { .palette = 1 };
  i64 high[2] = { least(h, 16), h - least(h, 16) }, wide[2] = { least(w, 16), w - least(w, 16) };
  UNROLL for (int i = 0; i < 8; i++) {
    f.rows[i] = i < 4 ? high[i / 2] : i < 6 ? high[i - 4] : k;
    f.bytes[i] = 4 * (i < 4 ? wide[i % 2] : i < 6 ? k : wide[i - 6]);
    if (f.rows[i] == 0 || f.bytes[i] == 0) f.rows[i] = f.bytes[i] = 0;
  }
  __builtin_ia32_tile_loadconfig(&f);
}

#define TILE(i, p, ld) __builtin_ia32_tileloadd64(i, p, 4 * (ld))
#define START(i, p, ld) ({ if (q->zero) __builtin_ia32_tilezero(i); else TILE(i, p, ld); })
#define PUT(i, p, ld) __builtin_ia32_tilestored64(i, p, 4 * (ld))
#define DOT(i, j, k) ({ if (isUnsigned) __builtin_ia32_tdpbusd(i, j, k); \
                        else __builtin_ia32_tdpbssd(i, j, k); })

/* square is the product for h rows and w columns of C, of which 32 are the most, and k steps, unit
 * at a time. */
INLINE AMX void square(const quads_args *q, i64 h, i64 w, i64 k, i64 unit, int isUnsigned) {
  const i32 *a = q->a, *low = a + 16 * q->lda, *b = q->b;
  i32 *c = q->c, *d = c + 16 * q->ldc;
  int two = w > 16, more = h > 16;
  START(0, c, q->ldc);
  if (two) START(1, c + 16, q->ldc);
  if (more) START(2, d, q->ldc);
  if (more && two) START(3, d + 16, q->ldc);
  for (i64 p = 0; p < k; p += unit, b += unit * q->ldb) {
    TILE(4, a + p, q->lda);
    TILE(6, b, q->ldb);
    DOT(0, 4, 6);
    if (two) { TILE(7, b + 16, q->ldb); DOT(1, 4, 7); }
    if (more) {
      TILE(5, low + p, q->lda);
      DOT(2, 5, 6);
      if (two) DOT(3, 5, 7);
    }
  }
  PUT(0, c, q->ldc);
  if (two) PUT(1, c + 16, q->ldc);
  if (more) PUT(2, d, q->ldc);
  if (more && two) PUT(3, d + 16, q->ldc);
}

/* squares is k steps, unit at a time, of all squares of up to 32 columns of C. To configure takes as
 * long as some squares of few steps, so it is done when the size of the square changes. */
INLINE AMX void squares(quads_args q, i64 w, i64 k, i64 unit, int isUnsigned) {
  for (i64 last = 0; q.rows > 0; q.rows -= 32, q.a += 32 * q.lda, q.c += 32 * q.ldc) {
    i64 h = least(q.rows, 32);
    if (h != last) configure(h, w, unit);
    last = h;
    square(&q, h, w, k, unit, isUnsigned);
  }
}

INLINE AMX void columns(quads_args q, int isUnsigned) {
  i64 k = q.k & ~15, rest = q.k & 15;
  for (; q.cols > 0; q.cols -= 32, q.b += 32, q.c += 32) {
    i64 w = least(q.cols, 32);
    quads_args r = q;
    if (k > 0) {
      squares(r, w, k, 16, isUnsigned);
      r.a += k, r.b += k * q.ldb, r.zero = 0;
    }
    if (rest > 0) squares(r, w, rest, rest, isUnsigned);
  }
}

AMX ENTRY quads(quads_args *args) {
  if (args->isUnsigned) columns(*args, 1);
  else columns(*args, 0);
  __builtin_ia32_tilerelease();
}
#endif
