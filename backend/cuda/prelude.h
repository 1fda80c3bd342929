/* prelude.h - the portable dialect for NVRTC, which compiles CUDA C++; the driver puts it before
 * the text of every kernel.
 *
 * The dialect is OpenCL C with the names below, so that a CUDA compiler can take the same text with
 * a prelude of its own:
 *
 *   LOCALMEM ALIGN16 float t[64];   an array in local memory; ALIGN16 wherever it is read or written as vectors
 *   LOCALPTR float *p;              a pointer into one
 *   WG_SIZE(x, y, z)                after __kernel: the group size that the kernel is written for
 *   make_float4(a, b, c, d)         a vector; its parts are .x .y .z .w
 *   READ_VECTOR(V, p)               the vector of type V at p, in global memory that the kernel only reads;
 *                                   p is aligned to V
 *
 * Local arrays are declared in the kernel, never passed to it. long is 32 bits wide in some CUDA
 * compilers: use ulong, size_t or int.
 *
 * Functions of OpenCL C beyond these that CUDA has under another name are here too. CUDA's own
 * names stay usable.
 */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;

#define __kernel extern "C" __global__
#define kernel __kernel
#define __global
#define __private
#define __constant const
#define restrict __restrict__
#define LOCALMEM __shared__
#define LOCALPTR
#define ALIGN16 __align__(16)
/* With a bound the assembler may spill registers so that one more group fits on a core. Groups of
 * up to 256 work-items need none to fit: a core has 65,536 registers (a Jetson TX1 or TX2 half of
 * them), and a work-item takes 255 at most. */
#define WG_SIZE(x, y, z) __launch_bounds__((x) * (y) * (z) > 256 ? (x) * (y) * (z) : 0)
#define READ_VECTOR(V, p) __ldg((const V *)(p))

#define PRELUDE static __device__ __forceinline__

/* Work-items. */
#define PRELUDE_DIM(name, v) \
  PRELUDE size_t name(uint d) { return d == 0 ? v.x : d == 1 ? v.y : d == 2 ? v.z : PRELUDE_BEYOND; }
#define PRELUDE_BEYOND 0
PRELUDE_DIM(get_local_id, threadIdx)
PRELUDE_DIM(get_group_id, blockIdx)
#undef PRELUDE_BEYOND
#define PRELUDE_BEYOND 1
PRELUDE_DIM(get_local_size, blockDim)
PRELUDE_DIM(get_num_groups, gridDim)
PRELUDE size_t get_global_offset(uint) { return 0; }
PRELUDE size_t get_global_id(uint d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }
PRELUDE size_t get_global_size(uint d) { return get_num_groups(d) * get_local_size(d); }
PRELUDE uint get_work_dim() { return get_global_size(2) > 1 ? 3 : get_global_size(1) > 1 ? 2 : 1; }

/* Synchronisation. */
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(flags) __syncthreads()
#define mem_fence(flags) __threadfence_block()
#define read_mem_fence(flags) __threadfence_block()
#define write_mem_fence(flags) __threadfence_block()

/* Bits as another type of the same size. */
PRELUDE float as_float(uint x) { return __uint_as_float(x); }
PRELUDE float as_float(int x) { return __int_as_float(x); }
PRELUDE float as_float(float x) { return x; }
PRELUDE uint as_uint(float x) { return __float_as_uint(x); }
PRELUDE uint as_uint(int x) { return (uint)x; }
PRELUDE uint as_uint(uint x) { return x; }
PRELUDE int as_int(float x) { return __float_as_int(x); }
PRELUDE int as_int(uint x) { return (int)x; }
PRELUDE int as_int(int x) { return x; }
PRELUDE double as_double(unsigned long x) { return __longlong_as_double((long long)x); } /* of 1ul */
PRELUDE double as_double(ulong x) { return __longlong_as_double((long long)x); }
PRELUDE double as_double(long long x) { return __longlong_as_double(x); }
PRELUDE double as_double(double x) { return x; }
PRELUDE ulong as_ulong(double x) { return (ulong)__double_as_longlong(x); }
PRELUDE ulong as_ulong(long long x) { return (ulong)x; }
PRELUDE ulong as_ulong(ulong x) { return x; }
PRELUDE long long as_long(double x) { return __double_as_longlong(x); }
PRELUDE long long as_long(ulong x) { return (long long)x; }

/* Vectors: arithmetic by component, and access with the alignment of an element. */
#define PRELUDE_OP(T, T2, T4, op) \
  PRELUDE T2 operator op(T2 a, T2 b) { return make_##T2(a.x op b.x, a.y op b.y); } \
  PRELUDE T2 operator op(T2 a, T b) { return make_##T2(a.x op b, a.y op b); } \
  PRELUDE T2 operator op(T a, T2 b) { return make_##T2(a op b.x, a op b.y); } \
  PRELUDE T2 &operator op##=(T2 &a, T2 b) { return a = a op b; } \
  PRELUDE T2 &operator op##=(T2 &a, T b) { return a = a op b; } \
  PRELUDE T4 operator op(T4 a, T4 b) { return make_##T4(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w); } \
  PRELUDE T4 operator op(T4 a, T b) { return make_##T4(a.x op b, a.y op b, a.z op b, a.w op b); } \
  PRELUDE T4 operator op(T a, T4 b) { return make_##T4(a op b.x, a op b.y, a op b.z, a op b.w); } \
  PRELUDE T4 &operator op##=(T4 &a, T4 b) { return a = a op b; } \
  PRELUDE T4 &operator op##=(T4 &a, T b) { return a = a op b; }
#define PRELUDE_VECTOR(T, T2, T4) \
  PRELUDE_OP(T, T2, T4, +) \
  PRELUDE_OP(T, T2, T4, -) \
  PRELUDE_OP(T, T2, T4, *) \
  PRELUDE_OP(T, T2, T4, /) \
  PRELUDE T2 operator-(T2 a) { return make_##T2(-a.x, -a.y); } \
  PRELUDE T4 operator-(T4 a) { return make_##T4(-a.x, -a.y, -a.z, -a.w); } \
  PRELUDE T2 vload2(size_t i, const T *p) { return make_##T2(p[2*i], p[2*i + 1]); } \
  PRELUDE T4 vload4(size_t i, const T *p) { return make_##T4(p[4*i], p[4*i + 1], p[4*i + 2], p[4*i + 3]); } \
  PRELUDE void vstore2(T2 v, size_t i, T *p) { p[2*i] = v.x; p[2*i + 1] = v.y; } \
  PRELUDE void vstore4(T4 v, size_t i, T *p) { p[4*i] = v.x; p[4*i + 1] = v.y; p[4*i + 2] = v.z; p[4*i + 3] = v.w; }
PRELUDE_VECTOR(float, float2, float4)
PRELUDE_VECTOR(double, double2, double4)
PRELUDE_VECTOR(int, int2, int4)
PRELUDE_VECTOR(uint, uint2, uint4)
#define PRELUDE_REAL_VECTOR(T, T2, T4) \
  PRELUDE T dot(T2 a, T2 b) { return a.x * b.x + a.y * b.y; } \
  PRELUDE T dot(T4 a, T4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; } \
  PRELUDE T2 fma(T2 a, T2 b, T2 c) { return make_##T2(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)); } \
  PRELUDE T4 fma(T4 a, T4 b, T4 c) { \
    return make_##T4(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y), fma(a.z, b.z, c.z), fma(a.w, b.w, c.w)); \
  }
PRELUDE_REAL_VECTOR(float, float2, float4)
PRELUDE_REAL_VECTOR(double, double2, double4)

/* Functions. */
#define PRELUDE_CLAMP(T) PRELUDE T clamp(T x, T low, T high) { return min(max(x, low), high); }
PRELUDE_CLAMP(int)
PRELUDE_CLAMP(uint)
PRELUDE_CLAMP(float)
PRELUDE_CLAMP(double)
#define PRELUDE_REAL(T) \
  PRELUDE T sign(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? x : (T)0; } \
  PRELUDE T step(T edge, T x) { return x < edge ? (T)0 : (T)1; } \
  PRELUDE T mix(T x, T y, T a) { return x + (y - x) * a; } \
  PRELUDE T smoothstep(T low, T high, T x) { \
    const T t = clamp((x - low) / (high - low), (T)0, (T)1); \
    return t * t * (3 - 2 * t); \
  } \
  PRELUDE T degrees(T x) { return x * (T)57.295779513082320877; } \
  PRELUDE T radians(T x) { return x * (T)0.017453292519943295769; } \
  PRELUDE T powr(T x, T y) { return pow(x, y); } \
  PRELUDE T pown(T x, int n) { return pow(x, (T)n); }
PRELUDE_REAL(float)
PRELUDE_REAL(double)
template <class T, class C> PRELUDE T select(T a, T b, C c) { return c ? b : a; }
#define PRELUDE_CONVERT(T) template <class X> PRELUDE T convert_##T(X x) { return (T)x; }
PRELUDE_CONVERT(char)
PRELUDE_CONVERT(uchar)
PRELUDE_CONVERT(short)
PRELUDE_CONVERT(ushort)
PRELUDE_CONVERT(int)
PRELUDE_CONVERT(uint)
PRELUDE_CONVERT(ulong)
PRELUDE_CONVERT(float)
PRELUDE_CONVERT(double)
PRELUDE int convert_int_rte(float x) { return __float2int_rn(x); }
PRELUDE int convert_int_rte(double x) { return __double2int_rn(x); }
PRELUDE int mul24(int a, int b) { return a * b; }
PRELUDE uint mul24(uint a, uint b) { return a * b; }
PRELUDE int mad24(int a, int b, int c) { return a * b + c; }
PRELUDE uint mad24(uint a, uint b, uint c) { return a * b + c; }
PRELUDE int popcount(int x) { return __popc((uint)x); }
PRELUDE uint popcount(uint x) { return (uint)__popc(x); }
PRELUDE ulong popcount(ulong x) { return (ulong)__popcll(x); }
PRELUDE int clz(int x) { return __clz(x); }
PRELUDE uint clz(uint x) { return (uint)__clz((int)x); }
PRELUDE ulong clz(ulong x) { return (ulong)__clzll((long long)x); }
PRELUDE int mul_hi(int a, int b) { return __mulhi(a, b); }
PRELUDE uint mul_hi(uint a, uint b) { return __umulhi(a, b); }
PRELUDE ulong mul_hi(ulong a, ulong b) { return __umul64hi(a, b); }
PRELUDE uint rotate(uint x, uint n) { return __funnelshift_l(x, x, n); }
PRELUDE int rotate(int x, int n) { return (int)__funnelshift_l((uint)x, (uint)x, (uint)n); }

/* Fast and less exact. */
#define native_sin __sinf
#define native_cos __cosf
#define native_tan __tanf
#define native_exp __expf
#define native_exp2 exp2f
#define native_exp10 __exp10f
#define native_log __logf
#define native_log2 __log2f
#define native_log10 __log10f
#define native_powr __powf
#define native_sqrt sqrtf
#define native_rsqrt rsqrtf
#define native_recip(x) __fdividef(1.0f, x)
#define native_divide __fdividef

/* Atomic operations on 32 bits; each returns what was there before. */
#define PRELUDE_ATOMIC(name, f, T) PRELUDE T name(volatile T *p, T v) { return f((T *)p, v); }
#define PRELUDE_ATOMICS(name, f) PRELUDE_ATOMIC(name, f, int) PRELUDE_ATOMIC(name, f, uint)
PRELUDE_ATOMICS(atomic_add, atomicAdd)
PRELUDE_ATOMICS(atomic_sub, atomicSub)
PRELUDE_ATOMICS(atomic_min, atomicMin)
PRELUDE_ATOMICS(atomic_max, atomicMax)
PRELUDE_ATOMICS(atomic_and, atomicAnd)
PRELUDE_ATOMICS(atomic_or, atomicOr)
PRELUDE_ATOMICS(atomic_xor, atomicXor)
PRELUDE_ATOMICS(atomic_xchg, atomicExch)
PRELUDE_ATOMIC(atomic_xchg, atomicExch, float)
PRELUDE int atomic_inc(volatile int *p) { return atomicAdd((int *)p, 1); }
PRELUDE uint atomic_inc(volatile uint *p) { return atomicAdd((uint *)p, 1u); }
PRELUDE int atomic_dec(volatile int *p) { return atomicSub((int *)p, 1); }
PRELUDE uint atomic_dec(volatile uint *p) { return atomicSub((uint *)p, 1u); }
PRELUDE int atomic_cmpxchg(volatile int *p, int seen, int v) { return atomicCAS((int *)p, seen, v); }
PRELUDE uint atomic_cmpxchg(volatile uint *p, uint seen, uint v) { return atomicCAS((uint *)p, seen, v); }

/* Numbers. */
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define HUGE_VALF INFINITY
#define FLT_MAX 3.402823466e38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define ULONG_MAX 0xffffffffffffffffull
#define M_PI_F 3.14159274101257f
#define M_PI 3.141592653589793115998
