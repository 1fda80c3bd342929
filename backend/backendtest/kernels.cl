/* Kernels that the suite launches, each for one thing that a driver must get right. Portable
 * dialect; all entry points in one text, so that a driver compiles little. STEP is a macro that
 * cases of affine set, which is alone then.
 *
 * ids      out[16*i ...] = what work-item i sees of the grid: 3 group ids, 3 local ids, 3 global
 *          ids, 3 numbers of groups, 3 local sizes; the last word counts how often the work-item ran
 * affine   dst[i] = STEP * src[i] + a, 0 <= i < n; any one-dimensional grid; dst may be src
 * chain    p[0] = p[0] * 1664525 + 1013904223, rounds times, by one work-item: takes a while
 * words    out = the arguments, as 32-bit words
 * typed    ran[0] = ran[0] + 1, by one work-item, with parameters of many types
 * reverse  out[j] = in[63 - j] within each group of 16x4 work-items
 * reduce   out[group] = the sum of 64 elements of in, modulo 2^32
 * ops_f32  out[5*i ...] = fma(a, b, c), a*b + c, a*b, a + c, b - c with a, b, c = in[3*i ...]
 * ops_i32  the same for int, modulo 2^32
 */
#ifndef STEP
#define STEP 1

__kernel void ids(__global int *out) {
  size_t i = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
  __global int *p = out + 16 * i;
  p[0] = (int)get_group_id(0);
  p[1] = (int)get_group_id(1);
  p[2] = (int)get_group_id(2);
  p[3] = (int)get_local_id(0);
  p[4] = (int)get_local_id(1);
  p[5] = (int)get_local_id(2);
  p[6] = (int)get_global_id(0);
  p[7] = (int)get_global_id(1);
  p[8] = (int)get_global_id(2);
  p[9] = (int)get_num_groups(0);
  p[10] = (int)get_num_groups(1);
  p[11] = (int)get_num_groups(2);
  p[12] = (int)get_local_size(0);
  p[13] = (int)get_local_size(1);
  p[14] = (int)get_local_size(2);
  p[15] = p[15] + 1;
}

__kernel void chain(__global uint *p, const uint rounds) {
  if (get_global_id(0) != 0) return;
  uint x = p[0];
  for (uint r = 0; r < rounds; r++) x = x * 1664525u + 1013904223u;
  p[0] = x;
}

typedef float real;
typedef struct { float x, y; } pair;
typedef struct { float x; int n; } mixed;

__kernel void typed(__global int *ran, __global const real *r, __global const float4 *v, __global const pair *p,
                    __global const mixed *m, __global const ulong *u, __global const void *w, const real s,
                    const uint n, const ulong l) {
  (void)r, (void)v, (void)p, (void)m, (void)u, (void)w, (void)s, (void)n, (void)l;
  if (get_global_id(0) == 0) ran[0] = ran[0] + 1;
}

__kernel void words(__global uint *out, const int a, const ulong b, const uint c, const float d, const ulong e,
                    const int f) {
  if (get_global_id(0) != 0) return;
  out[0] = (uint)a;
  out[1] = (uint)b;
  out[2] = (uint)(b >> 32);
  out[3] = c;
  out[4] = as_uint(d);
  out[5] = (uint)e;
  out[6] = (uint)(e >> 32);
  out[7] = (uint)f;
}

__kernel WG_SIZE(16, 4, 1)
void reverse(__global int *out, __global const int *in) {
  LOCALMEM ALIGN16 int t[64];
  size_t l = get_local_id(1) * 16 + get_local_id(0);
  size_t g = 64 * (get_group_id(1) * get_num_groups(0) + get_group_id(0));
  t[l] = in[g + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g + l] = t[63 - l];
}

__kernel WG_SIZE(64, 1, 1)
void reduce(__global uint *out, __global const uint *in) {
  LOCALMEM ALIGN16 uint t[64];
  size_t l = get_local_id(0);
  t[l] = in[64 * get_group_id(0) + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t h = 32; h > 0; h /= 2) {
    if (l < h) t[l] += t[l + h];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[get_group_id(0)] = t[0];
}

__kernel void ops_f32(__global float *out, __global const float *in, const int n) {
  for (size_t i = get_global_id(0); i < (size_t)n; i += get_global_size(0)) {
    float a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    out[5 * i] = fma(a, b, c);
    out[5 * i + 1] = a * b + c;
    out[5 * i + 2] = a * b;
    out[5 * i + 3] = a + c;
    out[5 * i + 4] = b - c;
  }
}

__kernel void ops_i32(__global int *out, __global const int *in, const int n) {
  for (size_t i = get_global_id(0); i < (size_t)n; i += get_global_size(0)) {
    uint a = (uint)in[3 * i], b = (uint)in[3 * i + 1], c = (uint)in[3 * i + 2];
    out[5 * i] = (int)(a * b + c);
    out[5 * i + 1] = (int)(a * b + c);
    out[5 * i + 2] = (int)(a * b);
    out[5 * i + 3] = (int)(a + c);
    out[5 * i + 4] = (int)(b - c);
  }
}
#endif

__kernel void affine(__global int *dst, __global const int *src, const int a, const int n) {
  for (size_t i = get_global_id(0); i < (size_t)n; i += get_global_size(0))
    dst[i] = STEP * src[i] + a;
}
