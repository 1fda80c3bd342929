/* element.h - the element type of a kernel and its arithmetic, put before the text of every kernel
 * of this package.
 *
 * One of T_FLOAT32, T_FLOAT64 and T_INT32 is defined. int32 is computed as uint, which wraps modulo
 * 2^32 by definition and has the bits of two's complement.
 *
 *   T             the element type
 *   MAC(a, b, c)  a*b + c rounded once; also for OpenCL's vectors of T
 *   NEG0          the n with x + n == x for every x, -0 included
 *   VEC, VECW     the vector of T in 16 bytes, and how many elements it has
 *   VECTOR(f)     the VEC of f(e, s) for its elements e, with their names s
 *   EACH(f)       the statements f(e, s) for its elements
 */
#if defined(T_FLOAT32)
#define T float
#define MAC(a, b, c) fma((a), (b), (c))
#define NEG0 (-0.0f)
#elif defined(T_FLOAT64)
#define T double
#define MAC(a, b, c) fma((a), (b), (c))
#define NEG0 (-0.0)
#elif defined(T_INT32)
#define T uint
#define MAC(a, b, c) ((a) * (b) + (c))
#define NEG0 0u
#else
#error "define T_FLOAT32, T_FLOAT64 or T_INT32"
#endif

#if defined(T_FLOAT64)
#define VEC double2
#define VECW 2
#define VECTOR(f) make_double2(f(0, x), f(1, y))
#define EACH(f) do { f(0, x) f(1, y) } while (0)
#else
#define VECW 4
#define EACH(f) do { f(0, x) f(1, y) f(2, z) f(3, w) } while (0)
#if defined(T_INT32)
#define VEC uint4
#define VECTOR(f) make_uint4(f(0, x), f(1, y), f(2, z), f(3, w))
#else
#define VEC float4
#define VECTOR(f) make_float4(f(0, x), f(1, y), f(2, z), f(3, w))
#endif
#endif
