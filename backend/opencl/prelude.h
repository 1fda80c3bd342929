/* prelude.h - the portable dialect for OpenCL C 1.2 and later; the driver puts it before the text
 * of every kernel.
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
 */
#pragma OPENCL FP_CONTRACT OFF /* a*b + c is rounded twice, everywhere; fma(a, b, c) once */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define LOCALMEM __local
#define LOCALPTR __local
#define ALIGN16 __attribute__((aligned(16)))
#define WG_SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define READ_VECTOR(V, p) (*(__global const V *)(p))

#define make_float2 (float2)
#define make_float4 (float4)
#define make_double2 (double2)
#define make_double4 (double4)
#define make_int2 (int2)
#define make_int4 (int4)
#define make_uint2 (uint2)
#define make_uint4 (uint4)
