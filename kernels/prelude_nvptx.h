/* prelude_nvptx.h - what OpenCL C needs beyond the driver's prelude to be compiled to PTX by clang,
 * without a device library.
 *
 *   clang -x cl -cl-std=CL1.2 -O3 -ffp-contract=off --target=nvptx64-nvidia-cuda -march=sm_50 \
 *     -include prelude_nvptx.h
 */
#define NVPTX_DIM(name, reg) \
  static inline __attribute__((always_inline)) size_t name(uint n) { \
    return n == 0 ? __nvvm_read_ptx_sreg_##reg##_x() \
         : n == 1 ? __nvvm_read_ptx_sreg_##reg##_y() : __nvvm_read_ptx_sreg_##reg##_z(); \
  }
NVPTX_DIM(nvptx_local_id, tid)
NVPTX_DIM(nvptx_group_id, ctaid)
NVPTX_DIM(nvptx_local_size, ntid)
NVPTX_DIM(nvptx_num_groups, nctaid)
#define get_local_id(n) nvptx_local_id(n)
#define get_group_id(n) nvptx_group_id(n)
#define get_local_size(n) nvptx_local_size(n)
#define get_num_groups(n) nvptx_num_groups(n)
#define get_global_id(n) (get_group_id(n) * get_local_size(n) + get_local_id(n))
#define get_global_size(n) (get_num_groups(n) * get_local_size(n))
#define barrier(flags) __syncthreads()
#define fma(a, b, c) __builtin_choose_expr(sizeof((a) * (b)) == 8, __builtin_fma(a, b, c), __builtin_fmaf(a, b, c))
