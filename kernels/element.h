/* element.h - the element type of a kernel and its arithmetic, put before the text of every kernel
 * of this package.
 *
 * One of T_FLOAT32, T_FLOAT64 and T_INT32 is defined. int32 is computed as uint, which wraps modulo
 * 2^32 by definition and has the bits of two's complement.
 *
 *   T               the element type
 *   MAC(a, b, c)    a*b + c rounded once; also for OpenCL's vectors of T
 *   CHAIN(a, b, c)  a step of a product's chain: MAC, but of bytes
 *   NEG0            the n with x + n == x for every x, -0 included
 *   VEC, VECW       the vector of T in 16 bytes, and how many elements it has
 *   VECTOR(f)       the VEC of f(e, s) for its elements e, with their names s
 *   EACH(f)         the statements f(e, s) for its elements
 *
 * With BYTES the elements of A and B, of T_INT32, are words of four bytes, neighbours along k, and
 * a step adds all four products: of int8 with BYTES 1, of uint8 in A by int8 in B with BYTES 2.
 * GPUs have instructions for that, NVIDIA's from sm_61 on; elsewhere, and in vectors, it is plain.
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

#ifndef BYTES
#define CHAIN(a, b, c) MAC(a, b, c)
#else
#ifdef __has_builtin
#if __has_builtin(__builtin_amdgcn_sudot4)
#define AMD_SUDOT
#endif
#if __has_builtin(__builtin_amdgcn_sdot4) && BYTES == 1
#define AMD_SDOT
#endif
#endif
#define BYTE(x, i) (((((x) >> 8 * (i)) & 0xffu) ^ 0x80u) - 0x80u) /* the sign extended */
#if BYTES == 1
#define BYTE_A BYTE
#define DOT(type) type(s32, ss)
#else
#define BYTE_A(x, i) (((x) >> 8 * (i)) & 0xffu)
#define DOT(type) type(u32, us)
#endif
#ifdef PLAIN
#elif defined(VW)
#define PLAIN
#elif defined(NVPTX_DIM) || defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 610
static __attribute__((always_inline)) uint dot4(const uint a, const uint b, const uint c) {
  uint d;
#define DP4A(sign, unused) "dp4a." #sign ".s32 %0, %1, %2, %3;"
#ifdef __CUDACC_RTC__
  asm(DOT(DP4A) : "=r"(d) : "r"(a), "r"(b), "r"(c));
#else
  __asm__(DOT(DP4A) : "=r"(d) : "r"(a), "r"(b), "r"(c));
#endif
  return d;
}
#define CHAIN(a, b, c) dot4(a, b, c)
#elif defined(cl_khr_integer_dot_product) && defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#define DOT_PACKED(unused, signs) dot_4x8packed_##signs##_int
#define CHAIN(a, b, c) ((uint)DOT(DOT_PACKED)(a, b) + (c))
#elif defined(AMD_SUDOT)
#define CHAIN(a, b, c) ((uint)__builtin_amdgcn_sudot4(BYTES == 1, (int)(a), 1, (int)(b), (int)(c), 0))
#elif defined(AMD_SDOT)
#define CHAIN(a, b, c) ((uint)__builtin_amdgcn_sdot4((int)(a), (int)(b), (int)(c), 0))
#else
#define PLAIN
#endif
#ifdef PLAIN
#define PRODUCT(a, b, i) (BYTE_A(a, i) * BYTE(b, i))
#define CHAIN(a, b, c) (PRODUCT(a, b, 0) + PRODUCT(a, b, 1) + PRODUCT(a, b, 2) + PRODUCT(a, b, 3) + (c))
#endif
#endif
