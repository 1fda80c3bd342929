/* element.h - the element type of a kernel and its arithmetic, put before the text of every kernel
 * of this package.
 *
 * One of T_FLOAT32, T_FLOAT64 and T_INT32 is defined. int32 is computed as uint, which wraps modulo
 * 2^32 by definition and has the bits of two's complement.
 *
 *   T             the element type
 *   MAC(a, b, c)  a*b + c rounded once; also for OpenCL's vectors of T
 *   NEG0          the n with x + n == x for every x, -0 included
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
