package support

// Head is what the text of every generated kernel begins with. It gives both families of compilers
// the same words. JOIN is one more barrier: PoCL (3.1) lets all work-items take the branch without
// a barrier where the other has one, and goes wrong where ways with and without one meet.
//
// Where TANDEM_CHECKED is defined, a work-item that makes a mistake reports it in the record,
// unless another was first, and reads and writes none of the memory that others see from then on;
// see backend.Checks. It still comes to every barrier, but leaves loops without one. AT is an index
// that must be below n, CUT the lower bound of a slice, LOAD and STORE are accesses. Elsewhere
// these are nothing but what they check.
const Head = `#ifdef __clang__
#pragma clang diagnostic ignored "-Weverything"
#endif
#ifdef __CUDACC__
#define FN static __device__ __forceinline__
#define TABLE static __constant__ const
#define JOIN
typedef signed char i8;
typedef long long i64;
#else
#define FN static inline
#define TABLE __constant
#ifdef __NVPTX__
#define JOIN
#else
#define JOIN barrier(CLK_LOCAL_MEM_FENCE)
#endif
typedef char i8;
typedef long i64;
#endif
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef ulong u64;
typedef float f32;
#define MEET barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#define FIRST (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0)
#if defined(__CUDACC__)
#define ANY_OF(r, agreed, x) r = __syncthreads_or(x) != 0;
#elif defined(__NVPTX__)
#define ANY_OF(r, agreed, x) r = __nvvm_bar0_or(x) != 0;
#else
#define ANY_OF(r, agreed, x) { \
  const i32 mine = x; \
  MEET if (FIRST) agreed = 0; \
  MEET if (mine) atomic_or(&agreed, 1); \
  MEET r = agreed != 0; }
#endif
#define UNIFORM_OF(T, r, agreed, x) { const T mine = x; MEET if (FIRST) agreed = mine; MEET r = agreed; }
#ifdef TANDEM_CHECKED
typedef struct { __global u64 *record; LOCALPTR i32 *any; u32 failed, all; } checker;
FN void report(checker *c, u32 what, i64 i, i64 n, u32 line) {
  if (c->failed) return;
  c->failed = 1;
  if (atomic_cmpxchg((volatile __global uint *)c->record, 0u, what) == 0u) {
    c->record[1] = line;
    c->record[2] = (u64)i;
    c->record[3] = (u64)n;
    c->record[4] = get_global_id(0);
    c->record[5] = get_global_id(1);
    c->record[6] = get_global_id(2);
  }
}
FN i64 at(checker *c, u32 what, i64 i, i64 n, u32 line) {
  if ((u64)i < (u64)n) return i;
  report(c, what, i, n, line);
  return 0;
}
FN i64 cut(checker *c, i64 low, i64 high, i64 n, u32 line) {
  if ((u64)high > (u64)n) report(c, 4, high, n, line);
  if ((u64)low > (u64)high) report(c, 4, low, high, line);
  return c->failed ? 0 : low;
}
#define CHECKED_KERNEL , __global u64 *check_record
#define CHECKED_ALONE __global u64 *check_record
#define CHECKED_BEGIN \
  LOCALMEM i32 check_any; \
  checker checks, *check = &checks; \
  checks.record = check_record; checks.any = &check_any; checks.failed = checks.all = 0;
#define CHECKER checker *check,
#define CHECKER_ALONE checker *check
#define CHECK check,
#define CHECK_ALONE check
#define LINED checker *check, u32 line,
#define LINE(n) check, n,
#define NOT_ZERO(y) if (y == 0) report(check, 5, 0, 0, line);
#define UNLESS_FAILED(x) if (check->failed) return x;
#define GO(x) (!check->failed && (x))
#define GO_ALL(x) (!check->all && (x))
#define UNIFORM(T, r, agreed, x) \
  ANY_OF(check->all, *check->any, check->failed) \
  UNIFORM_OF(T, r, agreed, x)
#define ANY(T, r, agreed, x) \
  ANY_OF(check->all, *check->any, check->failed) \
  ANY_OF(r, agreed, !check->failed && (x))
#define AT(i, n, line) at(check, 1, i, n, line)
#define ROW(i, n, line) at(check, 2, i, n, line)
#define COLUMN(i, n, line) at(check, 3, i, n, line)
#define CUT(low, high, n, line) cut(check, low, high, n, line)
#define LOAD(N, x) load_##N(check, &(x))
#define STORE(N, x, y) store_##N(check, &(x), y)
#define ACCESS(N, SPACE, T) \
  FN T load_##N(checker *c, SPACE T *p) { T zero = {0}; if (c->failed) return zero; return *p; } \
  FN void store_##N(checker *c, SPACE T *p, T x) { if (!c->failed) *p = x; }
#else
#define CHECKED_KERNEL
#define CHECKED_ALONE void
#define CHECKED_BEGIN
#define CHECKER
#define CHECKER_ALONE void
#define CHECK
#define CHECK_ALONE
#define LINED
#define LINE(n)
#define NOT_ZERO(y)
#define UNLESS_FAILED(x)
#define GO(x) x
#define GO_ALL(x) x
#define UNIFORM(T, r, agreed, x) UNIFORM_OF(T, r, agreed, x)
#define ANY(T, r, agreed, x) ANY_OF(r, agreed, x)
#define AT(i, n, line) i
#define ROW(i, n, line) (i)
#define COLUMN(i, n, line) (i)
#define CUT(low, high, n, line) low
#define LOAD(N, x) x
#define STORE(N, x, y) x = y
#define ACCESS(N, SPACE, T)
#endif
`
