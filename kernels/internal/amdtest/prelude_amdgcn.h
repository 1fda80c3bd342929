/* prelude_amdgcn.h - what OpenCL C needs beyond the driver's prelude to be compiled for an AMD GPU
 * without its device libraries. The tests use it to look at registers, spills and scratch; what
 * runs on a device is compiled by the device's own driver.
 *
 *   clang -x cl -cl-std=CL1.2 -O3 -ffp-contract=off --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -S \
 *     -include prelude_amdgcn.h
 */
#define AMD_ID(n, id) \
  ((n) == 0 ? __builtin_amdgcn_##id##_x() : (n) == 1 ? __builtin_amdgcn_##id##_y() : __builtin_amdgcn_##id##_z())
#define AMD_PACKET ((__constant const uint *)__builtin_amdgcn_dispatch_ptr())
#define AMD_GROUP ((__constant const ushort *)__builtin_amdgcn_dispatch_ptr())
#define get_local_id(n) ((size_t)AMD_ID(n, workitem_id))
#define get_group_id(n) ((size_t)AMD_ID(n, workgroup_id))
#define get_local_size(n) ((size_t)AMD_GROUP[2 + (n)])
#define get_global_size(n) ((size_t)AMD_PACKET[3 + (n)])
#define get_num_groups(n) (get_global_size(n) / get_local_size(n))
#define get_global_id(n) (get_group_id(n) * get_local_size(n) + get_local_id(n))
#define barrier(flags) \
  do { \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
  } while (0)
#define fma(a, b, c) __builtin_choose_expr(sizeof((a) * (b)) == 8, __builtin_fma(a, b, c), __builtin_fmaf(a, b, c))
