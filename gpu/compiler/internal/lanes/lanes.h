// The words of kernels as strips of W lanes, behind native.h; MASK is the integer that a mask has
// for a lane, -1 or 0. Vectors are clang's: one name has a function for each type.
#define OVER static inline __attribute__((always_inline, overloadable))
#define COLD static __attribute__((noinline, cold, noreturn, overloadable)) void
#define CV(x, T) __builtin_convertvector(x, T##v)
#define UNLIKELY(x) __builtin_expect((x) != 0, 0)
#define LANES for (int q = 0; q < W; q++)
#define VECTOR(T) \
  typedef T T##v __attribute__((ext_vector_type(W))); \
  typedef T##v T##v_any __attribute__((aligned(sizeof(T))));
VECTOR(i8) VECTOR(i16) VECTOR(i32) VECTOR(i64) VECTOR(u8) VECTOR(u16) VECTOR(u32) VECTOR(u64) VECTOR(f32) VECTOR(f64)
#define NAMED2(T) T##v
#define NAMED(T) NAMED2(T)
typedef NAMED(MASK) mask;
#define FULL ((mask)(-1))
#define NONE ((mask)(0))
OVER int any(mask m) { return __builtin_reduce_or(m) != 0; }
OVER mask mask_of(u8 x) { return (mask)((MASK)-(x != 0)); }

// The lanes of a mask as bits, and a loop over them.
typedef _Bool boolv __attribute__((ext_vector_type(W)));
#if W <= 8
typedef u8 bitset;
#elif W == 16
typedef u16 bitset;
#elif W == 32
typedef u32 bitset;
#else
typedef u64 bitset;
#endif
OVER u64 bits(mask m) {
  union { boolv b; bitset x; } u;
  u.b = __builtin_convertvector(m < 0, boolv);
  return u.x & (~(u64)0 >> (64 - W));
}
#define SOME(m) for (u64 some = bits(m), q; some != 0 && (q = __builtin_ctzl(some), 1); some &= some - 1)
OVER mask count(void) { mask r; LANES r[q] = q; return r; }
OVER mask below(i64 n) { return count() < (MASK)(n < 0 ? 0 : n > W ? W : n); }

// Each type has T for its lanes, I for the integers of comparisons.
#define EACH(T, I) \
  OVER T##v vec(T x) { return (T##v)(x); } \
  OVER T##v load(const T *p) { return *(const T##v_any *)p; } \
  OVER void store(T *p, T##v x) { *(T##v_any *)p = x; } \
  OVER T##v sel(mask m, T##v x, T##v y) { return CV(m, I) ? x : y; }
EACH(i8, i8) EACH(i16, i16) EACH(i32, i32) EACH(i64, i64) EACH(u8, i8) EACH(u16, i16) EACH(u32, i32) EACH(u64, i64)
EACH(f32, i32) EACH(f64, i64)

// The lanes of a mask alone, of neighbours in memory: one after the other, or as registers by the
// processor's own instructions, which AVX2 has for loads alone that are worth it.
#define LOAD_LANES(T) OVER T##v load(mask m, const T *p) { T##v r = 0; SOME(m) ((T *)&r)[q] = p[q]; return r; }
#define STORE_LANES(T) \
  OVER void store(mask m, T *p, T##v x) { if (any(~m)) { SOME(m) p[q] = x[q]; } else store(p, x); }
#ifdef __AVX512F__
#define REGISTER 64
#define MASK_OF(m, I) const u64 of = bits(m)
#define LOAD_i32(p, k) __builtin_ia32_loaddqusi512_mask((void *)(p), (reg_i32){0}, of >> 16 * k)
#define LOAD_i64(p, k) __builtin_ia32_loaddqudi512_mask((void *)(p), (reg_i64){0}, of >> 8 * k)
#define STORE_i32(p, x, k) __builtin_ia32_storedqusi512_mask((void *)(p), x, of >> 16 * k)
#define STORE_i64(p, x, k) __builtin_ia32_storedqudi512_mask((void *)(p), x, of >> 8 * k)
#define STORE_REGISTERS(T, I) \
  OVER void store(mask m, T *p, T##v x) { \
    MASK_OF(m, I); \
    const union { T##v v; reg_##I r[sizeof(T##v) / REGISTER]; } u = {x}; \
    for (int k = 0; k < sizeof u / REGISTER; k++) STORE_##I(p + k * REGISTER / sizeof *p, u.r[k], k); \
  }
#elif defined(__AVX2__)
#define REGISTER 32
#define MASK_OF(m, I) const union { I##v v; reg_##I r[sizeof(I##v) / REGISTER]; } of = {CV(m, I)}
#define LOAD_i32(p, k) __builtin_ia32_maskloadd256((void *)(p), of.r[k])
#define LOAD_i64(p, k) __builtin_ia32_maskloadq256((void *)(p), of.r[k])
#define STORE_REGISTERS(T, I) STORE_LANES(T)
#else
#define REGISTER (1 << 20)
#endif
#define LOAD_REGISTERS(T, I) \
  OVER T##v load(mask m, const T *p) { \
    MASK_OF(m, I); \
    union { T##v v; reg_##I r[sizeof(T##v) / REGISTER]; } u; \
    for (int k = 0; k < sizeof u / REGISTER; k++) u.r[k] = LOAD_##I(p + k * REGISTER / sizeof *p, k); \
    return u.v; \
  }
#define BY_LANES(T) LOAD_LANES(T) STORE_LANES(T)
#define BY_REGISTERS(T, I) LOAD_REGISTERS(T, I) STORE_REGISTERS(T, I)
BY_LANES(i8) BY_LANES(u8) BY_LANES(i16) BY_LANES(u16)
#if 4 * W >= REGISTER
typedef i32 reg_i32 __attribute__((vector_size(REGISTER)));
BY_REGISTERS(i32, i32) BY_REGISTERS(u32, i32) BY_REGISTERS(f32, i32)
#else
BY_LANES(i32) BY_LANES(u32) BY_LANES(f32)
#endif
#if 8 * W >= REGISTER
typedef long long reg_i64 __attribute__((vector_size(REGISTER)));
BY_REGISTERS(i64, i64) BY_REGISTERS(u64, i64) BY_REGISTERS(f64, i64)
#else
BY_LANES(i64) BY_LANES(u64) BY_LANES(f64)
#endif
#define SIGNED(T) OVER mask as_mask(T##v x) { return __builtin_convertvector(x, mask); }
typedef char charv __attribute__((ext_vector_type(W))); // of comparisons; -fsigned-char
SIGNED(i8) SIGNED(i16) SIGNED(i32) SIGNED(i64) SIGNED(char)
OVER u8v of_mask(mask m) { return CV(m, u8) & (u8v)(1); }

// Lane q, which clang knows, of short integers: a part of a word, of which x86 takes less than of a
// vector.
#define WORD_OF(T) \
  OVER T lane(T##v x, int q) { \
    const union { T##v v; u64 w[sizeof(T##v) + 7 >> 3]; } u = {x}; \
    return (T)(u.w[q * sizeof x[0] / 8] >> q * sizeof x[0] % 8 * 8); \
  }
WORD_OF(i8) WORD_OF(u8) WORD_OF(i16) WORD_OF(u16)

// r is x of row i of a table of 64 rows. Where a processor chooses among 16 numbers for all lanes
// at once, four such choices take less time than to take each lane's i out of its register.
#if defined(__AVX512F__) && W == 8
#define FIND(r, x, i) { \
  f64v part[8]; \
  for (int k = 0; k < 8; k++) LANES { const int row = 8 * k + q; part[k][q] = x; } \
  for (int k = 0; k < 4; k++) \
    part[k] = (f64v)__builtin_ia32_vpermi2varpd512((reg_f64)part[2 * k], (reg_i64)i, (reg_f64)part[2 * k + 1]); \
  r = sel(as_mask((i & 32) != 0), sel(as_mask((i & 16) != 0), part[3], part[2]), \
    sel(as_mask((i & 16) != 0), part[1], part[0])); \
}
typedef f64 reg_f64 __attribute__((vector_size(REGISTER)));
#else
#define FIND(r, x, i) LANES { const u64 row = i[q]; ((f64 *)&r)[q] = x; }
#endif

// A shift by n leaves some of the bits of T.
#define FEW(n, T) as_mask(n < 8 * sizeof(T))
#define INTEGER(T, MAX, BEYOND) \
  OVER T##v lin(T x) { T##v r; LANES r[q] = (T)q; return r + x; } \
  OVER T##v least(T##v x, T##v y) { return x < y ? x : y; } \
  OVER T##v most(T##v x, T##v y) { return x > y ? x : y; } \
  OVER T##v shl(T##v x, u64v n) { return sel(FEW(n, T), x << CV(n & (8 * sizeof(T) - 1), T), (T##v)(0)); } \
  OVER mask outside(T##v i, i64 n) { \
    if (n <= 0) return FULL; \
    const T last = (u64)(n - 1) > (u64)(MAX) ? (MAX) : (T)(n - 1); \
    return as_mask(BEYOND); \
  } \
  /* x, and one more for each lane, compared with n */ \
  OVER mask less(T x, T n) { \
    if (UNLIKELY(x > (T)((MAX) - W))) return as_mask(lin(x) < n); \
    return x >= n ? NONE : below((u64)n - (u64)x < W ? (u64)n - (u64)x : W); \
  } \
  OVER mask less_or_equal(T x, T n) { \
    if (UNLIKELY(x > (T)((MAX) - W))) return as_mask(lin(x) <= n); \
    return x > n ? NONE : below((u64)n - (u64)x < W ? (u64)n - (u64)x + 1 : W); \
  } \
  OVER mask equal(T x, T n) { \
    const T q = n - x; \
    return q >= 0 && q < W ? count() == (MASK)q : NONE; \
  } \
  OVER T##v zero_is_one(mask m, T##v y) { return sel(m & ~as_mask(y == 0), y, (T##v)(1)); }
#define SIGNED_BEYOND (i | (last - i)) < 0
#define UNSIGNED_BEYOND i > last
INTEGER(i8, 127, SIGNED_BEYOND) INTEGER(i16, 32767, SIGNED_BEYOND)
INTEGER(i32, 2147483647, SIGNED_BEYOND) INTEGER(i64, 9223372036854775807l, SIGNED_BEYOND)
INTEGER(u8, 255, UNSIGNED_BEYOND) INTEGER(u16, 65535, UNSIGNED_BEYOND)
INTEGER(u32, 4294967295u, UNSIGNED_BEYOND) INTEGER(u64, 18446744073709551615ul, UNSIGNED_BEYOND)

// Division of lanes none of which divides by 0 or by -1. x86 has none of vectors of integers. As
// float64 the quotient of numbers of 32 bits is rounded past no integer: what it lacks to the next
// one is 2^-32 of it at least.
#ifdef __AVX2__
OVER i32v whole(i32v x, i32v y) { return CV(CV(x, f64) / CV(y, f64), i32); }
OVER u32v whole(u32v x, u32v y) {
  return CV((u64v)(__builtin_elementwise_trunc(CV(x, f64) / CV(y, f64)) + 0x1p52), u32);
}
#define WHOLE_NARROW(T) OVER T##v whole(T##v x, T##v y) { return CV(whole(CV(x, i32), CV(y, i32)), T); }
#define WHOLE_WIDE(T, S) \
  OVER T##v whole(T##v x, T##v y) { \
    const S##v a = CV(x, S), b = CV(y, S); \
    return any(as_mask(CV(a, T) != x) | as_mask(CV(b, T) != y)) ? x / y : CV(whole(a, b), T); \
  }
WHOLE_NARROW(i8) WHOLE_NARROW(u8) WHOLE_NARROW(i16) WHOLE_NARROW(u16) WHOLE_WIDE(i64, i32) WHOLE_WIDE(u64, u32)
#else
#define WHOLE(T) OVER T##v whole(T##v x, T##v y) { return x / y; }
WHOLE(i8) WHOLE(u8) WHOLE(i16) WHOLE(u16) WHOLE(i32) WHOLE(u32) WHOLE(i64) WHOLE(u64)
#endif

// Division as Go has it; no lane divides by 0, nor the least number by -1, which processors do not
// take.
#define SIGNED_DIV(T) \
  OVER T##v shr(T##v x, u64v n) { return x >> CV(sel(FEW(n, T), n, (u64v)(8 * sizeof(T) - 1)), T); } \
  OVER T##v quotient(mask m, T##v x, T##v y) { \
    const mask minus = as_mask(y == -1); \
    return sel(minus, -x, whole(x, sel(minus, (T##v)(1), zero_is_one(m, y)))); \
  } \
  OVER T##v remainder(mask m, T##v x, T##v y) { \
    y = sel(as_mask(y == -1), (T##v)(1), zero_is_one(m, y)); \
    return x - whole(x, y) * y; \
  }
SIGNED_DIV(i8) SIGNED_DIV(i16) SIGNED_DIV(i32) SIGNED_DIV(i64)
#define UNSIGNED_DIV(T) \
  OVER T##v shr(T##v x, u64v n) { return sel(FEW(n, T), x >> CV(n & (8 * sizeof(T) - 1), T), (T##v)(0)); } \
  OVER T##v quotient(mask m, T##v x, T##v y) { return whole(x, zero_is_one(m, y)); } \
  OVER T##v remainder(mask m, T##v x, T##v y) { y = zero_is_one(m, y); return x - whole(x, y) * y; }
UNSIGNED_DIV(u8) UNSIGNED_DIV(u16) UNSIGNED_DIV(u32) UNSIGNED_DIV(u64)

// Go's min and max: NaN if there is one, and -0 below +0. Conversions to integers: NaN is 0, what
// is beyond is the last.
#define REAL(T, I) \
  OVER T##v least(T##v x, T##v y) { \
    T##v r = x < y ? x : y; \
    r = x == y ? (T##v)((I##v)x | (I##v)y) : r; \
    r = y != y ? y : r; \
    return x != x ? x : r; \
  } \
  OVER T##v most(T##v x, T##v y) { \
    T##v r = x > y ? x : y; \
    r = x == y ? (T##v)((I##v)x & (I##v)y) : r; \
    r = y != y ? y : r; \
    return x != x ? x : r; \
  }
REAL(f32, i32) REAL(f64, i64)
#define TO_INTEGER(T, F, HIGH, MAX, LOW, MIN) \
  OVER T##v to_##T(F##v x) { \
    const mask high = as_mask(x >= (F)(HIGH)), low = as_mask(x <= (F)(LOW)), none = as_mask(x != x); \
    const T##v r = CV(sel(high | low | none, (F##v)(0), x), T); \
    return sel(high, (T##v)(MAX), sel(low, (T##v)(MIN), r)); \
  }
#define TO_INTEGERS(F) \
  TO_INTEGER(i8, F, 0x1p7, 127, -0x1p7, -128) TO_INTEGER(i16, F, 0x1p15, 32767, -0x1p15, -32768) \
  TO_INTEGER(i32, F, 0x1p31, 2147483647, -0x1p31, (-2147483647 - 1)) \
  TO_INTEGER(i64, F, 0x1p63, 9223372036854775807l, -0x1p63, (-9223372036854775807l - 1)) \
  TO_INTEGER(u8, F, 0x1p8, 255, 0, 0) TO_INTEGER(u16, F, 0x1p16, 65535, 0, 0) \
  TO_INTEGER(u32, F, 0x1p32, 4294967295u, 0, 0) TO_INTEGER(u64, F, 0x1p64, 18446744073709551615ul, 0, 0)
TO_INTEGERS(f32) TO_INTEGERS(f64)

// What lies n elements behind a strip, in cache lines.
#define LINE_OF(p) (64 / sizeof *(p) < W ? 64 / sizeof *(p) : W)
#define AHEAD(p, n) for (i64 k = LINE_OF(p) - 1; k < W; k += LINE_OF(p)) __builtin_prefetch((p) + (n) + k);

// Checks: an error leaves the entry at once.
#define CHECK(i, n, place) if (UNLIKELY((u64)(i64)(i) >= (u64)(n))) fail(c, FAIL_INDEX, place, (i64)(i), n);
// LAST is the largest T to which the number of each lane can be added.
#define LAST(T) ((T)-1 < (T)0 ? (T)(((u64)1 << (8 * sizeof(T) - 1)) - W) : (T)-W)
// A strip of neighbours is checked at its ends; i is signed, or has 64 bits.
#define LAST_OF(i) ((i64)(((u64)1 << (8 * sizeof(i) - 1)) - W))
#define INSIDE(i, n) ((i64)(i) >= 0 && (i64)(i) <= (n) - W && (i64)(i) <= LAST_OF(i))
#define CHECK_STRIP(i, n, place) if (UNLIKELY(!INSIDE(i, n))) fail_strip(c, FULL, i, n, place);
#define FAIL_LANES(T) \
  OVER int near(T##v i, i64 n) { return INSIDE(i[0], n) && !any(as_mask(i != lin(i[0]))); } \
  COLD fail_lanes(call *c, mask bad, T##v i, i64 n, i64 place) { \
    SOME(bad) fail(c, FAIL_INDEX, place, (i64)i[q], n); \
    __builtin_unreachable(); \
  } \
  COLD fail_strip(call *c, mask m, T i, i64 n, i64 place) { \
    SOME(m) CHECK((T)(i + q), n, place) \
    __builtin_unreachable(); \
  } \
  OVER void check_strip(call *c, mask m, T i, i64 n, i64 place) { \
    const u64 b = bits(m); /* not 0: nothing runs without lanes */ \
    const T first = i + (T)__builtin_ctzl(b), last = i + (T)(63 - __builtin_clzl(b)); \
    if (UNLIKELY((u64)(i64)first >= (u64)n || (u64)(i64)last >= (u64)n)) fail_strip(c, m, i, n, place); \
  } \
  OVER void check_lanes(call *c, mask m, T##v i, i64 n, i64 place) { \
    m &= outside(i, n); \
    if (UNLIKELY(any(m))) fail_lanes(c, m, i, n, place); \
  } \
  OVER void check_zero(call *c, mask m, T##v y, i64 place) { \
    if (UNLIKELY(any(m & as_mask(y == 0)))) fail(c, FAIL_DIVIDE, place, 0, 0); \
  }
FAIL_LANES(i8) FAIL_LANES(i16) FAIL_LANES(i32) FAIL_LANES(i64)
FAIL_LANES(u8) FAIL_LANES(u16) FAIL_LANES(u32) FAIL_LANES(u64)
#define CHECK_CUT(low, high, n, place) \
  if (UNLIKELY((u64)(high) > (u64)(n))) fail(c, FAIL_SLICE, place, high, n); \
  if (UNLIKELY((u64)(low) > (u64)(high))) fail(c, FAIL_ORDER, place, low, high);

// Slices that differ between lanes: an address and a length for each.
COLD fail_many(call *c, mask bad, i64v i, i64v n, i64 kind, i64 place) {
  SOME(bad) fail(c, kind, place, i[q], n[q]);
  __builtin_unreachable();
}
OVER void check_many(call *c, mask m, i64v i, i64v n, i64 place) {
  m &= as_mask(i < 0) | as_mask(i >= n);
  if (UNLIKELY(any(m))) fail_many(c, m, i, n, FAIL_INDEX, place);
}
OVER void check_cut(call *c, mask m, i64v i, i64v n, i64 kind, i64 place) {
  m &= as_mask(i < 0) | as_mask(i > n);
  if (UNLIKELY(any(m))) fail_many(c, m, i, n, kind, place);
}
#define SLICES(S, V) \
  typedef struct { u64v p; i64v n; } V; \
  OVER V vec_##S(S x) { V r; r.p = vec((u64)x.p); r.n = vec(x.n); return r; } \
  OVER V sel(mask m, V x, V y) { V r; r.p = sel(m, x.p, y.p); r.n = sel(m, x.n, y.n); return r; } \
  OVER V cut_##V(call *c, mask m, V x, i64v low, i64v high, i64 place) { \
    check_cut(c, m, high, x.n, FAIL_SLICE, place); \
    check_cut(c, m, low, high, FAIL_ORDER, place); \
    V r; \
    r.p = x.p + (u64v)low * sizeof(*((S *)0)->p); \
    r.n = high - low; \
    return r; \
  }

// One thread runs a group, so that nobody else sees its local memory.
#define UPDATE(p, new) ({ __typeof__(*(p)) old = *(p); *(p) = (new); old; })
#define LOCAL_add(p, v) UPDATE(p, old + (v))
#define LOCAL_and(p, v) UPDATE(p, old & (v))
#define LOCAL_or(p, v) UPDATE(p, old | (v))
#define LOCAL_xor(p, v) UPDATE(p, old ^ (v))
#define LOCAL_min(p, v) UPDATE(p, old < (v) ? old : (v))
#define LOCAL_max(p, v) UPDATE(p, old > (v) ? old : (v))
#define LOCAL_exchange(p, v) UPDATE(p, v)
#define LOCAL_compareexchange(p, was, v) UPDATE(p, old == (was) ? (v) : old)
#define GLOBAL_add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define GLOBAL_and(p, v) __atomic_fetch_and(p, v, __ATOMIC_RELAXED)
#define GLOBAL_or(p, v) __atomic_fetch_or(p, v, __ATOMIC_RELAXED)
#define GLOBAL_xor(p, v) __atomic_fetch_xor(p, v, __ATOMIC_RELAXED)
#define GLOBAL_min(p, v) __atomic_fetch_min(p, v, __ATOMIC_RELAXED)
#define GLOBAL_max(p, v) __atomic_fetch_max(p, v, __ATOMIC_RELAXED)
#define GLOBAL_exchange(p, v) __atomic_exchange_n(p, v, __ATOMIC_RELAXED)
#define GLOBAL_compareexchange(p, was, v) ({ \
  __typeof__(*(p)) old = was; __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); old; })

// What the helpers of Go's meaning are made of, where there is no library.
#define __NVPTX__ 1
#define __global
#define LOCALPTR
#define FN static inline __attribute__((always_inline))
#define TABLE static const
#define LINED call *c, i64 line,
#define LINE(n) c, n,
#define NOT_ZERO(y) if (UNLIKELY(y == 0)) fail(c, FAIL_DIVIDE, line, 0, 0);
#define BITS(N, T, F) FN T N(F x) { union { F f; T t; } u; u.f = x; return u.t; }
BITS(as_uint, u32, f32) BITS(as_float, f32, u32) BITS(as_ulong, u64, f64) BITS(as_double, f64, u64)
